import { type BackoffLimits, waitSeconds } from './backoff.ts';
import { addFailure, type Checkpoint, type Task } from './export-checkpoint.ts';
import { partsOf, type Stored } from './export-parts.ts';
import type { Failure } from './failure.ts';

/** What came of one org unit's turn; parts that are left without a failure were cut off by the end of the time. */
export type TurnResult = {
  stored: [file: string, Stored | undefined][];
  failed: [file: string, Failure][];
  left: string[];
  failure?: Failure;
};

export type TurnLimits = {
  backoff: BackoffLimits;
  /** What has not been had for so long is given up. */
  longestWaitMs: number;
};

/** So often in a row an invocation may die on an org unit, or end before it. */
const mostCuts = 3;
/** So many org units in a row are unlucky alone; more of them, and it is the platform. */
const mostUnlucky = 8;

/** Whose turn it is: who has not had one yet, and who needs another. It keeps the run's checkpoint up to date. */
export const createTurns = (checkpoint: Checkpoint, limits: TurnLimits) => {
  const { request, again, counts, failures, orgUnitIds = [] } = checkpoint;
  const underWay = new Set<Task>();
  let paused = { untilMs: 0, reason: '' };
  let unlucky = 0;

  const filesOf = ({ orgUnitId, left }: Task): string[] =>
    left ?? partsOf(orgUnitId, request.details[orgUnitId]).map(({ file }) => file);

  const begin = (task: Task): Task => {
    underWay.add(task);
    return task;
  };

  const count = (file: string, { lines, bytes }: Stored): void => {
    const [part = ''] = file.split('/');
    const before = counts[part] ?? { files: 0, lines: 0, bytes: 0 };
    counts[part] = { files: before.files + 1, lines: before.lines + lines, bytes: before.bytes + bytes };
  };

  /** Decides on an org unit that could not be had for the time being. */
  const defer = (
    task: Task,
    { stored, left, failure }: TurnResult & { failure: Failure },
    nowMs: number,
  ): void => {
    const sinceMs = stored.length > 0 ? nowMs : (task.sinceMs ?? nowMs);
    if (nowMs - sinceMs >= limits.longestWaitMs) {
      for (const file of left) addFailure(failures, file, failure);
      return;
    }
    const attempts = task.attempts + 1;
    const { kind, message: reason, retryAfterSeconds } = failure;
    const dueMs = nowMs + 1000 * waitSeconds({ receiveCount: attempts, retryAfterSeconds }, limits.backoff);
    again.push({ ...task, left, attempts, sinceMs, dueMs, cuts: 0 });
    unlucky = stored.length > 0 ? 0 : unlucky + 1;
    // These two meet everybody.
    const isGeneral = kind === 'throttled' || kind === 'credentials';
    if ((isGeneral || unlucky >= mostUnlucky) && dueMs > paused.untilMs) paused = { untilMs: dueMs, reason };
  };

  return {
    /** An org unit that an earlier invocation did not come to the end of: to be tried while nothing else is under way. */
    takeSuspect: (): Task | undefined => {
      for (
        let at = again.findIndex(({ cuts }) => cuts > 0);
        at >= 0;
        at = again.findIndex(({ cuts }) => cuts > 0)
      ) {
        const [task] = again.splice(at, 1);
        if (task === undefined || task.cuts < mostCuts) return task && begin(task);
        for (const file of filesOf(task)) addFailure(failures, file, outlasted);
      }
      return undefined;
    },

    /** Undefined: nobody is left; or, where they all have to wait, until when and why. */
    take: (nowMs: number): Task | { untilMs: number; reason: string } | undefined => {
      if (nowMs < paused.untilMs) return paused;
      const due = again.findIndex(({ dueMs }) => dueMs <= nowMs);
      const [waited] = due < 0 ? [] : again.splice(due, 1);
      if (waited) return begin(waited);
      const orgUnitId = orgUnitIds[checkpoint.next];
      if (orgUnitId !== undefined) {
        checkpoint.next += 1;
        return begin({ orgUnitId, attempts: 0, dueMs: 0, cuts: 0 });
      }
      const untilMs = Math.min(...again.map(({ dueMs }) => dueMs));
      return again.length === 0 ? undefined : { untilMs, reason: 'what is left has to wait' };
    },

    end: (task: Task, result: TurnResult, nowMs: number): void => {
      underWay.delete(task);
      for (const [file, stored] of result.stored) if (stored) count(file, stored);
      for (const [file, failure] of result.failed) addFailure(failures, file, failure);
      const { left, failure } = result;
      if (left.length === 0) unlucky = 0;
      else if (failure) defer(task, { ...result, failure }, nowMs);
      // One that gets on is only long.
      else again.push({ ...task, left, dueMs: 0, cuts: (result.stored.length > 0 ? 0 : task.cuts) + 1 });
    },

    /** The run as it is now: what is under way comes again, and under suspicion, if this is the last that is heard. */
    snapshot: (leaseMs: number): Checkpoint => ({
      ...checkpoint,
      leaseMs,
      again: [...again, ...[...underWay].map((task) => ({ ...task, cuts: task.cuts + 1 }))],
    }),

    isOver: (): boolean => underWay.size + again.length === 0 && checkpoint.next >= orgUnitIds.length,
  };
};

export type Turns = ReturnType<typeof createTurns>;

const outlasted: Failure = {
  kind: 'crashed',
  message: 'Three invocations began with this and did not come to its end',
  remedy:
    'Look for the cause in the function’s log (memory, time), then export this org unit alone, with more of both.',
};
