import { conditionOn, scanned } from '../../../delivery/letters/read-records.ts';
import type { DeskRecord } from '../../../delivery/letters/record.ts';
import { type About, isAbout } from '../../../delivery/letters/subject.ts';
import { UsageError } from '../../stage/command-errors.ts';
import type { Target } from '../../stage/target.ts';
import { deskOf } from '../letters/records.ts';

/**
 * Messages about a user, a course, or that user in that course, including ended ones, newest first. Reads the whole desk table.
 * @throws if it cannot be read.
 */
export const messagesAbout = async (
  target: Target,
  about: About,
  { limit, signal }: { limit: number; signal: AbortSignal },
): Promise<{ messages: DeskRecord[]; isWhole: boolean }> => {
  const condition = conditionOn(about);
  if (condition === undefined)
    throw new UsageError('Messages about which user or org unit? Name a user, an org unit, or both.');
  const read = await scanned(deskOf(target), condition, { signal });
  const found = read.filter((record) => isAbout(about, record));
  found.sort((one, other) => other.atMs - one.atMs || (one.message < other.message ? -1 : 1));
  return { messages: found.slice(0, limit), isWhole: found.length <= limit };
};
