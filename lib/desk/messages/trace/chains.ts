import { historyIn, type OperatorAction } from '../../../delivery/letters/history.ts';
import { recordsOf, scanned } from '../../../delivery/letters/read-records.ts';
import type { IndexRecord, LetterIndexTable } from '../../../delivery/letters/record.ts';
import { type TraceEvent, timeOf } from './event.ts';

/** One message of a producer, with each id that SQS gave it: the first one, and one per replay. */
export type Chain = { ids: Set<string>; records: IndexRecord[] };

/** The form of SQS' message ids. */
const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The messages that `id` names: the id of a message or letter or its beginning, the id of an event, or a resource. Reads all records,
 * unless it is the whole id of a message that has a record.
 */
export const findChains = async (
  letterIndex: LetterIndexTable,
  id: string,
  signal: AbortSignal,
): Promise<Chain[]> => {
  const known = wholeId.test(id) ? [...(await recordsOf(letterIndex, [id], { signal })).values()] : [];
  const seeds = known.length > 0 ? known : await scanned(letterIndex, isNamed(id), { signal });
  const records = new Map(seeds.map((record) => [record.message, record]));
  for (let asked = [...records.values()]; asked.length > 0; ) {
    const missing = asked.flatMap(linksOf).filter((each) => !records.has(each));
    const found = await recordsOf(letterIndex, missing, { signal });
    for (const [message, record] of found) records.set(message, record);
    asked = [...found.values()];
  }
  return chainsOf([...records.values()]);
};

const isNamed = (id: string) => ({
  text: 'begins_with(#message, :id) OR #eventId = :id OR #resource = :id OR begins_with(#as, :id) OR contains(#history, :letter)',
  names: {
    '#message': 'message',
    '#eventId': 'eventId',
    '#resource': 'resource',
    '#as': 'as',
    '#history': 'history',
  },
  // In the form of the stored history.
  values: { ':id': id, ':letter': `"letter":${JSON.stringify(id).slice(0, -1)}` },
});

/** The earlier and later ids of the same message. */
const linksOf = ({ as, history }: IndexRecord): string[] => [
  ...(as === undefined ? [] : [as]),
  ...(historyIn(history)?.deeds ?? []).map(({ letter }) => letter),
];

const chainsOf = (records: IndexRecord[]): Chain[] => {
  const chains = new Set<Chain>();
  for (const record of records) {
    const ids = new Set([record.message, ...linksOf(record)]);
    const joined: Chain = { ids, records: [record] };
    for (const chain of chains) {
      if (chain.ids.isDisjointFrom(ids)) continue;
      chains.delete(chain);
      joined.ids = joined.ids.union(chain.ids);
      joined.records.push(...chain.records);
    }
    chains.add(joined);
  }
  return [...chains];
};

/** The record of its last id; undefined if there is none. */
export const tailOf = ({ records }: Chain): IndexRecord | undefined => {
  const earlier = new Set(
    records.flatMap((record) => (historyIn(record.history)?.deeds ?? []).map(({ letter }) => letter)),
  );
  const messages = new Set(records.map(({ message }) => message));
  const isLast = ({ message, as }: IndexRecord): boolean =>
    !earlier.has(message) && !(as !== undefined && messages.has(as));
  const last = records.filter(isLast);
  return (last.length > 0 ? last : records).toSorted((one, other) => one.atMs - other.atMs).at(-1);
};

/** What the letter index records about one message, under all its ids. */
export const eventsOfChain = ({ records }: Chain): TraceEvent[] => {
  const histories = records.flatMap(({ history }) => historyIn(history) ?? []);
  // Each later record repeats what was done before.
  const deeds = new Map(
    histories.flatMap((history) =>
      history.deeds.map((action) => [`${action.what} ${action.letter}`, action]),
    ),
  );
  const endings = records.flatMap(endingOf);
  const own = new Map(endings.map((event) => [`${event.what} ${event.message}`, event]));
  return [
    ...sentOf(records, histories),
    ...firstOf(records, histories),
    ...records.flatMap(eventsOfRecord),
    ...endings.filter(({ what, message }) => !deeds.has(`${what} ${message}`)),
    ...[...deeds].map(([key, action]): TraceEvent => ({ ...own.get(key), ...eventOfAction(action) })),
  ];
};

/** Each record repeats it; it was the first id's. */
const sentOf = (
  records: IndexRecord[],
  [history]: NonNullable<ReturnType<typeof historyIn>>[],
): TraceEvent[] => {
  const record = records.find(({ eventMs }) => eventMs !== undefined);
  const at = timeOf(record?.eventMs);
  const message = history?.deeds[0]?.letter ?? record?.message;
  return at === undefined ? [] : [{ at, what: 'sent', message, eventId: record?.eventId }];
};

/** The first receipt, if only the history still contains it. */
const firstOf = (
  records: IndexRecord[],
  histories: NonNullable<ReturnType<typeof historyIn>>[],
): TraceEvent[] => {
  const [history] = histories;
  const message = history?.deeds[0]?.letter;
  const isRecorded = records.some((record) => record.message === message && record.firstMs !== undefined);
  return history?.firstAt === undefined || isRecorded
    ? []
    : [{ at: history.firstAt, what: 'received', message }];
};

const eventOfAction = ({ what, at, by, why, letter, kind, original }: OperatorAction): TraceEvent => ({
  at,
  what,
  message: letter,
  kind,
  by,
  why,
  original,
});

const eventsOfRecord = (record: IndexRecord): TraceEvent[] => {
  const { message, function: name, eventId, resource, firstMs, replays, waits } = record;
  const received = timeOf(firstMs);
  return [
    ...(received === undefined
      ? []
      : [{ at: received, what: 'received' as const, message, function: name, eventId, resource, replays }]),
    ...waits.flatMap((wait) => waitEvent(record, wait)),
    ...letterOf(record),
  ];
};

const waitEvent = (record: IndexRecord, { kind, firstMs, lastMs, count }: IndexRecord['waits'][number]) => {
  const { message, state, nextMs, error, status, operation, remedy, attempts } = record;
  const isNow = state === 'waiting' && kind === record.kind;
  const at = timeOf(firstMs);
  if (at === undefined) return [];
  const event: TraceEvent = {
    at,
    what: isNow ? 'waits' : 'waited',
    message,
    kind,
    times: count,
    until: timeOf(lastMs),
    // For an earlier cause no more is kept.
    ...(kind === record.kind && { error, status, operation }),
    ...(isNow && { remedy, attempts, next: timeOf(nextMs) }),
  };
  return [event];
};

const letterStates = ['letter', 'replayed', 'edited', 'discarded'];

const letterOf = (record: IndexRecord): TraceEvent[] => {
  const { message, state, writtenMs, kind, error, words, status, operation, remedy, attempts } = record;
  const at = timeOf(writtenMs);
  if (!letterStates.includes(state) || at === undefined) return [];
  return [{ at, what: 'letter', message, kind, error, words, status, operation, remedy, attempts }];
};

const endingOf = (record: IndexRecord): TraceEvent[] => {
  const { message, state, atMs, by, why, as, error, status, operation, attempts } = record;
  const at = new Date(atMs).toISOString();
  switch (state) {
    case 'letter':
    case 'waiting':
      return [];
    case 'replayed':
    case 'edited':
    case 'discarded':
      return [{ at, what: state, message, by, why, as }];
    default:
      return [
        { at, what: state, message, status, operation, attempts, error: error === '' ? undefined : error },
      ];
  }
};
