import { statusPartsOf } from '../../../options.ts';
import { integrationNames } from '../../../stage/function-names.ts';
import { changeDeliveries } from '../../operator-actions/deliveries.ts';
import { documentOf, statusOf } from '../../stage-state/status.ts';
import { needsSomebody, statusView, todoIn } from '../../views/status.ts';
import type { CommandContext } from '../command-context.ts';

export const status = async (
  { target, name, signal, desks, terminal, print, finish }: CommandContext,
  { oldest = false, check = false }: { oldest?: boolean; check?: boolean },
): Promise<void> => {
  const found = await statusOf(target, {
    functions: integrationNames(),
    parts: await statusPartsOf(desks),
    oldest,
    signal,
  });
  const document = { ...documentOf(found), todo: todoIn(found, terminal.command) };
  print(document, () => {
    const [first, ...others] = statusView(found);
    // Where a person reads it, the end is in sight.
    const isRead = Number.isFinite(terminal.width);
    return [{ heading: name }, ...(isRead ? [...others, first] : [first, ...others])];
  });
  finish(!check || !needsSomebody(found));
};

const changing =
  (verb: 'pause' | 'resume') =>
  async (context: CommandContext, functions: string[], { reason }: { reason?: string }): Promise<void> => {
    await context.checkAudit();
    const changes = await changeDeliveries(context, verb, { functions, known: integrationNames(), reason });
    context.finish(changes.every(({ done }) => done));
  };

export const pause = changing('pause');
export const resume = changing('resume');
