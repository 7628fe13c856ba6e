import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';
import { addFilterOptions, wholeNumber } from '../../options.ts';

export const addVerify = (letters: Command, cli: Cli): void => {
  const command = letters
    .command('verify')
    .description('looks on the platform whether what is uncertain was done, and offers what to do about it')
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--discard-found', 'discard those that were done, and do not ask')
    .option('--replay-absent', 'replay those that were not, and do not ask')
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

It looks as the function would, with the credential of the same user, from the time of the attempt on.
found: what it was to do is there. absent: it is not, and can come no more. unclear: neither is certain, and the
letter stays. Without a terminal and these options it changes nothing.
A letter of kind outdated cannot be told so: compare it with what the platform holds.`;
