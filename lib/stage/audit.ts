import { randomUUID } from 'node:crypto';
import { errorName } from '../runtime/aws/error.ts';
import { logText } from '../runtime/privacy/log-text.ts';
import { printableJson } from '../runtime/privacy/printable.ts';
import { actorIn } from './actor.ts';
import { RefusedError } from './command-errors.ts';
import { type CommandName, howToGetRole, needsRole, type Role, roleOf, roles } from './roles.ts';
import type { Target } from './target.ts';

/** An operator's action, planned or done. */
export type AuditEntry = {
  command: CommandName;
  filter?: object | undefined;
  reason?: string | undefined;
  /** Number of letters by planned action or result. */
  counts?: Record<string, number> | undefined;
  /** Name of a secret that is written. */
  secret?: string | undefined;
  /** Name of the file that is read or written, or its address in the bucket. */
  file?: string | undefined;
  /** Ids of the letters or messages: at the beginning those that are meant, at the end those that it was done to. */
  letters?: string[] | undefined;
};

export type Audit = {
  /** Call it before anything is changed, so that even a crash leaves no change without an entry. */
  begin(entry: AuditEntry): Promise<{
    id: string;
    /** `letters`: those that it was done to, if these are not all that were meant. */
    end(counts: Record<string, number>, letters?: string[]): Promise<void>;
  }>;
};

/** A line that was written to the audit log: `line` is for a log, the rest for a sentence. */
export type AuditReceipt = {
  moment: 'begin' | 'end';
  id: string;
  /** By the credentials. */
  who: string;
  command: CommandName;
  line: string;
};

/** Maximum number of ids in one line: logs limit the length of lines. */
const maxIds = 1_000;
/** With more ids, a log gets only their count; the bucket has them all. */
const maxIdsLogged = 50;

/**
 * The audit log: the beginning and the end of each change are one object each under `audit/` in the bucket, passed to `onRecorded`.
 * Further objects hold the remaining letters, as `part` of `parts`.
 */
export const createAudit = (target: Target, onRecorded: (recorded: AuditReceipt) => void): Audit => {
  const write = async (
    moment: 'begin' | 'end',
    id: string,
    { letters, ...entry }: AuditEntry,
  ): Promise<void> => {
    const at = new Date().toISOString();
    const caller = await target.caller?.();
    const head = {
      audit: moment,
      id,
      at,
      who: target.who,
      ...(caller !== undefined && { caller }),
      target: target.prefix.slice(0, -1),
    };
    const folder = `audit/${at.slice(0, 10).replaceAll('-', '/')}`;
    const begin = `${folder}/${at.slice(11, 23)}-${id}-${moment}`;
    const putPart = (line: object, part = '') =>
      putAs(target, roleOf[entry.command], { key: begin + part, line, isNew: true });
    const parts = Math.max(1, Math.ceil((letters?.length ?? 0) / maxIds));
    const idsIn = (part: number) => letters?.slice((part - 1) * maxIds, part * maxIds);
    // The first part is written last: if it exists, the others do.
    for (let part = parts; part > 1; part -= 1)
      await putPart(
        { ...head, command: entry.command, part, parts, letters: idsIn(part) },
        `-${String(part).padStart(4, '0')}`,
      );
    const first = { ...head, ...entry, ...(parts > 1 ? { part: 1, parts } : {}) };
    await putPart({ ...first, letters: idsIn(1) });
    const logged = (letters?.length ?? 0) <= maxIdsLogged ? letters : undefined;
    const line = printableJson({ ...first, letters: logged });
    onRecorded({ moment, id, who: actorIn(target.who, caller), command: entry.command, line });
  };
  return {
    begin: async (entry) => {
      const id = randomUUID().slice(0, 8);
      await write('begin', id, entry);
      return {
        id,
        end: (counts, letters = entry.letters) => write('end', id, { ...entry, counts, letters }),
      };
    },
  };
};

/** Called before long work. @throws RefusedError if its end could not be written to the audit log. */
export const checkAudit = async (target: Target, role: Role): Promise<void> => {
  const line = { audit: 'check', at: new Date().toISOString(), who: target.who };
  await putAs(target, role, { key: 'audit/check', line });
};

/** The roles whose entries the caller may write; also those of which this is not known, as their entries will show. */
export const rolesOf = async (target: Target): Promise<ReadonlySet<Role>> => {
  const refused = async (role: Role): Promise<boolean> =>
    checkAudit(target, role).then(
      () => false,
      (error: unknown) => error instanceof RefusedError && errorName(error.cause) === 'AccessDenied',
    );
  const isRefused = await Promise.all(roles.map(async (role) => role !== 'reader' && (await refused(role))));
  return new Set(roles.filter((_, at) => !isRefused[at]));
};

/** Entries of a role end with its name: its policy allows no others, so whoever lacks it is refused before anything is read or changed. */
const putAs = async (
  target: Target,
  role: Role,
  { key, line, isNew = false }: { key: string; line: object; isNew?: boolean },
): Promise<void> => {
  try {
    await put(target, `${key}-${role}.json`, `${printableJson(line)}\n`, { isNew });
  } catch (error) {
    if (errorName(error) !== 'AccessDenied') throw error;
    throw new RefusedError(
      `${needsRole(role, target.prefix)} Nothing was changed or revealed. ${howToGetRole}\nAWS: ${logText(String((error as Error).message))}`,
      { cause: error },
    );
  }
};

/** Keeps what a letter was. The bucket refuses whatever would overwrite it. Returns its address. */
export const archive = (target: Target, key: string, body: string): Promise<string> =>
  put(target, key, body, { isNew: true });

/** Writes an object into the bucket; returns its address. `isNew`: refuses if the object exists. */
const put = async (
  target: Target,
  key: string,
  body: string,
  { isNew }: { isNew: boolean },
): Promise<string> => {
  const bucket = await target.bucket();
  if (bucket === undefined)
    throw new RefusedError(
      'Nothing was changed or revealed. Every change is recorded in the audit log, but its bucket is not known. Pass --bucket, or set SIS_RELAY_BUCKET.',
      {
        inBrowser:
          'Nothing was changed or revealed. Every change is recorded in the audit log, but its bucket is not known. Set SIS_RELAY_BUCKET, and start the console again.',
      },
    );
  const { PutObjectCommand } = await import('@aws-sdk/client-s3');
  const s3 = await target.s3();
  await s3.send(
    new PutObjectCommand({
      Bucket: bucket,
      Key: key,
      Body: body,
      ContentType: 'application/json',
      ...(isNew && { IfNoneMatch: '*' }),
    }),
  );
  return `s3://${bucket}/${key}`;
};
