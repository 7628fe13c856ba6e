import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type { DoctorReport, Tried } from '../lib/operate/stage/doctor/report.ts';
import { steps } from '../lib/operate/stage/doctor/steps.ts';
import { minutesOf, type Proof, proofs } from './proofs/list.ts';
import { readReports, recordReport, seenOnAws } from './proofs/on-aws.ts';
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

test('what each proof runs, proves and takes for granted exists', () => {
  const paths = proofs
    .flatMap(({ program, weekly, files }) => [...program, ...(weekly?.program ?? []), ...files])
    .map((word) => word.replace(':(exclude)', ''))
    .filter((word) => word.includes('/'));
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  const known = steps.map(({ id }) => id);
  expect(proofs.flatMap(({ presumes = [] }) => presumes).filter((id) => !known.includes(id))).toEqual([]);
});

test('all proofs take an hour, and those of the week what its workflow gives them', () => {
  const sum = (size: 'hourly' | 'weekly') =>
    proofs
      // It goes with what it proves.
      .filter(({ name }) => name !== 'judge-snapshots')
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

/** A report of doctor that ended then. */
const reportOf = (endedAt: string, tried: [id: string, is: Tried['is'], saw: string][]): string => {
  const report: DoctorReport = {
    doctor: 1,
    run: endedAt.slice(8, 10),
    stage: 'test',
    isAws: true,
    region: 'eu-west-1',
    version: '1.0.0 (abc)',
    startedAt: endedAt,
    endedAt,
    steps: tried.map(([id, is, saw]) => ({ id, is, saw, expected: 'e', seconds: 1 })),
    left: [],
  };
  const file = join(temporaryFolder(), 'report.json');
  writeFileSync(file, JSON.stringify(report));
  return file;
};

test('the page has what doctor saw on AWS, the last of each step, and nothing of what it could not try', () => {
  const folder = temporaryFolder();
  const rowOf = (name: string): string[] => {
    const page = pageOf({}, () => 'passed', seenOnAws(readReports(folder)));
    const row = page.split('\n').find((line) => /^\| .*?`([\w-]+)`/.exec(line)?.[1] === name) ?? '';
    return row.split(' | ').map((cell) => cell.trim());
  };
  expect(rowOf('redrive').slice(2)).toEqual(['', '|']);
  recordReport(
    reportOf('2026-12-02T09:00:00.000Z', [
      ['redrive', 'as-expected', 'all of it'],
      ['refused-write', 'not-allowed', 'not allowed: dynamodb:PutItem'],
    ]),
    folder,
  );
  recordReport(
    reportOf('2026-12-01T09:00:00.000Z', [
      ['redrive', 'different', 'another body'],
      ['kept-visibility', 'different', 'at once'],
    ]),
    folder,
  );
  expect(rowOf('redrive').slice(2)).toEqual(['all of it', '2026-12-02, eu-west-1, 1.0.0 (abc) |']);
  expect(rowOf('kept-visibility')[2]).toBe('**different** at once');
  expect(rowOf('refused-write').slice(2)).toEqual(['', '|']);
  expect(rowOf('prove').at(-1)).toBe('kept-visibility: **different**<br>redrive: as expected |');
});

test.each([
  ['no report', { doctor: undefined }, 'is no report of `sis-relay doctor`'],
  ['one of emulators', { isAws: false }, 'tells of emulators, which say nothing about AWS'],
])('no other report is taken: %s', (_, change, problem) => {
  const file = reportOf('2026-12-01T09:00:00.000Z', []);
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }));
  expect(run('--record', file)).toMatchObject({ status: 1, stderr: expect.stringContaining(problem) });
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
