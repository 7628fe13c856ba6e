import { integrationNames } from '../../deployment/function-names.ts';
import { traceOf } from '../../trace/trace.ts';
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
