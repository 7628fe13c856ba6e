import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { type Proof, proofs } from './proofs/list.ts';
import { pageOf, type Result, readResults, stateOf } from './proofs/results.ts';

const root = resolve(import.meta.dirname, '..');
const isThere = (path: string): boolean => existsSync(join(root, path));

const run = (...options: string[]) =>
  spawnSync(process.execPath, ['test/run.js', 'test/proofs.ts', ...options], { cwd: root, encoding: 'utf8' });

test.each(proofs)('what the proof $name runs, and what it proves, exists', ({ program, files }) => {
  expect([...program, ...files].filter((word) => word.includes('/') && !isThere(word))).toEqual([]);
});

test('the page shows the results: else npm run proofs', () => {
  expect(readFileSync(join(root, 'test/proofs.md'), 'utf8').replaceAll('\r', '')).toBe(pageOf(readResults()));
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
  const head = git('rev-parse', 'HEAD');
  expect(of(['LICENSE'], { commit: head })).toBe('passed');
  expect(of(['LICENSE'], { commit: head, passed: false })).toBe('failed');
  expect(of(['LICENSE'], { commit: undefined })).toBe('stale');
  expect(of(['LICENSE'], { commit: '0'.repeat(40) })).toBe('stale');
  // The tree without any file.
  const empty = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
  expect(of(['LICENSE'], { commit: empty })).toBe('stale');
  // Results are written into a folder that some prove.
  expect(of(['test/proofs.json', 'test/proofs.md'], { commit: empty })).toBe('passed');
  expect(stateOf(proof as Proof, undefined)).toBe('never run');
});
