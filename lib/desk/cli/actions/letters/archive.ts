import { outdatedAfterDays } from '../../../../message/retention.ts';
import { UsageError } from '../../../../stage/command-errors.ts';
import { fileOf, openInput } from '../../../../stage/input.ts';
import { exportLetters, exportToFile } from '../../../messages/archive/export.ts';
import { importLetters, linesOf, objectInput } from '../../../messages/archive/import.ts';
import * as verbs from '../../../operator-actions/discard.ts';
import {
  exportedView,
  importableIn,
  leftOutView,
  outdatedView,
  problemView,
} from '../../../views/changes.ts';
import { countOf } from '../../../views/format.ts';
import { text } from '../../../views/view.ts';
import type { CommandContext } from '../../command-context.ts';

type DiscardCliOptions = { reason: string; all?: boolean; limit?: number; dryRun?: boolean };

export const discard = async (
  context: CommandContext,
  { reason, all, limit, dryRun = false }: DiscardCliOptions,
): Promise<void> => {
  const { filter } = context;
  if (!all && Object.keys(filter).length === 0)
    throw new UsageError(
      'Which letters? Pass a filter, such as --kind unknown-source, or --all for all of them.',
    );
  if (!dryRun) await context.checkAudit();
  const { plan, discarded } = await verbs.discard(context, { filter, limit, reason, dryRun });
  context.finish(dryRun ? plan.letters > 0 : discarded > 0 && discarded === plan.letters);
};

export const exportAll = async (
  context: CommandContext,
  { to: file, reason, limit }: { to: string; reason: string; limit?: number },
): Promise<void> => {
  const isPiped = file === '-';
  const { target, filter, audit, terminal, signal, print, progress, finish } = isPiped
    ? context.besideData()
    : context;
  const options = { filter, reason, limit, signal, onProgress: progress('Reading letters'), audit };
  const result = isPiped
    ? await exportLetters(target, { ...options, file: 'standard output', write: terminal.write })
    : await exportToFile(target, { ...options, file });
  print({ ...result, file: result.exported > 0 && !isPiped ? file : undefined }, () =>
    exportedView(result, isPiped ? 'standard output' : file),
  );
  finish(result.exported > 0 && !signal.aborted);
};

export const importAll = async (
  {
    target,
    audit,
    terminal,
    signal,
    isJson,
    print,
    say,
    agreed,
    progress,
    finish,
    checkAudit,
  }: CommandContext,
  file: string,
  { dryRun = false, forThisStage = false }: { dryRun?: boolean; forThisStage?: boolean },
): Promise<void> => {
  await using input = objectInput(file, target) ?? (await openInput(file, terminal.stdin));
  if (!dryRun) await checkAudit();
  const howToTake = 'pass --for-this-stage to try it here';
  const common = { file: fileOf(input), lines: () => linesOf(input), forThisStage, howToTake, audit, signal };
  const checked = await importLetters(target, {
    ...common,
    dryRun: true,
    onOutdated: (outdated) => {
      if (isJson) print({ outdated, ledgerMemoryDays: outdatedAfterDays }, () => []);
      else say(outdatedView(outdated));
    },
  });
  if (checked.letters === 0 && checked.problems.length === 0) {
    print(checked, () => [text(`${input.name} holds no letters, so nothing was imported.`)]);
    return finish(false);
  }
  const isGood = checked.problems.length === 0;
  const count = importableIn(checked);
  if (!isJson) say(leftOutView(checked));
  if (!isGood || dryRun || count === 0 || !(await agreed(`Import ${countOf(count, 'letter')}?`))) {
    print(checked, () => [
      ...problemView(checked.problems),
      text(
        `${countOf(count, 'letter')} can be imported${isGood ? '' : '. Nothing was imported, because every line must hold a letter'}.`,
      ),
    ]);
    return finish(isGood && dryRun && count > 0);
  }
  const imported = await importLetters(target, { ...common, dryRun, onSent: progress('Imported') });
  print(imported, () => [
    ...problemView(imported.problems),
    text(`${countOf(imported.imported, 'letter was', 'letters were')} imported.`),
  ]);
  finish(imported.imported === count);
};
