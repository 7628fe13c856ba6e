import type { Command } from 'commander';
import { action } from '../../action.ts';
import type { Cli } from '../../command-context.ts';
import { addFilterOptions, reasonText, wholeNumber } from '../../options.ts';

export const addExport = (letters: Command, cli: Cli): void => {
  addFilterOptions(
    letters
      .command('export')
      .description('writes whole, unmasked letters to a file, and leaves them in the queue'),
  )
    .requiredOption('--to <file>', 'a new file that only you can read; -: standard output')
    .requiredOption('--reason <text>', 'why they are revealed, for the audit log', reasonText)
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .addHelpText('after', examples)
    .action(action(cli, () => import('../../actions/letters/export.ts')));
};

const examples = `
Examples:
  sis-relay letters export --to letters.jsonl --reason "kept beyond 14 days"
  sis-relay letters export --kind unknown-source --to unknown.jsonl --reason "asked the SIS"
  sis-relay letters export --to - --reason "for the SIS" | gzip > letters.jsonl.gz`;
