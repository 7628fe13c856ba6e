import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
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
    expect(integration.secrets).toBe(/readSecret\(`([\w-]+)\//.exec(source)?.[1]);
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
 * The rooms from the top down, each with the rooms that it may see: imports run downwards only. A room is a folder of `lib` or a
 * file that lies in it; `platform`, `dead-letters`, `crosswalk`, `snapshots` and `reconcile` have rooms within.
 */
const rooms: Record<string, string> = {
  cli: 'console markup views trace dead-letters/edit dead-letters/verify user-authorization dead-letters/replay dead-letters connection waiting reconcile/desk dead-letters/reading publish snapshots/desk crosswalk/names deployment reconcile snapshots desk crosswalk ledger redaction',
  console:
    'markup views trace dead-letters/edit dead-letters/verify dead-letters/replay dead-letters connection waiting reconcile/desk dead-letters/reading publish snapshots/desk deployment snapshots mapping desk failure aws',
  markup: 'views redaction',
  views:
    'trace dead-letters/edit dead-letters/verify dead-letters/replay dead-letters connection waiting reconcile/desk dead-letters/reading publish snapshots/desk crosswalk/names deployment reconcile snapshots desk telemetry ledger failure redaction',
  trace: 'waiting dead-letters/reading deployment desk ledger redaction aws json',
  functions:
    'dead-letters/replay connection dead-letters/reading deployment reconcile crosswalk/fill course-export change-poll snapshots durable token-refresh delivery message-fields integration config telemetry message files failure platform/resources platform platform/core redaction',
  'dead-letters/edit':
    'dead-letters/replay dead-letters/reading deployment desk message failure redaction envelope json',
  'dead-letters/verify':
    'connection dead-letters/reading deployment delivery integration desk dead-letter message files ledger failure platform/resources aws',
  'user-authorization': 'connection deployment failure platform/resources platform/auth',
  'dead-letters/replay':
    'connection dead-letters/reading deployment desk dead-letter message failure platform/core aws',
  'dead-letters': 'dead-letters/reading publish deployment desk ledger aws json',
  connection:
    'waiting reconcile/desk dead-letters/reading snapshots/desk deployment snapshots config telemetry credentials failure platform/resources platform platform/auth platform/core pace aws json',
  waiting: 'dead-letters/reading deployment desk failure aws',
  'reconcile/desk': 'dead-letters/reading deployment reconcile durable desk aws json',
  'dead-letters/reading': 'deployment delivery desk dead-letter redaction aws json',
  publish: 'deployment mapping integration desk dead-letter message ledger failure aws envelope json',
  'snapshots/desk': 'deployment snapshots files crosswalk aws json sets',
  'crosswalk/names': 'deployment crosswalk',
  deployment: 'integration config telemetry failure platform/core sis-ids redaction aws json',
  reconcile:
    'snapshots durable delivery message-fields integration config telemetry message files crosswalk ledger failure platform/resources platform platform/core sis-ids redaction aws sets',
  'crosswalk/fill':
    'mapping durable config sets files crosswalk failure platform/resources platform platform/core',
  'course-export': 'durable config telemetry message failure platform/resources platform platform/core',
  'change-poll':
    'mapping delivery integration config telemetry message credentials files failure redaction aws json',
  snapshots:
    'mapping durable delivery integration config telemetry message files crosswalk ledger failure sis-ids aws json sets',
  mapping: 'integration sis-ids json',
  durable: 'delivery telemetry files failure platform platform/core aws json',
  'token-refresh': 'config telemetry credentials failure platform/auth aws json',
  delivery:
    'integration desk dead-letter config telemetry message credentials files crosswalk ledger failure platform platform/auth platform/core pace sis-ids redaction aws envelope json',
  'message-fields': 'integration message files platform/resources platform/core',
  integration: 'message credentials files platform/resources platform platform/auth platform/core pace',
  desk: 'dead-letter telemetry message failure sis-ids redaction aws envelope json',
  'dead-letter': 'message failure aws json',
  config: 'files platform platform/core aws json',
  telemetry: 'failure platform pace redaction aws',
  message: 'failure sis-ids redaction envelope json',
  credentials: 'failure platform/auth redaction aws json',
  sets: 'files',
  files: 'failure platform/core redaction aws',
  crosswalk: 'failure platform/resources platform sis-ids aws json',
  ledger: 'aws',
  failure: 'platform/core sis-ids aws',
  'platform/resources': 'platform platform/core',
  platform: 'platform/auth platform/core pace redaction',
  'platform/auth': 'platform/core redaction json',
  'platform/core': 'pace redaction json',
  pace: '',
  'sis-ids': '',
  redaction: 'aws envelope json',
  aws: '',
  envelope: 'json',
  json: '',
};

const roomOf = (file: string): string => {
  const path = file.replace(/^lib\//, '').replace(/\.\w+$/, '');
  const within = /^(?:platform|dead-letters|crosswalk|snapshots|reconcile)\/[^/]+(?=\/)/.exec(path);
  return within?.[0] ?? path.replace(/\/.*/, '');
};

describe('rooms', () => {
  const names = Object.keys(rooms);
  const seenFrom = (room: string): string[] => rooms[room]?.split(' ').filter(Boolean) ?? [];

  test('are those of the table', () => {
    expect([...new Set(sources.map(roomOf))].sort()).toEqual([...names].sort());
  });
  test('are few enough to be known by name', () => {
    const folders = new Set(names.map((name) => name.replace(/\/.*/, '')));
    // With that of the configuration, which is the root. 40 until `reconcile`.
    expect(folders.size + 1).toBeLessThanOrEqual(41);
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
    if (['lib/runtime/aws/environment.ts', 'lib/operate/stage/target.ts'].includes(file)) return;
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
