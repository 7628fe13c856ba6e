import { setMaxListeners } from 'node:events';
import { type BackoffLimits, waitSeconds } from '../delivery/backoff.ts';
import { type Failure, needsPerson } from '../failure.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { Observe } from '../telemetry/observe.ts';
import { exportOrgUnit, filesOf, type Task, type Turn } from './org-unit.ts';
import { exportOperations } from './parts.ts';
import type { ExportRequest } from './request.ts';
import type { ExportStore } from './store.ts';
import { addFailure, type ExportTotals, noTotals } from './totals.ts';

export type ExportServices = {
  platform: PlatformClient;
  store: ExportStore;
  observe: Observe;
  limits: {
    /** All keys begin with it. */
    prefix: string;
    /** So many org units are exported at once. */
    concurrency: number;
    /** Kept at the end of an invocation for what is under way. */
    reserveMs: number;
    backoff: BackoffLimits;
    /** What has not been had for so long is given up. */
    maxWaitMs: number;
  };
};

/** What the steps of one run know. */
export type Run = {
  request: ExportRequest;
  runId: string;
  services: ExportServices;
  /** When the platform last answered. What follows from it is recorded with a step's result, so that a replay decides nothing. */
  answeredMs: number;
  /** So many org units in a row could not be had. */
  unlucky: number;
  leftMs(): number;
  /** Whether the engine has operations left for waits. */
  mayWait(): boolean;
};

/** Org units of one step: how often it has paused in a row, and the how manieth pass through what is left it is. */
type Chunk = { tasks: Task[]; attempt: number; pass: number };

export type ChunkResult = {
  totals: ExportTotals;
  /** To be gone on with after a pause: the platform's, for everybody, or until the next invocation. */
  again: Task[];
  pauseSeconds: number;
  /** What cannot be had for the time being, while other org units can. */
  later: Task[];
  laterSeconds: number;
  answeredMs: number;
};

/** An org unit that begins with less time left would most likely be cut off. */
const minTurnMs = 10_000;
/** So many org units in a row are unlucky alone; more of them, and it is the platform. */
const maxUnlucky = 8;
/** So often in a row an org unit may outlast an invocation. */
const maxCuts = 3;

/** Exports org units one after the other, until the time is up or everybody has to pause. */
export const exportChunk = async ({ tasks, attempt, pass }: Chunk, run: Run): Promise<ChunkResult> => {
  const { request, runId, services } = run;
  const { store, observe, limits } = services;
  const timeMs = Math.max(1, run.leftMs() - limits.reserveMs);
  const lastBeginMs = Date.now() + timeMs - Math.min(minTurnMs, timeMs / 10);
  const signal = AbortSignal.timeout(timeMs);
  // Every call that is under way listens.
  setMaxListeners(0, signal);
  const result: ChunkResult = { ...nothing(), answeredMs: run.answeredMs };
  const { totals, again, later } = result;
  let waitsFor: string | undefined;
  const platform = services.platform.for({
    ...{ actor: undefined, operations: exportOperations, signal, onCall: observe.call },
  });
  const context = { request, folder: `${limits.prefix}${runId}/`, platform, store, observe, totals, signal };

  for (const [at, task] of tasks.entries()) {
    const others = tasks.slice(at + 1);
    if (Date.now() >= lastBeginMs) {
      again.push(task, ...others);
      break;
    }
    const fate = fateOf(task, await exportOrgUnit(task, context), run);
    if (fate.is === 'done') continue;
    if (fate.is === 'cut off') {
      again.push(fate.task);
      continue;
    }
    const { failure, withAll } = fate;
    const affected = withAll ? [fate.task, ...others] : [fate.task];
    const seconds = waitSeconds(
      { receiveCount: withAll ? attempt : pass, retryAfterSeconds: failure.retryAfterSeconds },
      limits.backoff,
    );
    if (fate.is === 'given up')
      for (const each of affected) addFailure(totals, filesOf(each, request), failure);
    else if (withAll) {
      waitsFor = failure.message;
      again.push(...affected);
      result.pauseSeconds = seconds;
    } else {
      waitsFor = failure.message;
      later.push(...affected);
      result.laterSeconds = Math.max(result.laterSeconds, seconds);
    }
    if (withAll) break;
  }
  if (waitsFor !== undefined)
    observe.warn(`the course export ${runId} waits: ${waitsFor}`, { count: again.length + later.length });
  // What the end of the time cut off. A wait shorter than what is left of the invocation would end within it.
  if (again.length > 0 && result.pauseSeconds === 0) result.pauseSeconds = run.leftMs() / 1000 + 1;
  result.answeredMs = run.answeredMs;
  observe.flush();
  return result;
};

const nothing = (): Omit<ChunkResult, 'answeredMs'> => ({
  ...{ totals: noTotals(), again: [], pauseSeconds: 0, later: [], laterSeconds: 0 },
});

type Fate =
  | { is: 'done' }
  | { is: 'cut off'; task: Task }
  | { is: 'given up' | 'waits'; task: Task; failure: Failure /** The others with it. */; withAll: boolean };

/** What becomes of an org unit after its turn. */
const fateOf = ({ orgUnitId, sinceMs, cuts = 0 }: Task, turn: Turn, run: Run): Fate => {
  const { left, failure, answered } = turn;
  const { maxWaitMs } = run.services.limits;
  const nowMs = Date.now();
  if (answered) Object.assign(run, { answeredMs: nowMs, unlucky: 0 });
  if (left.length === 0) return { is: 'done' };
  if (failure === undefined) {
    const task = { orgUnitId, left, cuts: answered ? 1 : cuts + 1 };
    return task.cuts < maxCuts
      ? { is: 'cut off', task }
      : { is: 'given up', task, failure: outlasted, withAll: false };
  }
  if (!answered) run.unlucky += 1;
  const task = { orgUnitId, left, sinceMs: answered ? nowMs : (sinceMs ?? nowMs) };
  const { kind } = failure;
  // These meet everybody.
  const isGeneral = kind === 'throttled' || needsPerson(kind) || run.unlucky >= maxUnlucky;
  // What nobody has had for so long need not be asked for one by one.
  if (nowMs - run.answeredMs >= maxWaitMs || (isGeneral && !run.mayWait()))
    return { is: 'given up', task, failure, withAll: true };
  if (nowMs - task.sinceMs >= maxWaitMs || !run.mayWait())
    return { is: 'given up', task, failure, withAll: false };
  return { is: 'waits', task, failure, withAll: isGeneral };
};

/** Of an org unit on which the function dies. */
export const givenUp = (task: Task, { request }: Run): ExportTotals => {
  const totals = noTotals();
  addFailure(totals, filesOf(task, request), outlived);
  return totals;
};

const crashed = (message: string): Failure => ({
  ...{ kind: 'crashed', message },
  remedy:
    'Look for the cause in the function’s log (memory, time), then export this org unit alone, with more of both.',
});

const outlasted = crashed('Three invocations ended before this did');
const outlived = crashed('Three invocations died on this');
