import { traceOf } from '../../../operate/messages/trace/trace.ts';
import { integrationNames } from '../../../operate/stage/function-names.ts';
import { traceView } from '../../views/trace.ts';
import type { CommandContext } from '../command-context.ts';

export const act = async (
  { target, filter, signal, print, withProgress, finish }: CommandContext,
  id: string,
  { log }: { log: boolean },
): Promise<void> => {
  const functions = integrationNames();
  const trace = await withProgress('Reading', () =>
    traceOf(target, id, { log, functions, sinceMs: filter.since, signal }),
  );
  print(trace, () => traceView(trace, log));
  finish(trace.events.length > 0);
};
