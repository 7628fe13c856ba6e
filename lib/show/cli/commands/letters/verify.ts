import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';
import { addFilterOptions, wholeNumber } from '../../options.ts';

export const addVerify = (letters: Command, cli: Cli): void => {
  const command = letters
    .command('verify')
    .description(
      'looks on the platform for what uncertain letters were to do, and offers to discard or replay them',
    )
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--discard-found', 'discard those that were done, without asking')
    .option('--replay-absent', 'replay those that were not done, without asking')
    .option('--yes', 'both');
  addFilterOptions(command)
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/verify.ts')));
};

const examples = `
Examples:
  sis-relay letters verify
  sis-relay letters verify --function submission-upload --since 2d
  sis-relay letters verify --discard-found --replay-absent

It reads the platform as the function would, with the credential of the same user, from the time of the attempt on.
found: the effect of the message is there. absent: it is not there, and cannot appear any more. unclear: neither is
certain, and the letter stays. Without a terminal, it changes nothing unless you pass these options.
It cannot decide this for letters of kind outdated: compare those with what the platform holds.`;
