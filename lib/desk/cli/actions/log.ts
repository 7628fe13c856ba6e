import { readAuditLog } from '../../../stage/audit-log.ts';
import { logView } from '../../views/log.ts';
import type { CommandContext } from '../command-context.ts';

const dayMs = 24 * 3_600_000;

export const log = async (
  { target, filter, signal, isJson, print, finish }: CommandContext,
  { limit }: { limit?: number },
): Promise<void> => {
  const sinceMs = filter.since ?? Date.now() - 7 * dayMs;
  const read = await readAuditLog(target, { sinceMs, signal });
  const most = limit ?? (isJson ? Number.POSITIVE_INFINITY : 50);
  const commands = read.commands
    .slice(0, most)
    .map(({ meant, did, ...each }) => ({ ...each, letters: [...meant.union(did)] }));
  print({ ...read, commands }, () => logView(read, most));
  finish(true);
};
