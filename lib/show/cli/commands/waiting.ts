import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { kinds, reasonText, wholeNumber } from '../options.ts';

export const addWaiting = (program: Command, cli: Cli): void => {
  const waiting = program
    .command('waiting')
    .description('shows what waits, by cause, since when and until when; `wake` has it tried again now')
    .addHelpText('after', examples);
  addConditions(
    waiting.command('list', { isDefault: true }).description('lists what waits, by cause (the default)'),
  )
    .option('--limit <n>', 'at most n messages; default: 50, or all as JSON', wholeNumber(1, 1_000_000))
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/waiting/list.ts')));
  addConditions(
    waiting.command('wake').description('has waiting messages tried again now, once their cause is gone'),
  )
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--limit <n>', 'at most n messages', wholeNumber(1, 1_000_000))
    .option('--dry-run', 'show which ones, and change nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', wakeExamples)
    .action(action(cli, () => import('../actions/waiting/wake.ts')));
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

const examples = `
Examples:
  sis-relay waiting
  sis-relay waiting --kind credentials --function grade-push
  sis-relay waiting wake --kind credentials

Messages that only wait for their turn under the platform's rate limit are not listed: their turn comes by itself.
No queue is read: the list is what the functions recorded when they last had each message.`;

const wakeExamples = `
Examples:
  sis-relay waiting wake --kind credentials --dry-run
  sis-relay waiting wake --kind unavailable --function grade-push --reason "the platform is back"

Their functions handle them now, as fast as the platform's rate limit allows. A message whose cause remains waits again.`;
