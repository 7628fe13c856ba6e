import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { parseMessage } from '../lib/message/message.ts';

const root = resolve(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const filesIn = (folder: string, ending = '.ts'): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
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
 * The rooms from the top down, each with the rooms that it may see: imports run downwards only. A room is `functions`, `message`, or a
 * folder within another entry of `lib`.
 */
const rooms: Record<string, string> = {
  'show/cli':
    'show/console show/verbs show/views operate/reviews operate/messages operate/stage scheduled/reconcile sources/snapshots delivery/crosswalk runtime/privacy message',
  'show/console':
    'show/verbs show/views operate/reviews operate/messages operate/stage sources/mapping delivery/letters runtime/privacy message',
  'show/verbs': 'show/views operate/reviews operate/messages operate/stage',
  'show/views':
    'operate/reviews operate/messages operate/stage scheduled/reconcile sources/snapshots runtime/telemetry runtime/privacy message',
  functions:
    'operate/messages operate/stage scheduled/reconcile scheduled/course-export sources/snapshots sources/changes delivery/handle delivery/crosswalk delivery/durable platform/auth platform/resources platform/client runtime/telemetry runtime/files runtime/aws message',
  'operate/reviews':
    'operate/messages operate/stage scheduled/reconcile sources/snapshots delivery/crosswalk delivery/durable delivery/letters runtime/telemetry runtime/files runtime/aws message',
  'operate/messages':
    'operate/stage sources/mapping delivery/handle delivery/letters delivery/ledger platform/resources platform/client runtime/files runtime/privacy runtime/aws message',
  'operate/stage':
    'scheduled/reconcile scheduled/course-export sources/snapshots sources/changes delivery/handle delivery/crosswalk delivery/durable platform/auth platform/resources platform/client runtime/telemetry runtime/privacy runtime/aws message',
  'scheduled/reconcile':
    'sources/snapshots delivery/handle delivery/crosswalk delivery/durable delivery/ledger platform/resources platform/client runtime/telemetry runtime/files runtime/privacy runtime/aws message',
  'scheduled/course-export':
    'delivery/durable platform/resources platform/client runtime/telemetry runtime/aws message',
  'sources/snapshots':
    'sources/mapping delivery/handle delivery/crosswalk delivery/durable platform/client runtime/telemetry runtime/files runtime/aws message',
  'sources/changes':
    'sources/mapping delivery/handle platform/auth platform/client runtime/telemetry runtime/files runtime/privacy runtime/aws message',
  'sources/mapping': 'delivery/handle message',
  'delivery/handle':
    'delivery/crosswalk delivery/letters delivery/ledger platform/auth platform/resources platform/client runtime/telemetry runtime/files runtime/privacy runtime/aws message',
  'delivery/crosswalk':
    'delivery/durable platform/resources platform/client runtime/files runtime/aws message',
  'delivery/durable': 'platform/auth platform/client runtime/telemetry runtime/files runtime/aws message',
  'delivery/letters': 'runtime/privacy runtime/aws message',
  'delivery/ledger': 'runtime/aws message',
  'platform/auth': 'platform/client runtime/telemetry runtime/privacy runtime/aws message',
  'platform/resources': 'platform/client message',
  'platform/client': 'runtime/telemetry runtime/privacy runtime/aws message',
  'runtime/telemetry': 'runtime/privacy runtime/aws message',
  'runtime/files': 'runtime/privacy runtime/aws message',
  'runtime/privacy': 'message',
  'runtime/aws': 'message',
  message: '',
};

/** What lies in no room has its path as its name. */
const roomOf = (file: string): string =>
  /^(?:functions|lib\/message)(?=\/)|^lib\/[^/]+\/[^/]+(?=\/)/.exec(file)?.[0].replace('lib/', '') ?? file;

describe('rooms', () => {
  const names = Object.keys(rooms);
  const seenFrom = (room: string): string[] => rooms[room]?.split(' ').filter(Boolean) ?? [];

  test('are those of the table', () => {
    expect([...new Set(sources.map(roomOf))].sort()).toEqual([...names].sort());
  });
  test('are few enough to be known by name', () => {
    expect(names.length).toBeLessThanOrEqual(26);
  });
  test.each(names)('%s sees only what is below it', (room) => {
    const upwards = seenFrom(room).filter((each) => !(names.indexOf(each) > names.indexOf(room)));
    expect(upwards).toEqual([]);
  });
  test.each(names)('%s imports from the rooms that it may see, and from each of them', (room) => {
    const files = sources.filter((file) => roomOf(file) === room);
    const imported = new Set(files.flatMap(importsOf).map(roomOf));
    imported.delete(room);
    expect([...imported].sort()).toEqual(seenFrom(room).sort());
  });
});

describe('the local stack and the tests of the package', () => {
  /** Folders of `test`. Each sees itself and those before it. */
  const folders = [
    ...['local/platform', 'local/aws', 'local/lambda', 'local', 'local/scenarios', 'local/commands'],
    ...['local/chaos', 'package', 'package/contract', 'package/template', 'package/deployed'],
    ...['package/permissions', 'package/costs'],
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
    const circles: string[] = [];
    const whole = new Set<string>();
    const visit = (file: string, path: string[]): void => {
      if (path.includes(file)) circles.push([...path, file].join(' → '));
      else if (!whole.has(file)) for (const each of importsOf(file)) visit(each, [...path, file]);
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
  expect(Buffer.byteLength(read('lib/show/console/html/console.js'))).toBeLessThanOrEqual(20 * 1024);
});

describe('files', () => {
  test.each(sources)('%s is not a drawer for anything', (file) =>
    expect(file).not.toMatch(/\b(utils?|helpers?|common|types|index)\.ts$/),
  );
  test.each(sources)('%s has named exports alone', (file) =>
    expect(read(file)).not.toMatch(/^export default/m),
  );
  test.each(sources)('%s reads no environment but where that is its work', (file) => {
    const settings = ['runtime/aws/environment', 'operate/stage/target', 'runtime/files/tables/engine'];
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
});
