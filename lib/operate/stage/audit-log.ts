import type { S3Client } from '@aws-sdk/client-s3';
import * as z from 'zod';
import { jsonIn } from '../../message/json.ts';
import { inParallel } from '../../runtime/aws/parallel.ts';
import { actorIn } from './actor.ts';
import { RefusedError } from './command-errors.ts';
import type { Target } from './target.ts';

/** A line of the audit log, as audit.ts writes it. */
const entrySchema = z.object({
  audit: z.enum(['begin', 'end']),
  id: z.string(),
  at: z.iso.datetime(),
  who: z.string(),
  caller: z.string().optional(),
  command: z.string(),
  reason: z.string().optional(),
  filter: z.record(z.string(), z.unknown()).optional(),
  counts: z.record(z.string(), z.number()).optional(),
  letters: z.array(z.string()).default([]),
});

export type AuditedCommand = {
  id: string;
  /** As typed, such as `letters replay`. */
  command: string;
  /** By their credentials, and in brackets the name that they gave. */
  who: string;
  why: string | undefined;
  at: string;
  /** Undefined: it has not ended, or was cut off. */
  endedAt: string | undefined;
  filter: object | undefined;
  /** The counts of its end; if there is no end, of its beginning. */
  counts: Record<string, number>;
  /** The letters or messages that it was meant for, and those that it was done to. */
  meant: Set<string>;
  did: Set<string>;
};

type ReadOptions = {
  sinceMs: number;
  signal: AbortSignal;
  /** Keeps only these letters of each entry, as there may be very many. Default: all. */
  isWanted?(letter: string): boolean;
};

/** Maximum number of objects to read: the newest. */
const maxObjects = 5_000;

/** What operators did since then, newest first. Lines that are no entries are omitted. @throws if the audit log cannot be read. */
export const readAuditLog = async (
  target: Target,
  { sinceMs, signal, isWanted = () => true }: ReadOptions,
): Promise<{ commands: AuditedCommand[]; isWhole: boolean }> => {
  const bucket = await bucketOf(target);
  const client = await target.s3();
  const keys: string[] = [];
  const first = dayOf(sinceMs).replaceAll('-', '/');
  for await (const { Key } of objectsSince({ client, bucket }, 'audit', first, signal)) keys.push(Key);
  const commands = await commandsIn({ client, bucket }, keys.slice(-maxObjects), { signal, isWanted });
  const inTime = [...commands.values()].filter(({ at, endedAt = at }) => Date.parse(endedAt) >= sinceMs);
  return {
    commands: inTime.sort((one, other) => Date.parse(other.at) - Date.parse(one.at)),
    isWhole: keys.length <= maxObjects,
  };
};

/** A command that began before has ended, or was cut off. */
const longestMs = 12 * 3_600_000;
const maxOpen = 20;

/**
 * Commands that have begun and not ended, newest first: they are at work, or were cut off a while ago. Reads no other entries. @throws if
 * the audit log cannot be read.
 */
export const openCommands = async (target: Target, signal: AbortSignal): Promise<AuditedCommand[]> => {
  const bucket = await bucketOf(target);
  const client = await target.s3();
  const sinceMs = Date.now() - longestMs;
  const begun = new Map<string, string>();
  const day = dayOf(sinceMs).replaceAll('-', '/');
  for await (const { Key, LastModified } of objectsSince({ client, bucket }, 'audit', day, signal)) {
    const [, id = '', moment] = /-([0-9a-f]{8})-(begin|end)(?:-[a-z]+)?\.json$/.exec(Key) ?? [];
    if (moment === 'end') begun.delete(id);
    else if (moment === 'begin' && Number(LastModified) >= sinceMs) begun.set(id, Key);
  }
  const keys = [...begun.values()].slice(-maxOpen);
  const commands = await commandsIn({ client, bucket }, keys, { signal, isWanted: () => false });
  return [...commands.values()].sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
};

const commandsIn = async (
  { client, bucket }: { client: S3Client; bucket: string },
  keys: readonly string[],
  { signal, isWanted }: Pick<Required<ReadOptions>, 'signal' | 'isWanted'>,
): Promise<Map<string, AuditedCommand>> => {
  const { GetObjectCommand } = await import('@aws-sdk/client-s3');
  const commands = new Map<string, AuditedCommand>();
  await inParallel(keys, async (Key) => {
    const get = new GetObjectCommand({ Bucket: bucket, Key });
    const { Body } = await client.send(get, { abortSignal: signal });
    note(commands, (await Body?.transformToString()) ?? '', isWanted);
  });
  return commands;
};

/** The bucket of the audit log and of archives. @throws RefusedError if it is not known. */
export const bucketOf = async (target: Pick<Target, 'bucket'>): Promise<string> => {
  const bucket = await target.bucket();
  if (bucket === undefined)
    throw new RefusedError('The bucket is not known. Pass --bucket, or set SIS_RELAY_BUCKET.');
  return bucket;
};

/** As in `2026-01-31`. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The objects in a folder whose names begin with a day, from this day on, newest last. */
export async function* objectsSince(
  { client, bucket }: { client: S3Client; bucket: string },
  folder: string,
  day: string,
  signal: AbortSignal,
) {
  const { paginateListObjectsV2 } = await import('@aws-sdk/client-s3');
  // Matches names that begin with a year, and so not `audit/check.json`.
  const input = { Bucket: bucket, Prefix: `${folder}/2`, StartAfter: `${folder}/${day}` };
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, input, { abortSignal: signal }))
    for (const object of Contents) if (object.Key !== undefined) yield { ...object, Key: object.Key };
}

const note = (
  commands: Map<string, AuditedCommand>,
  line: string,
  isWanted: (letter: string) => boolean,
): void => {
  const parsed = entrySchema.safeParse(jsonIn(line));
  if (!parsed.success) return;
  const { audit, id, at, who: said, caller, command, reason: why, filter, counts, letters } = parsed.data;
  const actor = actorIn(said, caller);
  const who = actor.startsWith(said) ? actor : `${actor} (as ${said})`;
  const isEnd = audit === 'end';
  const entry = commands.get(id) ?? {
    ...{ id, command, who, why, at, endedAt: undefined, filter, counts: {} },
    ...{ meant: new Set<string>(), did: new Set<string>() },
  };
  commands.set(id, entry);
  // Entries come in any order, and further parts of an entry have only its letters.
  entry.why ??= why;
  entry.filter ??= filter;
  if (counts && (isEnd || entry.endedAt === undefined)) entry.counts = counts;
  if (at < entry.at) entry.at = at;
  if (isEnd && at > (entry.endedAt ?? '')) entry.endedAt = at;
  for (const letter of letters) if (isWanted(letter)) (isEnd ? entry.did : entry.meant).add(letter);
};
