import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { credentialSchema } from '../../lib/platform/auth/auth.ts';
import { functionSettings, parameters } from '../../lib/stage/template/all-settings.ts';
import { documentOf, examplesIn, writtenPart } from '../documents.ts';
import { parametersTable, variablesTable } from './settings.ts';

const root = resolve(import.meta.dirname, '../..');
const guide = documentOf('lib/stage/README.md');

const linkSecret = z.strictObject({ key: z.string(), plainSecret: z.string() });

const nameOf = (secret: Record<string, unknown>): string => {
  if ('plainSecret' in secret) return 'a link';
  return [secret.type, secret.grant].join(' ').trim();
};

test('each secret that the deployment guide shows is one that the functions take', () => {
  const secrets = examplesIn(guide).map((example) => z.looseObject({}).parse(example));
  expect(secrets.map(nameOf)).toEqual([
    'id-key',
    'oauth client_credentials',
    'oauth refresh_token',
    'a link',
  ]);
  const wrong = secrets.flatMap(
    (secret) => z.union([credentialSchema, linkSecret]).safeParse(secret).error ?? [],
  );
  expect(wrong).toEqual([]);
});

test('the tables of settings in the deployment guide are what the code says: else npm run generate', () => {
  expect(writtenPart('parameters')).toBe(parametersTable());
  expect(writtenPart('variables')).toBe(variablesTable());
});

test('each setting says in a sentence what it does', () => {
  const all = [...Object.values(parameters), ...functionSettings().map(({ setting }) => setting)];
  expect(all.map(({ description }) => description).filter((text) => !/^[`A-Z].{10,}\.$/.test(text))).toEqual(
    [],
  );
});

test('workflows name the actions of others by their commits', () => {
  const used = globSync('.github/workflows/*.yml', { cwd: root }).flatMap((file) =>
    [...documentOf(file).matchAll(/\buses: (.*)$/gm)].map(([, action = '']) => action),
  );
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
});

test('no workflow takes packages from a cache that other jobs may fill', () => {
  const caches = globSync('.github/workflows/*.yml', { cwd: root }).filter((file) =>
    /cache/.test(documentOf(file)),
  );
  expect(caches).toEqual([]);
});

test('the workflow deploys nothing before it is switched on, by no key, and keeps the source maps', async () => {
  const workflow = await readFile(join(root, '.github/workflows/deploy.yml'), 'utf8');
  const jobs = [...workflow.replace(/^.*^jobs:$/ms, '').matchAll(/^ {2}\w+:\n(.*)$/gm)].map(([, first]) =>
    first?.trim(),
  );
  expect(jobs).toEqual(["if: vars.DEPLOY == 'true' && github.ref == 'refs/heads/main'", 'needs: test']);
  // But for one that reads the settings.
  expect(workflow.replace(/ssh-key: \$\{\{ secrets\.STAGES_KEY \}\}/, '')).not.toMatch(
    /secrets\.|access-key/,
  );
  expect(workflow).toContain('.serverless/maps');
  // What somebody types is no part of a command.
  expect(/npx serverless deploy .*/.exec(workflow)?.[0]).not.toContain('${{');
  const asked = [...workflow.matchAll(/\b(?:vars|secrets)\.(\w+)/g)].map(([, name = '']) => name);
  expect([...new Set(asked)].filter((name) => !guide.includes(name))).toEqual([]);
});

test('what the workflow keeps for all who read the repository has no setting of the stage', async () => {
  const workflow = await readFile(join(root, '.github/workflows/deploy.yml'), 'utf8');
  const [, kept = ''] = /path: \|\n((?: {12}.*\n)+)/.exec(workflow) ?? [];
  expect(kept.trim().split(/\s+/)).toEqual(['.serverless/maps', '.serverless/*.zip']);
});

test('the workflow gives a stage the settings of its file alone', async () => {
  const workflow = await readFile(join(root, '.github/workflows/deploy.yml'), 'utf8');
  const [, deploys = ''] = workflow.split(/^ {2}deploy:$/m);
  const [, path] = /SIS_RELAY_STAGES: \$\{\{ github\.workspace \}\}\/(\w+)/.exec(deploys) ?? [];
  const step = deploys.split(/^ {6}- /m).find((each) => each.includes('vars.STAGES_REPOSITORY')) ?? '';
  expect(step).toContain(`path: ${path}\n`);
  expect(step).toContain('persist-credentials: false');
  expect(deploys.indexOf(step)).toBeGreaterThan(deploys.indexOf('npm ci'));
  expect(deploys).not.toContain('--param');
});

test('the workflow runs tests without an identity, and deploys each stage by a role of its own', async () => {
  const workflow = await readFile(join(root, '.github/workflows/deploy.yml'), 'utf8');
  const [head = '', tests = '', deploys = ''] = workflow.split(/^ {2}(?:test|deploy):$/m);
  expect(deploys).toContain('npx serverless deploy');
  for (const part of [head, tests]) expect(part).not.toContain('id-token');
  expect(tests).toContain('.ci/run');
  expect(deploys).toContain('permissions: { contents: read, id-token: write }');
  expect(deploys).toMatch(/environment: /);
  expect(deploys).not.toMatch(/\.ci\/run|npm (run |t)/);
  const commands = /## Deploy by the workflow(.*?)\n## /s.exec(guide)?.[1] ?? '';
  expect(commands).toContain('--role-name sis-relay-deploy-$stage');
  expect(commands).toContain('gh variable set DEPLOY_ROLE --env $stage');
  expect(commands).toContain('deployment-branch-policies -f name=main');
  expect(commands).not.toMatch(/environment:test` or/);
});
