import { type Command, Option } from 'commander';
import { outdatedAfterDays } from '../../ledger/memory.ts';
import { formats } from '../../publish/formats.ts';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { wholeNumber } from '../options.ts';

export const addPublish = (program: Command, cli: Cli): void => {
  program
    .command('publish')
    .description('sends the messages of a file to their queues: nothing, unless each of them is valid')
    .argument('<file>', 'JSON (a message, a list, an event of Lambda), JSON Lines, or CSV; -: standard input')
    .option('--function <name>', 'what a table, or data without an envelope, is for')
    .option('--map <file>', 'how the rows of a CSV file with columns of its own become messages')
    .addOption(new Option('--format <format>', 'where the name of the file does not tell').choices(formats))
    .option('--now', 'uses the current time for each message, so that it replaces older data')
    .option('--dry-run', 'check every row and send nothing')
    .option('--valid-only', 'send what is valid, though other rows are not')
    .option('--bulk', 'a large load: other messages go before it where the platform limits calls')
    .addOption(
      new Option('--wait [seconds]', 'wait for what becomes of each message, n seconds at most')
        .preset('60')
        .argParser(wholeNumber(1, 3_600)),
    )
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/publish.ts')));
};

const examples = `
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
or files.0.uri; id, time, source and sequence may be given too. An empty cell is a field that is not
given, "" is an empty text. A message without a time gets the current time, and replaces older ones.
A mapping file names, for each message, its function, the rows that it is made of, and for each
field of its data the column that has it:
  { "messages": [ { "function": "enrollment-create", "when": { "STATUS": ["active"] },
    "data": { "orgUnitCode": "COURSE_ID", "userName": "LOGIN",
              "roleId": { "from": "ROLE", "values": { "S": 110, "T": 109 } } },
    "time": "CHANGED_AT" } ] }
{ "value": 110 } gives the same to each; "default" beside "values" stands for what they do not name.
Of what was said more than ${outdatedAfterDays} days ago nobody knows whether something newer was done since:
it is parked as outdated. For a first load give --now.`;
