import type { Priority } from '../../lib/message/priority.ts';
import { priorities } from '../../lib/runtime/telemetry/pace-use.ts';
import { minuteMs } from './load.ts';

const maxMinutes = 5 * 24 * 60;
export const sliceMinutes = 10;
const slices = maxMinutes / sliceMinutes;

/** Waits are counted in steps of a twentieth, the first of which is 100 ms. */
const ratio = 1.05;
const steps = 320;
const stepOf = (waitedMs: number): number =>
  Math.max(0, Math.min(steps - 1, Math.ceil(Math.log(waitedMs / 100) / Math.log(ratio))));
const receiptsKept = 128;

/** Messages of one function and class. */
export type Lane = {
  nth: number;
  priority: Priority;
  /** Calls that the platform took, by minute. */
  calls: Uint32Array;
  /** In so many seconds of each minute there was enough to do for all its containers. */
  busySeconds: Uint8Array;
  /** From its sending to its success, by the slice of the day in which it was sent. */
  waits: Uint32Array;
  /** By the slice in which it was done. */
  receipts: Uint32Array;
  done: number;
  letters: number;
};

export type Record = ReturnType<typeof createRecord>;

/** What happened, in counts. */
export const createRecord = () => {
  const lanes: Lane[] = [];
  const byKey: (Lane | undefined)[] = [];
  const work = new Uint8Array(maxMinutes);
  return {
    lanes,
    /** In so many seconds of each minute, what lay on the queues was enough for the whole budget. */
    work,
    lastMs: 0,
    laneOf: (nth: number, priority: Priority): Lane => {
      const key = 3 * nth + priorities.indexOf(priority);
      const known = byKey[key];
      if (known) return known;
      const lane: Lane = {
        ...{ nth, priority, done: 0, letters: 0 },
        calls: new Uint32Array(maxMinutes),
        busySeconds: new Uint8Array(maxMinutes),
        waits: new Uint32Array(slices * steps),
        receipts: new Uint32Array(slices * receiptsKept),
      };
      byKey[key] = lane;
      lanes.push(lane);
      return lane;
    },
  };
};

export const minuteOf = (ms: number): number => Math.floor(ms / minuteMs);
const sliceOf = (ms: number): number => Math.floor(ms / minuteMs / sliceMinutes);

export const countDone = (
  lane: Lane,
  { sentMs, receipts }: { sentMs: number; receipts: number },
  nowMs: number,
): void => {
  lane.done += 1;
  const waitsAt = sliceOf(sentMs) * steps + stepOf(nowMs - sentMs);
  lane.waits[waitsAt] = (lane.waits[waitsAt] ?? 0) + 1;
  const receiptsAt = sliceOf(nowMs) * receiptsKept + Math.min(receiptsKept - 1, receipts);
  lane.receipts[receiptsAt] = (lane.receipts[receiptsAt] ?? 0) + 1;
};

/** Of some slices of the day; undefined where nothing was counted there. */
export type Slices = (slice: number) => boolean;

/** The wait, in seconds, that this part of the messages does not exceed. */
export const waitSecondsAt = (part: number, of: Lane[], within: Slices = () => true): number | undefined => {
  const step = quantile(part, { counts: of.map(({ waits }) => waits), size: steps }, within);
  return step === undefined ? undefined : (100 * ratio ** step) / 1_000;
};

export const receiptsAt = (part: number, of: Lane[], within: Slices = () => true): number | undefined =>
  quantile(part, { counts: of.map(({ receipts }) => receipts), size: receiptsKept }, within);

const quantile = (
  part: number,
  { counts, size }: { counts: Uint32Array[]; size: number },
  within: Slices,
): number | undefined => {
  const sums = new Float64Array(size);
  for (const each of counts)
    for (let slice = 0; slice < slices; slice += 1)
      if (within(slice))
        for (let at = 0; at < size; at += 1) sums[at] = (sums[at] ?? 0) + (each[slice * size + at] ?? 0);
  const all = sums.reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  let counted = 0;
  return sums.findIndex((count) => {
    counted += count;
    return counted >= part * all;
  });
};
