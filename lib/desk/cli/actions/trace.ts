import { UsageError } from '../../../stage/command-errors.ts';
import { integrationNames } from '../../../stage/function-names.ts';
import { messagesAbout, traceOf } from '../../messages/trace/trace.ts';
import { aboutView, traceView } from '../../views/trace.ts';
import type { CommandContext } from '../command-context.ts';

export const trace = async (
  { target, filter, signal, print, finish }: CommandContext,
  id: string | undefined,
  { log, limit }: { log: boolean; limit: number },
): Promise<void> => {
  const { user, orgUnit, since: sinceMs } = filter;
  if (id !== undefined && (user ?? orgUnit) !== undefined)
    throw new UsageError('Pass the id of a message, or --user and --org-unit, not both.');
  if (id !== undefined) {
    const functions = integrationNames();
    const found = await traceOf(target, id, { log, functions, sinceMs, signal });
    print(found, () => traceView(found, log));
    return finish(found.events.length > 0);
  }
  if ((user ?? orgUnit) === undefined)
    throw new UsageError('Which message? Pass its id, or --user or --org-unit for all about one of these.');
  const subject = { ...(user !== undefined && { user }), ...(orgUnit !== undefined && { orgUnit }) };
  const found = await messagesAbout(target, subject, { limit, signal });
  print(found, () => aboutView(found));
  finish(found.messages.length > 0);
};
