import { type Deed, historyIn } from '../../../delivery/letters/history.ts';
import type { DeskRecord } from '../../../delivery/letters/record.ts';
import type { Chain } from './chains.ts';
import { type TraceEvent, timeOf } from './event.ts';

/** What the desk's table records about one message, under all its ids. */
export const eventsOfChain = ({ records }: Chain): TraceEvent[] => {
  const histories = records.flatMap(({ history }) => historyIn(history) ?? []);
  // Each later record repeats what was done before.
  const deeds = new Map(
    histories.flatMap((history) => history.deeds.map((deed) => [`${deed.what} ${deed.letter}`, deed])),
  );
  const endings = records.flatMap(endingOf);
  const own = new Map(endings.map((event) => [`${event.what} ${event.message}`, event]));
  return [
    ...firstOf(records, histories),
    ...records.flatMap(eventsOfRecord),
    ...endings.filter(({ what, message }) => !deeds.has(`${what} ${message}`)),
    ...[...deeds].map(([key, deed]): TraceEvent => ({ ...own.get(key), ...eventOfDeed(deed) })),
  ];
};

/** The first receipt, if only the history still contains it. */
const firstOf = (
  records: DeskRecord[],
  histories: NonNullable<ReturnType<typeof historyIn>>[],
): TraceEvent[] => {
  const [history] = histories;
  const message = history?.deeds[0]?.letter;
  const isTold = records.some((record) => record.message === message && record.firstMs !== undefined);
  return history?.firstAt === undefined || isTold ? [] : [{ at: history.firstAt, what: 'received', message }];
};

const eventOfDeed = ({ what, at, by, why, letter, kind, original }: Deed): TraceEvent => ({
  ...{ at, what, message: letter, kind, by, why, original },
});

const eventsOfRecord = (record: DeskRecord): TraceEvent[] => {
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

const waitEvent = (record: DeskRecord, { kind, firstMs, lastMs, count }: DeskRecord['waits'][number]) => {
  const { message, state, nextMs, error, status, operation, remedy, attempts } = record;
  const isNow = state === 'waiting' && kind === record.kind;
  const at = timeOf(firstMs);
  if (at === undefined) return [];
  const event: TraceEvent = {
    ...{ at, what: isNow ? 'waits' : 'waited', message, kind, times: count, until: timeOf(lastMs) },
    // For an earlier cause no more is kept.
    ...(kind === record.kind && { error, status, operation }),
    ...(isNow && { remedy, attempts, next: timeOf(nextMs) }),
  };
  return [event];
};

const letterStates = ['letter', 'replayed', 'edited', 'discarded'];

const letterOf = (record: DeskRecord): TraceEvent[] => {
  const { message, state, writtenMs, kind, error, words, status, operation, remedy, attempts } = record;
  const at = timeOf(writtenMs);
  if (!letterStates.includes(state) || at === undefined) return [];
  return [{ at, what: 'letter', message, kind, error, words, status, operation, remedy, attempts }];
};

const endingOf = (record: DeskRecord): TraceEvent[] => {
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
