import { type Command, Option } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';
import { reasonText, wholeNumber } from '../options.ts';

export const addWaiting = (program: Command, cli: Cli): void => {
  const waiting = program
    .command('waiting')
    .description('what waits, by cause, since when and until when; and shows it to its functions at once')
    .addHelpText('after', examples);
  addConditions(
    waiting.command('list', { isDefault: true }).description('lists what waits, by cause (the default)'),
  )
    .option('--limit <n>', 'at most n messages; default: 50, or all as JSON', wholeNumber(1, 1_000_000))
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/waiting/list.ts')));
  addConditions(
    waiting.command('wake').description('has queues show what waits at once, once its cause is gone'),
  )
    .option('--reason <text>', 'why, for the audit log', reasonText)
    .option('--limit <n>', 'at most n messages', wholeNumber(1, 1_000_000))
    .option('--dry-run', 'show which, and end there')
    .option('--yes', 'do not ask')
    .addHelpText('after', wakeExamples)
    .action(action(cli, () => import('../actions/waiting/wake.ts')));
};

const addConditions = (command: Command): Command => {
  command.optionsGroup('Which messages (all by default; every condition must hold, of a list one):');
  for (const option of [
    new Option('--function <name...>', 'of these functions'),
    new Option(
      '--kind <kind...>',
      'that wait for these kinds: credentials, aws-refused, throttled, unavailable',
    ),
    new Option('--status <status...>', 'last answered by the platform with this status, as in 503 or 5xx'),
    new Option('--error <text>', 'whose error holds this text'),
    new Option('--org-unit <id>', 'about this org unit, by its id or the SIS’ code'),
    new Option('--user <id>', 'about this user, by the id, or what the SIS calls the user'),
    new Option('--id <id...>', 'with these ids, or beginnings of them, or ids of their events'),
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
No queue is touched: this is what the functions wrote down when they last had each message.`;

const wakeExamples = `
Examples:
  sis-relay waiting wake --kind credentials --dry-run
  sis-relay waiting wake --kind unavailable --function grade-push --reason "the platform is back"

Their functions take them at once, as fast as the platform's rate limit allows. One whose cause is not gone waits again.`;
