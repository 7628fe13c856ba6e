import { type Command, Option } from 'commander';
import { outdatedAfterDays } from '../../../message/retention.ts';
import { formats } from '../../../operate/messages/publish/formats.ts';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { wholeNumber } from '../options.ts';

export const addPublish = (program: Command, cli: Cli): void => {
  program
    .command('publish')
    .description('sends the messages of a file to their queues, if all of them are valid')
    .argument('<file>', 'JSON (a message, a list, an event of Lambda), JSON Lines, or CSV; -: standard input')
    .option('--function <name>', 'the function that a table, or data without an envelope, is for')
    .option('--map <file>', 'a mapping file: it says how rows with other columns become messages')
    .addOption(
      new Option('--format <format>', 'format of the file, if its name does not show it').choices(formats),
    )
    .option('--now', 'use the current time for every message, so that it overrides older data')
    .option('--dry-run', 'check every row, and send nothing')
    .option('--valid-only', 'send the valid messages even if others are not valid')
    .option('--bulk', 'a large load: other messages go first if the platform limits calls')
    .addOption(
      new Option('--wait [seconds]', 'wait at most n seconds for the outcome of each message')
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
done since. It then parks the message as outdated. For a first load, pass --now.`;
