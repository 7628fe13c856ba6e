import type { Command } from 'commander';
import { type Imported, importLetters, linesOf, objectInput } from '../../../dead-letters/import.ts';
import { memoryDays, outdatedAfterDays } from '../../../ledger/memory.ts';
import { openInput } from '../../../publish/input.ts';
import { countOf, numberOf } from '../../../wording/amounts.ts';
import { type Cli, contextOf, textOfLines } from '../../command-context.ts';
import { outdatedLines, problemLines } from '../../print/changes.ts';

export const addImport = (letters: Command, cli: Cli): void => {
  letters
    .command('import')
    .description('puts letters from a file of `export` or `discard` back into the dead-letter queue')
    .argument('<file>', 'a file, or s3://bucket/key; -: standard input, and needs --yes')
    .option('--dry-run', 'check every line and send nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
    .action(async (file: string, { dryRun }: { dryRun: boolean }, command: Command) => {
      const { target, audit, terminal, signal, isJson, print, agreed, withProgress, finish } = contextOf(
        cli,
        command,
      );
      await using input = objectInput(file, target) ?? (await openInput(file, terminal.stdin));
      const common = { lines: () => linesOf(input), audit, signal };
      const checked = await importLetters(target, {
        ...common,
        dryRun: true,
        onOutdated: (outdated) => {
          if (isJson) print({ outdated, ledgerMemoryDays: outdatedAfterDays }, () => []);
          else terminal.err(textOfLines(outdatedLines(outdated, terminal)));
        },
      });
      const isGood = checked.problems.length === 0 && checked.letters > 0;
      const count = checked.letters - leftOut(checked);
      if (!isJson) terminal.err(textOfLines(leftOutLines(checked)));
      if (!isGood || dryRun || count === 0 || !(await agreed(`Import ${countOf(count, 'letter')}?`))) {
        print(checked, () => [
          ...problemLines(checked.problems),
          `${countOf(count, 'letter')} can be imported${isGood ? '' : ': nothing was, as every line must hold one'}.`,
        ]);
        return finish(isGood && dryRun && count > 0);
      }
      const imported = await withProgress('Imported', (onSent) =>
        importLetters(target, { ...common, dryRun, onSent }),
      );
      print(imported, () => [
        ...problemLines(imported.problems),
        `${countOf(imported.imported, 'letter was', 'letters were')} imported.`,
      ]);
      finish(imported.imported === count);
    });
};

const leftOut = ({ stillLetters = 0, repeated = [] }: Imported): number => stillLetters + repeated.length;

const leftOutLines = ({ letters, stillLetters = 0, repeated = [] }: Imported): string[] => [
  ...problemLines(repeated.map((line) => ({ line, problem: 'has the letter of an earlier line: left out' }))),
  ...(stillLetters > 0
    ? [
        `${numberOf(stillLetters)} of ${countOf(letters, 'letter')} are letters still, or again, and are left out.`,
      ]
    : []),
];

const examples = `
Examples:
  sis-relay letters import letters.jsonl --dry-run
  zcat letters.jsonl.gz | sis-relay letters import - --yes
  sis-relay letters import s3://sis-relay-uploads/discarded/2026-01-31T093000.000Z/0001.jsonl

Letters that are still there, or there again, are left out: no message becomes two letters.
The ledger forgets after ${memoryDays} days what was done. A letter whose message is older than ${outdatedAfterDays} days can
be imported, but is not sent without a person's word: replayed, it comes back as outdated, unless
the ledger still knows what it is about.`;
