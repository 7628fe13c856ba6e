import fc from 'fast-check';
import { answerParent } from '../bench/processes.ts';
import { type History, histories } from './history.ts';
import { live } from './live.ts';

export type Chunk = { seed: number; runs: number };
export type Proved = {
  /** How often each thing was reached. */
  reached: [string, number][];
  /** The first history that ends wrong, after so many runs, shrunk. */
  wrong?: { history: History; problems: string[]; after: number; shrunk: number };
};

// Nobody reads the stacks of the errors that a history is made of.
Error.stackTraceLimit = 0;

answerParent<Chunk, Proved>(async ({ seed, runs }) => {
  const reached = new Map<string, number>();
  const run = await fc.check(
    fc.asyncProperty(histories, async (history) => {
      const life = await live(history);
      for (const each of life.reached) reached.set(each, (reached.get(each) ?? 0) + 1);
      if (life.problems.length > 0) throw new Error(life.problems.join('; '));
    }),
    { numRuns: runs, seed },
  );
  if (!run.failed) return { reached: [...reached] };
  const [history] = run.counterexample as [History];
  const { problems } = await live(history);
  return { reached: [...reached], wrong: { history, problems, after: run.numRuns, shrunk: run.numShrinks } };
});
