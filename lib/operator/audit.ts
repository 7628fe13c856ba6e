import { randomUUID } from 'node:crypto';
import { Refusal } from './refusal.ts';
import type { Target } from './target.ts';

/** What an operator does, or has done. */
export type AuditEntry = {
  /** As typed, such as `letters replay`. */
  command: string;
  filter?: object | undefined;
  reason?: string | undefined;
  /** How many letters, by what became or will become of them. */
  counts?: Record<string, number> | undefined;
  /** Name of a secret that is written. */
  secret?: string | undefined;
  /** Single letters, where there are few. */
  letters?: string[] | undefined;
};

export type Audit = {
  /** Who began what: it is written before anything is changed, so that not even a crash leaves a change without it. */
  begin(entry: AuditEntry): Promise<{ end(counts: Record<string, number>): Promise<void> }>;
};

/** The audit log: objects of one line under `audit/` in the bucket, each of them handed to `say` too. */
export const createAudit = (target: Target, say: (line: string) => void): Audit => {
  const write = async (moment: 'begin' | 'end', id: string, entry: AuditEntry): Promise<void> => {
    const at = new Date().toISOString();
    const line = JSON.stringify({
      audit: moment,
      id,
      at,
      who: target.who,
      target: target.prefix.slice(0, -1),
      ...entry,
    });
    await archive(
      target,
      `audit/${at.slice(0, 10).replaceAll('-', '/')}/${at.slice(11, 23)}-${id}-${moment}.json`,
      `${line}\n`,
    );
    say(line);
  };
  return {
    begin: async (entry) => {
      const id = randomUUID().slice(0, 8);
      await write('begin', id, entry);
      return { end: (counts) => write('end', id, { ...entry, counts }) };
    },
  };
};

/** Writes an object into the bucket; answers its address. */
export const archive = async (target: Target, key: string, body: string): Promise<string> => {
  const bucket = bucketOf(target);
  const { PutObjectCommand } = await import('@aws-sdk/client-s3');
  const s3 = await target.s3();
  await s3.send(
    new PutObjectCommand({ Bucket: bucket, Key: key, Body: body, ContentType: 'application/json' }),
  );
  return `s3://${bucket}/${key}`;
};

const bucketOf = ({ bucket }: Target): string => {
  if (bucket !== undefined) return bucket;
  throw new Refusal(
    'Nothing is changed or revealed without a line in the audit log: give --bucket <name>, or set SIS_RELAY_BUCKET.',
  );
};
