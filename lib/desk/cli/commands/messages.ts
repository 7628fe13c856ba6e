import { type Command, Option } from 'commander';
import { outdatedAfterDays } from '../../../message/retention.ts';
import { formats } from '../../messages/publish/formats.ts';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { kinds, reasonText, wholeNumber } from '../options.ts';

type AddCommand = (parent: Command, cli: Cli) => void;

export const addMessages: AddCommand = (program, cli) => {
  for (const add of [
    addStatus,
    addWaiting,
    addTrace,
    addLog,
    addPause,
    addResume,
    addPublish,
    addCheckMessage,
  ])
    add(program, cli);
};

const addStatus: AddCommand = (program, cli) => {
  program
    .command('status')
    .description('shows queues, what waits and why, letters by kind, and whether the credential works')
    .option(
      '--oldest',
      'also show the age of the oldest message of each queue; the messages read for this count as received',
    )
    .option('--check', 'exit with 1 if a person must act now or today, or if that is not known')
    .addHelpText('after', examples.status)
    .action(action(cli, () => import('../actions/deployment.ts'), 'status'));
};

const addWaiting: AddCommand = (program, cli) => {
  const waiting = program
    .command('waiting')
    .description(
      'shows waiting messages by cause, since when and until when they wait; `wake` has them tried again now',
    )
    .addHelpText('after', examples.waiting);
  addConditions(
    waiting.command('list', { isDefault: true }).description('lists waiting messages by cause (the default)'),
  )
    .option('--limit <n>', 'at most n messages; default: 50, or all as JSON', wholeNumber(1, 1_000_000))
    .addHelpText('after', examples.waiting)
    .action(action(cli, () => import('../actions/waiting.ts'), 'list'));
  addConditions(
    waiting.command('wake').description('has waiting messages tried again now, once their cause is gone'),
  )
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--limit <n>', 'at most n messages', wholeNumber(1, 1_000_000))
    .option('--dry-run', 'show which ones, and change nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples.wake)
    .action(action(cli, () => import('../actions/waiting.ts'), 'wake'));
};

const addTrace: AddCommand = (program, cli) => {
  program
    .command('trace')
    .description(
      'shows all that is known about a message (its waits, its letter, who did what to it, its outcome), or the messages about a user or an org unit',
    )
    .argument(
      '[id]',
      'id of the message, letter or event, or its beginning; or a resource, as in grade/2001/5001/301',
    )
    .option('--log', 'also search the functions’ log: it has messages that were done at once', false)
    .option(
      '--user <id>',
      'instead of an id: messages about this user, by its id or the SIS’ name for the user',
    )
    .option('--org-unit <id>', 'and of this org unit, by its id or the SIS’ code')
    .option('--limit <n>', 'with --user or --org-unit: at most n messages', wholeNumber(1, 100_000), 50)
    .option('--since <time>', 'how far back logs are read, as in 2026-01-31T09:30Z, 90m, 36h, 3d')
    .addHelpText('after', examples.trace)
    .action(action(cli, () => import('../actions/trace.ts'), 'trace'));
};

const addLog: AddCommand = (program, cli) => {
  program
    .command('log')
    .description('lists what people did to the stage: who, to what, why, and with which result')
    .option('--since <time>', 'how far back, as in 2026-01-31T09:30Z, 90m, 36h, 3d; default: 7d')
    .option('--limit <n>', 'at most n commands; default: 50, or all as JSON', wholeNumber(1, 100_000))
    .addHelpText('after', examples.log)
    .action(action(cli, () => import('../actions/log.ts'), 'log'));
};

const addPause: AddCommand = (program, cli) => {
  program
    .command('pause')
    .description('stops the deliveries to functions; their messages stay on their queues')
    .argument('<function...>', 'names of functions that have a queue')
    .requiredOption('--reason <text>', 'why, for the audit log and `status`', reasonText)
    .addHelpText('after', examples.pause)
    .action(action(cli, () => import('../actions/deployment.ts'), 'pause'));
};

const addResume: AddCommand = (program, cli) => {
  program
    .command('resume')
    .description('starts the deliveries to functions that were paused')
    .argument('<function...>', 'names of functions that have a queue')
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .addHelpText('after', examples.resume)
    .action(action(cli, () => import('../actions/deployment.ts'), 'resume'));
};

const addPublish: AddCommand = (program, cli) => {
  program
    .command('publish')
    .description('sends the messages of a file to their queues, if all of them are valid')
    .argument('<file>', 'JSON (a message, a list, an event of Lambda), JSON Lines, or CSV; -: standard input')
    .option('--function <name>', 'the function that a table, or data without an envelope, is for')
    .option('--map <file>', 'a mapping file: it says how rows with other columns become messages')
    .addOption(
      new Option('--format <format>', 'format of the file, if its name does not show it').choices(formats),
    )
    .option('--now', 'give every message the current time, so that it replaces what was sent before')
    .option('--dry-run', 'check every row, and send nothing')
    .option('--valid-only', 'send the valid messages even if others are not valid')
    .option('--bulk', 'a large load: other messages go first if the platform limits calls')
    .addOption(
      new Option('--wait [seconds]', 'wait at most n seconds for the outcome of each message')
        .preset('60')
        .argParser(wholeNumber(1, 3_600)),
    )
    .addHelpText('after', examples.publish)
    .action(action(cli, () => import('../actions/publish.ts'), 'publish'));
};

const addCheckMessage: AddCommand = (program, cli) => {
  program
    .command('check-message')
    .description('checks messages as their functions would, and sends nothing')
    .argument('[file]', 'JSON (a message, a list, an event of Lambda) or JSON Lines; -: standard input', '-')
    .addOption(
      new Option('--format <format>', 'format, if neither name nor content shows it').choices([
        'json',
        'jsonl',
      ]),
    )
    .addHelpText('after', examples.checkMessage)
    .action(action(cli, () => import('../actions/check-message.ts'), 'checkMessage'));
};

const addConditions = (command: Command): Command => {
  command.optionsGroup('Which messages (default: all; every filter must match, and of a list one value):');
  for (const option of [
    new Option('--function <name...>', 'of these functions'),
    new Option(
      '--kind <kind...>',
      'that wait because of these kinds: credentials, aws-refused, throttled, unavailable, unknown-id',
    ).argParser(kinds),
    new Option(
      '--status <status...>',
      'whose last answer from the platform had this status, as in 503 or 5xx',
    ),
    new Option('--error <text>', 'whose error holds this text'),
    new Option('--org-unit <id>', 'about this org unit, by its id or the SIS’ code'),
    new Option('--user <id>', 'about this user, by its id or the SIS’ name for the user'),
    new Option('--id <id...>', 'with these ids or ids of their events, or beginnings of them'),
  ])
    command.addOption(option);
  return command.optionsGroup('Options:');
};

const examples = {
  status: `
Examples:
  sis-relay status --stage prod
  sis-relay status --local --json
  sis-relay status --stage prod --check

Exit status: 0 the state was read, whatever it is, 1 it could not be read. With --check, 1 also if a
person must act now or today, or if that is not known. With --json, todo has what to do first.`,
  waiting: `
Examples:
  sis-relay waiting
  sis-relay waiting --kind credentials --function grade-push
  sis-relay waiting wake --kind credentials

Messages that wait only for the rate limiter are not listed: it admits them by itself.
No queue is read: the list is what the functions recorded when they last had each message.`,
  wake: `
Examples:
  sis-relay waiting wake --kind credentials --dry-run
  sis-relay waiting wake --kind unavailable --function grade-push --reason "the platform is back"

Their functions handle them now, as fast as the platform's rate limit allows. A message whose cause remains waits again.`,
  trace: `
Examples:
  sis-relay trace 3f0c91aa-7d4e-4f0e-9d53-0c2f8a1b6e57
  sis-relay trace grade/2001/5001/301
  sis-relay trace --user 301 --org-unit 2001
  sis-relay trace 3f0c91aa --log --json

It changes nothing. It follows a message through its replays, forwards and backwards.
Without --log, a message that was done at its first try is found only by its resource.
The log is read from when the message was first received, or for the last day; the audit log, for the last 7 days.`,
  log: `
Examples:
  sis-relay log
  sis-relay log --since 3d --json

It reads the audit log, the newest command first.`,
  pause: `
Examples:
  sis-relay pause grade-push --reason "the platform recalculates its grades"
  sis-relay pause grade-push grade-object-create --reason "the grade book is being moved"

It disables the function's event-source mapping, and waits until AWS has done so. No message is lost.`,
  resume: `
Examples:
  sis-relay resume grade-push
  sis-relay resume grade-push --reason "the platform is done"`,
  publish: `
Examples:
  sis-relay publish events/grade-push.json --local --now
  sis-relay publish grades.csv --function grade-push --dry-run
  sis-relay publish messages.jsonl --valid-only
  sis-relay publish grades.csv --function grade-push --wait 120
  ./export-grades | sis-relay publish - --format csv --function grade-push
  sis-relay publish nightly.csv --function enrollment-create --bulk
  sis-relay publish export-of-the-sis.csv --map mapping.json --dry-run

The columns of a table are the fields of the data, as in
  orgUnitId,gradeObjectId,userId,grade.type,grade.points,comments
or files.0.uri. There may also be columns id, time, source and sequence. An empty cell leaves the
field out; "" is an empty text. A message without a time gets the current time, and overrides older
ones.
For each message, a mapping file names its function, the rows that it is made of, and the column
of each field of its data:
  { "messages": [ { "function": "enrollment-create", "when": { "STATUS": ["active"] },
    "data": { "orgUnitCode": "COURSE_ID", "userName": "LOGIN",
              "roleId": { "from": "ROLE", "values": { "S": 110, "T": 109 } } },
    "time": "CHANGED_AT" } ] }
{ "value": 110 } gives every message the same value. "default" beside "values" is for other cells.
If a message is older than ${outdatedAfterDays} days, sis-relay may not know whether something newer was
done since. It then parks the message as outdated. For a first load, pass --now.`,
  checkMessage: `
Examples:
  sis-relay check-message events/grade-push.json
  ./next-events | sis-relay check-message
  sis-relay check-message outbox.jsonl --json

It needs no stage and no network, and shows no value of a message. It checks the envelope, the
fields and the limits of SQS by the functions’ own code. It does not know what the platform and the
ledger hold: whether an id exists, a file can be read, or a newer message was done.
Exit status: 0 all messages are valid, 1 one is not, or there is none, 2 the file cannot be read.`,
};
