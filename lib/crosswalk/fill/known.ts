import type { CrosswalkKind, CrosswalkSource } from '../kinds.ts';
import { type BucketItem, type Entry, idsIn, sameIds, shardOf } from '../table.ts';

/**
 * The normal form of the names of a kind and source: lines that are sorted, so that the names of a bucket lie together.
 * `<bucket's digits>\t<name as JSON>\t<ids>\t<ids before>`. No key is the beginning of another, so lines are in the order of their keys.
 */
export type Known = Entry & { key: string; line: string };

export const keyOf = (name: string): string => `${shardOf(name)}\t${JSON.stringify(name)}`;

export const nameIn = (key: string): string => JSON.parse(key.slice(shardLength + 1));

const shardLength = shardOf('').length;
export const shardIn = (key: string): string => key.slice(0, shardLength);

export const knownOf = (key: string, { ids, was }: Entry): Known => {
  const line = `${key}\t${ids.join(',')}\t${was?.join(',') ?? ''}`;
  return was === undefined ? { key, line, ids } : { key, line, ids, was };
};

export function* knownIn(lines: Iterable<string>): Generator<Known, void, undefined> {
  for (const line of lines) {
    const end = line.lastIndexOf('\t');
    const keyEnd = line.lastIndexOf('\t', end - 1);
    const ids = idsIn(line.slice(keyEnd + 1, end));
    const key = line.slice(0, keyEnd);
    yield end === line.length - 1 ? { key, line, ids } : { key, line, ids, was: idsIn(line.slice(end + 1)) };
  }
}

/** The line of a source: a name, and what it stands for; `?`: that is not legible. */
export const listedLine = (name: string, id: number | '?'): string => `${keyOf(name)}\t${id}`;

/** A name as a source lists it, with all that it stands for there. */
export type Listed = { key: string; ids: number[]; isIllegible: boolean };

export function* listedIn(sortedLines: Iterable<string>): Generator<Listed, void, undefined> {
  let listed: Listed | undefined;
  for (const line of sortedLines) {
    const end = line.lastIndexOf('\t');
    const key = line.slice(0, end);
    if (listed?.key !== key) {
      if (listed) yield sorted(listed);
      listed = { key, ids: [], isIllegible: false };
    }
    const id = line.slice(end + 1);
    if (id === '?') listed.isIllegible = true;
    else if (listed.ids.at(-1) !== Number(id)) listed.ids.push(Number(id));
  }
  if (listed) yield sorted(listed);
}

const sorted = (listed: Listed): Listed => {
  listed.ids.sort((one, other) => one - other);
  return listed;
};

type Rules = {
  /** Names that are missing were removed; false: something could not be read, so they stay. */
  isWhole: boolean;
  /** Names whose moves are told: codes of org units. */
  movesAreTold: boolean;
};

type Names = {
  key: string;
  old?: Known;
  new?: Listed;
  /** The same name, as the other source knows it. */
  elsewhere?: Known | undefined;
};

/** What a name stands for from now on; undefined: nothing is known of it any more. */
export const nextOf = (
  { key, old, new: listed, elsewhere }: Names,
  { isWhole, movesAreTold }: Rules,
): Known | undefined => {
  if (listed === undefined ? !isWhole : listed.isIllegible) return old;
  const ids = listed?.ids ?? [];
  // A code that this source begins to tell of is the one that the other source told of.
  const befores = isThere(old) ? [before(old)] : [before(old), before(elsewhere)];
  const was = befores.find((each) => each !== undefined && !sameIds(each, ids));
  if (movesAreTold && was !== undefined) return knownOf(key, { ids, was });
  return ids.length === 0 ? undefined : knownOf(key, { ids });
};

/** What a name stood for before it became ambiguous, was removed or moved, as far as messages may have been sent by it. */
const before = (known: Known | undefined): number[] | undefined =>
  known?.was ?? (known?.ids.length === 1 ? known.ids : undefined);

/** A code that was removed is remembered, as it may come back for another org unit: the table does not hold it. */
export const isThere = (known: Known | undefined): known is Known =>
  known !== undefined && known.ids.length > 0;

/** A code that stands for another org unit than before. */
export const hasMoved = ({ ids, was }: Entry): boolean => was !== undefined && ids.length === 1;

type Change = { key: string; old?: Known; new?: Known };
export type Of = { kind: CrosswalkKind; source: CrosswalkSource };

/** The buckets that differ, whole. Changes come in the order of their keys. */
export function* changedBuckets(
  changes: Iterable<Change>,
  { kind, source }: Of,
): Generator<BucketItem, void, undefined> {
  let shard: string | undefined;
  let names: Known[] = [];
  let isChanged = false;
  const item = (): BucketItem => ({
    bucket: `${kind}/${source}/${shard}`,
    entries: new Map(
      names.map(({ key, ids, was }) => [nameIn(key), was === undefined ? { ids } : { ids, was }]),
    ),
  });
  for (const { key, old, new: next } of changes) {
    if (shardIn(key) !== shard) {
      if (isChanged) yield item();
      shard = shardIn(key);
      names = [];
      isChanged = false;
    }
    if (isThere(next)) names.push(next);
    if ((isThere(old) || isThere(next)) && old?.line !== next?.line) isChanged = true;
  }
  if (isChanged) yield item();
}
