import type { Target } from './target.ts';

type AuditActor = Pick<Target, 'who' | 'caller'>;

/**
 * Who acts, for records that others read: by the credentials, without the account, as in `assumed-role/Operators/lena@university.edu`. By
 * the name that was given only if there are no credentials of AWS, or AWS does not say whose they are.
 */
export const actorOf = async ({ who, caller }: AuditActor): Promise<string> => actorIn(who, await caller?.());

/** The same, of an entry of the audit log. */
export const actorIn = (who: string, caller: string | undefined): string => {
  if (caller === undefined) return who;
  return caller.startsWith('arn:') ? caller.split(':').slice(5).join(':') : `${who} (identity ${caller})`;
};
