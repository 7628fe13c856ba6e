import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { parseMessage } from '../lib/message/message.ts';

const root = resolve(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const filesIn = (folder: string, ending = '.ts'): string[] =>
  (existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    : []
  )
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name).replaceAll('\\', '/'))
    .sort();
const namesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
    .sort();
/** What a file imports from the project, as paths from its root. */
const importsOf = (file: string): string[] =>
  [...read(file).matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, path = '']) =>
    relative(root, resolve(root, file, '..', path)).replaceAll('\\', '/'),
  );

const functions = namesIn('functions', '.ts');
/** The functions that serverless.yml has. */
const stanzas = [
  ...(/^functions:\n((?: .*\n|\n)*)/m.exec(read('serverless.yml'))?.[1] ?? '').matchAll(
    /^ {2}([\w-]+):(?: \{.*\})?$/gm,
  ),
].map(([, name = '']) => name);
const sources = [...filesIn('lib'), ...filesIn('lib', '.js'), ...filesIn('functions')];

describe('one name everywhere', () => {
  test.each(functions)('%s has its event, its test and its entry in serverless.yml', (name) => {
    const files = {
      [`events/${name}.json`]: 'a whole event as Lambda receives it',
      [`test/functions/${name}.test.ts`]: 'what the platform holds afterwards, and which letters',
    };
    expect([
      ...Object.entries(files).flatMap(([file, what]) =>
        existsSync(join(root, file)) ? [] : [`add ${file}: ${what}`],
      ),
      ...(stanzas.includes(name) ? [] : [`serverless.yml: add ${name} under functions`]),
    ]).toEqual([]);
  });
  test('no event, test or stanza is without a function', () => {
    const names = [...namesIn('events', '.json'), ...namesIn('test/functions', '.test.ts'), ...stanzas];
    expect(names.filter((name) => !functions.includes(name))).toEqual([]);
  });
  test.each(functions)('%s declares what its role must let it read: files and secrets', async (name) => {
    const { integration }: { integration?: Integration<unknown> } = await import(`../functions/${name}.ts`);
    if (integration === undefined) return;
    const source = read(`functions/${name}.ts`);
    expect(integration.files ?? false).toBe(/\bopen(Named)?File\b/.test(source));
    expect(integration.secrets).toBe(/readSecret\(safe`([\w-]+)\//.exec(source)?.[1]);
  });
  test.each(functions)('%s is called by its file, and its event is valid by its own schema', async (name) => {
    const module: { integration?: Integration<unknown> } = await import(`../functions/${name}.ts`);
    const event = JSON.parse(read(`events/${name}.json`));
    if (module.integration === undefined) return expect(event.Records).toBeUndefined();
    expect(module.integration.name).toBe(name);
    for (const { body } of event.Records) parseMessage(body, module.integration, Date.now());
  });
  test.each(functions)(
    '%s declares the first word of each key that it gives to what it changes',
    async (name) => {
      const { integration }: { integration?: Integration<unknown> } = await import(`../functions/${name}.ts`);
      if (integration === undefined) return;
      const message = parseMessage(
        JSON.parse(read(`events/${name}.json`)).Records[0].body,
        integration,
        Date.now(),
      );
      const [first = ''] = integration.resource(message.data, message).split('/');
      const inSource = [...`${integration.resource}`.matchAll(/`([a-z-]+)\/\$\{/g)].map(
        ([, word = '']) => word,
      );
      expect([...new Set([first, ...inSource])].sort()).toEqual([...integration.changes].sort());
    },
  );
});

/**
 * The rooms from the top down, each with the rooms that it may see: imports run downwards only. A room is `functions`, an option, or a
 * folder of `lib`; of `platform`, `delivery`, `runtime` and `desk`, a folder within.
 */
const allRooms: Record<string, string> = {
  functions:
    'options/reconcile options/snapshots options/crosswalk-fill options/changes options/course-export desk/stage-state desk/messages stage delivery/handle runtime/jobs platform/auth platform/resources platform/client runtime/telemetry runtime/files runtime/aws message',
  'options/reconcile':
    'desk/cli desk/console desk/operator-actions desk/views desk/stage-state desk/messages stage delivery/handle delivery/letters delivery/ledger crosswalk runtime/jobs platform/resources platform/client runtime/telemetry runtime/files runtime/privacy runtime/aws message',
  'options/snapshots':
    'desk/cli desk/console desk/operator-actions desk/views desk/stage-state stage delivery/mapping delivery/handle delivery/letters crosswalk runtime/jobs platform/client runtime/telemetry runtime/files runtime/privacy runtime/aws message',
  'options/crosswalk-fill':
    'desk/cli desk/console desk/operator-actions desk/views desk/stage-state desk/messages stage crosswalk runtime/jobs platform/resources platform/client runtime/files runtime/privacy runtime/aws message',
  'options/changes':
    'stage delivery/mapping delivery/handle platform/auth platform/client runtime/telemetry runtime/files runtime/privacy runtime/aws message',
  'options/course-export':
    'stage runtime/jobs platform/resources platform/client runtime/telemetry runtime/aws message',
  'desk/cli':
    'desk/console desk/operator-actions desk/views desk/stage-state desk/messages stage runtime/privacy message',
  'desk/console':
    'desk/operator-actions desk/views desk/stage-state desk/messages stage delivery/mapping delivery/letters runtime/privacy message',
  'desk/operator-actions': 'desk/views desk/messages stage',
  'desk/views': 'desk/stage-state desk/messages stage crosswalk runtime/telemetry runtime/privacy message',
  'desk/stage-state': 'desk/messages stage runtime/jobs runtime/telemetry runtime/aws message',
  'desk/messages':
    'stage delivery/mapping delivery/handle delivery/letters delivery/ledger crosswalk platform/resources platform/client runtime/files runtime/privacy runtime/aws message',
  stage:
    'delivery/handle runtime/jobs platform/auth platform/resources platform/client platform/rate-limit runtime/telemetry runtime/privacy runtime/aws message',
  'delivery/mapping': 'delivery/handle runtime/files message',
  'delivery/handle':
    'delivery/letters delivery/ledger crosswalk platform/auth platform/resources platform/client platform/rate-limit runtime/telemetry runtime/files runtime/privacy runtime/aws message',
  'delivery/letters': 'runtime/privacy runtime/aws message',
  'delivery/ledger': 'runtime/aws message',
  crosswalk: 'platform/resources platform/client runtime/aws message',
  'runtime/jobs': 'platform/auth platform/client runtime/telemetry runtime/files runtime/aws message',
  'platform/auth': 'platform/client runtime/telemetry runtime/privacy runtime/aws message',
  'platform/resources': 'platform/client message',
  'platform/client': 'platform/rate-limit runtime/telemetry runtime/privacy runtime/aws message',
  'platform/rate-limit': 'runtime/telemetry message',
  'runtime/telemetry': 'runtime/privacy runtime/aws message',
  'runtime/files': 'runtime/privacy runtime/aws message',
  'runtime/privacy': 'message',
  'runtime/aws': 'message',
  message: '',
};

/** Without those of options that are deleted. */
const isThere = (room: string): boolean =>
  !room.startsWith('options/') || existsSync(join(root, 'lib', room));
const rooms: Record<string, string> = Object.fromEntries(
  Object.entries(allRooms)
    .filter(([room]) => isThere(room))
    .map(([room, seen]) => [room, seen.split(' ').filter(isThere).join(' ')]),
);

/** The form of an option, and the list of them: what the core knows of options. They are in no room. */
const optionList = ['lib/option.ts', 'lib/options.ts'];
const whole = 'functions|lib/(?:message|crosswalk|stage)|lib/options/[^/]+|lib/[^/]+/[^/]+';
/** What lies in no room has its path as its name. */
const roomOf = (file: string): string =>
  new RegExp(`^(?:${whole})(?=/)`).exec(file)?.[0].replace('lib/', '') ?? file;

describe('rooms', () => {
  const names = Object.keys(rooms);
  const seenFrom = (room: string): string[] => rooms[room]?.split(' ').filter(Boolean) ?? [];

  test('are those of the table', () => {
    const found = new Set(sources.filter((file) => !optionList.includes(file)).map(roomOf));
    expect([...found].sort()).toEqual([...names].sort());
  });
  test('are few enough to be known by name', () => {
    expect(names.length).toBeLessThanOrEqual(28);
  });
  test('of the core see no option, nor does an option see another', () => {
    const seeing = names.filter((room) => seenFrom(room).some((each) => each.startsWith('options/')));
    expect(seeing.filter((room) => room !== 'functions')).toEqual([]);
  });
  test('an option knows the form of an option, and not the list; the form is types alone', () => {
    const knowing = filesIn('lib/options').filter((file) => importsOf(file).includes('lib/options.ts'));
    expect(knowing).toEqual([]);
    expect(read('lib/option.ts')).not.toMatch(/^import (?!type)|^export (?!type)/m);
  });
  test.each(names)('%s sees only what is below it', (room) => {
    const upwards = seenFrom(room).filter((each) => !(names.indexOf(each) > names.indexOf(room)));
    expect(upwards).toEqual([]);
  });
  test.each(names)('%s imports from the rooms that it may see, and from each of them', (room) => {
    const files = sources.filter((file) => roomOf(file) === room);
    const imported = new Set(files.flatMap(importsOf).map(roomOf));
    for (const each of [room, ...optionList]) imported.delete(each);
    // What only the functions of options use, nobody uses without them.
    const isLess = room === 'functions' && Object.keys(allRooms).length > names.length;
    const seen = seenFrom(room).filter((each) => !isLess || imported.has(each));
    expect([...imported].sort()).toEqual(seen.sort());
  });
});

describe('the local stack and the tests of the package', () => {
  /** Folders of `test`. Each sees itself and those before it. */
  const folders = [
    'local/platform',
    'local/aws',
    'local/lambda',
    'local',
    'local/scenarios',
    'local/commands',
    'local/chaos',
    'package',
    'package/contract',
    'package/template',
    'package/deployed',
    'package/permissions',
    'package/costs',
  ].map((name) => `test/${name}`);
  const folderOf = (file: string): number =>
    folders.indexOf(/^test\/local\/platform(?=\/)/.exec(file)?.[0] ?? dirname(file));
  const files = [...filesIn('test/local'), ...filesIn('test/package')];

  test('have no folders but these', () => {
    expect(files.filter((file) => folderOf(file) < 0)).toEqual([]);
  });
  test.each(folders)('%s sees only what comes before it, and has at most 24 files', (folder) => {
    const here = folders.indexOf(folder);
    const own = files.filter((file) => folderOf(file) === here);
    const later = own.flatMap((file) => importsOf(file).filter((each) => folderOf(each) > here));
    expect(later).toEqual([]);
    expect(own.filter((file) => dirname(file) === folder).length).toBeLessThanOrEqual(24);
  });
});

describe('a text that a log may have', () => {
  const makers = ['lib/message/safe-text.ts', 'lib/runtime/privacy/file-name.ts'];

  test('is made by its makers alone: nothing else casts a text to one', () => {
    const files = [...sources, ...filesIn('test')];
    expect(files.filter((file) => /\bas SafeText\b/.test(read(file)))).toEqual(makers);
  });
});

describe('imports', () => {
  test('nothing in lib imports in a circle', () => {
    // An option's manifest loads its parts when they are asked for, and its form is types alone.
    const loadedBy = (file: string): string[] =>
      file === 'lib/option.ts' || /^lib\/options\/[^/]+\/option\.ts$/.test(file) ? [] : importsOf(file);
    const circles: string[] = [];
    const whole = new Set<string>();
    const visit = (file: string, path: string[]): void => {
      if (path.includes(file)) circles.push([...path, file].join(' → '));
      else if (!whole.has(file)) for (const each of loadedBy(file)) visit(each, [...path, file]);
      whole.add(file);
    };
    for (const file of filesIn('functions')) visit(file, []);
    expect(circles).toEqual([]);
  });
  test.each(functions)('%s imports no other function', (name) => {
    const foreign = importsOf(`functions/${name}.ts`).filter((each) => !each.startsWith('lib/'));
    expect(foreign).toEqual([]);
  });
  test.each(filesIn('test/local/platform'))('%s knows nothing of lib and functions', (file) => {
    const known = importsOf(file).filter((each) => !each.startsWith('test/local/platform/'));
    expect(known).toEqual([]);
  });
});

test('the console’s script stays small: 20 KB', () => {
  expect(Buffer.byteLength(read('lib/desk/console/html/console.js'))).toBeLessThanOrEqual(20 * 1024);
});

describe('the glossary', () => {
  const rows = [
    ...(read('lib/README.md').split('## Glossary')[1]?.split('\n## ')[0] ?? '').matchAll(/^\| (.+) \|$/gm),
  ]
    .map(([, row = '']) => row.split('|').map((cell) => cell.trim()))
    .slice(1);
  const refused = rows.flatMap(([, , not = '']) => not.split(', ').filter((word) => word !== ''));
  const wordsOf = (name: string): string[] =>
    name
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^a-z]+/);
  test('has at most 25 words', () => {
    expect(rows.length).toBeLessThanOrEqual(25);
    expect(refused).not.toEqual([]);
  });
  test.each(sources)('%s names nothing by another word', (file) => {
    const exported = [...read(file).matchAll(/^export (?:async )?(?:const|function|class|type) (\w+)/gm)].map(
      ([, name = '']) => name,
    );
    const words = [file.slice(file.lastIndexOf('/') + 1), ...exported].flatMap(wordsOf);
    expect(
      words.filter((word) => refused.includes(word.replace(/s$/, '')) || refused.includes(word)),
    ).toEqual([]);
  });
});

describe('files', () => {
  test.each(sources)('%s is not a drawer for anything', (file) =>
    expect(file).not.toMatch(/\b(utils?|helpers?|common|types|index)\.ts$/),
  );
  test.each(sources)('%s has named exports alone', (file) =>
    expect(read(file)).not.toMatch(/^export default/m),
  );
  test.each(sources)('%s reads no environment but where that is its work', (file) => {
    const settings = ['runtime/aws/environment', 'stage/target', 'runtime/files/tables/engine'];
    if (settings.some((name) => file === `lib/${name}.ts`)) return;
    expect(read(file)).not.toMatch(/process\.env/);
  });
  test.each(sources)('%s has errors of AWS know their calls', (file) => {
    const clients = read(file).match(/new (?:SQS|S3|DynamoDB|SecretsManager|Lambda)Client\(/g);
    // `awsClient` makes them.
    expect(clients ?? []).toEqual([]);
  });
  test.each(sources)('%s has no positional parameters beyond three', (file) => {
    const many = [
      ...read(file).matchAll(/(?:=|\)|function \w+)\s*\(([^(){}[\]<>]*)\)(?::[^=]+)?\s*(?:=>|\{)/g),
    ].filter(([, parameters = '']) => parameters.split(',').filter((each) => each.trim()).length > 3);
    expect(many.map(([text]) => text)).toEqual([]);
  });
  test.each(sources)('%s has no function of more than 80 lines', (file) => {
    const lines = read(file).split('\n');
    const long = lines.flatMap((line, from) => {
      // The formatter gives the end of a block the indentation of its beginning.
      const [, indent] = /^( *)[^`]*(?:=> \(?\{|\)(?:: .+)? \{)$/.exec(line) ?? [];
      if (indent === undefined) return [];
      const length = lines.slice(from).findIndex((each, at) => at > 0 && each.startsWith(`${indent}}`));
      return length >= 80 ? `line ${from + 1}: ${line.trim()}` : [];
    });
    expect(long).toEqual([]);
  });
  test('spread no object that is written in place: each property has its line', () => {
    const spread = /^.*\.\.\.\{ \w.*$/m;
    const files = [...sources, ...filesIn('test')].filter((file) => file !== 'test/house.test.ts');
    expect(files.flatMap((file) => spread.exec(read(file)) ?? [])).toEqual([]);
  });
  test('name no type for how it came: a type is named for what it is', () => {
    const hints =
      /(?:\b(?:type|interface|class|as)\s+|[<,]\s*)(?:Given|Asked|Told|Reading|Read|About|Known)\b/;
    const files = [...sources, ...filesIn('test')].filter((file) => hints.test(read(file)));
    expect(files).toEqual([]);
  });
});
