import { type Engine, isInterrupted, maxOperations } from '../durable/job.ts';
import { type ChunkResult, exportChunk, givenUp, type Run } from './chunk.ts';
import type { Task } from './org-unit.ts';
import { addTotals, type ExportTotals, noTotals } from './totals.ts';

/**
 * How the 3,000 operations that AWS allows an execution are used. The first pass has at most 500 steps: up to 500 org units have
 * one each, and of 100,000 each step has 200. Each further pass has at most 25 steps. After 2,000 operations there are no more
 * pauses, as a pause costs each concurrent worker two operations; until then there can be 180 pauses of four workers. The rest
 * is for the turn, for repeated steps, and for org units on which the function crashes.
 */
export const maxChunks = { first: 500, further: 25 };
export const maxOperationsForWaits = (maxOperations * 2) / 3;

type Outcome = Pick<ChunkResult, 'totals' | 'later' | 'laterSeconds'> & {
  /** One of these may have crashed the function. */
  suspects: Task[][];
};

/** Exports all of these, and repeats those that fail for now until they succeed or are given up. */
export const exportAll = async (orgUnitIds: number[], run: Run, engine: Engine): Promise<ExportTotals> => {
  const totals = noTotals();
  let tasks: Task[] = orgUnitIds.map((orgUnitId) => ({ orgUnitId }));
  for (let pass = 1; tasks.length > 0; pass += 1) {
    const chunks = dividedInto(pass === 1 ? maxChunks.first : maxChunks.further, tasks);
    const outcomes = await engine.map(`pass ${pass}`, chunks, {
      concurrency: run.services.limits.concurrency,
      work: (chunk, itsEngine) => exportOne(chunk, { pass, run, engine: itsEngine }),
    });
    for (const chunk of outcomes.flatMap(({ suspects }) => suspects))
      outcomes.push(await exportAlone(chunk, { pass, run, engine }));
    for (const outcome of outcomes) addTotals(totals, outcome.totals);
    tasks = outcomes.flatMap(({ later }) => later);
    const seconds = Math.max(...outcomes.map(({ laterSeconds }) => laterSeconds));
    if (tasks.length > 0) await engine.wait(`before pass ${pass + 1}`, seconds);
  }
  return totals;
};

type PassContext = { pass: number; run: Run; engine: Engine };

const exportOne = async (chunk: Task[], { pass, run, engine }: PassContext): Promise<Outcome> => {
  const outcome: Outcome = { totals: noTotals(), later: [], laterSeconds: 0, suspects: [] };
  let tasks = chunk;
  for (let attempt = 1; tasks.length > 0; attempt += 1) {
    const now = { tasks, attempt, pass };
    try {
      const result = await engine.step(stepNameOf(tasks), { work: () => exportChunk(now, run) });
      // In a step, as a replay must get the same value.
      run.answeredMs = Math.max(run.answeredMs, result.answeredMs);
      addTo(outcome, result);
      if (result.again.length < tasks.length) attempt = 0;
      tasks = result.again;
      if (tasks.length > 0) await engine.wait('a pause', result.pauseSeconds);
    } catch (error) {
      if (!isInterrupted(error)) throw error;
      return { ...outcome, suspects: [tasks] };
    }
  }
  return outcome;
};

/**
 * Org units that were in progress when the function crashed are exported while nothing else is, in ever smaller groups. That
 * finds the one org unit that causes the crash, and the others are exported.
 */
const exportAlone = async (chunk: Task[], context: PassContext): Promise<Outcome> => {
  const outcome = await exportOne(chunk, context);
  const [suspects = []] = outcome.suspects;
  outcome.suspects = [];
  const [only, ...others] = suspects;
  if (only === undefined) return outcome;
  if (others.length > 0)
    for (const part of dividedInto(10, suspects)) addTo(outcome, await exportAlone(part, context));
  else {
    // It crashed with others, then alone.
    const last = await exportOne([only], context);
    addTo(outcome, last);
    if (last.suspects.length > 0) addTotals(outcome.totals, givenUp(only, context.run));
  }
  return outcome;
};

const addTo = (outcome: Outcome, other: Omit<Outcome, 'suspects'>): void => {
  addTotals(outcome.totals, other.totals);
  outcome.later.push(...other.later);
  outcome.laterSeconds = Math.max(outcome.laterSeconds, other.laterSeconds);
};

/** Deterministic, as the engine calls it again with each replay. */
const stepNameOf = ([first, ...others]: Task[]): string =>
  others.length === 0
    ? `org unit ${first?.orgUnitId}`
    : `org units ${first?.orgUnitId} to ${others.at(-1)?.orgUnitId}`;

const dividedInto = (maxParts: number, tasks: Task[]): Task[][] => {
  const parts = Math.min(maxParts, tasks.length);
  return Array.from({ length: parts }, (_, at) =>
    tasks.slice(Math.floor((at * tasks.length) / parts), Math.floor(((at + 1) * tasks.length) / parts)),
  );
};
