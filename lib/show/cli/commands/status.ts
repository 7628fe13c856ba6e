import type { Command } from 'commander';
import { action } from '../action.ts';
import type { Cli } from '../command-context.ts';

export const addStatus = (program: Command, cli: Cli): void => {
  program
    .command('status')
    .description('shows queues, what waits and why, letters by kind, and whether the credential works')
    .option(
      '--oldest',
      'also show the age of the oldest message of each queue; the messages read for this count as received',
    )
    .addHelpText('after', examples)
    .action(action(cli, () => import('../actions/status.ts')));
};

const examples = `
Examples:
  sis-relay status --stage prod
  sis-relay status --local --json`;
