import type { Command } from 'commander';
import { showLetter } from '../../../dead-letters/reading/show.ts';
import { type Cli, contextOf, reasonText } from '../../command-context.ts';
import { letterDetailLines } from '../../print/letter-details.ts';

export const addShow = (letters: Command, cli: Cli): void => {
  letters
    .command('show')
    .description('shows all details of one letter')
    .argument('<id>', 'of the letter, or its beginning, or the id of its message')
    .option('--reveal', 'show names, grades, comments and free text too; this is written to the audit log')
    .option('--reason <text>', 'why it is revealed, for the audit log', reasonText)
    .addHelpText('after', examples)
    .action(
      async (
        id: string,
        { reveal = false, reason }: { reveal?: boolean; reason?: string },
        command: Command,
      ) => {
        const { target, audit, terminal, signal, print, withProgress } = contextOf(cli, command);
        const details = await withProgress('Reading letters', (onProgress) =>
          showLetter(target, { id, reveal, reason, audit, signal, onProgress }),
        );
        print(details, () => letterDetailLines(details, terminal));
      },
    );
};

const examples = `
Examples:
  sis-relay letters show 3f0c91aa
  sis-relay letters show 3f0c91aa --reveal --reason "the student asks"`;
