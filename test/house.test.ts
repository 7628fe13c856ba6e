import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Integration } from '../lib/integration.ts';
import { parseMessage } from '../lib/message.ts';

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
const sources = [...filesIn('lib'), ...filesIn('functions')];

describe('one name everywhere', () => {
  test('each function has its event', () => expect(namesIn('events', '.json')).toEqual(functions));
  test('each function has its test', () => expect(namesIn('test/functions', '.test.ts')).toEqual(functions));
  test('each function has its stanza in serverless.yml, and no stanza is without a function', () => {
    const stanzas = /^functions:\n((?: .*\n|\n|#.*\n)*)/m.exec(read('serverless.yml'))?.[1] ?? '';
    const names = [...stanzas.matchAll(/^ {2}([\w-]+):/gm)].map(([, name]) => name).sort();
    expect(names).toEqual(functions);
  });
  test.each(functions)('%s is called by its file, and its event is valid by its own schema', async (name) => {
    const module: { integration?: Integration<unknown> } = await import(`../functions/${name}.ts`);
    const event = JSON.parse(read(`events/${name}.json`));
    if (module.integration === undefined) return expect(event.Records).toBeUndefined();
    expect(module.integration.name).toBe(name);
    for (const { body } of event.Records) parseMessage(body, module.integration, Date.now());
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

describe('files', () => {
  test.each(sources)('%s is not a drawer for anything', (file) =>
    expect(file).not.toMatch(/\b(utils?|helpers?|common|types|index)\.ts$/),
  );
  test.each(sources)('%s has named exports alone', (file) =>
    expect(read(file)).not.toMatch(/^export default/m),
  );
  test.each(sources)('%s reads no environment but where that is its work', (file) => {
    if (['lib/delivery/services.ts', 'lib/deployment/target.ts'].includes(file)) return;
    expect(read(file)).not.toMatch(/process\.env/);
  });
  test.each(sources)('%s has errors of AWS know their calls', (file) => {
    const clients = [...read(file).matchAll(/(\S*)\s*new (?:SQS|S3|DynamoDB|SecretsManager)Client\(/g)];
    expect(clients.filter(([, before]) => !before?.endsWith('traced(')).map(([text]) => text)).toEqual([]);
  });
  test.each(sources)('%s has no positional parameters beyond three', (file) => {
    const many = [
      ...read(file).matchAll(/(?:=|\)|function \w+)\s*\(([^(){}[\]<>]*)\)(?::[^=]+)?\s*(?:=>|\{)/g),
    ].filter(([, parameters = '']) => parameters.split(',').filter((each) => each.trim()).length > 3);
    expect(many.map(([text]) => text)).toEqual([]);
  });
});
