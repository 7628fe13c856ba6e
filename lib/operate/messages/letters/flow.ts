import { recordsOf } from '../../../delivery/letters/read-records.ts';
import type { LetterRecord } from '../../../delivery/letters/record.ts';
import { readAuditLog } from '../../stage/audit-log.ts';
import type { Target } from '../../stage/target.ts';
import { deskOf } from './records.ts';

/** When letters were written, whether or not they are still letters, and when people sent or discarded how many. */
type Flow = {
  arrived: { atMs: number }[];
  left: { atMs: number; count: number }[];
};

/** `letters`: those that there are now. @throws if the audit log or the table cannot be read. */
export const readFlow = async (
  target: Target,
  letters: readonly LetterRecord[],
  options: { sinceMs: number; signal: AbortSignal },
): Promise<Flow> => {
  const { commands } = await readAuditLog(target, options);
  const deeds = commands.filter(({ command }) => command.startsWith('letters '));
  const still = new Set(letters.map(({ message }) => message));
  const touched = new Set(deeds.flatMap(({ meant, did }) => [...meant, ...did]));
  const look = { isOld: true, signal: options.signal };
  const gone = await recordsOf(deskOf(target), [...touched.difference(still)], look);
  return {
    arrived: [...letters, ...gone.values()].flatMap(({ writtenMs }) =>
      writtenMs !== undefined && writtenMs >= options.sinceMs ? [{ atMs: writtenMs }] : [],
    ),
    left: deeds.map(({ at, counts: { sent = 0, discarded = 0 } }) => ({
      ...{ atMs: Date.parse(at), count: sent + discarded },
    })),
  };
};
