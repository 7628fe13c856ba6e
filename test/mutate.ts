import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { optionsOf } from './options.ts';

// `npm run proofs -- --only mutate`: changes what decides a message's fate in one place after the other, and runs its unit tests each time. A change
// that no test sees survives. `-- --only ledger` changes the groups alone with that in their name; those of `fate` decide it by themselves.

const histories = 'test/history/histories.test.ts';
const seenByLedger = {
  tests: ['judge', 'table', 'ledger', 'item-capacity', 'size'].map(
    (name) => `test/lib/delivery/ledger/${name}.test.ts`,
  ),
  slow: [histories, 'test/lib/delivery/handle/attempt.test.ts'],
};

/**
 * What is changed, and the tests that must see it: those of its room, so that a survivor says where a test is missing. `slow`: tests
 * that run only for what the others did not see. The comparison of exports is not among them: each of its 1,000 changes would take an
 * import; `judge-things` judges it.
 */
const groups: Record<string, { change: string[]; tests: string[]; slow?: string[] }> = {
  'fate, failure': {
    change: ['lib/message/failure.ts', 'lib/message/failure-kinds.ts', 'lib/platform/client/failure-of.ts'],
    tests: [
      ...['failure', 'failure-kinds', 'network-errors'].map((name) => `test/lib/message/${name}.test.ts`),
      'test/lib/platform/client/failure-of.test.ts',
    ],
  },
  message: { change: ['lib/message/message.ts'], tests: ['test/lib/message/message.test.ts'] },
  'dead-letter': {
    change: ['lib/delivery/letters/dead-letter.ts', 'lib/delivery/letters/letter-attributes.ts'],
    tests: ['test/lib/delivery/letters/dead-letter.test.ts'],
  },
  'fate, ledger': { change: ['lib/delivery/ledger/judge.ts'], ...seenByLedger },
  ledger: {
    change: ['item', 'codec', 'ledger'].map((name) => `lib/delivery/ledger/${name}.ts`),
    ...seenByLedger,
  },
  'fate, delivery': {
    change: ['process-record', 'wait-or-park'].map((name) => `lib/delivery/handle/${name}.ts`),
    tests: ['test/lib/delivery/handle/*.test.ts'],
    slow: [histories],
  },
  delivery: {
    change: [
      'lib/delivery/handle/*.ts',
      ...['services', 'process-record', 'wait-or-park'].map((name) => `!lib/delivery/handle/${name}.ts`),
      'lib/message/backoff.ts',
      'lib/delivery/letters/letter-file.ts',
    ],
    tests: [
      'test/lib/delivery/handle/*.test.ts',
      'test/lib/delivery/letters/letter-file.test.ts',
      'test/lib/message/backoff.test.ts',
    ],
    slow: [histories],
  },
  'platform/auth': {
    change: ['auth/auth', 'auth/id-key', 'client/authentication'].map((name) => `lib/platform/${name}.ts`),
    tests: ['test/lib/platform/auth/*.test.ts', 'test/lib/platform/client/client.test.ts'],
  },
  'platform/client': {
    change: [
      ...['platform-error', 'json-error', 'parse-refusal', 'check-answer', 'not-found'].map(
        (name) => `lib/platform/client/${name}.ts`,
      ),
      'lib/runtime/aws/receive-answer.ts',
    ],
    tests: ['test/lib/platform/client/*.test.ts', 'test/lib/runtime/aws/*.test.ts'],
  },
  'rate-limit': {
    change: ['lib/platform/rate-limit/*.ts'],
    // Without the fleets of containers, which would take minutes for each change.
    tests: ['adaptive-rate', 'header-budget', 'outage-brake', 'rate-limiter', 'rate-policy'].map(
      (name) => `test/lib/platform/rate-limit/${name}.test.ts`,
    ),
  },
  privacy: {
    change: ['lib/runtime/privacy/*.ts', '!lib/runtime/privacy/shown-ids.ts'],
    tests: [
      'runtime/privacy/*',
      'platform/client/parse-refusal',
      'runtime/telemetry/*',
      'runtime/files/files',
    ].map((name) => `test/lib/${name}.test.ts`),
  },
  reconcile: {
    change: ['classes', 'choose-writes', 'keys', 'selection', 'upper-bound'].map(
      (name) => `lib/options/reconcile/${name}.ts`,
    ),
    tests: ['classes', 'choose-writes', 'keys', 'selection', 'upper-bound'].map(
      (name) => `test/options/reconcile/${name}.test.ts`,
    ),
    slow: ['test/functions/reconcile.test.ts'],
  },
};

const minScore = 95;
const root = resolve(import.meta.dirname, '..');
const folder = join(root, '.stryker');

const { only } = optionsOf(
  { only: { type: 'string' } },
  { usage: 'npm run proofs -- --only mutate -- --only ledger' },
);
const chosen = Object.entries(groups).filter(([name]) => only === undefined || name.includes(only));
if (chosen.length === 0) {
  console.error(`There is no group with ${only} in its name: ${Object.keys(groups).join(', ')}.`);
  process.exit(2);
}

type Place = { line: number; column: number };
type Mutant = {
  status: string;
  statusReason?: string;
  /** It runs while a file is loaded, and only the tests that load it once more were tried. */
  static?: boolean;
  replacement: string;
  location: { start: Place; end: Place };
};
type Report = { files: Record<string, { mutants: Mutant[] }> };
/** Of a group: one change of a small file that makes no difference is a tenth of it. */
type Score = { name: string; seen: number; all: number };

const isSeen = ({ status }: Mutant): boolean => status === 'Killed' || status === 'Timeout';
/** A change that no test runs counts as well; one that does not compile, or that only runs while a file is loaded, does not. */
const isMissed = ({ status }: Mutant): boolean =>
  status === 'Survived' || status === 'NoCoverage' || status === 'RuntimeError';

const mutate = (name: string, change: readonly string[], tests: readonly string[]): Report => {
  const report = join(folder, `${name.replaceAll(/\W+/g, '-')}.json`);
  mkdirSync(folder, { recursive: true });
  // Stryker would take over what it found before, but does not look at what tests import.
  rmSync(report, { force: true });
  console.log(`\n› ${name}`);
  const options = ['run', '--incremental', '--incrementalFile', report, '--mutate', change.join(',')];
  const { status } = spawnSync('stryker', options, {
    stdio: 'inherit',
    shell: process.platform === 'win32',
    env: { ...process.env, MUTATE_TESTS: tests.join(';') },
  });
  if (status !== 0) throw new Error(`${name}: Stryker ended with ${status}`);
  const found: Report = JSON.parse(readFileSync(report, 'utf8'));
  for (const file of Object.values(found.files)) file.mutants = file.mutants.filter((each) => !each.static);
  return found;
};

const nameOf = ({ location: { start }, replacement }: Mutant): string =>
  `${start.line}:${start.column} ${replacement}`;
/** For `--mutate`, which counts columns from 0. */
const rangeOf = ({ location: { start, end } }: Mutant): string =>
  `${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`;

const scores: Score[] = [];
for (const [name, { change, tests, slow }] of chosen) {
  const { files } = mutate(name, change, tests);
  const missed = Object.entries(files).flatMap(([file, { mutants }]) =>
    mutants.filter(isMissed).map((mutant) => `${file}:${rangeOf(mutant)}`),
  );
  const again = slow && missed.length > 0 ? mutate(`${name}, slowly`, [...new Set(missed)], slow) : undefined;
  const score = { name, seen: 0, all: 0 };
  scores.push(score);
  for (const [file, { mutants }] of Object.entries(files)) {
    const later = new Set(again?.files[file]?.mutants.filter(isSeen).map(nameOf));
    const left = mutants.filter((mutant) => isMissed(mutant) && !later.has(nameOf(mutant)));
    const all = mutants.filter((mutant) => isSeen(mutant) || isMissed(mutant)).length;
    score.seen += all - left.length;
    score.all += all;
    for (const mutant of left) {
      const reason = mutant.status === 'RuntimeError' ? ` (${mutant.statusReason?.slice(0, 200)})` : '';
      console.log(`Not seen: ${file}:${nameOf(mutant)}${reason}`);
    }
  }
}
for (const { name, seen, all } of scores)
  console.log(`${((100 * seen) / all).toFixed(1).padStart(5)} %  ${seen} of ${all}  ${name}`);
process.exitCode = scores.every(({ seen, all }) => (100 * seen) / all >= minScore) ? 0 : 1;
