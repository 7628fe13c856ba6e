import { withoutIds } from '../../../delivery/letters/letter-words.ts';
import type { DeskRecord } from '../../../delivery/letters/record.ts';
import { dispositions, type FailureKind } from '../../../message/failure.ts';
import type { Target } from '../../stage/target.ts';
import type { Filter } from '../letters/filter.ts';
import { type Group, groupsOf } from '../letters/groups.ts';
import { deskOf, recordsMatching } from '../letters/records.ts';

/**
 * `later`: its queue hides it until its next try. `due`: that time has come, so its function has it, or will have it when those before
 * it are taken, or when it is no longer paused. `unknown`: that time is long past, so it may have ended without a record of that.
 */
export type Next = 'later' | 'due' | 'unknown';

/** A message that waits, as its function told it last. */
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
  /** Of them, how many are due, and of how many it is not known whether they still wait. */
  due: number;
  unknown: number;
  /** When the first of them was first received. */
  oldestMs: number;
  /** When the next of them is tried; undefined: none is hidden any more. */
  nextMs: number | undefined;
  /** Of the one that was tried most often. */
  attempts: number;
};

export type Waiting = {
  /** The largest first. */
  groups: WaitingGroup[];
  /** Those that have waited longest first, at most as many as were asked for. */
  messages: WaitingMessage[];
  matching: number;
};

/** The longest that a queue hides a message that its function has in hand, and some. */
const inHandMs = 15 * 60_000;

export const nextOf = ({ nextMs = 0 }: Pick<DeskRecord, 'nextMs'>, nowMs: number): Next => {
  if (nextMs > nowMs) return 'later';
  return nextMs > nowMs - inHandMs ? 'due' : 'unknown';
};

/** Waiting for its turn to call the platform is in nobody's way. */
const isListed = ({ kind }: DeskRecord): boolean => kind !== 'pace';

/** The records of messages that wait and match, those that have waited longest first. @throws where the table cannot be read. */
export const findWaiting = async (
  target: Target,
  filter: Filter,
  signal: AbortSignal,
): Promise<DeskRecord[]> => {
  const { records } = await recordsMatching(deskOf(target), 'waiting', { filter, signal });
  return records.filter(isListed).sort((one, other) => sinceOf(one) - sinceOf(other));
};

/** What waits, by cause and one by one, as the functions wrote it down: no queue is touched. */
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
    const { function: name, kind } = group;
    // What is looked up at its next try asks for nobody yet.
    const remedy = dispositions[kind as FailureKind] === 'park' ? '' : group.remedy;
    const error = withoutIds(group.error);
    const messages = members.get(group) ?? [];
    const counted = (wanted: Next) => messages.filter((each) => nextOf(each, nowMs) === wanted);
    const hidden = counted('later').flatMap(({ nextMs }) => nextMs ?? []);
    return {
      ...{ function: name, kind, error, remedy },
      messages: messages.length,
      due: counted('due').length,
      unknown: counted('unknown').length,
      oldestMs: least(messages.map(sinceOf)) ?? nowMs,
      nextMs: least(hidden),
      attempts: messages.reduce((most, { attempts }) => Math.max(most, attempts), 0),
    };
  });
};

/** As arguments of one call, 100,000 numbers would be too many. */
const least = (times: readonly number[]): number | undefined =>
  times.reduce<number | undefined>(
    (found, each) => (found === undefined || each < found ? each : found),
    undefined,
  );

/** When it was first received. */
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
