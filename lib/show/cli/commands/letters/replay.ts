import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';
import { addFilterOptions, reasonText, wholeNumber } from '../../options.ts';
import { addRunOptions } from './run-options.ts';

export const addReplay = (letters: Command, cli: Cli): void => {
  const command = letters
    .command('replay')
    .description('sends letters back to their queues: a plan, a canary of each cause, then the rest')
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--dry-run', 'show the plan, and send nothing')
    .option('--yes', 'carry out the plan without asking')
    .option(
      '--include-uncertain',
      'also send letters that are uncertain or outdated: you have checked what the platform holds',
    )
    .option('--no-probe', 'do not probe the platform first for what cannot succeed yet')
    .option('--reason <text>', 'why, kept with the message and in the audit log', reasonText);
  addFilterOptions(addRunOptions(command, '--canary-wait'))
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/replay.ts')));
};

const examples = `
Examples:
  sis-relay letters replay --kind unavailable --dry-run
  sis-relay letters replay --function grade-push --kind missing-scope --reason "scope granted"
  sis-relay letters replay --until 2026-01-31T09:30Z --rate 50 --yes
  sis-relay letters replay --id 3f0c91aa --include-uncertain

Before you agree, only invalid letters are read, and given back. Letters that arrive later are left
alone. A letter is deleted only after its message was sent, so a crash loses nothing: at worst it
leaves a second copy, which the ledger recognizes. Ctrl-C stops after the requests in progress.`;
