import type { IndexRecord } from '../../../delivery/letters/record.ts';
import { isRetried } from '../../../message/failure-kinds.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import type { Target } from '../../../stage/target.ts';
import type { Filter } from '../letters/filter.ts';
import { type Group, groupsOf, secretIn } from '../letters/groups.ts';
import { readListing } from '../letters/list.ts';

/**
 * `later`: its queue hides it until its next try. `due`: that time has come; its function receives it after those before it, or when it
 * is resumed. `unknown`: that time is long past, so it may have ended without a record.
 */
export type Next = 'later' | 'due' | 'unknown';

/** A waiting message, by its function's last report. */
export type WaitingMessage = ReturnType<typeof factsOf>;

type GroupName = Pick<Group, 'function' | 'kind' | 'error' | 'remedy'>;

type GroupCounts = {
  messages: number;
  /** How many of them are due, and of how many it is unknown whether they still wait. */
  due: number;
  unknown: number;
  /** When the first of them was first received. */
  oldestMs: number;
  /** When the last of them was tried. */
  lastMs: number;
  /** When the next of them is tried; undefined: none is hidden. */
  nextMs: number | undefined;
  /** The highest number of attempts among them. */
  attempts: number;
};

/** Messages that wait because the credential in this secret is refused. */
type SecretGroup = GroupName & GroupCounts & { secret: string };

/** Messages of one function that wait for the same cause. */
export type WaitingGroup = GroupName &
  GroupCounts & {
    /** Of refused credentials: by the secret that a person must change. */
    bySecret?: SecretGroup[];
    /** When their secrets were changed, if each was after the last try; if it was looked up. */
    mendedMs?: number;
  };

export type WaitingList = {
  /** Largest first. */
  groups: WaitingGroup[];
  /** Longest waiting first, at most as many as requested. */
  messages: WaitingMessage[];
  matching: number;
};

/** The longest time that a queue hides a message which its function is processing, with a margin. */
const maxProcessingMs = 15 * 60_000;

export const nextOf = ({ nextMs = 0 }: Pick<IndexRecord, 'nextMs'>, nowMs: number): Next => {
  if (nextMs > nowMs) return 'later';
  return nextMs > nowMs - maxProcessingMs ? 'due' : 'unknown';
};

/** A message that waits only for the rate limiter needs no attention. */
const isListed = ({ kind }: IndexRecord): boolean => kind !== 'pace';

/** The records of waiting messages that match, longest waiting first. @throws if the table cannot be read. */
export const findWaiting = async (
  target: Target,
  filter: Filter,
  signal: AbortSignal,
): Promise<IndexRecord[]> => {
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
): Promise<WaitingList> => waitingAmong(await findWaiting(target, filter, signal), limit);

export const waitingAmong = (records: readonly IndexRecord[], limit: number): WaitingList => {
  const nowMs = Date.now();
  return {
    groups: waitingGroups(records, nowMs),
    messages: records.slice(0, limit).map((record) => factsOf(record, nowMs)),
    matching: records.length,
  };
};

export const waitingGroups = (records: readonly IndexRecord[], nowMs: number): WaitingGroup[] => {
  const { groups, groupOf } = groupsOf(records);
  const members = Map.groupBy(records, groupOf);
  return groups.map((group) => {
    const { function: name, kind, error } = group;
    // An effect that the next try looks up needs no person yet.
    const remedy = !isRetried(kind) ? '' : group.remedy;
    const messages = members.get(group) ?? [];
    const facts = { function: name, kind, error, remedy, ...countsOf(messages, nowMs) };
    return kind === 'credentials' ? { ...facts, bySecret: bySecretAmong(messages, nowMs) } : facts;
  });
};

/** The remedy may be another than to change the secret. */
const secretOf = (record: IndexRecord): string | undefined =>
  secretIn(record) ??
  /^The platform refuses the credential in the secret ([^\s<>]+)$/.exec(record.error)?.[1];

const bySecretAmong = (messages: readonly IndexRecord[], nowMs: number): SecretGroup[] =>
  [...Map.groupBy(messages, secretOf)].flatMap(([secret, each]) => {
    const [{ function: name, kind, error, remedy = '' } = {} as IndexRecord] = each;
    if (secret === undefined) return [];
    return [{ secret, function: name, kind, error, remedy, ...countsOf(each, nowMs) }];
  });

const countsOf = (messages: readonly IndexRecord[], nowMs: number): GroupCounts => {
  const counted = (wanted: Next) => messages.filter((each) => nextOf(each, nowMs) === wanted);
  const hidden = counted('later').flatMap(({ nextMs }) => nextMs ?? []);
  return {
    messages: messages.length,
    due: counted('due').length,
    unknown: counted('unknown').length,
    oldestMs: least(messages.map(sinceOf)) ?? nowMs,
    lastMs: messages.reduce((last, { atMs }) => Math.max(last, atMs), 0),
    nextMs: least(hidden),
    attempts: messages.reduce((most, { attempts }) => Math.max(most, attempts), 0),
  };
};

/** Avoids spreading 100,000 numbers as arguments of one call. */
const least = (times: readonly number[]): number | undefined =>
  times.reduce<number | undefined>(
    (found, each) => (found === undefined || each < found ? each : found),
    undefined,
  );

const sinceOf = ({ firstMs, atMs }: IndexRecord): number => firstMs ?? atMs;

const factsOf = (record: IndexRecord, nowMs: number) => {
  const { message: id, function: name, kind, error, remedy, status, operation, firstMs, nextMs } = record;
  const { attempts, replays, eventId, user, orgUnit, thing, named, resource, waits } = record;
  return {
    id,
    function: name,
    kind,
    error,
    remedy,
    status,
    operation,
    firstMs,
    nextMs,
    next: nextOf(record, nowMs),
    attempts,
    replays,
    eventId,
    user,
    orgUnit,
    thing,
    named,
    resource,
    waits,
  };
};

/** More secrets are not looked up. */
const maxSecrets = 50;

/**
 * Separates what waits for refused credentials whose secrets were changed after the last try: the cause may be gone, though messages
 * still wait for their next try. `serviceSinceMs`: since when the service's secret holds what it holds.
 */
export const withMended = async (
  target: Target,
  groups: readonly WaitingGroup[],
  serviceSinceMs: number | undefined,
): Promise<WaitingGroup[]> => {
  const separated = async (group: WaitingGroup): Promise<WaitingGroup[]> => {
    const { bySecret = [] } = group;
    const mended = new Map<SecretGroup, number>();
    await inParallel(bySecret.slice(0, maxSecrets), async (each) => {
      const isService = each.secret.endsWith('/service');
      const changedMs = isService ? serviceSinceMs : await changedMsOf(target, each.secret);
      if (changedMs !== undefined && changedMs > each.lastMs) mended.set(each, changedMs);
    });
    const named = bySecret.reduce((all, { messages }) => all + messages, 0);
    if (mended.size === 0 || named < group.messages) return [group];
    const left = bySecret.filter((each) => !mended.has(each));
    return [
      ...(left.length === 0 ? [] : [onlyOf(group, left)]),
      { ...onlyOf(group, [...mended.keys()]), mendedMs: Math.max(...mended.values()) },
    ];
  };
  return (await Promise.all(groups.map(separated))).flat();
};

/** The messages of some of its secrets. */
const onlyOf = (group: WaitingGroup, some: readonly SecretGroup[]): WaitingGroup => {
  const [first] = some;
  const sum = (count: (each: SecretGroup) => number): number =>
    some.reduce((all, each) => all + count(each), 0);
  return {
    ...group,
    ...(some.length === 1 && first !== undefined && { error: first.error, remedy: first.remedy }),
    messages: sum(({ messages }) => messages),
    due: sum(({ due }) => due),
    unknown: sum(({ unknown }) => unknown),
    oldestMs: Math.min(...some.map(({ oldestMs }) => oldestMs)),
    lastMs: Math.max(...some.map(({ lastMs }) => lastMs)),
    nextMs: least(some.flatMap(({ nextMs }) => nextMs ?? [])),
    attempts: Math.max(...some.map(({ attempts }) => attempts)),
    bySecret: [...some],
  };
};

/** Undefined if the operator may not ask. */
const changedMsOf = async (target: Target, name: string): Promise<number | undefined> => {
  const { DescribeSecretCommand } = await import('@aws-sdk/client-secrets-manager');
  const asked = new DescribeSecretCommand({ SecretId: name });
  try {
    const { LastChangedDate } = await (await target.secretsManager()).send(asked);
    return LastChangedDate?.getTime();
  } catch {
    return undefined;
  }
};
