import { memoryDays } from '../../lib/message/retention.ts';
import { type FunctionLoad, hourMs, type Load } from './load.ts';
import { type Lane, minuteOf, type Record } from './record.ts';

/** The comparison of the platform with what was sent: it begins at these times, and is over after so long, however far it came. */
export type ReconcileLoad = {
  fromMs: number[];
  longestMs: number;
  concurrency: number;
  /** Writes of so long ago are all looked at; of older ones a sample, and each once in so many nights. */
  recentMs: number;
  sample: number;
  nights: number;
  /** How long the ledger remembers a write. */
  memoryMs: number;
  orgUnits: number;
  pagesPerClasslist: number;
};

/** As lib/runtime/aws/settings.ts has them. */
export const reconcileDefaults = {
  longestHours: 8,
  concurrency: 16,
  recentHours: 25,
  sample: 30_000,
  nights: 28,
};

/** A million students with five enrollments each, in groups of 25; a page holds as many. */
const university = { orgUnits: 200_000, pagesPerClasslist: 1 };

/** When its runs begin, by hour: once a night, before the flood and after it; or run after run, in the flood as well. */
export const schedules = { 'by night': [0, 24], 'all day': [0, 8, 16, 24] };
export type Schedule = keyof typeof schedules;

export const reconcileOf = (part: number, schedule: Schedule): ReconcileLoad => {
  const { longestHours, recentHours, concurrency, sample, nights } = reconcileDefaults;
  return {
    ...{ concurrency, nights, pagesPerClasslist: university.pagesPerClasslist },
    fromMs: schedules[schedule].map((hour) => hour * part * hourMs),
    longestMs: longestHours * part * hourMs,
    recentMs: recentHours * part * hourMs,
    memoryMs: memoryDays * 24 * part * hourMs,
    sample: Math.round(sample * part),
    orgUnits: Math.round(university.orgUnits * part),
  };
};

/** Calls of the platform, by why they are made. */
export type Plan = { recent: number; sample: number; slice: number };
/** In the order in which they are made, as in lib/scheduled/reconcile/divide.ts. */
export const partsOfPlan = ['recent', 'sample', 'slice'] as const satisfies (keyof Plan)[];

export type ReconcileRun = { fromMs: number; endedMs: number; planned: Plan; made: number };

export const callsIn = ({ recent, sample, slice }: Plan): number => recent + sample + slice;

/** Each of them writes to one resource of the ledger. */
const kinds = { grade: ['grade-push'], enrollment: ['enrollment-create', 'enrollment-remove'] };
type Kind = keyof typeof kinds;

/**
 * What a run that begins now has to read: the writes of the simulation so far, and before it, day after day, what is always changed.
 * Each counts as one to another resource, which is the most that it can be.
 */
export const planOf = (load: Load, of: ReconcileLoad, { lanes }: Record, nowMs: number): Plan => {
  const { recentMs, memoryMs, sample, nights } = of;
  const written = (kind: Kind) => {
    const functions = load.functions.flatMap((each, nth) =>
      kinds[kind].includes(each.name) ? [{ ...each, lanes: lanes.filter((lane) => lane.nth === nth) }] : [],
    );
    const perMs = functions.reduce((sum, each) => sum + usualPerMs(each), 0);
    const since = functions.reduce(
      (sum, each) => sum + callsSince(each.lanes, nowMs - recentMs) / each.callsPerMessage,
      0,
    );
    return { recent: since + perMs * Math.max(0, recentMs - nowMs), older: perMs * (memoryMs - recentMs) };
  };
  const [grades, enrollments] = [written('grade'), written('enrollment')];
  const share = Math.min(1, sample / (grades.older + enrollments.older));
  const calls = (part: (writes: { recent: number; older: number }) => number): number =>
    Math.round(part(grades) + classlistsOf(part(enrollments), of));
  return {
    recent: calls(({ recent }) => recent),
    sample: calls(({ older }) => older * share),
    // The enrollments of an org unit have their turn together.
    slice: Math.round((grades.older * (1 - share) + classlistsOf(enrollments.older, of)) / nights),
  };
};

/** What is always changed: a stream of the whole day, from its beginning on. */
const usualPerMs = ({ streams }: FunctionLoad): number =>
  streams.filter(({ fromMs }) => fromMs === 0).reduce((sum, { toMs, messages }) => sum + messages / toMs, 0);

const callsSince = (lanes: Lane[], sinceMs: number): number =>
  lanes.reduce(
    (sum, { calls }) =>
      sum + calls.subarray(Math.max(0, minuteOf(sinceMs))).reduce((one, other) => one + other, 0),
    0,
  );

/** Pages of the classlists of those org units that so many enrollments, spread by chance, are in. */
const classlistsOf = (enrollments: number, { orgUnits, pagesPerClasslist }: ReconcileLoad): number =>
  pagesPerClasslist * orgUnits * (1 - (1 - 1 / orgUnits) ** enrollments);
