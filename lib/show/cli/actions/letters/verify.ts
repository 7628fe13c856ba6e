import * as verbs from '../../../verbs/verify.ts';
import type { CommandContext } from '../../command-context.ts';

type Given = { limit?: number; discardFound?: boolean; replayAbsent?: boolean; yes?: true };

export const verify = async (
  context: CommandContext,
  { limit, yes, discardFound = yes, replayAbsent = yes }: Given,
): Promise<void> => {
  if (discardFound || replayAbsent) await context.checkAudit();
  const { name, filter } = context;
  context.finish(await verbs.verify(context, { name, filter, limit, discardFound, replayAbsent }));
};
