import { type Command, Option } from 'commander';
import { deskOf } from '../../dead-letters/reading/records.ts';
import { loadIntegrations } from '../../deployment/integrations.ts';
import { outdatedAfterDays } from '../../ledger/memory.ts';
import { formats } from '../../publish/formats.ts';
import { openInput } from '../../publish/input.ts';
import { type Awaited, awaitOutcomes } from '../../publish/outcomes.ts';
import { type Published, publishMessages } from '../../publish/publish.ts';
import { openMapping, type Source } from '../../publish/rows.ts';
import { plain } from '../../redaction/printable.ts';
import { numberOf } from '../../wording/amounts.ts';
import { endText, outcomesText, publishedNotes } from '../../wording/publish.ts';
import { type Cli, contextOf, wholeNumber } from '../command-context.ts';
import { problemLines } from '../print/changes.ts';
import { wrapped } from '../print/table.ts';
import type { Terminal } from '../print/terminal.ts';

type Given = Omit<Source, 'input' | 'mapping'> & {
  map?: string;
  dryRun: boolean;
  validOnly: boolean;
  bulk?: boolean;
  wait?: number;
};

export const addPublish = (program: Command, cli: Cli): void => {
  program
    .command('publish')
    .description('sends the messages of a file to their queues: nothing, unless each of them is valid')
    .argument('<file>', 'JSON (a message, a list, an event of Lambda), JSON Lines, or CSV; -: standard input')
    .option('--function <name>', 'what a table, or data without an envelope, is for')
    .option('--map <file>', 'how the rows of a CSV file with columns of its own become messages')
    .addOption(new Option('--format <format>', 'where the name of the file does not tell').choices(formats))
    .option('--now', 'each counts as said now, whatever time it gives, and replaces what came before')
    .option('--dry-run', 'check every row and send nothing')
    .option('--valid-only', 'send what is valid, though other rows are not')
    .option('--bulk', 'a large load: other messages go before it where the platform limits calls')
    .addOption(
      new Option('--wait [seconds]', 'wait for what becomes of each message, n seconds at most')
        .preset('60')
        .argParser(wholeNumber(1, 3_600)),
    )
    .addHelpText('after', examples)
    .action(async (file: string, { dryRun, bulk = false, wait, map, ...given }: Given, command: Command) => {
      const { target, audit, terminal, signal, print, withProgress, finish } = contextOf(cli, command);
      const integrations = await loadIntegrations();
      const mapping = map === undefined ? undefined : await openMapping(map, integrations);
      await using input = await openInput(file, terminal.stdin);
      // Before anything is sent: a deployment may have no such table.
      const desk = wait === undefined ? undefined : deskOf(target);
      const published = await withProgress('Sent', (onSent) =>
        publishMessages(target, {
          ...{ ...given, mapping, input, dryRun, bulk, receipts: desk !== undefined, integrations },
          ...{ audit, signal, onSent },
        }),
      );
      const { valid, invalid, sent, messages } = published;
      print(published, () => publishedLines(published, { dryRun }));
      if (dryRun) return finish(invalid === 0 && valid > 0);
      let isDone = sent > 0 && sent === valid;
      if (desk && wait !== undefined && messages.length > 0) {
        const { unread, ...awaited } = await awaitOutcomes(desk, messages, { waitSeconds: wait, signal });
        print(awaited, () => outcomeLines({ unread, ...awaited }, terminal));
        const { done, duplicate, superseded } = awaited.outcomes;
        isDone &&= done + duplicate + superseded === sent;
      }
      finish(isDone);
    });
};

/** On a terminal. */
const maxShown = 20;

const publishedLines = (published: Published, { dryRun }: { dryRun: boolean }): string[] => {
  const { valid, invalid, sent, messages, problems } = published;
  return [
    ...problemLines(problems),
    ...publishedNotes(published).map(({ tone, text }) =>
      tone === 'warn' ? `${text} Give --now to have each count as said now.` : text,
    ),
    ...messages
      .slice(0, maxShown)
      .map(({ line, function: name, eventId }) => `  line ${line}: ${name} ${plain(eventId)}`),
    ...(messages.length > maxShown
      ? [`  … and ${numberOf(messages.length - maxShown)} more: --json prints the ids of all`]
      : []),
    ...(sent === 0 && !dryRun && invalid > 0 && valid > 0
      ? ['Nothing is sent unless every message is valid: correct the file, or give --valid-only.']
      : []),
  ];
};

const outcomeLines = (
  { messages, outcomes, unread }: Awaited,
  { width }: Pick<Terminal, 'width'>,
): string[] => {
  const notDone = messages.filter(({ outcome }) => !['done', 'duplicate', 'superseded'].includes(outcome));
  return [
    outcomesText(outcomes),
    ...notDone
      .slice(0, maxShown)
      .flatMap((each) => wrapped(endText(each), width - 2, '  ').map((text) => `  ${text}`)),
    ...(notDone.length > maxShown
      ? [`  … and ${numberOf(notDone.length - maxShown)} more: --json prints what became of all`]
      : []),
    ...(unread ? ['What became of the others could not be read: `sis-relay status` tells more.'] : []),
  ];
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
given, "" is an empty text. Without a time, a message counts as said now, and replaces older ones.
A mapping file names, for each message, its function, the rows that it is made of, and for each
field of its data the column that has it:
  { "messages": [ { "function": "enrollment-create", "when": { "STATUS": ["active"] },
    "data": { "orgUnitCode": "COURSE_ID", "userName": "LOGIN",
              "roleId": { "from": "ROLE", "values": { "S": 110, "T": 109 } } },
    "time": "CHANGED_AT" } ] }
{ "value": 110 } gives the same to each; "default" beside "values" stands for what they do not name.
Of what was said more than ${outdatedAfterDays} days ago nobody knows whether something newer was done since:
it is parked as outdated. For a first load give --now.`;
