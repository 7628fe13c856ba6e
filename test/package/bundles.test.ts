import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { functionNames } from '../../esbuild.config.ts';

const root = resolve(import.meta.dirname, '../..');

const isTriggered = async (name: string) =>
  JSON.parse(await readFile(join(root, 'events', `${name}.json`), 'utf8')).Records !== undefined;
const triggered = await Array.fromAsync(functionNames, async (name) =>
  (await isTriggered(name)) ? [name] : [],
);

/** The code of all functions, by its file: what none of them holds is not in that of all. */
const code = new Map<string, string>();
for (const file of await readdir(inject('code'), { recursive: true }))
  if (file.endsWith('.mjs')) code.set(file, await readFile(join(inject('code'), file), 'utf8'));
const all = [...code.values()].join('\n');

const imports = {
  'at once': /^(?:import|export)\b[^"]*"(\.[^"]+)";$/gm,
  'now and later': /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g,
};

/** The files that a function loads. */
function loadedBy(name: string, when: keyof typeof imports = 'at once'): Set<string> {
  const loaded = new Set<string>();
  const load = (file: string): void => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const [, path = ''] of (code.get(file) ?? '').matchAll(imports[when]))
      load(new URL(path, `file:///${file}`).pathname.slice(1));
  };
  load(`functions/${name}.mjs`);
  return loaded;
}

describe('the code of the functions', () => {
  test('looks for credentials in the environment alone', () => {
    expect(all).toContain('AWS_SESSION_TOKEN');
    expect(all).not.toMatch(/169\.254\.170\.2|AWS_WEB_IDENTITY_TOKEN_FILE|sso_start_url|credential_process/);
  });

  test('holds nothing that could pause a function', () => {
    expect(all).not.toContain('The local stack is of an older version');
  });

  test('holds all statements of the import, which are files beside its code', async () => {
    const folder = join(root, 'lib/options/snapshots/compare/sql');
    for (const file of await readdir(folder)) {
      const [, ...names] = (await readFile(join(folder, file), 'utf8')).split(/^(?=-- name: )/m);
      for (const line of names.map((statement) => statement.slice(0, statement.indexOf('\n'))))
        expect(all).toContain(line);
    }
  });

  test('looks up no stack, as its environment tells it everything', () => {
    expect(all).not.toContain('DescribeStacks');
  });

  test('imports none of Node’s own as a module, as node:http would load Node’s undici and HTTP/2', () => {
    expect(all).not.toMatch(/\b(?:from|import) ?"(?:node:|http|https|crypto|fs|stream|util)/);
  });
});

// A schedule's function uses what it loads each time it runs; with most messages no letter is written, and no file read.
describe.each(triggered.flat())('the code of %s', (name) => {
  test('loads the clients of SQS and S3 when they are needed, and not before', () => {
    const loaded = [...loadedBy(name)].map((file) => code.get(file));
    expect(loaded.length).toBeGreaterThan(1);
    for (const client of ['AmazonSQS', 'ListObjectsV2']) expect(all).toContain(client);
    expect(loaded.join('\n')).not.toMatch(/AmazonSQS|ListObjectsV2/);
  });

  test('calls DynamoDB without the SDK’s client of it, now and later', () => {
    // What that client alone can do.
    const client = /DescribeEndpoints|BatchExecuteStatement|TransactWriteItems/;
    expect(all).toMatch(client);
    expect([...loadedBy(name, 'now and later')].map((file) => code.get(file)).join('\n')).not.toMatch(client);
  });
});
