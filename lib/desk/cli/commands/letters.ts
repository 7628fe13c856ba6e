import { type Command, InvalidArgumentError } from 'commander';
import { memoryDays, outdatedAfterDays } from '../../../message/retention.ts';
import { runDefaults } from '../../messages/replay/run-defaults.ts';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { addFilterOptions, reasonText, wholeNumber } from '../options.ts';

type AddCommand = (parent: Command, cli: Cli) => void;

export const addLetters: AddCommand = (program, cli) => {
  const letters = program
    .command('letters')
    .description('the letters in the dead-letter queue')
    .addHelpText('after', examples.letters);
  for (const add of [
    addGroups,
    addList,
    addShow,
    addReplay,
    addVerify,
    addEdit,
    addDiscard,
    addExport,
    addImport,
    addReindex,
  ])
    add(letters, cli);
};

const addGroups: AddCommand = (letters, cli) => {
  addFilterOptions(
    letters.command('groups').description('counts letters by cause, and says what to do about each'),
  )
    .addHelpText('after', examples.groups)
    .action(action(cli, () => import('../actions/letters/lists.ts'), 'groups'));
};

const addList: AddCommand = (letters, cli) => {
  addFilterOptions(letters.command('list').description('lists letters, the oldest first'))
    .option('--limit <n>', 'at most n letters; default: 50, or all as JSON', wholeNumber(1, 1_000_000))
    .addHelpText('after', examples.list)
    .action(action(cli, () => import('../actions/letters/lists.ts'), 'list'));
};

const addShow: AddCommand = (letters, cli) => {
  letters
    .command('show')
    .description('shows all details of one letter')
    .argument('<id>', 'id of the letter or of its message, or the beginning of one')
    .option('--reveal', 'also show names, grades, comments and free text; needs --reason')
    .option('--reason <text>', 'why it is revealed, for the audit log', reasonText)
    .addHelpText('after', examples.show)
    .action(action(cli, () => import('../actions/letters/show.ts'), 'show'));
};

const addReplay: AddCommand = (letters, cli) => {
  const replay = letters
    .command('replay')
    .description('sends letters back to their queues: a plan, a canary of each cause, then the rest')
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--dry-run', 'show the plan, and send nothing')
    .option('--yes', 'carry out the plan without asking')
    .option(
      '--include-uncertain',
      'also send letters that are uncertain or outdated: you have checked what the platform holds',
    )
    .option('--no-probe', 'do not ask the platform first what cannot succeed yet')
    .option('--reason <text>', 'why, kept with the message and in the audit log', reasonText);
  addFilterOptions(addRunOptions(replay, '--canary-wait'))
    .addHelpText('after', examples.replay)
    .action(action(cli, () => import('../actions/letters/send.ts'), 'replay'));
};

const addVerify: AddCommand = (letters, cli) => {
  const verify = letters
    .command('verify')
    .description(
      'looks on the platform whether the changes of uncertain letters were made, and offers to discard or replay the letters',
    )
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--discard-found', 'discard those that were done, without asking')
    .option('--replay-absent', 'replay those that were not done, without asking')
    .option('--yes', 'both')
    .option(
      '--reveal',
      'also show the messages of the oldest 20 unclear letters, outdated ones beside what the platform shows; needs --reason',
    )
    .option('--reason <text>', 'why they are revealed, for the audit log', reasonText);
  addFilterOptions(verify)
    .addHelpText('after', examples.verify)
    .action(action(cli, () => import('../actions/letters/verify.ts'), 'verify'));
};

const addEdit: AddCommand = (letters, cli) => {
  const edit = letters
    .command('edit')
    .description('corrects the messages of letters and sends them; the originals are kept')
    .argument(
      '[id]',
      'id of one letter or of its message, or the beginning of one; without it, pass a filter',
    )
    .requiredOption('--reason <text>', 'why, kept with the message and in the audit log', reasonText)
    .option('--set <field=value>', 'set a field instead of opening an editor; can be repeated', collect)
    .option('--unset <field>', 'remove a field; can be repeated', collect)
    .option(
      '--same-value',
      'also set a field in which the letters have different values: one value replaces them all. --yes alone does not agree to this',
      false,
    )
    .option(
      '--include-uncertain',
      'also send letters that are uncertain or outdated: you have checked what the platform holds',
      false,
    )
    .option('--reveal', 'show old values unmasked; the audit log records this', false)
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--yes', 'make the changes without asking');
  addFilterOptions(addRunOptions(edit, '--wait'))
    .addHelpText('after', examples.edit)
    .action(action(cli, () => import('../actions/letters/send.ts'), 'edit'));
};

const addDiscard: AddCommand = (letters, cli) => {
  addFilterOptions(letters.command('discard').description('deletes letters; each is archived first'))
    .requiredOption('--reason <text>', 'why, for the audit log', reasonText)
    .option('--all', 'all letters, if no filter is given')
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--dry-run', 'show which ones, and change nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples.discard)
    .action(action(cli, () => import('../actions/letters/archive.ts'), 'discard'));
};

const addExport: AddCommand = (letters, cli) => {
  addFilterOptions(
    letters
      .command('export')
      .description('writes whole, unmasked letters to a file, and leaves them in the queue'),
  )
    .requiredOption('--to <file>', 'a new file that only you can read; -: standard output')
    .requiredOption('--reason <text>', 'why they are revealed, for the audit log', reasonText)
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .addHelpText('after', examples.export)
    .action(action(cli, () => import('../actions/letters/archive.ts'), 'exportAll'));
};

const addImport: AddCommand = (letters, cli) => {
  letters
    .command('import')
    .description('puts letters from a file of `export` or `discard` back into the dead-letter queue')
    .argument('<file>', 'a file, or s3://bucket/key; -: standard input, which needs --yes')
    .option('--dry-run', 'check every line, and import nothing')
    .option(
      '--for-this-stage',
      'take letters of another stage for this one: a replay then calls the platform of this stage',
    )
    .option('--yes', 'do not ask')
    .addHelpText('after', examples.import)
    .action(action(cli, () => import('../actions/letters/archive.ts'), 'importAll'));
};

const addReindex: AddCommand = (letters, cli) => {
  letters
    .command('reindex')
    .description(
      'makes the lists of letters equal to the dead-letter queue, as the schedule does every 15 minutes',
    )
    .addHelpText('after', examples.reindex)
    .action(action(cli, () => import('../actions/letters/lists.ts'), 'reindex'));
};

const collect = (text: string, before: string[] = []): string[] => [...before, text];

const addRunOptions = (command: Command, wait: '--wait' | '--canary-wait'): Command =>
  command
    .option(
      '--canary <n>',
      'send n letters first, at least one of each cause, and wait for their outcomes; 0: none',
      wholeNumber(0, 100),
      runDefaults.canary,
    )
    .option(
      `${wait} <seconds>`,
      'wait n seconds for the outcomes',
      wholeNumber(1, 3_600),
      runDefaults.waitSeconds,
    )
    .option('--continue-undecided', 'also send the rest of causes whose canary has no outcome by then')
    .option('--rate <n>', 'messages a second, at most 500', rate, runDefaults.rate)
    .option(
      '--stop-after <n>',
      'stop when n letters in a row come back with the same error',
      wholeNumber(1, 1_000),
      runDefaults.stopAfter,
    );

function rate(text: string): number {
  const number = Number(text);
  if (number > 0 && number <= 500) return number;
  throw new InvalidArgumentError('It must be a number above 0, up to 500.');
}

const examples = {
  letters: `
Examples:
  sis-relay letters groups                          start here
  sis-relay letters list --kind rejected --since 2d
  sis-relay letters show 3f0c91aa
  sis-relay letters replay --function grade-push --dry-run`,
  groups: `
Examples:
  sis-relay letters groups
  sis-relay letters groups --since 24h
  sis-relay letters groups --function grade-push --status 403`,
  list: `
Examples:
  sis-relay letters list --kind rejected
  sis-relay letters list --user 301 --org-unit 2001
  sis-relay letters list --min-replays 5`,
  show: `
Examples:
  sis-relay letters show 3f0c91aa
  sis-relay letters show 3f0c91aa --reveal --reason "the student asks"`,
  replay: `
Examples:
  sis-relay letters replay --kind unavailable --dry-run
  sis-relay letters replay --function grade-push --kind missing-scope --reason "scope granted"
  sis-relay letters replay --until 2026-01-31T09:30Z --rate 50 --yes
  sis-relay letters replay --id 3f0c91aa --include-uncertain

Before you agree, only invalid letters are read, and given back. Letters that arrive later are left
alone. A letter is deleted only after its message was sent, so a crash loses nothing: at worst it
leaves a second copy, which the ledger recognizes. Ctrl-C stops after the requests in progress.
If only the functions reach the platform, the plan says what this machine did not check.`,
  verify: `
Examples:
  sis-relay letters verify
  sis-relay letters verify --function submission-upload --since 2d
  sis-relay letters verify --discard-found --replay-absent
  sis-relay letters verify --kind outdated --reveal --reason "a look at the platform"

It reads the platform as the function would, with the credential of the same user, from the time of
the attempt on. found: the change is there. absent: it is not there, and cannot appear any more.
unclear: neither is certain, and the letter stays. Without a terminal, nothing is discarded or
replayed unless you pass --discard-found or --replay-absent; the command says so.
The exit status is 1 while a letter stays.
Letters of kind outdated are always unclear: compare what each sets with what the platform shows.`,
  edit: `
Examples:
  sis-relay letters edit 3f0c91aa --reason "too many points" --set data.grade.points=7
  sis-relay letters edit 3f0c91aa --reason typo --unset data.coment --set data.comments="Well done"
  sis-relay letters edit 3f0c91aa --reason "wrong course"        opens $VISUAL or $EDITOR
  sis-relay letters edit --cause 1cf0de3c --reason "wrong role" --set data.roleId=109

An editor shows the whole message, unmasked. The audit log records that.
A value that is valid JSON (7, true, "7") is read as JSON. Any other value is text.`,
  discard: `
Examples:
  sis-relay letters discard --kind unknown-source --reason "another team's test" --dry-run
  sis-relay letters discard --id 3f0c91aa --reason "handed in on paper"

Discarded letters are kept under discarded/ in the bucket: letters import s3://… restores them.`,
  export: `
Examples:
  sis-relay letters export --to letters.jsonl --reason "kept beyond 14 days"
  sis-relay letters export --kind unknown-source --to unknown.jsonl --reason "asked the SIS"
  sis-relay letters export --to - --reason "for the SIS" | gzip > letters.jsonl.gz`,
  import: `
Examples:
  sis-relay letters import letters.jsonl --dry-run
  zcat letters.jsonl.gz | sis-relay letters import - --yes
  sis-relay letters import s3://sis-relay-uploads/discarded/2026-01-31T093000.000Z/0001.jsonl

Letters that are in the queue already are left out, so no message becomes two letters.
The ledger remembers for ${memoryDays} days what was done. You can import a letter whose message is older than
${outdatedAfterDays} days. But a replay of it comes back as outdated, unless the ledger still knows its resource.
To send it all the same, replay it with --include-uncertain.`,
  reindex: `
Example:
  sis-relay letters reindex

The queue decides which letters exist. The lists are kept beside it, so that listing hides no letter.
While this command runs, nobody else can work on letters.`,
};
