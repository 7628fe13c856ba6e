import { statusOf } from '../../connection/status.ts';
import { integrationNames } from '../../deployment/function-names.ts';
import type { CommandContext } from '../command-context.ts';
import { statusLines } from '../print/status.ts';

export const act = async (
  { target, terminal, signal, print }: CommandContext,
  { oldest = false }: { oldest?: boolean },
): Promise<void> => {
  const functions = integrationNames();
  const status = await statusOf(target, { functions, oldest, signal });
  print(status, () => statusLines(status, { terminal, target }));
};
