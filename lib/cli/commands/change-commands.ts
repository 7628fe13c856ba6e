import { open, rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { discardLetters } from '../../dead-letters/discard.ts';
import { exportLetters } from '../../dead-letters/export.ts';
import { importLetters, ledgerMemoryDays, type Outdated } from '../../dead-letters/import.ts';
import { RefusedError, UsageError } from '../../deployment/command-errors.ts';
import type { Target } from '../../deployment/target.ts';
import { outdatedAfterDays } from '../../ledger/rules.ts';
import { memoryDays } from '../../ledger/table.ts';
import { linesIn } from '../../publish/lines.ts';
import {
  type Around,
  addFilterOptions,
  agreed,
  auditOf,
  filterOf,
  isJson,
  printJson,
  printLines,
  reasonText,
  targetOf,
  wholeNumber,
  withProgress,
} from '../command-context.ts';
import { discardLines, discardPlanLines, outdatedLines, problemLines } from '../print/changes.ts';
import { remarks } from '../print/letters.ts';
import { countOf } from '../print/table.ts';
import { addEditCommand } from './letters/edit.ts';

/** The commands that put single letters right, or away. */
export const addChangeCommands = (letters: Command, around: Around): void => {
  addEditCommand(letters, around);
  addDiscardCommand(letters, around);
  addExportCommand(letters, around);
  addImportCommand(letters, around);
};

const addDiscardCommand = (letters: Command, around: Around): void => {
  addFilterOptions(
    letters.command('discard').description('takes letters away for good; each is archived before'),
  )
    .requiredOption('--reason <text>', 'why, for the audit log', reasonText)
    .option('--all', 'every letter there is, where nothing else says which')
    .option('--limit <n>', 'no more than so many', wholeNumber(1, 100_000))
    .option('--dry-run', 'show which, and end there')
    .option('--yes', 'do not ask')
    .addHelpText('after', discardExamples)
    .action(async ({ reason, all, limit, dryRun }, command: Command) => {
      const { terminal } = around;
      const { signal } = terminal;
      const target = targetOf(command);
      const filter = filterOf(command);
      if (!all && Object.keys(filter).length === 0)
        throw new UsageError(
          'Which letters? Give a condition, such as --kind foreign, or --all for every one.',
        );
      const discarded = await withProgress(around, 'Letters', (show) =>
        discardLetters(target, {
          ...{ filter, limit, reason, dryRun, signal },
          onProgress: show,
          onDiscarded: show,
          audit: auditOf(around, target, command),
          confirm: async (plan) => {
            if (isJson(command)) printJson(around, { plan });
            else printLines(around, discardPlanLines(plan, { terminal, target }));
            if (dryRun || plan.letters === 0 || signal.aborted) return false;
            return agreed(around, command, `Discard ${countOf(plan.letters, 'letter')}?`);
          },
        }),
      );
      if (isJson(command)) printJson(around, { result: { ...discarded, plan: undefined } });
      else printLines(around, discardLines(discarded));
      around.finish(
        dryRun
          ? discarded.plan.letters > 0
          : discarded.discarded > 0 && discarded.discarded === discarded.plan.letters,
      );
    });
};

const addExportCommand = (letters: Command, around: Around): void => {
  addFilterOptions(
    letters
      .command('export')
      .description('writes letters to a file, whole and unmasked, and leaves them where they are'),
  )
    .requiredOption('--to <file>', 'a new file; nobody else may read it')
    .option('--limit <n>', 'no more than so many', wholeNumber(1, 100_000))
    .addHelpText('after', exportExamples)
    .action(async ({ to, limit }: { to: string; limit?: number }, command: Command) => {
      const target = targetOf(command);
      const filter = filterOf(command);
      const file = await open(to, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
        throw new RefusedError(
          error.code === 'EEXIST'
            ? `${to} is there already: name another file.`
            : `${to} cannot be written: ${error.code}`,
        );
      });
      const { signal } = around.terminal;
      let exported = 0;
      try {
        const found = await withProgress(around, 'Reading letters', (onProgress) =>
          exportLetters(target, {
            ...{ filter, limit, signal, onProgress },
            audit: auditOf(around, target, command),
            write: (line) => file.appendFile(line),
          }),
        );
        exported = found.exported;
        const written = `${countOf(exported, 'letter was', 'letters were')} written to ${to}`;
        if (isJson(command)) printJson(around, { ...found, file: exported > 0 ? to : undefined });
        else if (exported === 0) printLines(around, [`No letter matches, so ${to} was not written.`]);
        else printLines(around, [`${written}. They hold personal data, unmasked.`, ...remarks(found)]);
        around.finish(exported > 0 && !signal.aborted);
      } finally {
        await file.close();
        if (exported === 0) await rm(to);
      }
    });
};

const addImportCommand = (letters: Command, around: Around): void => {
  letters
    .command('import')
    .description('puts letters from a file of `export` or `discard` back into the dead-letter queue')
    .argument('<file>', 'a file, or s3://bucket/key')
    .option('--dry-run', 'check every line and send nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', importExamples)
    .action(async (file: string, { dryRun }: { dryRun: boolean }, command: Command) => {
      const target = targetOf(command);
      const { terminal } = around;
      const { signal } = terminal;
      const common = { lines: () => linesOf(file, target), audit: auditOf(around, target, command), signal };
      const onOutdated = (outdated: Outdated[]) => {
        if (isJson(command)) printJson(around, { outdated, ledgerMemoryDays });
        else
          terminal.err(
            outdatedLines(outdated, terminal)
              .map((line) => `${line}\n`)
              .join(''),
          );
      };
      const checked = await importLetters(target, { ...common, dryRun: true, onOutdated });
      const good = checked.problems.length === 0 && checked.letters > 0;
      if (
        !good ||
        dryRun ||
        !(await agreed(around, command, `Import ${countOf(checked.letters, 'letter')}?`))
      ) {
        if (isJson(command)) printJson(around, checked);
        else
          printLines(around, [
            ...problemLines(checked.problems),
            `${countOf(checked.letters, 'letter')} can be imported${good ? '' : ': nothing was, as every line must hold one'}.`,
          ]);
        return around.finish(good && dryRun);
      }
      const imported = await withProgress(around, 'Imported', (onSent) =>
        importLetters(target, { ...common, dryRun, onSent }),
      );
      if (isJson(command)) printJson(around, imported);
      else
        printLines(around, [
          ...problemLines(imported.problems),
          `${countOf(imported.imported, 'letter was', 'letters were')} imported.`,
        ]);
      around.finish(imported.imported === checked.letters);
    });
};

/** @throws RefusedError where there is no such file. */
async function* linesOf(file: string, target: Target): AsyncGenerator<string> {
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(file) ?? [];
  try {
    if (bucket === undefined) yield* linesIn(file);
    else {
      const { GetObjectCommand } = await import('@aws-sdk/client-s3');
      const s3 = await target.s3();
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      yield* ((await Body?.transformToString()) ?? '').split('\n');
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { name, code } = error as { name?: string; code?: string };
    if (code === 'ENOENT' || name === 'NoSuchKey') throw new RefusedError(`There is no ${file}.`);
    if (bucket === undefined) throw new RefusedError(`${file} cannot be read: ${code}`);
    // Who may not list a bucket is not told that an object is not there.
    if (name === 'AccessDenied') throw new RefusedError(`There is no ${file}, or you may not read it.`);
    throw error;
  }
}

const discardExamples = `
Examples:
  sis-relay letters discard --kind foreign --reason "another team's test" --dry-run
  sis-relay letters discard --id 3f0c91aa --reason "handed in on paper"

What was discarded lies under discarded/ in the bucket: letters import s3://… takes it back.`;

const exportExamples = `
Examples:
  sis-relay letters export --to letters.jsonl
  sis-relay letters export --kind foreign --to foreign.jsonl`;

const importExamples = `
Examples:
  sis-relay letters import letters.jsonl --dry-run
  sis-relay letters import s3://sis-relay-uploads/discarded/2026-01-31T093000.000Z/0001.jsonl

The ledger forgets after ${memoryDays} days what was done. A letter whose message is older than ${outdatedAfterDays} days can
be imported, but is not sent without a person's word: replayed, it comes back as outdated, unless
the ledger still knows what it is about.`;
