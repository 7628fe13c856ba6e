import * as z from 'zod';
import { failureKinds, isReplayedBySchedule, needsDecision } from '../../message/failure-kinds.ts';
import { loadOnCall } from '../../options.ts';
import { type ItemTable, readItem, updateItem } from '../../runtime/aws/table-items.ts';
import { readArrivalMs } from '../../runtime/telemetry/arrivals.ts';
import { readPause } from '../../runtime/telemetry/pauses.ts';
import { type Expectation, isOverdue, localTimeIn } from '../../stage/expected.ts';
import type { Target } from '../../stage/target.ts';
import { readListing } from '../messages/letters/list.ts';

/** What a stage expects, as it was looked at last. */
type ExpectedArrival = z.infer<typeof expectedList>[number];

const expectedList = z.array(
  z.object({
    name: z.string(),
    hours: z.number(),
    /** Undefined: nothing has ever come. */
    lastMs: z.number().optional(),
    isOverdue: z.boolean(),
  }),
);

/** What the last check found, so that the next one reports only what is new. */
const lastCheckSchema = z.object({
  firstMs: z.number(),
  lastMs: z.number(),
  /** The causes of letters. */
  causes: z.string(),
  /** The last day on which the morning report was made. */
  day: z.string(),
  expected: z.string(),
});
type LastCheck = z.infer<typeof lastCheckSchema>;

const key = 'on-call';
const writingMs = 15_000;
const dayMs = 24 * 3_600_000;

const tableOf = ({ dynamodb, ledgerTable: table }: Target): ItemTable | undefined =>
  table === undefined ? undefined : { dynamodb, table, nowMs: Date.now };

const lastLook = async (table: ItemTable): Promise<LastCheck | undefined> =>
  lastCheckSchema.safeParse(await readItem(table, key)).data;

export type ExpectedLook = { atMs: number; things: ExpectedArrival[] };

/** Undefined: nobody has looked. @throws if the table cannot be read. */
export const readExpected = async (target: Target): Promise<ExpectedLook | undefined> => {
  const table = tableOf(target);
  const look = table && (await lastLook(table));
  return look && { atMs: look.lastMs, things: expectedList.parse(JSON.parse(look.expected)) };
};

export type OnCallOptions = {
  expected: readonly Expectation[];
  timeZone: string;
  /** At this hour, people are told what waits for their decision. */
  morningHour: number;
  /** Functions that are not deployed. */
  off: readonly string[];
  signal: AbortSignal;
  count: {
    causes(kind: string, value: number): void;
    decisions(what: string, value: number): void;
    overdue(expected: string, value: number): void;
  };
};

/**
 * Counts what nobody else notices: causes of letters that are new, decisions that wait, each morning, and what did not come. Its alarms
 * end before the next check, so that each new cause and each morning is reported.
 *
 * @throws if one of them cannot be read; the others are counted.
 */
export const countForOnCall = async (target: Target, options: OnCallOptions): Promise<void> => {
  const table = tableOf(target);
  if (table === undefined) return;
  const nowMs = Date.now();
  const timeAt = localTimeIn(options.timeZone);
  const last = await lastLook(table);
  const { day, hour } = timeAt(nowMs);
  const isMorning = hour >= options.morningHour && last?.day !== day;
  const letters = readListing(target, 'letter', { filter: {}, signal: options.signal });
  const looks = await Promise.allSettled([
    letters.then((listing) => countCauses(listing, last, options)),
    countDecisions(target, { ...options, letters, isMorning }),
  ] as const);
  const [causes, arrivalsMs] = looks;
  const expected =
    arrivalsMs.status === 'rejected'
      ? []
      : await countOverdue(table, { ...options, arrivalsMs: arrivalsMs.value, timeAt, last });
  const isTold = isMorning && arrivalsMs.status === 'fulfilled';
  const look: LastCheck = {
    firstMs: last?.firstMs ?? nowMs,
    lastMs: nowMs,
    causes: causes.status === 'fulfilled' ? causes.value : (last?.causes ?? ''),
    day: isTold ? day : (last?.day ?? ''),
    expected: JSON.stringify(expected),
  };
  await updateItem({ ...table, abortSignal: AbortSignal.timeout(writingMs) }, key, { set: look });
  const failed = looks.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
};

/** Of letters that no function wrote, it is not known when they were parked. */
const isWrittenByFunction = (kind: string): boolean => Object.hasOwn(failureKinds, kind);

type Letters = Awaited<ReturnType<typeof readListing>>;

/** Returns the causes that there are. */
const countCauses = (
  { all, groupsOf }: Letters,
  last: LastCheck | undefined,
  { count }: OnCallOptions,
): string => {
  const { groups, groupOf } = groupsOf(all);
  const known = new Set(last?.causes.split(' '));
  // An id may change with the letters that are compared: a cause with older letters is not new.
  for (const record of all)
    if (
      record.replays > 0 ||
      (isWrittenByFunction(record.kind) && record.atMs <= (last?.lastMs ?? Number.NEGATIVE_INFINITY))
    )
      known.add(groupOf(record).cause);
  for (const { cause, kind } of groups)
    if (!known.has(cause) && !isReplayedBySchedule(kind)) count.causes(kind, 1);
  return groups.map(({ cause }) => cause).join(' ');
};

/** Returns when what options receive came last, by their names. */
const countDecisions = async (
  target: Target,
  {
    off,
    signal,
    count,
    letters: listing,
    isMorning,
  }: OnCallOptions & { letters: Promise<Letters>; isMorning: boolean },
): Promise<Map<string, number>> => {
  const options = await loadOnCall(off);
  const read = await Promise.all(
    options.map(async ([name, readOnCall]) => ({ name, ...(await readOnCall(target, signal)) })),
  );
  if (isMorning) {
    const { all } = await listing;
    const letters = all.filter(({ kind, atMs }) => needsDecision(kind) && atMs < Date.now() - dayMs).length;
    for (const [what, waits] of [{ letters }, ...read.map(({ decisions }) => decisions)].flatMap(
      Object.entries,
    ))
      if (waits > 0) count.decisions(what, waits);
  }
  return new Map(
    read.flatMap(({ name, arrivalsMs }) =>
      Object.entries(arrivalsMs).map(([each, ms]): [string, number] => [`${name}/${each}`, ms]),
    ),
  );
};

type Overdue = OnCallOptions & {
  arrivalsMs: ReadonlyMap<string, number>;
  timeAt: ReturnType<typeof localTimeIn>;
  last: LastCheck | undefined;
};

const countOverdue = (
  table: ItemTable,
  { expected, arrivalsMs, timeAt, last, count }: Overdue,
): Promise<ExpectedArrival[]> =>
  Promise.all(
    expected.map(async (expectation) => {
      const { name, hours } = expectation;
      const nowMs = Date.now();
      const isOfOption = name.includes('/');
      const lastMs = isOfOption ? arrivalsMs.get(name) : await readArrivalMs(table, name);
      // While a function is paused, nobody sees what comes.
      const isSeen = isOfOption || (await readPause(table, name)) === undefined;
      const since = { lastMs: lastMs ?? last?.firstMs ?? nowMs, nowMs, timeAt };
      const is = isSeen && isOverdue(expectation, since);
      count.overdue(name, is ? 1 : 0);
      return { name, hours, ...(lastMs !== undefined && { lastMs }), isOverdue: is };
    }),
  );
