import { statusPartsOf } from '../../../options.ts';
import { integrationNames } from '../../../stage/function-names.ts';
import { documentOf, statusOf } from '../../reviews/status.ts';
import { changeDeliveries } from '../../verbs/deliveries.ts';
import { statusView } from '../../views/status.ts';
import type { CommandContext } from '../command-context.ts';

export const status = async (
  { target, name, signal, desks, print }: CommandContext,
  { oldest = false }: { oldest?: boolean },
): Promise<void> => {
  const found = await statusOf(target, {
    functions: integrationNames(),
    parts: await statusPartsOf(desks),
    oldest,
    signal,
  });
  print(documentOf(found), () => [{ heading: name }, ...statusView(found)]);
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
