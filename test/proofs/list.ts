/** A proof that takes too long for `npm test`. */
export type Proof = {
  name: string;
  /** What holds if it passes. */
  claim: string;
  /** What `node test/run.js` runs: settings, a file and its options. */
  program: readonly string[];
  /** The same in the size of the week, where a larger one finds more. */
  weekly?: { program: readonly string[]; minutes: number };
  /** How it takes the seed of the day. Without it, it always does the same. */
  seed?: '--seed' | 'SEED';
  /** Its usual time on two cores. All of them take an hour. */
  minutes: number;
  /** The lines of its output that the page shows. */
  figures: RegExp;
  /** What it proves and is judged by, as git takes it. If one has changed, or a file of `program`, or a package, the proof is stale. */
  files: readonly string[];
};

/** Of one hour for all proofs, or of the weekly run. */
export type Size = 'hourly' | 'weekly';
export const programOf = ({ program, weekly }: Proof, size: Size): readonly string[] =>
  size === 'weekly' && weekly ? weekly.program : program;
export const minutesOf = ({ minutes, weekly }: Proof, size: Size): number =>
  size === 'weekly' && weekly ? weekly.minutes : minutes;

const vitest = ['node_modules/vitest/vitest.mjs', 'run'];
/** Of a folder, they prove nothing. */
const documents = ':(exclude)*.md';
/** Everything between a queue and the platform. */
const delivery = [
  'lib/crosswalk',
  'lib/delivery',
  'lib/message',
  'lib/platform',
  'lib/runtime',
  'functions',
  documents,
];
const platform = 'test/local/platform';
/** A template is deployed, and nothing of it runs. */
const operate = ['lib/desk/messages', 'lib/desk/stage-state', 'lib/stage', ':(exclude)lib/stage/template'];
const desk = [...delivery, ...operate, 'lib/options', 'lib/desk', platform];
const snapshots = ['lib/options/snapshots', 'lib/delivery/mapping', 'lib/message', 'lib/runtime/files'];
const crashes = [
  ...vitest,
  'test/lib/desk/messages/letters/crash.test.ts',
  'test/lib/delivery/letters/crash.test.ts',
];
const twoOperators = [...vitest, 'test/lib/desk/messages/letters/two-operators.test.ts'];
const mondays = [
  ...vitest,
  '--no-file-parallelism',
  'test/lib/desk/messages/letters/monday.test.ts',
  'test/lib/desk/cli/monday.test.ts',
  'test/lib/desk/console/monday.test.ts',
];
const judgedThings = [
  ...vitest,
  'test/options/snapshots/oracle.test.ts',
  'test/options/snapshots/oracle/reference.test.ts',
];
const scaleOfLetters = [...vitest, 'test/lib/desk/messages/letters/scale.test.ts'];
const scaleOfSnapshots = [...vitest, 'test/options/snapshots/scale.test.ts'];
const scaleOfReconcile = [...vitest, 'test/options/reconcile/scale.test.ts'];
const memoryOfExport = [...vitest, 'test/functions/course-export.test.ts', '-t', 'MB of memory'];
const memoryOfCrosswalk = [...vitest, 'test/functions/crosswalk-fill.test.ts', '-t', 'MB of memory'];
/** All passed, and none was left out. */
const allTests = /^ *Tests +\d+ passed \(\d+\)$/gm;

export const proofs: readonly Proof[] = [
  {
    name: 'prove',
    claim:
      'No generated history of duplicates, crashes, faults, letters (replayed, discarded, sent back by SQS’ own redrive), caches and restores ends with an effect that is lost, doubled or replaced by an older one',
    program: ['test/prove.ts', '--histories', '150000'],
    weekly: { program: ['test/prove.ts', '--histories', '1000000'], minutes: 40 },
    seed: '--seed',
    minutes: 4,
    figures: /^\d+ histories, from seed \d+$/gm,
    files: [...delivery, 'test/history'],
  },
  {
    name: 'fuzz',
    claim:
      'Generated, also deeply nested, messages and answers go through all code that reads them: no error is taken for a success, and none ends the code',
    program: ['test/fuzz.ts', '--messages', '100000', '--answers', '100000'],
    weekly: { program: ['test/fuzz.ts', '--messages', '1000000', '--answers', '1000000'], minutes: 15 },
    seed: '--seed',
    minutes: 2,
    figures: /^\d+ (?:answers|messages), from seed \d+$|^\d+ s, .* of memory$/gm,
    files: [...delivery, 'test/fuzz'],
  },
  {
    name: 'planted-faults',
    claim:
      '`reconcile` finds each fault that is planted behind its back (rows removed and rolled back, false successes, swapped users, lost comments, what people changed), in its class, and nothing else',
    program: ['test/options/reconcile/planted-faults.ts', '--writes', '30000', '--faults', '300'],
    weekly: {
      program: ['test/options/reconcile/planted-faults.ts', '--writes', '100000', '--faults', '1000'],
      minutes: 3,
    },
    seed: '--seed',
    minutes: 1,
    figures: /^\d+ of \d+ found.*$/gm,
    files: [...delivery, 'lib/options/reconcile', platform, 'test/options/reconcile/effect'],
  },
  {
    name: 'chaos',
    claim:
      'While function processes at work are killed and parts of AWS fail, no effect on the local stack is lost, stale or doubled',
    program: ['test/local/chaos/chaos.ts', '--messages', '500'],
    weekly: { program: ['test/local/chaos/chaos.ts', '--messages', '2000'], minutes: 8 },
    seed: '--seed',
    minutes: 2,
    figures: /^(?:All is well|Not all is well).*$/gm,
    files: [...delivery, 'test/local'],
  },
  {
    name: 'crash-operators',
    claim:
      'Replay, edit and discard are killed at every request, many times each, as is a function that parks: the lists are whole afterwards',
    program: ['CRASH_RUNS=30', ...crashes],
    weekly: { program: ['CRASH_RUNS=200', ...crashes], minutes: 15 },
    seed: 'SEED',
    minutes: 3,
    figures: allTests,
    files: desk,
  },
  {
    name: 'two-operators',
    claim:
      'Letters of ten kinds, replayed by two operators at once who are killed at random: none is lost, and none is sent twice',
    program: ['OPERATED_LETTERS=600', ...twoOperators],
    weekly: { program: ['OPERATED_LETTERS=3000', ...twoOperators], minutes: 10 },
    seed: 'SEED',
    minutes: 2,
    figures: allTests,
    files: desk,
  },
  {
    name: 'monday',
    claim:
      'Letters of ten kinds, made by the real functions, are all put right by the command; those of 14 causes and 16 waiting messages by a stranger who does only what is offered first: by 12 commands, or 14 if more than ten learners lack their secret, and by 25 clicks in the console',
    program: ['LETTERS_PER_KIND=60', ...mondays],
    weekly: { program: ['LETTERS_PER_KIND=300', ...mondays], minutes: 10 },
    seed: 'SEED',
    minutes: 2,
    figures: allTests,
    files: desk,
  },
  {
    name: 'judge-things',
    claim:
      'Small universities, two weeks or more of zips and tables which come late, again and in any order, while names pass and move: after each file the platform holds of each person and course what was said last, or a report, a waiting import or a letter names the difference',
    program: ['JUDGED_UNIVERSITIES=400', 'JUDGED_NIGHTS=14', 'JUDGED_HISTORIES=8', ...judgedThings],
    weekly: {
      program: ['JUDGED_UNIVERSITIES=2000', 'JUDGED_NIGHTS=30', 'JUDGED_HISTORIES=40', ...judgedThings],
      minutes: 60,
    },
    seed: 'SEED',
    minutes: 5,
    figures: allTests,
    files: [...snapshots, 'lib/crosswalk', 'test/options/snapshots'],
  },
  {
    name: 'upgrade',
    claim:
      'What the last release left (a ledger of 10,000 resources, letters of each kind, waiting messages, the crosswalk, a snapshot, an import that waits for a person) is carried on by the working tree under traffic, then by the released code, and again: nothing is lost, sent twice, or overwritten by something older',
    program: ['test/upgrade.ts'],
    minutes: 5,
    figures: /^(?:on|back), .*$/gm,
    files: [...desk, ...snapshots, 'test/upgrade'],
  },
  {
    name: 'breakages',
    claim: 'What decides a message’s fate is broken in one place after the other: a proof fails each time',
    program: ['test/breakages.ts', '--count', '8'],
    weekly: { program: ['test/breakages.ts'], minutes: 12 },
    seed: '--seed',
    minutes: 3,
    figures: /^(?:All \d+ were seen|\d+ of \d+ were not seen)\.$/gm,
    files: [...delivery, 'lib/options/snapshots', 'test/history'],
  },
  {
    name: 'mutate',
    claim: 'The unit tests see at least 95 % of all changes to what decides a message’s fate',
    program: ['test/mutate.ts', '--only', 'fate'],
    weekly: { program: ['test/mutate.ts'], minutes: 60 },
    minutes: 7,
    figures: /^.*\d+(?:\.\d+)? %.*$/gm,
    files: [
      ...delivery,
      'lib/options/reconcile',
      ...['delivery', 'message', 'platform', 'runtime'].map((room) => `test/lib/${room}`),
      'test/options/reconcile',
      // Too long to run for each change.
      ':(exclude)test/lib/delivery/letters/crash.test.ts',
      'stryker.config.js',
      'test/mutate.config.ts',
    ],
  },
  {
    name: 'test-long',
    claim: 'The tests that `npm test` leaves out pass; in an hour, a third of their files by the seed',
    program: ['test/all.ts', '--long', '--third'],
    weekly: { program: ['test/all.ts', '--long'], minutes: 12 },
    seed: '--seed',
    minutes: 4,
    figures: /^\d+ passed, \d+ failed.*$/gm,
    files: ['lib', 'functions', 'events', 'test', 'serverless.yml'],
  },
  {
    name: 'measure-letters',
    claim:
      'Up to 100,000 letters are listed, grouped, searched and shown with 128 MB for JavaScript’s objects',
    program: ['SCALE_LETTERS=20000', ...scaleOfLetters],
    weekly: { program: ['SCALE_LETTERS=100000', ...scaleOfLetters], minutes: 10 },
    minutes: 2,
    figures: /^(?:console, |letters |the bare limit)[^:]*: [\d.]+ m?s.*$/gm,
    files: ['lib/delivery/letters', ...operate, 'lib/desk', 'lib/runtime', documents],
  },
  {
    name: 'measure-export',
    claim: 'An export of up to 2,000 courses needs no more than half of the memory that its function has',
    program: ['EXPORT_ORG_UNITS=500', ...memoryOfExport],
    weekly: { program: ['EXPORT_ORG_UNITS=2000', ...memoryOfExport], minutes: 5 },
    minutes: 1,
    figures: /^(?! *✓).*\d+ MB.*$/gm,
    files: [...delivery, 'lib/options/course-export', platform],
  },
  {
    name: 'measure-crosswalk',
    claim: 'The crosswalk is filled with up to 200,000 org units and 1,000,000 users within 900 MB',
    program: ['CROSSWALK_ORG_UNITS=40000', 'CROSSWALK_USERS=200000', ...memoryOfCrosswalk],
    weekly: {
      program: ['CROSSWALK_ORG_UNITS=200000', 'CROSSWALK_USERS=1000000', ...memoryOfCrosswalk],
      minutes: 6,
    },
    minutes: 1,
    figures: /^(?! *✓).*\d+ MB.*$/gm,
    files: [...delivery, 'lib/options/crosswalk-fill', platform],
  },
  {
    name: 'measure-snapshots',
    claim: 'Up to 5,000,000 rows of an export are compared within 900 MB, in the first night and the next',
    program: ['SNAPSHOT_ROWS=1000000', ...scaleOfSnapshots],
    weekly: { program: ['SNAPSHOT_ROWS=5000000', ...scaleOfSnapshots], minutes: 4 },
    minutes: 1,
    figures: /^night \d of .*$/gm,
    files: snapshots,
  },
  {
    name: 'measure-reconcile',
    claim: 'What a night reads of a ledger of up to 10,000,000 items is listed within 900 MB, and all of it',
    program: ['RECONCILE_ITEMS=1000000', ...scaleOfReconcile],
    weekly: { program: ['RECONCILE_ITEMS=10000000', ...scaleOfReconcile], minutes: 10 },
    minutes: 1,
    figures: /^(?! *✓).*\d+ MB.*$/gm,
    files: ['lib/options/reconcile', 'lib/delivery/ledger', 'lib/runtime/files'],
  },
  {
    name: 'costs',
    claim:
      'AWS bills at most $1.95 for a million grades or enrollments that are sent one by one, and $1.60 for those that are sent in tens',
    program: ['test/package/costs/cost.ts', '--check'],
    minutes: 3,
    figures: /^A million of .*$/gm,
    files: [...delivery, 'test/package/costs/measure.ts'],
  },
  {
    name: 'bench',
    claim:
      'Beside raw undici and a typical stack, a message, the import of a function and the start of the command cost no more than each floor tolerates',
    program: ['test/bench/bench.ts', '--launches', '1'],
    weekly: { program: ['test/bench/bench.ts'], minutes: 4 },
    minutes: 2,
    figures: /^(?:CPU|Messages|Import|Floors?)\b.*$/gm,
    files: [...delivery, 'esbuild.config.ts', 'test/bench'],
  },
];
