import * as verbs from '../../../operator-actions/verify.ts';
import type { CommandContext } from '../../command-context.ts';
import { checkReason } from './show.ts';

type VerifyOptions = {
  limit?: number;
  discardFound?: boolean;
  replayAbsent?: boolean;
  yes?: true;
  reveal?: boolean;
  reason?: string;
};

export const verify = async (
  context: CommandContext,
  { yes, discardFound = yes, replayAbsent = yes, reveal = false, ...given }: VerifyOptions,
): Promise<void> => {
  if (reveal) checkReason(given.reason);
  if (discardFound || replayAbsent || reveal) await context.checkAudit();
  const { name, filter } = context;
  context.finish(await verbs.verify(context, { name, filter, reveal, discardFound, replayAbsent, ...given }));
};
