import { reconcileNth, type Scenario, type Simulated } from './fleet.ts';
import { type Load, minuteMs, type Stream, sentBy } from './load.ts';
import { cost, type Window } from './platform.ts';
import { type Lane, type Record, receiptsAt, sliceMinutes, waitSecondsAt } from './record.ts';

/** What must hold; `measured` is undefined where there was nothing to measure. */
export type Floor = {
  name: string;
  sense: '≥' | '≤';
  limit: number;
  measured: number | undefined;
  holds: boolean;
};

/** Floors of the use of the budget and of the requests that are refused. */
const limits = { headers: { use: 0.98, refused: 0.001 }, none: { use: 0.9, refused: 0.01 } };

/** Classes below leave this much to urgent messages at least: a class whose messages need less is within budget. */
const urgentPart = 0.9;
/** Shares of less time than this tell nothing. */
const sharedMinutes = 10;

/** All floors, each by what the platform granted and what became of every message. */
export const judge = ({ load, platform }: Scenario, { record, windows, isDone }: Simulated): Floor[] => {
  const limit = platform.headers ? limits.headers : limits.none;
  const urgent = load.functions.filter(({ priority }) => priority === 'urgent');
  const budget = windows.map(callsIn);
  const streamsOf = (functions: typeof urgent): Demand[] =>
    functions.flatMap(({ streams, callsPerMessage }) =>
      streams.filter(({ isBulk }) => !isBulk).map((stream) => ({ stream, calls: callsPerMessage })),
    );
  const lanesOf = (functions: typeof urgent): Lane[] =>
    record.lanes.filter(
      ({ nth, priority }) => priority === 'urgent' && functions.some((each) => each === load.functions[nth]),
    );
  const asClass = isCalm(streamsOf(urgent), (minute) => (budget[minute] ?? 0) * urgentPart);
  const ofFunctions = urgent.map((each) => {
    const share = urgentPart / urgent.length;
    const calm = isCalm(streamsOf([each]), (minute) => (budget[minute] ?? 0) * share);
    return waitSecondsAt(0.95, lanesOf([each]), (slice) => calm(slice) && !asClass(slice));
  });
  const requests = sum(windows.map((each) => each.requests));
  const refused = sum(windows.map((each) => each.refused));
  const least = leastMs(load, budget, callsOf(record, reconcileNth)) - load.floodMs;
  return [
    atLeast('budget used', limit.use, useOf(windows, record.work)),
    atMost('requests refused', limit.refused, refused / requests),
    atMost('urgent p95 within budget', 60, waitSecondsAt(0.95, lanesOf(urgent), asClass)),
    atMost('urgent p95 of small functions in the flood', 60, largest(ofFunctions)),
    atMost('shares of equal functions', 2, unevenness(load, record)),
    atMost('letters', 0, sum(record.lanes.map(({ letters }) => letters))),
    atMost('receipts p99', 3, receiptsAt(0.99, record.lanes)),
    // What is never done takes for ever; more than can be shown, and JSON has no Infinity.
    atMost('time over the least', 1.03, isDone ? (record.lastMs - load.floodMs) / least : 999),
  ];
};

const atLeast = (name: string, limit: number, measured: number | undefined): Floor => ({
  ...{ name, sense: '≥', limit, measured },
  holds: measured !== undefined && measured >= limit,
});
const atMost = (name: string, limit: number, measured: number | undefined): Floor => ({
  ...{ name, sense: '≤', limit, measured },
  holds: measured !== undefined && measured <= limit,
});

const sum = (values: number[]): number => values.reduce((all, each) => all + each, 0);
const largest = (values: (number | undefined)[]): number | undefined =>
  values.reduce((most, each) => (each === undefined || (most ?? 0) > each ? most : each), undefined);

/** Calls that a window had for us. */
const callsIn = ({ budget, upPart, strangers }: Window): number =>
  Math.max(0, budget * upPart - strangers) / cost;

/** Of the whole minutes in which there was enough to do, and the platform was up: what was used, by whomever, of what was granted. */
export const useOf = (windows: Window[], work: Uint8Array): number | undefined => {
  const busy = windows.filter(({ upPart }, minute) => upPart === 1 && work[minute] === 60);
  if (busy.length === 0) return undefined;
  return sum(busy.map(({ ours, strangers }) => ours + strangers)) / sum(busy.map(({ budget }) => budget));
};

type Demand = { stream: Stream; calls: number };

const demandIn = (demands: Demand[], minute: number): number =>
  sum(
    demands.map(
      ({ stream, calls }) =>
        calls * (sentBy(stream, (minute + 1) * minuteMs) - sentBy(stream, minute * minuteMs)),
    ),
  );

/** The slices of the day in which nothing of this would have to wait, if it had so many calls a minute. */
const isCalm = (demands: Demand[], callsAt: (minute: number) => number): ((slice: number) => boolean) => {
  const endMinute = Math.ceil(Math.max(...demands.map(({ stream }) => stream.toMs)) / minuteMs);
  const waits = new Set<number>();
  let backlog = 0;
  for (let minute = 0; minute < endMinute; minute += 1) {
    backlog = Math.max(0, backlog + demandIn(demands, minute) - callsAt(minute));
    if (backlog > 0) waits.add(Math.floor(minute / sliceMinutes));
  }
  return (slice) => !waits.has(slice);
};

/** When the last call could have been made, if each minute's whole budget had been used as long as there was anything to do. */
const leastMs = (load: Load, budget: number[], beside: Uint32Array | undefined): number => {
  const demands = load.functions.flatMap(({ streams, callsPerMessage }) =>
    streams.map((stream) => ({ stream, calls: callsPerMessage })),
  );
  const lastMinute = Math.ceil(Math.max(...demands.map(({ stream }) => stream.toMs)) / minuteMs);
  const exportMinute = Math.floor(load.export.fromMs / minuteMs);
  let backlog = 0;
  let minute = 0;
  for (; minute < budget.length; minute += 1) {
    const calls = budget[minute] ?? 0;
    backlog += demandIn(demands, minute) + (minute === exportMinute ? load.export.calls : 0);
    // It may take longer than all else, and asks for what others leave.
    backlog += beside?.[minute] ?? 0;
    // A minute's budget is there at its beginning.
    if (backlog <= calls && minute >= lastMinute - 1) return minute * minuteMs;
    backlog = Math.max(0, backlog - calls);
  }
  return minute * minuteMs;
};

const callsOf = ({ lanes }: Record, nth: number): Uint32Array | undefined =>
  lanes.find((lane) => lane.nth === nth)?.calls;

type Pair = readonly [Lane, Lane];

/** Functions of one class and mapping, each pair of them. */
const equalPairs = (load: Load, { lanes }: Record): Pair[] =>
  lanes.flatMap((one, at) =>
    lanes.slice(at + 1).flatMap((other): Pair[] => {
      const [first, second] = [load.functions[one.nth], load.functions[other.nth]];
      const isEqual = first && one.priority === other.priority && first.batchSize === second?.batchSize;
      return isEqual ? [[one, other]] : [];
    }),
  );

/** How much more one of two equal functions got than the other, over all minutes in which both had enough to do; the worst. */
const unevenness = (load: Load, record: Record): number | undefined =>
  largest(
    equalPairs(load, record).map(([one, other]) => {
      const minutes = [...one.calls.keys()].filter(
        (minute) => one.busySeconds[minute] === 60 && other.busySeconds[minute] === 60,
      );
      if (minutes.length < sharedMinutes) return undefined;
      const [first = 0, second = 0] = [one, other].map(({ calls }) =>
        sum(minutes.map((minute) => calls[minute] ?? 0)),
      );
      return Math.max(first, second) / Math.max(1, Math.min(first, second));
    }),
  );
