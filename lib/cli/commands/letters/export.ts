import type { Command } from 'commander';
import { exportToFile } from '../../../dead-letters/export.ts';
import { addFilterOptions, type Cli, contextOf, wholeNumber } from '../../command-context.ts';
import { exportLines } from '../../print/changes.ts';

export const addExport = (letters: Command, cli: Cli): void => {
  addFilterOptions(
    letters
      .command('export')
      .description('writes letters to a file, whole and unmasked, and leaves them where they are'),
  )
    .requiredOption('--to <file>', 'a new file; nobody else may read it')
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .addHelpText('after', examples)
    .action(async ({ to: file, limit }: { to: string; limit?: number }, command: Command) => {
      const { target, filter, audit, signal, print, withProgress, finish } = contextOf(cli, command);
      const result = await withProgress('Reading letters', (onProgress) =>
        exportToFile(target, { ...{ filter, limit, signal, onProgress, file }, audit }),
      );
      print({ ...result, file: result.exported > 0 ? file : undefined }, () => exportLines(result, file));
      finish(result.exported > 0 && !signal.aborted);
    });
};

const examples = `
Examples:
  sis-relay letters export --to letters.jsonl
  sis-relay letters export --kind unknown-source --to unknown.jsonl`;
