import { wakeMessages } from '../../../../operate/messages/waiting/wake.ts';
import { countOf } from '../../../views/amounts.ts';
import { wakePlanView, wokenNotes } from '../../../views/waiting.ts';
import type { CommandContext } from '../../command-context.ts';

export const act = async (
  { target, filter, audit, signal, print, agreed, withProgress, finish }: CommandContext,
  { reason, limit, dryRun = false }: { reason?: string; limit?: number; dryRun?: boolean },
): Promise<void> => {
  const { plan, ...result } = await withProgress('Woken', (show) =>
    wakeMessages(target, {
      ...{ filter, limit, reason, dryRun, signal, audit },
      onWoken: show,
      confirm: async (planned) => {
        print({ plan: planned }, () => wakePlanView(planned));
        if (dryRun || planned.messages === 0 || signal.aborted) return false;
        return agreed(`Wake ${countOf(planned.messages, 'message')}?`);
      },
    }),
  );
  if (!dryRun) print({ result }, () => wokenNotes(result));
  finish(dryRun ? plan.messages > 0 : result.woken > 0 && result.failed.length + result.left === 0);
};
