import type { DeskRecord } from '../../../delivery/letters/record.ts';
import { dispositions, type FailureKind } from '../../../message/failure.ts';
import type { Target } from '../../stage/target.ts';
import type { Filter } from '../letters/filter.ts';
import { type Group, groupsOf } from '../letters/groups.ts';
import { readListing } from '../letters/list.ts';

/**
 * `later`: its queue hides it until its next try. `due`: that time has come; its function receives it after those before it, or when it
 * is resumed. `unknown`: that time is long past, so it may have ended without a record.
 */
export type Next = 'later' | 'due' | 'unknown';

/** A waiting message, by its function's last report. */
export type WaitingMessage = Pick<
  DeskRecord,
  | 'function'
  | 'kind'
  | 'error'
  | 'remedy'
  | 'status'
  | 'operation'
  | 'firstMs'
  | 'nextMs'
  | 'attempts'
  | 'replays'
  | 'eventId'
  | 'user'
  | 'orgUnit'
  | 'named'
  | 'thing'
  | 'resource'
  | 'waits'
> & { id: string; next: Next };

/** Messages of one function that wait for the same cause. */
export type WaitingGroup = Pick<Group, 'function' | 'kind' | 'error' | 'remedy'> & {
  messages: number;
  /** How many of them are due, and of how many it is unknown whether they still wait. */
  due: number;
  unknown: number;
  /** When the first of them was first received. */
  oldestMs: number;
  /** When the last of them was tried. */
  lastMs: number;
  /** When the secret of a refused credential was changed, if that was after the last try; if it was looked up. */
  mendedMs?: number;
  /** When the next of them is tried; undefined: none is hidden. */
  nextMs: number | undefined;
  /** The highest number of attempts among them. */
  attempts: number;
};

export type Waiting = {
  /** Largest first. */
  groups: WaitingGroup[];
  /** Longest waiting first, at most as many as requested. */
  messages: WaitingMessage[];
  matching: number;
};

/** The longest time that a queue hides a message which its function is processing, with a margin. */
const inHandMs = 15 * 60_000;

export const nextOf = ({ nextMs = 0 }: Pick<DeskRecord, 'nextMs'>, nowMs: number): Next => {
  if (nextMs > nowMs) return 'later';
  return nextMs > nowMs - inHandMs ? 'due' : 'unknown';
};

/** A message that only waits for its turn to call the platform needs no attention. */
const isListed = ({ kind }: DeskRecord): boolean => kind !== 'pace';

/** The records of waiting messages that match, longest waiting first. @throws if the table cannot be read. */
export const findWaiting = async (
  target: Target,
  filter: Filter,
  signal: AbortSignal,
): Promise<DeskRecord[]> => {
  const { matching } = await readListing(target, 'waiting', { filter, signal });
  return matching(filter)
    .filter(isListed)
    .sort((one, other) => sinceOf(one) - sinceOf(other));
};

/** What waits, by cause and one by one, from the functions' records: no queue is touched. */
export const listWaiting = async (
  target: Target,
  { filter, limit = Number.POSITIVE_INFINITY }: { filter: Filter; limit?: number | undefined },
  { signal }: { signal: AbortSignal },
): Promise<Waiting> => {
  const records = await findWaiting(target, filter, signal);
  const nowMs = Date.now();
  return {
    groups: waitingGroups(records, nowMs),
    messages: records.slice(0, limit).map((record) => factsOf(record, nowMs)),
    matching: records.length,
  };
};

export const waitingGroups = (records: readonly DeskRecord[], nowMs: number): WaitingGroup[] => {
  const { groups, groupOf } = groupsOf(records);
  const members = Map.groupBy(records, groupOf);
  return groups.map((group) => {
    const { function: name, kind, error } = group;
    // An effect that the next try looks up needs no person yet.
    const remedy = dispositions[kind as FailureKind] === 'park' ? '' : group.remedy;
    const messages = members.get(group) ?? [];
    const counted = (wanted: Next) => messages.filter((each) => nextOf(each, nowMs) === wanted);
    const hidden = counted('later').flatMap(({ nextMs }) => nextMs ?? []);
    return {
      ...{ function: name, kind, error, remedy },
      messages: messages.length,
      due: counted('due').length,
      unknown: counted('unknown').length,
      oldestMs: least(messages.map(sinceOf)) ?? nowMs,
      lastMs: group.newestMs,
      nextMs: least(hidden),
      attempts: messages.reduce((most, { attempts }) => Math.max(most, attempts), 0),
    };
  });
};

/** Avoids spreading 100,000 numbers as arguments of one call. */
const least = (times: readonly number[]): number | undefined =>
  times.reduce<number | undefined>(
    (found, each) => (found === undefined || each < found ? each : found),
    undefined,
  );

const sinceOf = ({ firstMs, atMs }: DeskRecord): number => firstMs ?? atMs;

const factsOf = (record: DeskRecord, nowMs: number): WaitingMessage => {
  const { message: id, function: name, kind, error, remedy, status, operation, firstMs, nextMs } = record;
  const { attempts, replays, eventId, user, orgUnit, thing, named, resource, waits } = record;
  return {
    ...{ id, function: name, kind, error, remedy, status, operation, firstMs, nextMs },
    next: nextOf(record, nowMs),
    ...{ attempts, replays, eventId, user, orgUnit, thing, named, resource, waits },
  };
};
