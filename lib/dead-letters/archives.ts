import { chunksOf, inParallel } from '../aws/batches.ts';
import { bucketOf, daysSince } from '../deployment/audit-log.ts';
import type { Target } from '../deployment/target.ts';

/** Letters that an operator took out of the queue, or the original of one that was edited. */
export type Archive = {
  address: string;
  what: 'discarded' | 'edited';
  /** When it was written. */
  at: string;
  bytes: number;
};

/** No more are told. */
const maxArchives = 1_000;
/** So many days are asked for at once. */
const daysAtOnce = 16;
const dayMs = 24 * 3_600_000;

/** What was archived since then, the newest first. @throws where the bucket cannot be read. */
export const listArchives = async (
  target: Target,
  { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
): Promise<{ archives: Archive[]; isWhole: boolean }> => {
  const bucket = await bucketOf(target);
  const { paginateListObjectsV2 } = await import('@aws-sdk/client-s3');
  const client = await target.s3();
  const found: Archive[] = [];
  const list = async (what: Archive['what'], day: string): Promise<void> => {
    const input = { Bucket: bucket, Prefix: `${what}/${day}` };
    for await (const { Contents = [] } of paginateListObjectsV2({ client }, input, { abortSignal: signal }))
      for (const { Key, LastModified, Size: bytes = 0 } of Contents)
        if (Key !== undefined && LastModified !== undefined && LastModified.getTime() >= sinceMs)
          found.push({ address: `s3://${bucket}/${Key}`, what, at: LastModified.toISOString(), bytes });
  };
  // An archive has the day in its name on which its command began, which may have run over midnight.
  const days = daysSince(sinceMs - dayMs);
  let read = 0;
  for (const chunk of chunksOf(days, daysAtOnce)) {
    if (found.length > maxArchives) break;
    await inParallel(
      chunk.flatMap((day) => [{ what: 'discarded', day } as const, { what: 'edited', day } as const]),
      ({ what, day }) => list(what, day),
    );
    read += chunk.length;
  }
  const archives = found.sort(
    (one, other) => Date.parse(other.at) - Date.parse(one.at) || (one.address < other.address ? 1 : -1),
  );
  return {
    archives: archives.slice(0, maxArchives),
    isWhole: read === days.length && found.length <= maxArchives,
  };
};
