import { waitSeconds } from '../../message/backoff.ts';
import type { Failure } from '../../message/failure.ts';
import { needsPerson } from '../../message/failure-kinds.ts';
import { type SafeText, safe } from '../../message/safe-text.ts';
import { inParallel } from '../aws/parallel.ts';
import type { Observe } from '../telemetry/observe.ts';
import { type Engine, isInterrupted, maxOperations } from './engine.ts';
import { timeLeft } from './in-steps.ts';
import type { JobRun } from './job.ts';

/** An item of a list, or the rest of it. */
type Task<Item> = {
  item: Item;
  /** When its current series of failures began. */
  sinceMs?: number;
  /** Number of consecutive invocations that ended without progress. */
  cuts?: number;
};

export type ItemAttempt<Item> = {
  /** The rest of the item; undefined: it is done. Without a failure, the step's time ended before the item was done. */
  left?: Item | undefined;
  failure?: Failure | undefined;
  /** Something was done or refused: the platform answers. */
  answered: boolean;
};

type ProcessItem<Item> = (item: Item) => Promise<ItemAttempt<Item>>;

/** Work on many items, each of which may fail separately. `Sum`: their combined result, as JSON. */
export type WorkList<Item, Sum> = {
  /** The list's name in the log. */
  what: SafeText;
  /** Name of a step; must be deterministic. */
  nameOf(first: Item, last: Item): string;
  noSum(): Sum;
  add(sum: Sum, more: Sum): void;
  /** Shared by the items of one step. `signal` fires at the end of its time. */
  inStep(
    step: { sum: Sum; signal: AbortSignal },
    work: (processItem: ProcessItem<Item>) => Promise<void>,
  ): Promise<void>;
  giveUp(sum: Sum, item: Item, failure: Failure): void;
  /** Number of concurrent steps, and of concurrent items in a step. */
  concurrency: { steps: number; items: number };
  /** A step is not worth its operation for fewer items. */
  minPerStep: number;
  /** An item that has failed for this long is given up. */
  maxWaitMs: number;
};

/**
 * How the 3,000 operations that AWS allows an execution are used. The first pass has at most 500 steps: up to 500 items have
 * one each, and of 100,000 each step has 200. Each further pass has at most 25 steps. After 2,000 operations there are no more
 * pauses, as a pause costs each concurrent worker two operations; until then there can be 180 pauses of four workers. The rest
 * is for the turn, for repeated steps, and for items on which the function crashes.
 */
export const maxSteps = { first: 500, further: 25 };
const maxOperationsForWaits = (maxOperations * 2) / 3;

/** With less time left, an item would most likely be cut off. */
const minItemMs = 10_000;
/** If more items than this fail in a row, the platform is the cause. */
const maxUnlucky = 8;
/** Number of consecutive times that an item may take longer than an invocation. */
const maxCuts = 3;

type State<Item, Sum> = {
  list: WorkList<Item, Sum>;
  run: Pick<JobRun<{ observe: Observe; limits: JobRun['services']['limits'] }>, 'services' | 'engine'>;
  /** When the platform last answered. Decisions based on it are recorded with a step's result, so a replay decides the same. */
  answeredMs: number;
  /** Number of items in a row that have failed. */
  unlucky: number;
};

type ChunkOutcome<Item, Sum> = {
  sum: Sum;
  /** Items that fail for now, while others succeed. */
  later: Task<Item>[];
  laterSeconds: number;
  /** One of these may have crashed the function. */
  suspects: Task<Item>[][];
  /** When the platform last answered. A replay does not run the steps of an earlier pass again: it knows their results alone. */
  answeredMs: number;
};

/** Processes all items, and repeats those that fail for now until they succeed or are given up. */
export const workThrough = async <Item, Sum>(
  items: readonly Item[],
  list: WorkList<Item, Sum>,
  { run, startedMs }: { run: State<Item, Sum>['run']; startedMs: number },
): Promise<Sum> => {
  const state: State<Item, Sum> = { list, run, answeredMs: startedMs, unlucky: 0 };
  const { engine } = run;
  const sum = list.noSum();
  let tasks: Task<Item>[] = items.map((item) => ({ item }));
  for (let pass = 1; tasks.length > 0; pass += 1) {
    const most = pass === 1 ? maxSteps.first : maxSteps.further;
    const chunks = dividedInto(Math.min(most, Math.ceil(tasks.length / list.minPerStep)), tasks);
    const outcomes = await engine.map(`pass ${pass}`, chunks, {
      concurrency: list.concurrency.steps,
      work: (chunk, its) => workOn(chunk, { pass, state, engine: its }),
    });
    for (const chunk of outcomes.flatMap(({ suspects }) => suspects))
      outcomes.push(await isolate(chunk, { pass, state, engine }));
    for (const outcome of outcomes) list.add(sum, outcome.sum);
    state.answeredMs = Math.max(state.answeredMs, ...outcomes.map(({ answeredMs }) => answeredMs));
    tasks = outcomes.flatMap(({ later }) => later);
    const seconds = Math.max(...outcomes.map(({ laterSeconds }) => laterSeconds));
    if (tasks.length > 0) await engine.wait(`before pass ${pass + 1}`, seconds);
  }
  return sum;
};

type Pass<Item, Sum> = { pass: number; state: State<Item, Sum>; engine: Engine };

const workOn = async <Item, Sum>(
  chunk: Task<Item>[],
  { pass, state, engine }: Pass<Item, Sum>,
): Promise<ChunkOutcome<Item, Sum>> => {
  const outcome: ChunkOutcome<Item, Sum> = {
    sum: state.list.noSum(),
    later: [],
    laterSeconds: 0,
    suspects: [],
    answeredMs: 0,
  };
  let tasks = chunk;
  for (let attempt = 1; tasks.length > 0; attempt += 1) {
    const now = { tasks, attempt, pass };
    try {
      const chunkResult = await engine.step(stepNameOf(tasks, state.list), {
        work: () => processTasks(now, state),
      });
      // In a step, as a replay must get the same value.
      state.answeredMs = Math.max(state.answeredMs, chunkResult.answeredMs);
      addTo(outcome, chunkResult, state);
      if (chunkResult.again.length < tasks.length) attempt = 0;
      tasks = chunkResult.again;
      if (tasks.length > 0) await engine.wait('a pause', chunkResult.pauseSeconds);
    } catch (error) {
      if (!isInterrupted(error)) throw error;
      return { ...outcome, suspects: [tasks] };
    }
  }
  return outcome;
};

/**
 * Processes items that were in progress when the function crashed while nothing else runs, in ever smaller groups. That isolates
 * the item that causes the crash, and completes the others.
 */
const isolate = async <Item, Sum>(
  chunk: Task<Item>[],
  context: Pass<Item, Sum>,
): Promise<ChunkOutcome<Item, Sum>> => {
  const { state } = context;
  const outcome = await workOn(chunk, context);
  const [suspects = []] = outcome.suspects;
  outcome.suspects = [];
  const [only, ...others] = suspects;
  if (only === undefined) return outcome;
  if (others.length > 0)
    for (const part of dividedInto(10, suspects)) addTo(outcome, await isolate(part, context), state);
  else {
    // It crashed with others, then alone.
    const last = await workOn([only], context);
    addTo(outcome, last, state);
    if (last.suspects.length > 0) state.list.giveUp(outcome.sum, only.item, outlived);
  }
  return outcome;
};

const addTo = <Item, Sum>(
  outcome: ChunkOutcome<Item, Sum>,
  other: Omit<ChunkOutcome<Item, Sum>, 'suspects'>,
  { list }: State<Item, Sum>,
): void => {
  list.add(outcome.sum, other.sum);
  outcome.later.push(...other.later);
  outcome.laterSeconds = Math.max(outcome.laterSeconds, other.laterSeconds);
  outcome.answeredMs = Math.max(outcome.answeredMs, other.answeredMs);
};

const stepNameOf = <Item, Sum>(tasks: Task<Item>[], { nameOf }: WorkList<Item, Sum>): string => {
  const [first, last] = [tasks[0], tasks.at(-1)];
  return first && last ? nameOf(first.item, last.item) : '';
};

const dividedInto = <Item>(maxParts: number, tasks: Item[]): Item[][] => {
  const parts = Math.min(maxParts, tasks.length);
  return Array.from({ length: parts }, (_, at) =>
    tasks.slice(Math.floor((at * tasks.length) / parts), Math.floor(((at + 1) * tasks.length) / parts)),
  );
};

/** `attempt`: how often it has paused in a row; `pass`: the number of the pass. */
type Chunk<Item> = { tasks: Task<Item>[]; attempt: number; pass: number };

type ChunkResult<Item, Sum> = Omit<ChunkOutcome<Item, Sum>, 'suspects'> & {
  /** Items to continue after a pause: one that the platform asked for, or until the next invocation. */
  again: Task<Item>[];
  pauseSeconds: number;
};

/** Gives items turns until the time is over or all must pause. */
const processTasks = async <Item, Sum>(
  { tasks, attempt, pass }: Chunk<Item>,
  state: State<Item, Sum>,
): Promise<ChunkResult<Item, Sum>> => {
  const { list, run } = state;
  const { observe, limits } = run.services;
  const timeMs = timeLeft(run);
  const lastBeginMs = Date.now() + timeMs - Math.min(minItemMs, timeMs / 10);
  const signal = AbortSignal.timeout(timeMs);
  const chunkResult: ChunkResult<Item, Sum> = {
    sum: list.noSum(),
    again: [],
    pauseSeconds: 0,
    later: [],
    laterSeconds: 0,
    answeredMs: 0,
  };
  const { sum, again, later } = chunkResult;
  const left = [...tasks];
  let waitsFor: SafeText | undefined;
  const processTask = async (task: Task<Item>, processItem: ProcessItem<Item>): Promise<void> => {
    if (Date.now() >= lastBeginMs) {
      again.push(task, ...left.splice(0));
      return;
    }
    const turnResult = await processItem(task.item);
    if (turnResult.failure) observe.failed(turnResult.failure.kind);
    const itemResult = itemResultOf(task, turnResult, state);
    if (itemResult.is === 'cut off') again.push(itemResult.task);
    if (itemResult.is === 'cut off' || itemResult.is === 'done') return;
    const affected = itemResult.withAll ? [itemResult.task, ...left.splice(0)] : [itemResult.task];
    if (itemResult.is === 'given up') {
      for (const { item } of affected) list.giveUp(sum, item, itemResult.failure);
      return;
    }
    const { retryAfterSeconds, message } = itemResult.failure;
    const receiveCount = itemResult.withAll ? attempt : pass;
    const seconds = waitSeconds({ receiveCount, retryAfterSeconds }, limits.backoff);
    waitsFor = message;
    (itemResult.withAll ? again : later).push(...affected);
    if (itemResult.withAll) chunkResult.pauseSeconds = Math.max(chunkResult.pauseSeconds, seconds);
    else chunkResult.laterSeconds = Math.max(chunkResult.laterSeconds, seconds);
  };
  await list.inStep({ sum, signal }, (processItem) =>
    inParallel(takenFrom(left), (task) => processTask(task, processItem), list.concurrency.items),
  );
  if (waitsFor !== undefined)
    observe.warn(safe`${list.what} waits: ${waitsFor}`, { count: again.length + later.length });
  // These were cut off by the end of the invocation. A wait shorter than its remaining time would end within it.
  if (again.length > 0 && chunkResult.pauseSeconds === 0)
    chunkResult.pauseSeconds = run.engine.leftMs() / 1000 + 1;
  chunkResult.answeredMs = state.answeredMs;
  observe.flush();
  return chunkResult;
};

/** Removes items, so concurrent consumers share the list. */
function* takenFrom<Item>(list: Item[]): Generator<Item> {
  for (let item = list.shift(); item !== undefined; item = list.shift()) yield item;
}

type ItemResult<Item> =
  | { is: 'done' }
  | { is: 'cut off'; task: Task<Item> }
  | {
      is: 'given up' | 'waits';
      task: Task<Item>;
      failure: Failure;
      /** It concerns the other items, too. */
      withAll: boolean;
    };

const itemResultOf = <Item, Sum>(
  { sinceMs, cuts = 0 }: Task<Item>,
  { left, failure, answered }: ItemAttempt<Item>,
  state: State<Item, Sum>,
): ItemResult<Item> => {
  const { maxWaitMs } = state.list;
  const nowMs = Date.now();
  if (answered) Object.assign(state, { answeredMs: nowMs, unlucky: 0 });
  if (left === undefined) return { is: 'done' };
  if (failure === undefined) {
    const task = { item: left, cuts: answered ? 1 : cuts + 1 };
    return task.cuts < maxCuts
      ? { is: 'cut off', task }
      : { is: 'given up', task, failure: outlasted, withAll: false };
  }
  if (!answered) state.unlucky += 1;
  const task = { item: left, sinceMs: answered ? nowMs : (sinceMs ?? nowMs) };
  const { kind } = failure;
  const mayWait = state.run.engine.operations() < maxOperationsForWaits;
  // These failures concern all items.
  const isGeneral = kind === 'throttled' || needsPerson(kind) || state.unlucky >= maxUnlucky;
  // If nothing has succeeded for this long, the others need not be tried one by one.
  if (nowMs - state.answeredMs >= maxWaitMs || (isGeneral && !mayWait))
    return { is: 'given up', task, failure, withAll: true };
  if (nowMs - task.sinceMs >= maxWaitMs || !mayWait) return { is: 'given up', task, failure, withAll: false };
  return { is: 'waits', task, failure, withAll: isGeneral };
};

const crashed = (message: SafeText): Failure => ({
  kind: 'crashed',
  message,
  remedy: 'Find the cause in the function’s log (memory or time).',
});

const outlasted = crashed(safe`Three invocations ended before this was done`);
const outlived = crashed(safe`Three invocations died while they did this`);
