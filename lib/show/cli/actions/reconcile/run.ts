import { readComparison } from '../../../../operate/reviews/reconcile/read.ts';
import { awaitRun, startRun } from '../../../../operate/reviews/reconcile/run.ts';
import { comparisonView } from '../../../views/comparison.ts';
import { text } from '../../../views/view.ts';
import type { CommandContext } from '../../command-context.ts';
import { documentOf, isFine, maxFindings } from './document.ts';

const oneMinuteMs = 60_000;

export const act = async (
  { target, terminal, audit, signal, print, finish, withProgress }: CommandContext,
  { nightly = false, wait }: { nightly?: boolean; wait: number | false },
): Promise<void> => {
  const id = await startRun(target, { nightly, audit });
  const shown = { lead: 'To see it', command: `reconcile show ${id}` };
  if (wait === false) return print({ id }, () => [text(`Run ${id} has started.`), shown]);
  terminal.err(`Run ${id} has started.\n`);
  const report = await withProgress('Comparing', (onProgress) =>
    awaitRun(target, id, { signal, patienceMs: wait * oneMinuteMs, onProgress }),
  );
  if (report === undefined) {
    print({ id, state: 'running' }, () => [text(`Run ${id} is still running.`), shown]);
    return finish(false);
  }
  const comparison = await readComparison(target, { run: id, limit: maxFindings, signal });
  print(documentOf(comparison), () => comparisonView(comparison));
  finish(isFine(comparison) && report.state === 'whole');
};
