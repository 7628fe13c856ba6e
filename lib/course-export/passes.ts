import { type Engine, isInterrupted, maxOperations } from '../durable/job.ts';
import { exportChunk, givenUp, type Run } from './chunk.ts';
import type { Task } from './org-unit.ts';
import { addTotals, type ExportTotals, noTotals } from './totals.ts';

/**
 * How the operations of an execution are divided, of which AWS allows 3,000: at most 500 are steps of the first pass, so that up to
 * 500 org units have one each, and 100,000 share them by 200; at most 25 are steps of each further pass. From 2,000 on nothing
 * waits any more, as a pause takes two operations of each of those that work at once; until then there can be 180 pauses of
 * four. The rest is for the turn, for steps that are tried again, and for org units on which the function dies.
 */
export const maxChunks = { first: 500, further: 25 };
export const maxOperationsForWaits = (maxOperations * 2) / 3;

type Outcome = {
  totals: ExportTotals;
  later: Task[];
  laterSeconds: number;
  /** One of these may have killed the function. */
  suspects: Task[][];
};

/** Exports all of these: again and again those that cannot be had for the time being, until they are had or given up. */
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
      // As a replay must know it too.
      run.answeredMs = Math.max(run.answeredMs, result.answeredMs);
      addTotals(outcome.totals, result.totals);
      outcome.later.push(...result.later);
      outcome.laterSeconds = Math.max(outcome.laterSeconds, result.laterSeconds);
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
 * What was under way when the function died is exported while nothing else is, in ever smaller parts, so that the one org unit
 * on which it dies is found, and the others lose nothing.
 */
const exportAlone = async (chunk: Task[], context: PassContext): Promise<Outcome> => {
  const outcome = await exportOne(chunk, context);
  const [suspects = []] = outcome.suspects;
  outcome.suspects = [];
  const add = (other: Outcome): void => {
    addTotals(outcome.totals, other.totals);
    outcome.later.push(...other.later);
    outcome.laterSeconds = Math.max(outcome.laterSeconds, other.laterSeconds);
  };
  const [only, ...others] = suspects;
  if (only === undefined) return outcome;
  if (others.length > 0) for (const part of dividedInto(10, suspects)) add(await exportAlone(part, context));
  else {
    // It died with others, then alone; and now?
    const last = await exportOne([only], context);
    add(last);
    if (last.suspects.length > 0) addTotals(outcome.totals, givenUp(only, context.run));
  }
  return outcome;
};

/** The same for the same, as the engine asks for each time it begins anew. */
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
