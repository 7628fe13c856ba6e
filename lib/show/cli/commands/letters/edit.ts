import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';
import { addFilterOptions, reasonText, wholeNumber } from '../../options.ts';
import { addRunOptions } from './run-options.ts';

const collect = (text: string, before: string[] = []): string[] => [...before, text];

export const addEdit = (letters: Command, cli: Cli): void => {
  const command = letters
    .command('edit')
    .description('corrects the messages of letters and sends them; the originals are kept')
    .argument(
      '[id]',
      'id of one letter or of its message, or the beginning of one; without it, pass a filter',
    )
    .requiredOption('--reason <text>', 'why, kept with the message and in the audit log', reasonText)
    .option('--set <field=value>', 'set a field instead of opening an editor; can be repeated', collect)
    .option('--unset <field>', 'remove a field; can be repeated', collect)
    .option(
      '--include-uncertain',
      'also send letters that are uncertain or outdated: you have checked what the platform holds',
      false,
    )
    .option('--reveal', 'show old values unmasked; the audit log records this', false)
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .option('--yes', 'make the changes without asking');
  addFilterOptions(addRunOptions(command, '--wait'))
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/edit.ts')));
};

const examples = `
Examples:
  sis-relay letters edit 3f0c91aa --reason "too many points" --set data.grade.points=7
  sis-relay letters edit 3f0c91aa --reason typo --unset data.coment --set data.comments="Well done"
  sis-relay letters edit 3f0c91aa --reason "wrong course"        opens $VISUAL or $EDITOR
  sis-relay letters edit --kind invalid --reason "no points" --set data.grade.points=0

An editor shows the whole message, unmasked. The audit log records that.
A value that is valid JSON (7, true, "7") is read as JSON. Any other value is text.`;
