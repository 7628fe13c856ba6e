import { createHash } from 'node:crypto';
import { withoutIds } from '../../../delivery/letters/letter-words.ts';
import type { DeskRecord } from '../../../delivery/letters/record.ts';
import { replayedOften } from '../../../message/letter-kinds.ts';
import { createCauses } from './causes.ts';
import type { ListCounts } from './queue.ts';

/** Letters of one function that failed for the same cause. */
export type Group = {
  /** Identifies the cause in a filter. It is the same as long as the same letters are compared. */
  cause: string;
  function: string;
  kind: string;
  error: string;
  /** The platform's words, masked: the first of each different text, at most `maxWords`. */
  words: string[];
  /** What to do about each of them; differing ids are shown as `<id>`. */
  remedy: string;
  letters: number;
  oldestMs: number;
  newestMs: number;
  /** Scopes to request, or secrets to create. */
  grants: string[];
  /** Letters that were replayed five times or more. */
  replayedOften: number;
};

/** Further causes are counted as `other errors`, so that the groups fit the screen. */
const maxGroups = 200;

export const maxWords = 3;

const maxGrants = 500;

/**
 * Groups records by function, kind, and the platform's words without their varying parts; the largest group comes first. Varying parts
 * are recognized `among` all records that are compared; default: the records alone.
 */
export const groupsOf = <Of extends DeskRecord>(
  records: readonly Of[],
  among: readonly Of[] = records,
): { groups: Group[]; groupOf(record: Of): Group } => {
  const causes = createCauses();
  for (const record of among) causes.learn(scopeOf(record), textOf(record));
  const keys = new Map<Of, string>();
  const known = new Set<string>();
  for (const record of among) {
    const scope = scopeOf(record);
    const key = `${scope}\n${causes.causeOf(scope, textOf(record))}`;
    const isFull = known.size >= maxGroups && !known.has(key);
    keys.set(record, isFull ? scope : key);
    known.add(isFull ? scope : key);
  }
  const keyOf = (record: Of): string => keys.get(record) ?? scopeOf(record);
  const groups = new Map<string, Group>();
  for (const record of records) {
    const key = keyOf(record);
    const group = groups.get(key) ?? newGroup(record, key);
    groups.set(key, group);
    count(group, record);
  }
  return {
    groups: [...groups.values()].sort((one, other) => other.letters - one.letters),
    groupOf: (record) => groups.get(keyOf(record)) ?? newGroup(record, keyOf(record)),
  };
};

/** A refused credential: its remedy names the secret. Most messages that need it are not sent, and so have no answer. */
const isOfSecret = ({ kind }: Pick<DeskRecord, 'kind'>): boolean => kind === 'credentials';

const scopeOf = (record: DeskRecord): string => {
  const { function: name, kind, status = null, remedy = '' } = record;
  return JSON.stringify([name, kind, isOfSecret(record) ? numberless(withoutIds(remedy)) : status]);
};

/** Separate, so that the beginning of the platform's words is known. */
const textOf = (record: DeskRecord): string => {
  const { error, words } = record;
  if (isOfSecret(record)) return '';
  return words === undefined ? error : `${error} | ${words}`;
};

const newGroup = (record: DeskRecord, key: string): Group => {
  const { function: name, kind, remedy = '', atMs } = record;
  return {
    cause: createHash('sha256').update(key).digest('hex').slice(0, 8),
    ...{ function: name, kind, remedy },
    error: key === scopeOf(record) ? 'other errors' : record.error,
    words: [],
    letters: 0,
    oldestMs: atMs,
    newestMs: atMs,
    grants: [],
    replayedOften: 0,
  };
};

const count = (group: Group, record: DeskRecord): void => {
  const { atMs, error, remedy = '', words, required, kind, replays } = record;
  group.letters += 1;
  group.oldestMs = Math.min(group.oldestMs, atMs);
  group.newestMs = Math.max(group.newestMs, atMs);
  if (replays >= replayedOften) group.replayedOften += 1;
  if (group.error !== error) group.error = withoutIds(group.error);
  if (group.remedy !== remedy) group.remedy = withoutIds(remedy);
  const isNew =
    words !== undefined &&
    !isOfSecret(record) &&
    group.words.length < maxWords &&
    group.words.every((each) => numberless(each) !== numberless(words));
  if (isNew) group.words.push(words);
  const grant = kind === 'missing-scope' ? required : secretIn({ kind, remedy });
  if (grant !== undefined && !group.grants.includes(grant) && group.grants.length < maxGrants)
    group.grants.push(grant);
};

const secretIn = ({ kind, remedy }: { kind: string; remedy: string }): string | undefined =>
  kind === 'missing-credential' ? /^Create the secret ([\w/.@+=-]+)/.exec(remedy)?.[1] : undefined;

const numberless = (text: string): string => text.replace(/\d+/g, '');

export type Groups = ListCounts & { groups: Group[]; matching: number };
