import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { credentialSchema } from '../../lib/platform/auth/auth.ts';

const root = resolve(import.meta.dirname, '../..');
const [chapter = ''] =
  /^## Deploy it.*?(?=^## )/ms.exec(await readFile(join(root, 'README.md'), 'utf8')) ?? [];
const stanzas = await readFile(join(root, 'serverless.yml'), 'utf8');

const linkSecret = z.strictObject({ key: z.string(), plainSecret: z.string() });

test('each secret that the README shows is one that the functions take', () => {
  const secrets = [...chapter.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => JSON.parse(text));
  expect(secrets.map(({ type, grant }) => [type, grant].join(' ').trim())).toEqual([
    'id-key',
    'oauth client_credentials',
    'oauth refresh_token',
    '',
  ]);
  const wrong = secrets.flatMap(
    (secret) => z.union([credentialSchema, linkSecret]).safeParse(secret).error ?? [],
  );
  expect(wrong).toEqual([]);
});

test('the README’s parameters are those of serverless.yml', () => {
  const [, defaults = ''] = /^params:\n {2}default:\n(.*?)^ {2}\w/ms.exec(stanzas) ?? [];
  const parameters = [...defaults.matchAll(/^ {4}(\w+):/gm)].map(([, name]) => name);
  const rows = [...chapter.matchAll(/^\| (`\w+`.*?) \|/gm)].map(([, names = '']) => names);
  const told = rows.flatMap((names) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(told.sort()).toEqual(parameters.sort());
});

test('the workflow deploys nothing before it is switched on, by no key, and keeps the source maps', async () => {
  const workflow = await readFile(join(root, '.github/workflows/deploy.yml'), 'utf8');
  const jobs = [...workflow.replace(/^.*^jobs:$/ms, '').matchAll(/^ {2}\w+:\n(.*)$/gm)].map(([, first]) =>
    first?.trim(),
  );
  expect(jobs).toEqual(["if: vars.DEPLOY_ROLE != ''"]);
  expect(workflow).toContain('id-token: write');
  expect(workflow).not.toMatch(/secrets\.|access-key/);
  expect(workflow).toContain('.serverless/maps');
  // What somebody types is no part of a command.
  expect(/npx serverless deploy .*\n.*/.exec(workflow)?.[0]).not.toContain('${{');
  const asked = [...workflow.matchAll(/\bvars\.(\w+)/g)].map(([, name = '']) => name);
  expect([...new Set(asked)].filter((name) => !chapter.includes(name))).toEqual([]);
});
