import { bucketOf, dayOf, objectsSince } from '../../../stage/audit-log.ts';
import type { Target } from '../../../stage/target.ts';

/** What one command put into the bucket: letters that it took out of the queue, or the originals of letters that it edited. */
export type Archive = {
  /** Of its file, or the beginning of the addresses of its files; of discarded letters, `letters import` takes it. */
  address: string;
  what: 'discarded' | 'edited';
  /** The id of its command in the audit log; undefined: its name does not show it. */
  command: string | undefined;
  /** When the last of its files was written. */
  at: string;
  files: number;
  bytes: number;
};

const dayMs = 24 * 3_600_000;

/** The archives since then, newest first. @throws if the bucket cannot be read. */
export const listArchives = async (
  target: Target,
  { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
): Promise<Archive[]> => {
  const bucket = await bucketOf(target);
  const client = await target.s3();
  const found = new Map<string, Archive & { last: string }>();
  const list = async (what: Archive['what']): Promise<void> => {
    // An archive's name has the day on which its command began, and the command may have run past midnight.
    const objects = objectsSince({ client, bucket }, what, dayOf(sinceMs - dayMs), signal);
    for await (const { Key, LastModified, Size = 0 } of objects) {
      if (LastModified === undefined || LastModified.getTime() < sinceMs) continue;
      const address = `s3://${bucket}/${commandOf(Key)}`;
      const at = LastModified.toISOString();
      const { files, bytes, ...known } = found.get(address) ?? {
        address,
        what,
        at,
        files: 0,
        bytes: 0,
        command: /-([0-9a-f]{8})[-/]$/.exec(address)?.[1],
      };
      found.set(address, {
        ...known,
        files: files + 1,
        bytes: bytes + Size,
        last: `s3://${bucket}/${Key}`,
        ...(at > known.at && { at }),
      });
    }
  };
  await Promise.all([list('discarded'), list('edited')]);
  return [...found.values()]
    .map(({ last, ...archive }) =>
      archive.what === 'edited' && archive.files === 1 ? { ...archive, address: last } : archive,
    )
    .sort(
      (one, other) => Date.parse(other.at) - Date.parse(one.at) || (one.address < other.address ? 1 : -1),
    );
};

/** What the keys of one command begin with. Originals whose names do not show their command are taken together by day. */
const commandOf = (key: string): string =>
  /^edited\/[\d-]+\/\d{6}-[0-9a-f]{8}-/.exec(key)?.[0] ?? /^[^/]+\/.+\//.exec(key)?.[0] ?? key;
