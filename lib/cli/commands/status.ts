import type { Command } from 'commander';
import { statusOf } from '../../connection/status.ts';
import { loadIntegrations } from '../../deployment/integrations.ts';
import { type Cli, contextOf } from '../command-context.ts';
import { statusLines } from '../print/status.ts';

export const addStatus = (program: Command, cli: Cli): void => {
  program
    .command('status')
    .description('queues, what waits and why, letters by kind, the credential’s health')
    .option(
      '--oldest',
      'the age of the oldest message of each queue, too: messages read for it count as received',
    )
    .addHelpText('after', examples)
    .action(async ({ oldest = false }: { oldest?: boolean }, command: Command) => {
      const { target, terminal, signal, print } = contextOf(cli, command);
      const functions = [...(await loadIntegrations()).keys()];
      const status = await statusOf(target, { functions, oldest, signal });
      print(status, () => statusLines(status, { terminal, target }));
    });
};

const examples = `
Examples:
  sis-relay status --stage prod
  sis-relay status --local --json`;
