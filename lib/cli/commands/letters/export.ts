import type { Command } from 'commander';
import { exportLetters, exportToFile } from '../../../dead-letters/export.ts';
import { addFilterOptions, besideData, type Cli, contextOf, wholeNumber } from '../../command-context.ts';
import { exportLines } from '../../print/changes.ts';

export const addExport = (letters: Command, cli: Cli): void => {
  addFilterOptions(
    letters
      .command('export')
      .description('writes letters to a file, whole and unmasked, and leaves them where they are'),
  )
    .requiredOption('--to <file>', 'a new file, which nobody else may read; -: standard output')
    .option('--limit <n>', 'at most n letters', wholeNumber(1, 100_000))
    .addHelpText('after', examples)
    .action(async ({ to: file, limit }: { to: string; limit?: number }, command: Command) => {
      const isPiped = file === '-';
      const context = contextOf(isPiped ? besideData(cli) : cli, command);
      const { target, filter, audit, terminal, signal, print, withProgress, finish } = context;
      const result = await withProgress('Reading letters', (onProgress) => {
        const options = { filter, limit, signal, onProgress, audit };
        return isPiped
          ? exportLetters(target, { ...options, write: terminal.write })
          : exportToFile(target, { ...options, file });
      });
      print({ ...result, file: result.exported > 0 && !isPiped ? file : undefined }, () =>
        exportLines(result, isPiped ? 'standard output' : file),
      );
      finish(result.exported > 0 && !signal.aborted);
    });
};

const examples = `
Examples:
  sis-relay letters export --to letters.jsonl
  sis-relay letters export --kind unknown-source --to unknown.jsonl
  sis-relay letters export --to - | gzip > letters.jsonl.gz`;
