import type { Target } from '../../deployment/target.ts';
import { replayedOften, withoutIds } from '../../desk/letter-words.ts';
import type { DeskRecord } from '../../desk/record.ts';
import { createCauses } from './causes.ts';
import type { Filter } from './filter.ts';
import { type Found, findLetters } from './records.ts';

/** Letters of one function that failed for the same cause. */
export type Group = {
  function: string;
  kind: string;
  error: string;
  /** What the platform said, masked: of each different text the first, at most `maxWords` of them. */
  words: string[];
  /** What to do about each of them; ids stand as `<id>` where they differ. */
  remedy: string;
  letters: number;
  oldestMs: number;
  newestMs: number;
  /** Scopes to ask for. */
  grants: string[];
  /** How many of them were replayed five times or more. */
  replayedOften: number;
};

/** Further causes are counted as `other errors`, so that the groups fit the screen. */
const maxGroups = 200;

export const maxWords = 3;

/** The records by cause: by function, kind, and what the platform said without what varies. The largest group is the first. */
export const groupsOf = <Of extends DeskRecord>(
  records: readonly Of[],
): { groups: Group[]; groupOf(record: Of): Group } => {
  const causes = createCauses();
  for (const record of records) causes.learn(scopeOf(record), textOf(record));
  const groups = new Map<string, Group>();
  const byRecord = new Map<Of, Group>();
  for (const record of records) {
    const scope = scopeOf(record);
    const key = `${scope}\n${causes.causeOf(scope, textOf(record))}`;
    const isFull = groups.size >= maxGroups && !groups.has(key);
    const group =
      groups.get(isFull ? scope : key) ?? newGroup(record, isFull ? 'other errors' : record.error);
    groups.set(isFull ? scope : key, group);
    count(group, record);
    byRecord.set(record, group);
  }
  return {
    groups: [...groups.values()].sort((one, other) => other.letters - one.letters),
    groupOf: (record) => byRecord.get(record) ?? newGroup(record, record.error),
  };
};

const scopeOf = ({ function: name, kind, status }: DeskRecord): string =>
  JSON.stringify([name, kind, status ?? null]);

/** Apart, so that the beginning of the platform's words is known. */
const textOf = ({ error, words }: DeskRecord): string =>
  words === undefined ? error : `${error} | ${words}`;

const newGroup = ({ function: name, kind, remedy = '', atMs }: DeskRecord, error: string): Group => ({
  ...{ function: name, kind, error, remedy },
  words: [],
  letters: 0,
  oldestMs: atMs,
  newestMs: atMs,
  grants: [],
  replayedOften: 0,
});

const count = (group: Group, { atMs, remedy = '', words, required, kind, replays }: DeskRecord): void => {
  group.letters += 1;
  group.oldestMs = Math.min(group.oldestMs, atMs);
  group.newestMs = Math.max(group.newestMs, atMs);
  if (replays >= replayedOften) group.replayedOften += 1;
  if (group.remedy !== remedy) group.remedy = withoutIds(remedy);
  const isNew =
    words !== undefined &&
    group.words.length < maxWords &&
    group.words.every((each) => numberless(each) !== numberless(words));
  if (isNew) group.words.push(words);
  if (kind !== 'missing-scope' || required === undefined) return;
  if (!group.grants.includes(required) && group.grants.length < 20) group.grants.push(required);
};

const numberless = (text: string): string => text.replace(/\d+/g, '');

export type Groups = Omit<Found, 'letters'> & { groups: Group[]; matching: number };

/** What lies in the dead-letter queue, by cause. */
export const groupLetters = async (
  target: Target,
  filter: Filter,
  { signal }: { signal: AbortSignal },
): Promise<Groups> => {
  const { letters, ...summary } = await findLetters(target, filter, signal);
  return { ...summary, groups: groupsOf(letters).groups, matching: letters.length };
};
