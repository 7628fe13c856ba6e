import { outdatedAfterDays } from '../../../../message/retention.ts';
import {
  type Imported,
  importLetters,
  linesOf,
  objectInput,
} from '../../../../operate/messages/archive/import.ts';
import { openInput } from '../../../../operate/stage/input.ts';
import { countOf } from '../../../views/amounts.ts';
import { leftOutView, outdatedView, problemView } from '../../../views/changes.ts';
import { text } from '../../../views/view.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async (
  { target, audit, terminal, signal, isJson, print, say, agreed, withProgress, finish }: CommandContext,
  file: string,
  { dryRun }: { dryRun: boolean },
): Promise<void> => {
  await using input = objectInput(file, target) ?? (await openInput(file, terminal.stdin));
  const common = { lines: () => linesOf(input), audit, signal };
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
  const count = checked.letters - leftOut(checked);
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
  const imported = await withProgress('Imported', (onSent) =>
    importLetters(target, { ...common, dryRun, onSent }),
  );
  print(imported, () => [
    ...problemView(imported.problems),
    text(`${countOf(imported.imported, 'letter was', 'letters were')} imported.`),
  ]);
  finish(imported.imported === count);
};

const leftOut = ({ stillLetters = 0, repeated = [] }: Imported): number => stillLetters + repeated.length;
