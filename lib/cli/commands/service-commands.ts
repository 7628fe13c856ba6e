import { type Command, Option } from 'commander';
import { statusOf } from '../../connection/status.ts';
import { loadIntegrations } from '../../deployment/integrations.ts';
import { outdatedAfterDays } from '../../ledger/rules.ts';
import { publishMessages } from '../../publish/publish.ts';
import { type Format, formats } from '../../publish/rows.ts';
import {
  type Around,
  auditOf,
  isJson,
  printJson,
  printLines,
  targetOf,
  withProgress,
} from '../command-context.ts';
import { problemLines } from '../print/changes.ts';
import { statusLines } from '../print/status.ts';
import { countOf, numberOf } from '../print/table.ts';

type PublishGiven = {
  function?: string;
  format?: Format;
  now: boolean;
  dryRun: boolean;
  validOnly: boolean;
};

export const addServiceCommands = (program: Command, around: Around): void => {
  program
    .command('status')
    .description('queues, what waits and why, letters by kind, the credential’s health')
    .option('--look', 'into the queues too, for their oldest messages: it counts as a receipt of some')
    .addHelpText('after', statusExamples)
    .action(async ({ look = false }: { look?: boolean }, command: Command) => {
      const { terminal } = around;
      const target = targetOf(command);
      const functions = [...(await loadIntegrations()).keys()];
      const status = await withProgress(around, 'Reading letters', (onProgress) =>
        statusOf(target, { functions, look, signal: terminal.signal, onProgress }),
      );
      if (isJson(command)) printJson(around, status);
      else printLines(around, statusLines(status, { terminal, target }));
    });

  program
    .command('publish')
    .description('sends the messages of a file to their queues: nothing, unless each of them is valid')
    .argument('<file>', 'JSON (a message, a list, an event of Lambda), JSON Lines, or CSV with a header')
    .option('--function <name>', 'what a table, or data without an envelope, is for')
    .addOption(new Option('--format <format>', 'where the name of the file does not tell').choices(formats))
    .option('--now', 'each counts as said now, whatever time it gives, and replaces what came before')
    .option('--dry-run', 'check every row and send nothing')
    .option('--valid-only', 'send what is valid, though other rows are not')
    .addHelpText('after', publishExamples)
    .action(async (file: string, { function: name, ...given }: PublishGiven, command: Command) => {
      const { terminal } = around;
      const target = targetOf(command);
      const integrations = await loadIntegrations();
      const published = await withProgress(around, 'Sent', (onSent) =>
        publishMessages(target, {
          ...given,
          ...{ file, function: name, integrations, signal: terminal.signal, onSent },
          audit: auditOf(around, target, command),
        }),
      );
      if (isJson(command)) printJson(around, published);
      else {
        const { valid, invalid, sent, functions, problems, outdated } = published;
        const each = Object.entries(functions).map(([of, count]) => `${numberOf(count)} for ${of}`);
        printLines(around, [
          ...problemLines(problems),
          ...(outdated > 0 ? [outdatedLine(outdated)] : []),
          `${countOf(valid, 'valid message')}${each.length > 0 ? ` (${each.join(', ')})` : ''}, ${invalid} not valid; ${sent} sent.`,
          ...(sent === 0 && !given.dryRun && invalid > 0 && valid > 0
            ? ['Nothing is sent unless every message is valid: correct the file, or give --valid-only.']
            : []),
        ]);
      }
      around.finish(
        given.dryRun
          ? published.invalid === 0 && published.valid > 0
          : published.sent > 0 && published.sent === published.valid,
      );
    });
};

const outdatedLine = (count: number): string =>
  `${countOf(count, 'message is', 'messages are')} older than ${outdatedAfterDays} days, and will be parked as outdated where the ledger knows nothing of what it is about. Give --now to have each count as said now.`;

const statusExamples = `
Examples:
  sis-relay status --stage prod
  sis-relay status --local --json`;

const publishExamples = `
Examples:
  sis-relay publish events/grade-push.json --local --now
  sis-relay publish grades.csv --function grade-push --dry-run
  sis-relay publish messages.jsonl --valid-only

The columns of a table are the fields of the data, as in
  orgUnitId,gradeObjectId,userId,grade.type,grade.points,comments
or files.0.uri; id, time, source and sequence may be given too. An empty cell is a field that is not
given, "" is an empty text. Without a time, a message counts as said now, and replaces older ones.
Of what was said more than ${outdatedAfterDays} days ago nobody knows whether something newer was done since:
it is parked as outdated. For a first load give --now.`;
