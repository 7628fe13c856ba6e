import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';
import { reasonText } from '../../options.ts';

export const addShow = (letters: Command, cli: Cli): void => {
  letters
    .command('show')
    .description('shows all details of one letter')
    .argument('<id>', 'id of the letter or of its message, or the beginning of one')
    .option('--reveal', 'also show names, grades, comments and free text; the audit log records this')
    .option('--reason <text>', 'why it is revealed, for the audit log', reasonText)
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/show.ts')));
};

const examples = `
Examples:
  sis-relay letters show 3f0c91aa
  sis-relay letters show 3f0c91aa --reveal --reason "the student asks"`;
