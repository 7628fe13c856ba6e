import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { type Proof, proofs } from './proofs/list.ts';
import { pageOf, type Result, readResults, stateOf } from './proofs/results.ts';
import { temporaryFolder } from './temporary-folder.ts';

afterEach(() => vi.unstubAllEnvs());

const root = resolve(import.meta.dirname, '..');
const isThere = (path: string): boolean => existsSync(join(root, path));

const run = (...options: string[]) =>
  spawnSync(process.execPath, ['test/run.js', 'test/proofs.ts', ...options], { cwd: root, encoding: 'utf8' });

test.each(proofs)('what the proof $name runs, and what it proves, exists', ({ program, files }) => {
  const paths = [...program, ...files].map((word) => word.replace(':(exclude)', ''));
  expect(paths.filter((word) => word.includes('/') && !isThere(word))).toEqual([]);
});

test('the page shows the results: else npm run proofs', () => {
  const page = readFileSync(join(root, 'test/proofs.md'), 'utf8');
  expect(page.replaceAll('\r', '').replaceAll('**stale** ', '')).toBe(pageOf(readResults(), () => 'passed'));
});

test('one proof runs in another size, and then nothing is recorded', () => {
  const before = readResults();
  const { status, stdout } = run(
    '--only',
    'fuzz',
    '--seed',
    '7',
    '--',
    '--messages',
    '20',
    '--answers',
    '20',
  );
  expect(stdout).toContain('20 messages, from seed 7');
  expect(stdout).toContain('All is well.');
  expect(status).toBe(0);
  expect(readResults()).toEqual(before);
});

test('a proof that does not exist is refused by the names of those that do', () => {
  const { status, stderr } = run('--only', 'luck');
  expect(status).toBe(2);
  expect(stderr).toBe(`There is no proof luck. There are: ${proofs.map(({ name }) => name).join(', ')}.\n`);
});

const isRepository = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root }).status === 0;

test.skipIf(!isRepository)('a result is stale once a file of its proof has changed since its commit', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const [proof] = proofs;
  const of = (files: string[], result: Partial<Result>) =>
    stateOf(
      { ...(proof as Proof), files },
      {
        ...{ passed: true, figures: [], minutes: 1, at: '2026-11-26T00:00:00.000Z', machine: '' },
        ...result,
      },
    );
  const objects = resolve(root, git('rev-parse', '--git-path', 'objects'));
  vi.stubEnv('GIT_OBJECT_DIRECTORY', temporaryFolder());
  vi.stubEnv('GIT_ALTERNATE_OBJECT_DIRECTORIES', objects);
  vi.stubEnv('GIT_INDEX_FILE', join(temporaryFolder(), 'index'));
  git('read-tree', 'HEAD');
  git('add', '--update');
  const now = git('write-tree');
  const without = (...names: string[]): string => {
    git('read-tree', now);
    git('update-index', '--force-remove', ...names);
    return git('write-tree');
  };
  const before = {
    file: without('LICENSE'),
    program: without('test/prove.ts'),
    packages: without('package-lock.json'),
  };
  const results = without('test/proofs.json', 'test/proofs.md');
  vi.stubEnv('GIT_INDEX_FILE', undefined);

  expect(of(['LICENSE'], { commit: now })).toBe('passed');
  expect(of(['LICENSE'], { commit: now, passed: false })).toBe('failed');
  expect(of(['LICENSE'], { commit: undefined })).toBe('stale');
  expect(of(['LICENSE'], { commit: '0'.repeat(40) })).toBe('stale');
  for (const commit of Object.values(before)) expect(of(['LICENSE'], { commit })).toBe('stale');
  // Results are written into a folder that some prove.
  expect(of(['test'], { commit: results })).toBe('passed');
  const row = { passed: true, figures: ['1 of 1'], minutes: 1, at: '2026-11-26T00:00:00.000Z', machine: '' };
  expect(pageOf({ [(proof as Proof).name]: { ...row, commit: now } })).not.toContain('**stale**');
  expect(pageOf({ [(proof as Proof).name]: { ...row, commit: before.program } })).toContain(
    '| **stale** 1 of 1 |',
  );
  expect(stateOf(proof as Proof, undefined)).toBe('never run');
});
