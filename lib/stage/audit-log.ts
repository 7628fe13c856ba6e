import type { S3Client } from '@aws-sdk/client-s3';
import * as z from 'zod';
import { jsonIn } from '../message/json.ts';
import { awsTroubleIn } from '../runtime/aws/error.ts';
import { inParallel } from '../runtime/aws/parallel.ts';
import { actorIn } from './actor.ts';
import { RefusedError } from './command-errors.ts';
import { mayRole, type Role } from './roles.ts';
import type { Target } from './target.ts';

/**
 * What IAM lets a person write: the key of an entry ends with a role that its writer has. So the key decides what the entry is, whatever
 * its line says.
 */
const keyForm = /-([0-9a-f]{8})-(begin|end)(?:-\d{4})?-(operator|lead)\.json$/;

/** A line of the audit log, as audit.ts writes it. */
const entrySchema = z.object({
  at: z.iso.datetime(),
  who: z.string(),
  caller: z.string().optional(),
  command: z.string(),
  reason: z.string().optional(),
  filter: z.record(z.string(), z.unknown()).optional(),
  secret: z.string().optional(),
  file: z.string().optional(),
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
  /** What it was about. */
  filter: object | undefined;
  secret: string | undefined;
  file: string | undefined;
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

export type AuditLog = {
  commands: AuditedCommand[];
  isWhole: boolean;
  /** The keys of entries about what their writers' role may not do: they are forged, and left out. */
  forged: string[];
  /** The keys of entries that S3 gives to nobody here, or that are far too large: one of them must not hide the others. */
  unread: string[];
};

/** What operators did since then, newest first. What is no entry is omitted. @throws if the audit log cannot be read. */
export const readAuditLog = async (
  target: Target,
  { sinceMs, signal, isWanted = () => true }: ReadOptions,
): Promise<AuditLog> => {
  const bucket = await bucketOf(target);
  const client = await target.s3();
  const entries: EntryObject[] = [];
  const first = dayOf(sinceMs).replaceAll('-', '/');
  for await (const object of objectsSince({ client, bucket }, 'audit', first, signal))
    entries.push(...entryObject(object));
  // Not by the days in their keys, which their writers choose.
  entries.sort((one, other) => one.putMs - other.putMs);
  const newest = entries.slice(-maxObjects);
  const { commands, forged, unread } = await commandsIn({ client, bucket }, newest, { signal, isWanted });
  return {
    commands: commands
      .filter(({ at, endedAt = at }) => Date.parse(endedAt) >= sinceMs)
      .sort((one, other) => Date.parse(other.at) - Date.parse(one.at)),
    isWhole: entries.length <= maxObjects,
    forged,
    unread,
  };
};

/** What is left out of the log, a sentence each. */
export const leftOutTexts = ({ forged, unread }: Pick<AuditLog, 'forged' | 'unread'>): string[] => [
  ...leftOut(forged, 'are about what the role of their writer may not do'),
  ...leftOut(unread, 'cannot be read, or are larger than any that sis-relay writes'),
];

const leftOut = ([first, ...others]: readonly string[], why: string): string[] =>
  first === undefined
    ? []
    : [
        `${others.length + 1} of its entries ${why}, and are left out, such as ${first}: an administrator finds in CloudTrail who put them`,
      ];

/** One with the ids of a thousand letters has 100 KB. */
const maxEntryBytes = 1024 ** 2;

type EntryObject = { key: string; id: string; isEnd: boolean; role: Role; putMs: number; bytes: number };

/** None, if its key is not that of an entry. */
const entryObject = ({
  Key,
  LastModified,
  Size = 0,
}: {
  Key: string;
  LastModified?: Date | undefined;
  Size?: number | undefined;
}): EntryObject[] => {
  const [found, id = '', moment, role] = keyForm.exec(Key) ?? [];
  if (found === undefined) return [];
  return [
    { key: Key, id, isEnd: moment === 'end', role: role as Role, putMs: Number(LastModified), bytes: Size },
  ];
};

/** A role alone cannot end, or add to, what another one has begun. */
const commandOf = ({ role, id }: EntryObject): string => `${role} ${id}`;

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
  const begun = new Map<string, EntryObject>();
  const day = dayOf(sinceMs).replaceAll('-', '/');
  for await (const object of objectsSince({ client, bucket }, 'audit', day, signal))
    for (const entry of entryObject(object)) {
      if (entry.isEnd) begun.delete(commandOf(entry));
      else if (entry.putMs >= sinceMs) begun.set(commandOf(entry), entry);
    }
  const newest = [...begun.values()].slice(-maxOpen);
  const { commands } = await commandsIn({ client, bucket }, newest, { signal, isWanted: () => false });
  return commands.sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
};

const commandsIn = async (
  { client, bucket }: { client: S3Client; bucket: string },
  entries: readonly EntryObject[],
  { signal, isWanted }: Pick<Required<ReadOptions>, 'signal' | 'isWanted'>,
): Promise<Pick<AuditLog, 'commands' | 'forged' | 'unread'>> => {
  const { GetObjectCommand } = await import('@aws-sdk/client-s3');
  const commands = new Map<string, AuditedCommand>();
  const [forged, unread, refusals]: [string[], string[], unknown[]] = [[], [], []];
  /** Undefined: whoever put it lets nobody read it, as by a key of KMS or a storage class. */
  const textOf = async ({ key, bytes }: EntryObject): Promise<string | undefined> => {
    if (bytes > maxEntryBytes) return undefined;
    try {
      const get = new GetObjectCommand({ Bucket: bucket, Key: key });
      const { Body } = await client.send(get, { abortSignal: signal });
      return (await Body?.transformToString()) ?? '';
    } catch (error) {
      if (awsTroubleIn(error)?.kind !== 'aws-refused') throw error;
      refusals.push(error);
      return undefined;
    }
  };
  await inParallel(entries, async (entry) => {
    const text = await textOf(entry);
    if (text === undefined) unread.push(entry.key);
    const line = entrySchema.safeParse(jsonIn(text ?? ''));
    if (!line.success) return;
    if (mayRole(entry.role, line.data.command)) note(commands, entry, { ...line.data, isWanted });
    else forged.push(entry.key);
  });
  // Then the caller may read none.
  if (refusals.length > 0 && refusals.length === entries.length) throw refusals[0];
  return { commands: [...commands.values()], forged: forged.sort(), unread: unread.sort() };
};

/** The bucket of the audit log and of archives. @throws RefusedError if it is not known. */
export const bucketOf = async (target: Pick<Target, 'bucket'>): Promise<string> => {
  const bucket = await target.bucket();
  if (bucket === undefined)
    throw new RefusedError('The bucket is not known. Pass --bucket, or set SIS_RELAY_BUCKET.', {
      inBrowser: 'The bucket is not known. SIS_RELAY_BUCKET must name it.',
    });
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

type Line = z.infer<typeof entrySchema> & Pick<Required<ReadOptions>, 'isWanted'>;

const note = (commands: Map<string, AuditedCommand>, object: EntryObject, line: Line): void => {
  const { who: said, caller, command, reason: why, filter, secret, file, counts, letters, isWanted } = line;
  const actor = actorIn(said, caller);
  const who = actor.startsWith(said) ? actor : `${actor} (as ${said})`;
  const at = timeOf(object, line.at);
  const { id, isEnd } = object;
  const entry = commands.get(commandOf(object)) ?? {
    id,
    command,
    who,
    why,
    at,
    endedAt: undefined,
    filter,
    secret,
    file,
    counts: {},
    meant: new Set<string>(),
    did: new Set<string>(),
  };
  commands.set(commandOf(object), entry);
  // Entries come in any order, and further parts of an entry have only its letters.
  entry.why ??= why;
  entry.filter ??= filter;
  entry.secret ??= secret;
  entry.file ??= file;
  if (counts && (isEnd || entry.endedAt === undefined)) entry.counts = counts;
  if (at < entry.at) entry.at = at;
  if (isEnd && at > (entry.endedAt ?? '')) entry.endedAt = at;
  for (const letter of letters) if (isWanted(letter)) (isEnd ? entry.did : entry.meant).add(letter);
};

/** S3 gives the time when an object was put, in whole seconds; a line can only be more exact. */
const timeOf = ({ putMs }: EntryObject, said: string): string => {
  const isExact = Math.abs(Date.parse(said) - putMs) < 2_000;
  return new Date(isExact ? said : putMs).toISOString();
};
