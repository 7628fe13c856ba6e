import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { minutesOf, type Proof, proofs } from './proofs/list.ts';
import { isDue, pageOf, type Result, readResults, sizeOf, stateOf } from './proofs/results.ts';
import { temporaryFolder } from './temporary-folder.ts';

afterEach(() => vi.unstubAllEnvs());

const root = resolve(import.meta.dirname, '..');
const [proof = {} as Proof] = proofs;
const result: Result = {
  passed: true,
  figures: ['1 of 1'],
  size: '',
  minutes: 1,
  at: '2026-11-26T00:00:00.000Z',
  machine: '',
};

const run = (...options: string[]) =>
  spawnSync(process.execPath, ['test/run.js', 'test/proofs.ts', ...options], { cwd: root, encoding: 'utf8' });

test('what each proof runs and proves exists', () => {
  const paths = proofs
    .flatMap(({ program, weekly, files }) => [...program, ...(weekly?.program ?? []), ...files])
    .map((word) => word.replace(':(exclude)', ''))
    .filter((word) => word.includes('/'));
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('all proofs take an hour, and those of the week what its workflow gives them', () => {
  const sum = (size: 'hourly' | 'weekly') =>
    proofs
      // It goes with what it proves.
      .reduce((minutes, each) => minutes + minutesOf(each, size), 0);
  expect(sum('hourly')).toBeLessThanOrEqual(60);
  const [, hours] =
    /--weekly --hours (\d+)/.exec(readFileSync(join(root, '.github/workflows/explore.yml'), 'utf8')) ?? [];
  expect(sum('weekly')).toBeLessThanOrEqual(60 * Number(hours));
});

test('the page shows the results: else npm run proofs', () => {
  const page = readFileSync(join(root, 'test/proofs.md'), 'utf8');
  expect(page.replaceAll('\r', '').replaceAll('**stale** ', '')).toBe(pageOf(readResults(), () => 'passed'));
});

test('one proof runs in another size, and then nothing is recorded', () => {
  const before = readResults();
  const words = ['--only', 'fuzz', '--seed', '7', '--', '--messages', '20', '--answers', '20'];
  const { status, stdout } = run(...words);
  expect(stdout).toContain('20 messages, from seed 7');
  expect(status).toBe(0);
  expect(readResults()).toEqual(before);
});

test('a proof that does not exist is refused by the names of those that do', () => {
  expect(run('--only', 'luck')).toMatchObject({
    status: 2,
    stderr: `There is no proof luck. There are: ${proofs.map(({ name }) => name).join(', ')}.\n`,
  });
});

test.skipIf(process.platform === 'win32')(
  'all that a proof has started ends with npm run proofs, also if that is killed',
  async () => {
    const words = ['--only', 'prove', '--seed', '7', '--', '--histories', '1000000'];
    const parent = spawn(process.execPath, ['test/run.js', 'test/proofs.ts', ...words], {
      cwd: root,
      stdio: 'ignore',
    });
    const parents = (): [pid: number, ppid: number][] =>
      execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/ +/).map(Number) as [number, number]);
    const below = (pid: number, all = parents()): number[] =>
      all.filter(([, ppid]) => ppid === pid).flatMap(([child]) => [child, ...below(child, all)]);
    // The guard, the proof, and its workers.
    await expect.poll(() => below(parent.pid ?? 0).length).toBeGreaterThan(2);
    const started = below(parent.pid ?? 0);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await expect.poll(() => parents().filter(([pid]) => started.includes(pid))).toEqual([]);
  },
);

const isRepository = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root }).status === 0;

test.skipIf(!isRepository)('a result is stale once a file of its proof has changed since its commit', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const of = (files: string[], more: Partial<Result>) => stateOf({ ...proof, files }, { ...result, ...more });
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
  const before = ['LICENSE', 'test/prove.ts', 'package-lock.json'].map((name) => without(name));
  const results = without('test/proofs.json', 'test/proofs.md');
  vi.stubEnv('GIT_INDEX_FILE', undefined);

  expect(of(['LICENSE'], { commit: now })).toBe('passed');
  expect(of(['LICENSE'], { commit: now, passed: false })).toBe('failed');
  for (const commit of [undefined, '0'.repeat(40), ...before])
    expect(of(['LICENSE'], { commit })).toBe('stale');
  // Results are written into a folder that some prove.
  expect(of(['test'], { commit: results })).toBe('passed');
  expect(stateOf(proof, undefined)).toBe('never run');
  const pageWith = (commit: string | undefined) => pageOf({ [proof.name]: { ...result, commit } });
  expect(pageWith(now)).not.toContain('**stale**');
  expect(pageWith(before[1])).toContain('| **stale** 1 of 1 |');

  const fresh = (size: 'hourly' | 'weekly') => ({ ...result, commit: now, size: sizeOf(proof, size) });
  expect(isDue(proof, fresh('hourly'), 'hourly')).toBe(false);
  expect(isDue(proof, fresh('hourly'), 'weekly')).toBe(true);
  expect(isDue(proof, fresh('weekly'), 'hourly')).toBe(false);
  expect(isDue(proof, fresh('weekly'), 'weekly')).toBe(false);
});
