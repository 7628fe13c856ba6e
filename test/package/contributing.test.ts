// @module-tag long
import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const guide = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8');

/** The parts of the guide that say what a file must hold. */
const blocks = [...guide.matchAll(/^```(\w+) (\S+)\n(.*?)^```$/gms)].map(
  ([, kind, path = '', text = '']) => ({
    kind,
    path,
    text,
  }),
);
const commands = [.../^### 5.*?^```sh\n(.*?)^```$/ms.exec(guide)![1]!.trim().split('\n')];

const project = temporaryFolder();
beforeAll(async () => {
  const parts = [
    'functions',
    'lib',
    'events',
    'test',
    'serverless.yml',
    'package.config.ts',
    'bindings.config.ts',
    'esbuild.config.ts',
    'notices.config.ts',
  ];
  for (const name of [
    ...parts,
    'package.json',
    'package-lock.json',
    'vitest.config.ts',
    'tsconfig.json',
    'biome.json',
    '.gitignore',
  ])
    await cp(join(root, name), join(project, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'), 'junction');
  for (const { kind, path, text } of blocks) {
    const file = join(project, path);
    await writeFile(file, kind === 'diff' ? patched(await readFile(file, 'utf8'), text) : text);
  }
});

/** Applies the hunks of a diff, each of which must have its place and one alone; those that are there already stay. */
const patched = (before: string, diff: string): string =>
  diff.split(/^@@\n/m).reduce((text, hunk) => {
    const lines = hunk.trimEnd().split('\n');
    const side = (other: string) =>
      lines.filter((line) => !line.startsWith(other)).map((line) => line.slice(1));
    const [old, now] = [side('+').join('\n'), side('-').join('\n')];
    if (text.includes(now)) return text;
    expect(text.split(old), old).toHaveLength(2);
    return text.replace(old, () => now);
  }, before);

const run = (command: string, ...options: string[]) =>
  promisify(execFile)(join(project, 'node_modules/.bin', command), options, {
    cwd: project,
    env: {
      ...process.env,
      PATH: `${join(project, 'node_modules/.bin')}${delimiter}${process.env.PATH}`,
      NO_COLOR: '1',
      PERMISSIONS_OF: 'configuration-update',
    },
  });

test('whoever follows the five steps adds an integration that passes', async () => {
  expect(blocks.map(({ path }) => path)).toEqual([
    'functions/configuration-update.ts',
    'events/configuration-update.json',
    'test/functions/configuration-update.test.ts',
    'serverless.yml',
  ]);
  expect(commands).toEqual(['npm run generate', 'npm test']);
  await run('node', '--run', 'generate');
  await run('biome', 'check', ...blocks.map(({ path }) => path).filter((path) => !path.endsWith('.yml')));
  const files = [
    'test/house.test.ts',
    'test/package/contract/contract.test.ts',
    'test/package/operations.test.ts',
    'test/functions/configuration-update.test.ts',
    'test/lib/desk/cli/cli.test.ts',
    'test/package/permissions/permissions.test.ts',
    'test/package/template/template.test.ts',
  ];
  await run(
    'vitest',
    'run',
    ...files,
    '-t',
    'one name everywhere|table of operations|the packaged template|configuration-update|scopes grade',
  );
});
