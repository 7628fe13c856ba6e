import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { functionNames } from '../../esbuild.config.ts';
import type { Packaged } from './packaged.ts';
import { packagedProject } from './packages.ts';
import { unzip } from './zip.ts';

const root = resolve(import.meta.dirname, '../..');

const isTriggered = async (name: string) =>
  JSON.parse(await readFile(join(root, 'events', `${name}.json`), 'utf8')).Records !== undefined;
const triggered = await Array.fromAsync(functionNames, async (name) =>
  (await isTriggered(name)) ? [name] : [],
);

let packaged: Packaged;
beforeAll(async () => {
  packaged = await packagedProject();
});

const zipOf = (from: Packaged, name: string) => readFile(join(from.folder, `${name}.zip`));
const codeOf = async (name: string) =>
  new Map(unzip(await zipOf(packaged, name)).map((entry) => [entry.name, `${entry.data}`]));

describe.each(functionNames)('the artefact of %s', (name) => {
  test('holds code alone, and its source maps lie aside', async () => {
    const files = [...(await codeOf(name)).keys()];
    expect(files).toContain(`functions/${name}.mjs`);
    expect(files.filter((file) => !file.endsWith('.mjs'))).toEqual([]);
    const maps = await readdir(join(packaged.folder, 'maps', name), { recursive: true });
    expect(maps.filter((file) => file.endsWith('.map')).sort()).toEqual(
      files.map((file) => `${file}.map`).sort(),
    );
  });

  test('holds nothing that looks for credentials elsewhere than in the environment', async () => {
    const code = [...(await codeOf(name)).values()].join('\n');
    expect(code).toContain('AWS_SESSION_TOKEN');
    expect(code).not.toMatch(/169\.254\.170\.2|AWS_WEB_IDENTITY_TOKEN_FILE|sso_start_url|credential_process/);
  });
});

describe.each(functionNames)('the artefact of %s', (name) => {
  test('calls DynamoDB without the SDK’s client of it', async () => {
    const code = [...(await codeOf(name)).values()].join('\n');
    // What that client alone can do.
    expect(code).not.toMatch(/DescribeEndpoints|BatchExecuteStatement|TransactWriteItems/);
  });

  test('holds nothing that could pause a function', async () => {
    const code = [...(await codeOf(name)).values()].join('\n');
    expect(code).not.toContain('This stack is of an older version');
  });

  test('looks up no stack, as its environment tells it everything', async () => {
    const code = [...(await codeOf(name)).values()].join('\n');
    expect(code).not.toContain('DescribeStacks');
  });

  test('imports none of Node’s own as a module, as node:http would load Node’s undici and HTTP/2', async () => {
    const code = [...(await codeOf(name)).values()].join('\n');
    expect(code).not.toMatch(/\b(?:from|import) ?"(?:node:|http|https|crypto|fs|stream|util)/);
  });
});

// A schedule's function uses what it loads each time it runs; with most messages no letter is written, and no file read.
describe.each(triggered.flat())('the artefact of %s', (name) => {
  test('loads the clients of SQS and S3 when they are needed, and not before', async () => {
    const code = await codeOf(name);
    const atOnce = new Set<string>();
    const load = (file: string): void => {
      if (atOnce.has(file)) return;
      atOnce.add(file);
      for (const [, path = ''] of (code.get(file) ?? '').matchAll(/\b(?:from|import)"(\.[^"]+)"/g))
        load(new URL(path, `file:///${file}`).pathname.slice(1));
    };
    load(`functions/${name}.mjs`);
    const loaded = [...atOnce].map((file) => code.get(file)).join('\n');
    expect(loaded).not.toMatch(/AmazonSQS|ListObjectsV2/);
  });
});
