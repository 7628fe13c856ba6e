import { type Load, minuteMs, type Stream, sentBy } from './load.ts';
import { cost, type Window } from './platform.ts';
import { type Lane, type Record, receiptsAt, sliceMinutes, waitSecondsAt } from './record.ts';
import type { Scenario, Simulated } from './fleet.ts';

/** What must hold; `measured` is undefined where there was nothing to measure. */
export type Floor = { name: string; limit: number; measured: number | undefined; holds: boolean };

/** Floors of the use of the budget and of the requests that are refused. */
const limits = { headers: { use: 0.98, refused: 0.001 }, none: { use: 0.9, refused: 0.01 } };

/** Classes below leave this much to urgent messages at least: a class whose messages need less is within budget. */
const urgentPart = 0.9;

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
  const least = leastMs(load, budget) - load.floodMs;
  return [
    atLeast('budget used', limit.use, useOf(windows, record.work)),
    atMost('requests refused', limit.refused, refused / requests),
    atMost('urgent p95 within budget', 60, waitSecondsAt(0.95, lanesOf(urgent), asClass)),
    atMost('urgent p95 of small functions in the flood', 60, largest(ofFunctions)),
    atMost('shares of equal functions', 2, unevenness(load, record)),
    atMost('letters', 0, sum(record.lanes.map(({ letters }) => letters)) + (isDone ? 0 : Number.POSITIVE_INFINITY)),
    atMost('receipts p99', 3, receiptsAt(0.99, record.lanes)),
    atMost('time over the least', 1.03, (record.lastMs - load.floodMs) / least),
  ];
};

const atLeast = (name: string, limit: number, measured: number | undefined): Floor => ({
  ...{ name, limit, measured },
  holds: measured !== undefined && measured >= limit,
});
const atMost = (name: string, limit: number, measured: number | undefined): Floor => ({
  ...{ name, limit, measured },
  holds: measured === undefined || measured <= limit,
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
const leastMs = (load: Load, budget: number[]): number => {
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
    if (backlog <= calls && minute >= lastMinute - 1) return (minute + backlog / calls) * minuteMs;
    backlog = Math.max(0, backlog - calls);
  }
  return minute * minuteMs;
};

/** In the slices in which two functions of one class and mapping had enough to do all the time: how much more one got, at worst. */
const unevenness = (load: Load, { lanes }: Record): number | undefined => {
  const pairs = lanes.flatMap((one, at) =>
    lanes.slice(at + 1).flatMap((other) => {
      const [first, second] = [load.functions[one.nth], load.functions[other.nth]];
      const isEqual = first && one.priority === other.priority && first.batchSize === second?.batchSize;
      return isEqual ? [[one, other] as const] : [];
    }),
  );
  return largest(
    pairs.flatMap(([one, other]) => {
      const ratios: number[] = [];
      const minutes = [...one.calls.keys()].filter(
        (minute) => one.busySeconds[minute] === 60 && other.busySeconds[minute] === 60,
      );
      for (let at = 0; at + sliceMinutes <= minutes.length; at += sliceMinutes) {
        const calls = [one, other].map((lane) =>
          sum(minutes.slice(at, at + sliceMinutes).map((minute) => lane.calls[minute] ?? 0)),
        );
        ratios.push(Math.max(...calls) / Math.max(1, Math.min(...calls)));
      }
      return ratios;
    }),
  );
};
