import { listWaiting } from '../../messages/waiting/waiting.ts';
import * as verbs from '../../operator-actions/deliveries.ts';
import { waitingView } from '../../views/waiting.ts';
import type { CommandContext } from '../command-context.ts';

export const list = async (context: CommandContext, { limit }: { limit?: number }): Promise<void> => {
  const { target, name, filter, signal, isJson, print, finish } = context;
  const most = limit ?? (isJson ? Number.POSITIVE_INFINITY : 50);
  const found = await listWaiting(target, { filter, limit: most }, { signal });
  print(found, () => waitingView(found, name));
  finish(found.matching > 0);
};

export const wake = async (
  context: CommandContext,
  { reason, limit, dryRun = false }: { reason?: string; limit?: number; dryRun?: boolean },
): Promise<void> => {
  const { filter } = context;
  if (!dryRun) await context.checkAudit();
  const { plan, woken, failed, left } = await verbs.wake(context, { filter, limit, reason, dryRun });
  context.finish(dryRun ? plan.messages > 0 : woken > 0 && failed.length + left === 0);
};
