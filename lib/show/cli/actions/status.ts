import { statusOf } from '../../../operate/reviews/status.ts';
import { integrationNames } from '../../../operate/stage/function-names.ts';
import { statusView } from '../../views/status.ts';
import type { CommandContext } from '../command-context.ts';

export const act = async (
  { target, signal, print }: CommandContext,
  { oldest = false }: { oldest?: boolean },
): Promise<void> => {
  const functions = integrationNames();
  const status = await statusOf(target, { functions, oldest, signal });
  print(status, () => [{ heading: target.prefix.slice(0, -1) }, ...statusView(status)]);
};
