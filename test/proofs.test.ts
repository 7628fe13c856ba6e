import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type { DoctorReport, Tried } from '../lib/operate/stage/doctor/report.ts';
import { steps } from '../lib/operate/stage/doctor/steps.ts';
import { type Proof, proofs } from './proofs/list.ts';
import { readReports, recordReport, seenOnAws } from './proofs/on-aws.ts';
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

test('what a proof takes for granted of AWS is a step of doctor', () => {
  const known = steps.map(({ id }) => id);
  const named = proofs.flatMap(({ presumes = [] }) => presumes);
  expect(named.filter((id) => !known.includes(id))).toEqual([]);
});

test('the page has what doctor saw on AWS, the last of each step, and nothing before that', () => {
  const folder = temporaryFolder();
  const report = (endedAt: string, tried: [id: string, is: Tried['is'], saw: string][]): string => {
    const file = join(temporaryFolder(), 'report.json');
    const told = tried.map(([id, is, saw]) => ({ id, is, saw, expected: 'e', seconds: 1 }));
    const made: DoctorReport = {
      ...{ doctor: 1, run: endedAt.slice(8, 10), stage: 'test', isAws: true, region: 'eu-west-1' },
      ...{ version: '1.0.0 (abc)', startedAt: endedAt, endedAt, steps: told, left: [] },
    };
    writeFileSync(file, JSON.stringify(made));
    return file;
  };
  const rowsOf = (): Record<string, string[]> => {
    const page = pageOf({}, () => 'passed', seenOnAws(readReports(folder)));
    const rows = page.split('\n').filter((line) => /^\| .*`/.test(line));
    return Object.fromEntries(
      rows.map((row) => [/`([\w-]+)`/.exec(row)?.[1] ?? '', row.split(' | ').map((each) => each.trim())]),
    );
  };
  expect(rowsOf().redrive?.slice(2)).toEqual(['', '|']);
  expect(rowsOf().prove?.at(-1)).toBe('|');

  recordReport(
    report('2026-12-02T09:00:00.000Z', [
      ['redrive', 'as-expected', 'all of it'],
      ['refused-write', 'not-allowed', 'not allowed: dynamodb:PutItem'],
    ]),
    folder,
  );
  recordReport(
    report('2026-12-01T09:00:00.000Z', [
      ['redrive', 'different', 'another body'],
      ['kept-visibility', 'different', 'at once'],
    ]),
    folder,
  );
  expect(rowsOf().redrive?.slice(2)).toEqual(['all of it', '2026-12-02, eu-west-1, 1.0.0 (abc) |']);
  expect(rowsOf()['kept-visibility']?.[2]).toBe('**different** at once');
  expect(rowsOf()['refused-write']?.slice(2)).toEqual(['', '|']);
  expect(rowsOf().prove?.at(-1)).toBe('kept-visibility: **different**<br>redrive: as expected |');
});

test.each([
  [{}, 'is no report of `sis-relay doctor`'],
  [{ isAws: false }, 'tells of emulators, which say nothing about AWS'],
])('no other report is taken: %j', (change, problem) => {
  const file = join(temporaryFolder(), 'report.json');
  const at = '2026-12-01T09:00:00.000Z';
  const whole = {
    doctor: 1,
    run: 'r',
    stage: 's',
    version: 'v',
    startedAt: at,
    endedAt: at,
    steps: [],
    left: [],
  };
  writeFileSync(file, JSON.stringify({ ...('isAws' in change && whole), ...change }));
  const { status, stderr } = run('--record', file);
  expect([status, stderr]).toEqual([1, expect.stringContaining(problem)]);
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
