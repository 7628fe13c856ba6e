import type { Target } from '../../deployment/target.ts';
import { type Filter, matches } from './filter.ts';
import { type Letter, type LetterKind, replayedOften, unnamed, withoutIds } from './letter.ts';
import { type ReadOptions, type ReadSummary, withSession } from './session.ts';

/** Letters of one function that failed for the same cause. */
export type Group = {
  function: string;
  kind: LetterKind;
  error: string;
  /** What the platform said to them, masked: each different text once, at most `maxWords` of them. */
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

/** Further errors are counted as `other errors`, so that the groups fit memory and screen. */
const maxGroups = 200;

/** The platform may say different things under one status: “User not found” and “Role not found” are both a 404. */
export const maxWords = 6;

/** Counts letters by function, kind and error. */
export const createGrouping = () => {
  const groups = new Map<string, Group>();
  /** By group, the words that were met, without their numbers. */
  const known = new WeakMap<Group, Set<string>>();
  const addWords = (group: Group, letter: Letter): void => {
    const { failure } = letter;
    if (failure?.detail === undefined || letter.kind === 'unreadable') return;
    if (group.words.length === maxWords) return;
    const before = known.get(group) ?? new Set();
    known.set(group, before);
    const words = withoutNumbers(failure.detail);
    if (before.has(words) || before.size === 100) return;
    before.add(words);
    const masked = unnamed(letter, failure.detail);
    const isNew = group.words.every((each) => withoutNumbers(each) !== withoutNumbers(masked));
    if (isNew) group.words.push(masked);
  };
  return {
    add: (letter: Letter): Group => {
      const key = JSON.stringify([letter.function, letter.kind, letter.cause]);
      const others = JSON.stringify([letter.function, letter.kind]);
      const full = groups.size >= maxGroups && !groups.has(key);
      const group = groups.get(full ? others : key) ?? newGroup(letter, full ? 'other errors' : letter.error);
      groups.set(full ? others : key, group);
      addWords(group, letter);
      return count(group, letter);
    },
    all: (): Group[] => [...groups.values()].sort((one, other) => other.letters - one.letters),
  };
};

const withoutNumbers = (text: string): string => text.replace(/\d+/g, '');

const newGroup = (letter: Letter, error: string): Group => ({
  function: letter.function,
  kind: letter.kind,
  error,
  words: [],
  remedy: letter.remedy,
  letters: 0,
  oldestMs: letter.sentMs,
  newestMs: letter.sentMs,
  grants: [],
  replayedOften: 0,
});

const count = (group: Group, { sentMs, remedy, failure, kind, replays }: Letter): Group => {
  group.letters += 1;
  group.oldestMs = Math.min(group.oldestMs, sentMs);
  group.newestMs = Math.max(group.newestMs, sentMs);
  if (replays >= replayedOften) group.replayedOften += 1;
  if (group.remedy !== remedy) group.remedy = withoutIds(remedy);
  const required = kind === 'missing-scope' ? failure?.required : undefined;
  if (required !== undefined && !group.grants.includes(required) && group.grants.length < 20)
    group.grants.push(required);
  return group;
};

export type Groups = ReadSummary & { groups: Group[]; matching: number };

/** What lies in the dead-letter queue, by cause. */
export const groupLetters = (target: Target, filter: Filter, options: ReadOptions): Promise<Groups> =>
  withSession(target, async (session) => {
    const grouping = createGrouping();
    for await (const letter of session.letters(options)) if (matches(filter, letter)) grouping.add(letter);
    const groups = grouping.all();
    return {
      ...session.summary(),
      groups,
      matching: groups.reduce((sum, { letters }) => sum + letters, 0),
    };
  });
