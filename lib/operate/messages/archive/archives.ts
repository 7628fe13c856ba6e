import { bucketOf, dayOf, objectsSince } from '../../stage/audit-log.ts';
import type { Target } from '../../stage/target.ts';

/** Letters that an operator took out of the queue, or the original of an edited letter. */
export type Archive = {
  address: string;
  what: 'discarded' | 'edited';
  at: string;
  bytes: number;
};

/** The newest ones; older ones are not listed. */
const maxArchives = 1_000;
const dayMs = 24 * 3_600_000;

/** The archives since then, newest first. @throws if the bucket cannot be read. */
export const listArchives = async (
  target: Target,
  { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
): Promise<{ archives: Archive[]; isWhole: boolean }> => {
  const bucket = await bucketOf(target);
  const client = await target.s3();
  const found: Archive[] = [];
  const list = async (what: Archive['what']): Promise<void> => {
    // An archive's name has the day on which its command began, and the command may have run past midnight.
    const objects = objectsSince({ client, bucket }, what, dayOf(sinceMs - dayMs), signal);
    for await (const { Key, LastModified, Size: bytes = 0 } of objects)
      if (LastModified !== undefined && LastModified.getTime() >= sinceMs)
        found.push({ address: `s3://${bucket}/${Key}`, what, at: LastModified.toISOString(), bytes });
  };
  await Promise.all([list('discarded'), list('edited')]);
  const archives = found.sort(
    (one, other) => Date.parse(other.at) - Date.parse(one.at) || (one.address < other.address ? 1 : -1),
  );
  return { archives: archives.slice(0, maxArchives), isWhole: found.length <= maxArchives };
};
