import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { optionsOf } from './options.ts';

// `npm run proofs -- --only breakages`: breaks one thing after the other in a copy of the project, and expects the proof to fail each time.
// `npm run proofs -- --only breakages -- --chaos` does so with the destructive run, `--only <part of a title>` with these alone,
// `--count 12 --seed N` with 12 of them, others with each seed.
// What one change in one place breaks, and unit tests see, is for `mutate`.

/** What is run, and what it says where it fails because of what it saw: not where it cannot even start. */
type Proof = { command: string[]; says: RegExp };

/** One place in the code, and what it is replaced by. */
type Breakage = {
  title: string;
  file: string;
  code: string;
  by: string;
  /** Default: the histories. */
  seenBy?: Proof;
  /** Common enough on a real stack to be seen there as well. */
  chaos?: true;
};

const prove: Proof = {
  command: ['node', 'test/prove.ts', '--histories', '100000', '--seed', '1'],
  says: /Wrong after (\d+ histories).*\n +(.*)/,
};
const chaos: Proof = {
  command: ['node', 'test/run.js', 'test/local/chaos/chaos.ts', '--messages', '800', '--seed', '1'],
  says: /Not all is well/,
};
const tests = (...options: string[]): Proof => ({
  command: ['vitest', 'run', ...options],
  says: /Tests +\d+ failed/,
});

const lookUp = tests('test/lib/crosswalk/look-up.test.ts');

export const breakages: Breakage[] = [
  {
    title: 'of two that an id of the SIS stands for, the first is taken',
    seenBy: lookUp,
    file: 'lib/crosswalk/look-up.ts',
    code: 'if (second === undefined) return id;',
    by: 'return id;',
  },
  {
    title: 'nobody is asked about a code that has moved',
    seenBy: lookUp,
    file: 'lib/crosswalk/meanings.ts',
    code: 'if (open === undefined) return { ids, count };',
    by: 'if (open === undefined || ids.length > 0) return { ids, count };',
  },
  {
    title: 'what an id of the SIS stood for is kept though the platform does not know it',
    seenBy: lookUp,
    file: 'lib/crosswalk/look-up.ts',
    code: 'if (kind) tabled?.meanings.forget(kind, sisId);',
    by: 'void kind;',
  },
  {
    title: 'a list of grade objects serves messages that were sent after it was made',
    seenBy: lookUp,
    file: 'lib/crosswalk/grade-object-lists.ts',
    code: 'platform, Math.max(sentMs, nowMs() - keptMs));',
    by: 'platform, nowMs() - keptMs);',
  },
  {
    title: 'what the crosswalk said serves messages that were sent after it was read',
    seenBy: lookUp,
    file: 'lib/crosswalk/meanings.ts',
    code: 'known.readMs >= Math.max(sentMs, readMs - keptMs)',
    by: 'known.readMs >= readMs - keptMs',
  },
  {
    title: 'grades of an export whose maximum changes do not say what they are out of',
    seenBy: tests('test/options/snapshots/oracle.test.ts'),
    file: 'lib/options/snapshots/compare/sql/line-items.sql',
    code: 'number_text(s.max_points) AS out_of',
    by: 'CASE WHEN s.former_max_points = s.max_points THEN number_text(s.max_points) END AS out_of',
  },
  {
    title: 'the maximum of the grade object is not looked at',
    seenBy: lookUp,
    file: 'functions/grade-push.ts',
    code: 'if (outOf === undefined) return;',
    by: 'if (outOf !== 0) return;',
  },
  {
    title: 'a message is acknowledged before its letter is written',
    chaos: true,
    file: 'lib/delivery/handle/process-record.ts',
    code: 'await services.queues.writeLetter(letter);',
    by: 'services.queues.writeLetter(letter).catch(() => {});',
  },
  {
    title: 'the lease is ignored',
    chaos: true,
    file: 'lib/delivery/ledger/judge.ts',
    code: 'facts.item.busyUntilMs > facts.nowMs && !repeatsItself(facts)',
    by: 'facts.item.busyUntilMs > facts.nowMs && !repeatsItself(facts) && facts.nowMs < 0',
  },
  {
    title: 'versions are compared the wrong way',
    chaos: true,
    file: 'lib/message/version.ts',
    code: 'Buffer.compare(Buffer.from(version), Buffer.from(other)) > 0',
    by: 'Buffer.compare(Buffer.from(version), Buffer.from(other)) < 0',
  },
  {
    title: 'a success is written down before the call',
    chaos: true,
    file: 'lib/delivery/handle/attempt.ts',
    code: 'if (!isDone) await integration.run(message.data, context);',
    by: "await ledger.settle(locked, { ending: 'done' }); if (!isDone) await integration.run(message.data, context);",
  },
  {
    title: 'a reset is taken for a refusal',
    chaos: true,
    file: 'lib/platform/client/platform-error.ts',
    code: 'if (this.refused === undefined) return this.sent;',
    by: 'if (this.refused === undefined) return false;',
  },
  {
    title: 'nobody looks whether it was done',
    chaos: true,
    file: 'lib/delivery/handle/attempt.ts',
    code: 'unresolved !== undefined && (await wasDone(integration, message.data, { context, unresolved }))',
    by: 'unresolved !== undefined && (await wasDone(integration, message.data, { context, unresolved })) && false',
  },
  {
    title: 'the messages that wait are not reported',
    chaos: true,
    file: 'lib/delivery/handle/handler.ts',
    code: 'batchItemFailures: waiting.map(',
    by: 'batchItemFailures: waiting.slice(1).map(',
  },
  {
    title: 'what was refused for good is asked once more',
    file: 'lib/delivery/handle/attempt.ts',
    code: 'if (!isDone) await integration.run(message.data, context);',
    by: "const run = () => integration.run(message.data, context); if (!isDone) await run().catch((error) => { if (failureOf(error).kind !== 'rejected') throw error; return run(); });",
  },
  {
    title: 'a newer message supersedes before it is known to be done',
    file: 'lib/delivery/ledger/judge.ts',
    code: "holds: ({ every }) => every('superseded'),",
    by: "holds: ({ every }) => every('superseded', 'newer'),",
  },
  {
    title: 'what a message does not give is superseded by it',
    file: 'functions/grade-push.ts',
    code: 'fields: (given) => Object.keys(wanted(given)),',
    by: "fields: () => ['grade', 'comments', 'privateComments'],",
  },
  {
    title: 'a claim that was written twice is taken for another’s',
    file: 'lib/delivery/ledger/table.ts',
    code: 'if (item?.lock?.id === lock.id)',
    by: 'if (item?.lock?.id === TableName)',
    seenBy: tests('test/lib/delivery/ledger/ledger.test.ts'),
  },
  {
    title: 'an update of a grade object resets what its message does not give',
    file: 'lib/platform/resources/grade-objects.ts',
    code: '...Object.fromEntries(kept.map(([name, value]) => [name, asTaken(value)])),',
    by: "...Object.fromEntries(kept.filter(([name]) => name === 'Name')),",
    seenBy: tests('test/functions/grade-object-update.test.ts'),
  },
  {
    title: 'an older update of a grade object sets back what a newer one has given',
    file: 'functions/grade-object-update.ts',
    code: 'fields.includes(fieldOf(given, setting))',
    by: 'fields.length > 0 && setting',
    seenBy: tests('test/functions/grade-object-update.test.ts'),
  },
  {
    title: 'a new file goes to the files of another org unit',
    file: 'lib/platform/resources/content.ts',
    code: 'url.startsWith(filesOf(orgUnitId)) &&',
    by: '',
    seenBy: tests('test/functions/content-topic-update.test.ts'),
  },
  {
    title: 'a message that gives another time is another message',
    file: 'lib/message/version.ts',
    code: 'if (identity === another) return true;',
    by: 'if (partsOf(one).order !== partsOf(other).order) return false; if (identity === another) return true;',
  },
  {
    title: 'a copy of what nobody knows the outcome of is a duplicate',
    file: 'lib/delivery/ledger/judge.ts',
    code: "holds: ({ every }) => every('done', 'superseded'),",
    by: "holds: ({ every }) => every('done', 'superseded', 'copy'),",
  },
  {
    title: 'a title is free while its line item may not be renamed yet',
    file: 'lib/options/snapshots/compare/line-items.ts',
    code: '.filter((each) => each.untilMs > nowMs &&',
    by: '.filter((each) => each.untilMs < nowMs &&',
    seenBy: tests('test/options/snapshots/nights.test.ts'),
  },
  {
    title: 'what comes back in an export carries a time that is older than its removal',
    file: 'lib/options/snapshots/compare/wanted.ts',
    code: 'Math.max(oldestMs, lastDroppedMs + 1)',
    by: 'oldestMs',
    seenBy: tests('test/options/snapshots/compare/wanted.test.ts'),
  },
  {
    title: 'a row that cannot be used holds nobody whom it may mean',
    file: 'lib/options/snapshots/compare/sql/difference.sql',
    code: 'INSERT INTO held_keys FROM missing_but_kept',
    by: 'SELECT 1',
    seenBy: tests('test/options/snapshots/compare/wanted.test.ts'),
  },
  {
    title: 'a code of the SIS is another one with each list that has it',
    file: 'lib/options/crosswalk-fill/compare.ts',
    code: "await download([keysOf({ kind, source: source === 'file' ? 'platform' : 'file' }).state], other, store)",
    by: 'await download([], other, store)',
    seenBy: tests('test/functions/crosswalk-fill.test.ts'),
  },
];

const root = resolve(import.meta.dirname, '..');
const copied = [
  'lib',
  'functions',
  'events',
  'test',
  'serverless.yml',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];

/** Runs in a copy of the project, in which this one thing is broken. */
function seen({ file, code, by, seenBy = prove }: Breakage): { seen: boolean; said: string } {
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-broken-'));
  try {
    for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const path = join(folder, file);
    const parts = readFileSync(path, 'utf8').split(code);
    if (parts.length !== 2)
      return { seen: false, said: `the code is there ${parts.length - 1} times: ${code}` };
    writeFileSync(path, parts.join(by));
    const [command = '', ...options] = seenBy.command;
    const { status, stdout, stderr } = spawnSync(command, options, { cwd: folder, encoding: 'utf8' });
    const output = stripVTControlCharacters(stdout + stderr);
    const [sign, histories, problem] = seenBy.says.exec(output) ?? [];
    return {
      seen: status === 1 && sign !== undefined,
      said: histories ? `after ${histories}: ${problem}` : lastOf(output),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a program said last, in short. */
function lastOf(output: string): string {
  return output.trim().split('\n').slice(-12).join('\n           ').slice(-400);
}

export const command = (args: string[]): void => {
  const values = optionsOf(
    {
      chaos: { type: 'boolean' },
      only: { type: 'string', default: '' },
      count: { type: 'string', default: String(breakages.length) },
      seed: { type: 'string', default: '0' },
    },
    { usage: 'npm run proofs -- --only breakages -- --chaos --only words --count N --seed N', args },
  );
  const all = breakages
    .filter(({ title }) => title.includes(values.only))
    .flatMap((breakage) => {
      if (!values.chaos) return [breakage];
      return breakage.chaos ? [{ ...breakage, seenBy: chaos }] : [];
    });
  // Neighbours break the same file, so each seed takes others that lie apart.
  const step = Math.ceil(all.length / Number(values.count));
  const chosen = all.filter((_, at) => (at + Number(values.seed)) % step === 0);
  if (chosen.length === 0) {
    console.error(`No breakage that is asked for has “${values.only}” in its title.`);
    process.exitCode = 2;
    return;
  }
  let missed = 0;
  for (const breakage of chosen) {
    const result = seen(breakage);
    if (!result.seen) missed += 1;
    console.log(`${result.seen ? '✓ seen  ' : '✗ MISSED'} ${breakage.title}\n           ${result.said}`);
  }
  console.log(
    missed === 0 ? `All ${chosen.length} were seen.` : `${missed} of ${chosen.length} were not seen.`,
  );
  process.exitCode = missed === 0 ? 0 : 1;
};
