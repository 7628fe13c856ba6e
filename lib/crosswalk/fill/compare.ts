import { join } from 'node:path';
import type { JobStore } from '../../durable/store.ts';
import { inFolder } from '../../files/folder.ts';
import { keepMemoryBelow } from '../../files/memory.ts';
import { createSorter, pairsOf, readLines, type Sorter, writeLines } from '../../sets/sorted.ts';
import { filledFolder } from '../moved.ts';
import { acceptedBucketOf, type BucketItem, type CrosswalkTable, isAccepted, sameIds } from '../table.ts';
import { garbageMb } from './garbage.ts';
import {
  changedBuckets,
  hasMoved,
  isThere,
  type Known,
  knownIn,
  knownOf,
  listedIn,
  nameIn,
  nextOf,
  type Of,
} from './known.ts';

/** The names of a kind from a source, as they were listed. */
export type Listing = Of & {
  /** Objects with the lines that were listed. */
  parts: string[];
  /** False: something could not be read, so that nothing that is missing was removed. */
  isWhole: boolean;
};

export type Comparison = {
  /** How many names there are now. */
  names: number;
  added: number;
  changed: number;
  removed: number;
  /** How many of the changed ones stand for other ids than before. */
  reassigned: number;
  /** Codes that stand for another org unit, and nobody has accepted that. */
  moved: Moved[];
  /** `held`: too many names would be removed or stand for others, so that all stay as they were. `unfinished`: what was compared before is not written yet. */
  outcome: 'changed' | 'same' | 'held' | 'unfinished';
};

export type Moved = { code: string; ids: number[]; was: number[] };

export type Filling = {
  store: JobStore;
  table: CrosswalkTable;
  /** If more names than this share would be removed, or more would stand for others, a person must accept that. */
  maxRemovalsPercent: number;
};

/** After so many names the memory is looked at. */
const between = 4_000;

/** What was filled last, and what is being written. */
const keysOf = ({ kind, source }: Of) => ({
  state: `${filledFolder}${kind}-${source}.gz`,
  next: `${filledFolder}${kind}-${source}.next.gz`,
  /** Whether that is not yet written to its end. */
  pending: `${filledFolder}${kind}-${source}.json`,
});

const isPending = async (of: Of, { store }: Filling): Promise<boolean> => {
  const told = (await store.readJsonIfAny(keysOf(of).pending)) as { isPending: boolean } | undefined;
  return told?.isPending === true;
};

/**
 * Compares what is listed with what was filled last, and keeps the result in the bucket: from then on it is certain what is to be
 * written, whatever ends the function. May be repeated.
 */
export const compare = (
  listing: Listing,
  { acceptRemovals }: { acceptRemovals: boolean },
  services: Filling,
): Promise<Comparison> =>
  inFolder(async (folder) => {
    const { store, table, maxRemovalsPercent } = services;
    const keys = keysOf(listing);
    const tally: Tally = {
      before: 0,
      names: 0,
      added: 0,
      changed: 0,
      removed: 0,
      reassigned: 0,
      isSame: true,
    };
    const resultOf = (outcome: Comparison['outcome'], open: Moved[] = []): Comparison => {
      const { names, added, changed, removed, reassigned } = tally;
      return { names, added, changed, removed, reassigned, moved: open, outcome };
    };
    if (await isPending(listing, services)) return resultOf('unfinished');
    const [old, next, other] = [join(folder, 'old'), join(folder, 'next'), join(folder, 'other')];
    await store.downloadUnpacked(keys.state, old, garbageMb);
    await downloadOther(listing, other, services);
    const sorter = createSorter({ folder, maxBytes: 4 * 1024 ** 2 });
    await addParts(sorter, listing, { store, folder });
    const rules = { isWhole: listing.isWhole, movesAreTold: listing.kind === 'orgUnitCode' };
    const moved: Known[] = [];
    const lines = function* (): Generator<string> {
      const elsewhere = knownIn(readLines(other));
      const elsewhereAt = follower(elsewhere);
      for (const pair of pairsOf(knownIn(readLines(old)), listedIn(sorter.sorted()))) {
        const after = nextOf({ ...pair, elsewhere: elsewhereAt(pair.key) }, rules);
        count(tally, pair.old, after);
        if (after === undefined) continue;
        if (hasMoved(after)) moved.push(after);
        yield after.line;
      }
      elsewhere.return();
    };
    writeLines(next, lines());
    const limit = (tally.before * maxRemovalsPercent) / 100;
    // Codes that stand for others are held one by one: each is parked until somebody accepts its move.
    const isMassChange = tally.removed > limit || (tally.reassigned > limit && !rules.movesAreTold);
    if (isMassChange && !acceptRemovals) return { ...resultOf('held'), names: tally.before };

    const accepted = await acceptedOf(moved, table);
    tally.changed += accepted.size;
    const open = moved
      .filter(({ key }) => !accepted.has(key))
      .map(({ key, ids, was = [] }) => ({ code: nameIn(key), ids, was }));
    if (tally.isSame && accepted.size === 0) return resultOf('same', open);
    const settled = join(folder, 'settled');
    if (accepted.size > 0) writeLines(settled, withoutMoves(knownIn(readLines(next)), accepted));
    await store.uploadCompressed(keys.next, accepted.size > 0 ? settled : next);
    await store.writeJson(keys.pending, { isPending: true });
    return resultOf('changed', open);
  });

/** What the other source knows of codes: a code is the same one, whichever source tells of it. */
const downloadOther = async ({ kind, source }: Of, path: string, services: Filling): Promise<void> => {
  const other: Of = { kind, source: source === 'file' ? 'platform' : 'file' };
  const { state, next } = keysOf(other);
  if (kind !== 'orgUnitCode') return writeLines(path, []);
  const key = (await isPending(other, services)) ? next : state;
  await services.store.downloadUnpacked(key, path, garbageMb);
};

/** Finds keys that are asked for in ascending order. */
const follower = (known: Iterator<Known>): ((key: string) => Known | undefined) => {
  let next = known.next();
  return (key) => {
    while (!next.done && next.value.key < key) next = known.next();
    return !next.done && next.value.key === key ? next.value : undefined;
  };
};

type Tally = Pick<Comparison, 'names' | 'added' | 'changed' | 'removed' | 'reassigned'> & {
  /** How many names there were. */
  before: number;
  isSame: boolean;
};

const count = (tally: Tally, old: Known | undefined, after: Known | undefined): void => {
  const isChanged = after?.line !== old?.line;
  if (isChanged) tally.isSame = false;
  if (isThere(old)) tally.before += 1;
  if (isThere(after)) tally.names += 1;
  if (!isThere(old)) tally.added += isThere(after) ? 1 : 0;
  else if (!isThere(after)) tally.removed += 1;
  else if (isChanged) tally.changed += 1;
  if (isThere(old) && isThere(after) && !sameIds(old.ids, after.ids)) tally.reassigned += 1;
  if ((tally.names + tally.removed) % between === 0) keepMemoryBelow(garbageMb);
};

const addParts = async (
  sorter: Sorter,
  { parts }: Listing,
  { store, folder }: { store: JobStore; folder: string },
): Promise<void> => {
  const path = join(folder, 'part');
  let count = 0;
  for (const part of parts) {
    await store.downloadUnpacked(part, path, garbageMb);
    for (const line of readLines(path)) {
      sorter.add(line);
      count += 1;
      if (count % between === 0) keepMemoryBelow(garbageMb);
    }
  }
};

/** The keys of those moves that an operator has accepted. */
const acceptedOf = async (moved: readonly Known[], table: CrosswalkTable): Promise<Set<string>> => {
  const buckets = await table.namesIn(moved.map(({ key }) => acceptedBucketOf(nameIn(key))));
  const isSettled = (known: Known): boolean => {
    const name = nameIn(known.key);
    return isAccepted(known, buckets.get(acceptedBucketOf(name))?.get(name));
  };
  return new Set(moved.filter(isSettled).map(({ key }) => key));
};

function* withoutMoves(known: Iterable<Known>, settled: ReadonlySet<string>): Generator<string> {
  for (const { key, line, ids } of known) yield settled.has(key) ? knownOf(key, { ids }).line : line;
}

/**
 * Writes the buckets that changed, from this one on, and then keeps what was compared as what was filled last. Answers from
 * where to go on, where the time was not enough. May be repeated.
 */
export const writeBuckets = (
  of: Of,
  { from, untilMs }: { from: string; untilMs: number },
  services: Filling,
): Promise<string | undefined> =>
  inFolder(async (folder) => {
    const { store, table } = services;
    const keys = keysOf(of);
    // It was written, and the answer of this step got lost.
    if (!(await isPending(of, services))) return undefined;
    const [old, next] = [join(folder, 'old'), join(folder, 'next')];
    await store.downloadUnpacked(keys.state, old, garbageMb);
    await store.downloadUnpacked(keys.next, next, garbageMb);
    let goOn: string | undefined;
    let count = 0;
    const inTime = function* (): Generator<BucketItem> {
      const changes = pairsOf(knownIn(readLines(old)), knownIn(readLines(next)));
      for (const item of changedBuckets(changes, of)) {
        const shard = item.bucket.split('/').at(-1) ?? '';
        if (shard < from) continue;
        if (Date.now() >= untilMs) {
          goOn = shard;
          return;
        }
        yield item;
        count += 1;
        if (count % 200 === 0) keepMemoryBelow(garbageMb);
      }
    };
    await table.put(inTime());
    if (goOn !== undefined) return goOn;
    await store.uploadCompressed(keys.state, next);
    await store.writeJson(keys.pending, { isPending: false });
    return undefined;
  });
