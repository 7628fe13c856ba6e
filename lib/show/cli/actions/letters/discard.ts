import { discardLetters } from '../../../../operate/messages/archive/discard.ts';
import { UsageError } from '../../../../operate/stage/command-errors.ts';
import { countOf } from '../../../views/amounts.ts';
import { discardedView, discardPlanView } from '../../../views/changes.ts';
import type { CommandContext } from '../../command-context.ts';

type Given = { reason: string; all?: boolean; limit?: number; dryRun?: boolean };

export const act = async (
  context: CommandContext,
  { reason, all, limit, dryRun = false }: Given,
): Promise<void> => {
  const { target, filter, audit, signal, print, agreed, withProgress, finish } = context;
  if (!all && Object.keys(filter).length === 0)
    throw new UsageError(
      'Which letters? Pass a filter, such as --kind unknown-source, or --all for all of them.',
    );
  if (!dryRun) await context.checkAudit();
  const result = await withProgress('Letters', (show) =>
    discardLetters(target, {
      ...{ filter, limit, reason, dryRun, signal, audit },
      onProgress: show,
      onDiscarded: show,
      confirm: async (plan) => {
        print({ plan }, () => discardPlanView(plan));
        if (dryRun || plan.letters === 0 || signal.aborted) return false;
        return agreed(`Discard ${countOf(plan.letters, 'letter')}?`);
      },
    }),
  );
  const { plan, ...discarded } = result;
  print({ result: discarded }, () => discardedView(result));
  finish(dryRun ? plan.letters > 0 : discarded.discarded > 0 && discarded.discarded === plan.letters);
};
