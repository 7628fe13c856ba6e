import { setMaxListeners } from 'node:events';
import { type BackoffLimits, waitSeconds } from '../delivery/backoff.ts';
import type { JobStore } from '../durable/store.ts';
import { type Failure, needsPerson } from '../failure.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { Observe } from '../telemetry/observe.ts';
import type { PaceUseRecord } from '../telemetry/pace-use.ts';
import { exportOrgUnit, filesOf, type OrgUnitResult, type Task } from './org-unit.ts';
import { exportOperations } from './parts.ts';
import type { ExportRequest } from './request.ts';
import { addFailure, type ExportTotals, noTotals } from './totals.ts';

export type ExportServices = {
  platform: PlatformClient;
  store: JobStore;
  observe: Observe;
  /** Tells how much it calls of what the platform grants. */
  paceUse?: PaceUseRecord;
  limits: {
    /** Prefix of all keys. */
    prefix: string;
    /** How many org units are exported at the same time. */
    concurrency: number;
    /** Reserved at the end of an invocation, for calls that are in progress. */
    reserveMs: number;
    backoff: BackoffLimits;
    /** An org unit that has failed for this long is given up. */
    maxWaitMs: number;
  };
};

/** State that the steps of one run share. */
export type Run = {
  request: ExportRequest;
  runId: string;
  services: ExportServices;
  /** When the platform last answered. Decisions based on it are recorded with a step's result, so a replay decides the same. */
  answeredMs: number;
  /** How many org units in a row have failed. */
  unlucky: number;
  leftMs(): number;
  /** Whether the engine has operations left for waits. */
  mayWait(): boolean;
};

/** The org units of one step, how often it has paused in a row, and the number of the pass. */
type Chunk = { tasks: Task[]; attempt: number; pass: number };

export type ChunkResult = {
  totals: ExportTotals;
  /** To be continued after a pause: one that the platform asked for, or until the next invocation. */
  again: Task[];
  pauseSeconds: number;
  /** Org units that fail for now, while others succeed. */
  later: Task[];
  laterSeconds: number;
  answeredMs: number;
};

/** With less time left, an org unit would most likely be cut off. */
const minTurnMs = 10_000;
/** If more org units than this fail in a row, the platform is the cause. */
const maxUnlucky = 8;
/** How often in a row an org unit may take longer than an invocation. */
const maxCuts = 3;

/** Exports org units one after the other, until the time is over or all have to pause. */
export const exportChunk = async ({ tasks, attempt, pass }: Chunk, run: Run): Promise<ChunkResult> => {
  const { request, runId, services } = run;
  const { store, observe, limits } = services;
  const timeMs = Math.max(1, run.leftMs() - limits.reserveMs);
  const lastBeginMs = Date.now() + timeMs - Math.min(minTurnMs, timeMs / 10);
  const signal = AbortSignal.timeout(timeMs);
  // Every call in progress adds a listener.
  setMaxListeners(0, signal);
  const result: ChunkResult = {
    ...{ totals: noTotals(), again: [], pauseSeconds: 0, later: [], laterSeconds: 0 },
    answeredMs: run.answeredMs,
  };
  const { totals, again, later } = result;
  let waitsFor: string | undefined;
  const platform = services.platform.for({
    ...{ actor: undefined, operations: exportOperations, signal, priority: 'bulk' },
    onCall: (call) => {
      observe.call(call);
      services.paceUse?.heard([call]);
    },
  });
  const context = { request, folder: `${limits.prefix}${runId}/`, platform, store, observe, totals, signal };

  for (const [at, task] of tasks.entries()) {
    const others = tasks.slice(at + 1);
    if (Date.now() >= lastBeginMs) {
      again.push(task, ...others);
      break;
    }
    const fate = fateOf(task, await exportOrgUnit(task, context), run);
    if (fate.is === 'cut off') again.push(fate.task);
    if (fate.is === 'cut off' || fate.is === 'done') continue;
    const affected = fate.withAll ? [fate.task, ...others] : [fate.task];
    if (fate.is === 'given up')
      for (const each of affected) addFailure(totals, filesOf(each, request), fate.failure);
    else {
      waitsFor = fate.failure.message;
      postpone(result, affected, { fate, chunk: { attempt, pass }, backoff: limits.backoff });
    }
    if (fate.withAll) break;
  }
  if (waitsFor !== undefined)
    observe.warn(`the course export ${runId} waits: ${waitsFor}`, { count: again.length + later.length });
  // These were cut off by the end of the invocation. A wait shorter than the rest of it would end within it.
  if (again.length > 0 && result.pauseSeconds === 0) result.pauseSeconds = run.leftMs() / 1000 + 1;
  result.answeredMs = run.answeredMs;
  await services.paceUse?.write();
  observe.flush();
  return result;
};

type Postponed = {
  fate: Extract<Fate, { failure: Failure }>;
  chunk: Pick<Chunk, 'attempt' | 'pass'>;
  backoff: BackoffLimits;
};

const postpone = (result: ChunkResult, tasks: Task[], { fate, chunk, backoff }: Postponed): void => {
  const { failure, withAll } = fate;
  const receiveCount = withAll ? chunk.attempt : chunk.pass;
  const seconds = waitSeconds({ receiveCount, retryAfterSeconds: failure.retryAfterSeconds }, backoff);
  (withAll ? result.again : result.later).push(...tasks);
  if (withAll) result.pauseSeconds = seconds;
  else result.laterSeconds = Math.max(result.laterSeconds, seconds);
};

type Fate =
  | { is: 'done' }
  | { is: 'cut off'; task: Task }
  | {
      is: 'given up' | 'waits';
      task: Task;
      failure: Failure;
      /** It concerns the others, too. */
      withAll: boolean;
    };

/** What happens to an org unit after its turn. */
const fateOf = ({ orgUnitId, sinceMs, cuts = 0 }: Task, turn: OrgUnitResult, run: Run): Fate => {
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
  // These failures concern all org units.
  const isGeneral = kind === 'throttled' || needsPerson(kind) || run.unlucky >= maxUnlucky;
  // If nothing has succeeded for so long, the others need not be tried one by one.
  if (nowMs - run.answeredMs >= maxWaitMs || (isGeneral && !run.mayWait()))
    return { is: 'given up', task, failure, withAll: true };
  if (nowMs - task.sinceMs >= maxWaitMs || !run.mayWait())
    return { is: 'given up', task, failure, withAll: false };
  return { is: 'waits', task, failure, withAll: isGeneral };
};

/** The failure of an org unit on which the function crashes. */
export const givenUp = (task: Task, { request }: Run): ExportTotals => {
  const totals = noTotals();
  addFailure(totals, filesOf(task, request), outlived);
  return totals;
};

const crashed = (message: string): Failure => ({
  ...{ kind: 'crashed', message },
  remedy:
    'Find the cause in the function’s log (memory or time). Then export only this org unit, with more of both.',
});

const outlasted = crashed('Three invocations ended before this was done');
const outlived = crashed('Three invocations died while they did this');
