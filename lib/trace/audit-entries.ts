import * as z from 'zod';
import { inParallel } from '../aws/batches.ts';
import { RefusedError } from '../deployment/command-errors.ts';
import type { Target } from '../deployment/target.ts';
import { jsonIn } from '../json.ts';
import type { TraceEvent } from './event.ts';

/** A line of the audit log, as deployment/audit.ts writes it. */
const entrySchema = z.object({
  audit: z.enum(['begin', 'end']),
  id: z.string(),
  at: z.iso.datetime(),
  who: z.string(),
  command: z.string(),
  reason: z.string().optional(),
  letters: z.array(z.string()).default([]),
});

type Command = {
  command: string;
  by: string;
  why: string | undefined;
  at: string;
  isOver: boolean;
  meant: Set<string>;
  did: Set<string>;
};

const dayMs = 24 * 3_600_000;
/** No more are read: those of the last days first. */
const maxObjects = 5_000;

/** What operators did since then to one of these messages, by the audit log. @throws where it cannot be read. */
export const commandsOn = async (
  target: Target,
  ids: ReadonlySet<string>,
  { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
): Promise<{ events: TraceEvent[]; isWhole: boolean }> => {
  const bucket = await target.bucket();
  if (bucket === undefined) throw new RefusedError('no bucket is given: --bucket, or SIS_RELAY_BUCKET');
  const { GetObjectCommand, ListObjectsV2Command } = await import('@aws-sdk/client-s3');
  const s3 = await target.s3();
  const keys: string[] = [];
  const list = async (day: string): Promise<void> => {
    for (let ContinuationToken: string | undefined; ; ) {
      const input = {
        Bucket: bucket,
        Prefix: `audit/${day}/`,
        ...(ContinuationToken && { ContinuationToken }),
      };
      const { Contents = [], NextContinuationToken } = await s3.send(new ListObjectsV2Command(input), {
        abortSignal: signal,
      });
      keys.push(...Contents.flatMap(({ Key }) => Key ?? []));
      ContinuationToken = NextContinuationToken;
      if (ContinuationToken === undefined || keys.length > maxObjects) return;
    }
  };
  for (const day of daysSince(sinceMs)) if (keys.length <= maxObjects) await list(day);
  const commands = new Map<string, Command>();
  await inParallel(keys.slice(0, maxObjects), async (Key) => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key }), { abortSignal: signal });
    note(commands, (await Body?.transformToString()) ?? '', ids);
  });
  return { events: [...commands.values()].flatMap(eventsOf), isWhole: keys.length <= maxObjects };
};

/** The newest first, as in `2026/01/31`. */
const daysSince = (sinceMs: number): string[] => {
  const today = Math.floor(Date.now() / dayMs);
  const first = Math.floor(sinceMs / dayMs);
  return Array.from({ length: Math.max(1, today - first + 1) }, (_, ago) =>
    new Date((today - ago) * dayMs).toISOString().slice(0, 10).replaceAll('-', '/'),
  );
};

const note = (commands: Map<string, Command>, line: string, ids: ReadonlySet<string>): void => {
  const parsed = entrySchema.safeParse(jsonIn(line));
  if (!parsed.success) return;
  const { audit, id, at, who: by, command, reason: why, letters } = parsed.data;
  const entry = commands.get(id) ?? {
    ...{ command, by, why, at, isOver: false },
    ...{ meant: new Set<string>(), did: new Set<string>() },
  };
  commands.set(id, entry);
  entry.why ??= why;
  if (at < entry.at) entry.at = at;
  if (audit === 'end') entry.isOver = true;
  for (const named of letters.flatMap((letter) => namedBy(letter, ids)))
    (audit === 'end' ? entry.did : entry.meant).add(named);
};

/** `letters show` has the id as it was typed. */
const namedBy = (letter: string, ids: ReadonlySet<string>): string[] =>
  ids.has(letter) ? [letter] : letter.length < 4 ? [] : [...ids].filter((id) => id.startsWith(letter));

const eventsOf = ({ command, by, why, at, isOver, meant, did }: Command): TraceEvent[] =>
  [...meant.union(did)].map((message) => ({
    ...{ at, what: command === 'waiting wake' && did.has(message) ? 'woken' : 'command', message },
    ...{ command, by, why, done: isOver ? did.has(message) : undefined },
  }));
