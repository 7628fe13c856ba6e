import { priorities } from '../../lib/runtime/telemetry/pace-use.ts';
import { exportNth, simulate } from './fleet.ts';
import { type Floor, judge } from './judge.ts';
import { type Load, minuteMs } from './load.ts';
import { cost, type Window } from './platform.ts';
import { type ReconcileLoad, type ReconcileRun, reconcileOf } from './reconcile.ts';
import { type Lane, receiptsAt, sliceMinutes, waitSecondsAt } from './record.ts';
import { scenarioOf, type Variant } from './variants.ts';

/** What one variant came to: its floors, each lane, and the day in slices. */
export type Told = {
  name: string;
  part: number;
  mustHold: boolean;
  wallSeconds: number;
  minutes: number;
  calls: number;
  refused: number;
  floors: Floor[];
  lanes: ToldLane[];
  slices: Slice[];
  /** When the last message was done, and the last call of the export. */
  lastMs: number;
  /** Of urgent messages, by when they were sent: in which time reconcile may run, whether or not it does. */
  urgent: UrgentIn[];
  reconciled: ToldRun[];
};

/** The flood by itself: beside it, nothing of what was sent before would be seen. */
type UrgentIn = { fromMs: number; toMs: number; p95: number | undefined };

/** One run of reconcile; `share` is of the budget while it lasted. */
export type ToldRun = ReconcileRun & { share: number };

type ToldLane = {
  name: string;
  priority: string;
  done: number;
  p50: number | undefined;
  p95: number | undefined;
  /** At p99. */
  receipts: number | undefined;
  letters: number;
};

/** Ten minutes; parts of what the platform granted, waits in seconds by the time of sending. */
export type Slice = {
  urgent: number;
  normal: number;
  bulk: number;
  strangers: number;
  refused: number;
  waits: { [priority: string]: number | undefined };
  receipts: number | undefined;
};

export const tell = (variant: Variant, seed: number): Told => {
  const startedMs = performance.now();
  const scenario = scenarioOf(variant, seed);
  const simulated = simulate(scenario);
  const { record, windows } = simulated;
  const { functions } = scenario.load;
  const of = (priority: string): Lane[] => record.lanes.filter((lane) => lane.priority === priority);
  const slices: Slice[] = [];
  for (let minute = 0; minute < windows.length; minute += sliceMinutes) {
    const within = windows.slice(minute, minute + sliceMinutes);
    const slice = minute / sliceMinutes;
    const sum = (figure: (window: (typeof windows)[number]) => number): number =>
      within.reduce((all, window) => all + figure(window), 0);
    const budget = sum((window) => window.budget);
    const used = (priority: string): number =>
      of(priority).reduce(
        (all, { calls }) =>
          all + cost * calls.subarray(minute, minute + sliceMinutes).reduce((one, other) => one + other, 0),
        0,
      ) / budget;
    slices.push({
      ...{ urgent: used('urgent'), normal: used('normal'), bulk: used('bulk') },
      strangers: sum((window) => window.strangers) / budget,
      refused:
        sum((window) => window.refused) /
        Math.max(
          1,
          sum((window) => window.requests),
        ),
      waits: Object.fromEntries(
        priorities.map((priority) => [priority, waitSecondsAt(0.95, of(priority), (at) => at === slice)]),
      ),
      receipts: receiptsAt(0.99, record.lanes, (at) => at === slice),
    });
  }
  return {
    ...{ name: variant.name, part: variant.part, mustHold: variant.mustHold },
    wallSeconds: (performance.now() - startedMs) / 1_000,
    minutes: windows.length,
    calls: windows.reduce((all, { requests }) => all + requests, 0),
    refused: windows.reduce((all, each) => all + each.refused, 0),
    floors: judge(scenario, simulated),
    lastMs: record.lastMs,
    urgent: spansOf(scenario.load, reconcileOf(variant.part, 'all day')).map(({ fromMs, toMs }) => ({
      ...{ fromMs, toMs },
      p95: waitSecondsAt(0.95, of('urgent'), (slice) => {
        const sentMs = slice * sliceMinutes * minuteMs;
        return sentMs >= fromMs && sentMs < toMs;
      }),
    })),
    reconciled: simulated.reconciled.map((run) => ({
      ...run,
      share: (cost * run.made) / creditsBetween(windows, run),
    })),
    slices,
    lanes: [...record.lanes]
      .sort((one, other) => one.nth - other.nth)
      .map((lane) => ({
        ...{ priority: lane.priority, done: lane.done, letters: lane.letters },
        name: functions[lane.nth]?.name ?? (lane.nth === exportNth ? 'course-export' : 'reconcile'),
        p50: waitSecondsAt(0.5, [lane]),
        p95: waitSecondsAt(0.95, [lane]),
        receipts: receiptsAt(0.99, [lane]),
      })),
  };
};

/** The times of the runs, parted where the flood begins. */
const spansOf = ({ floodMs }: Load, { fromMs: all, longestMs }: ReconcileLoad) =>
  all.flatMap((fromMs) => {
    const toMs = fromMs + longestMs;
    if (floodMs <= fromMs || floodMs >= toMs) return [{ fromMs, toMs }];
    return [
      { fromMs, toMs: floodMs },
      { fromMs: floodMs, toMs },
    ];
  });

const creditsBetween = (windows: Window[], { fromMs, endedMs }: ReconcileRun): number =>
  windows.reduce((sum, { budget }, minute) => {
    const lastsMs = Math.min(endedMs, (minute + 1) * minuteMs) - Math.max(fromMs, minute * minuteMs);
    return sum + budget * Math.max(0, lastsMs / minuteMs);
  }, 0);
