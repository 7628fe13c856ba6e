import { randomUUID } from 'node:crypto';
import type { Html } from '../markup/html.ts';

/** What an operator answered: the fields of the question's form. */
export type Answer = { [field: string]: string | undefined };

export type Question = {
  text: string;
  /** On the button that agrees. */
  act: string;
  fields?: Html | undefined;
};

/** A verb at work: it shows a plan, asks, and tells how far it is and what became of it. */
export type Run = {
  id: string;
  title: string;
  startedMs: number;
  /** In the order in which they were first shown. */
  parts: Map<string, Html>;
  progress: { what: string; done: number; of: number } | undefined;
  question: (Question & { answer(given: Answer | undefined): void }) | undefined;
  /** Undefined: it goes on. */
  ended: 'done' | 'failed' | undefined;
  problem: string | undefined;
  stopped: boolean;
};

/** What a verb tells while it works. */
export type Work = {
  signal: AbortSignal;
  show(part: string, content: Html): void;
  progress(what: string): (done: number, of: number) => void;
  /** Undefined: it was declined. */
  ask(question: Question): Promise<Answer | undefined>;
};

export type Runs = ReturnType<typeof createRuns>;

/** Older ones that have ended are forgotten. */
const maxRuns = 100;

export const createRuns = ({
  signal,
  sentence,
  onEnd,
}: {
  signal: AbortSignal;
  sentence(error: unknown): string;
  onEnd(): void;
}) => {
  const runs = new Map<string, Run & { abort: AbortController; over: Promise<void> }>();
  const listeners = new Map<string, Set<() => void>>();
  const tell = (id: string): void => {
    for (const listener of listeners.get(id) ?? []) listener();
  };

  const begin = (title: string, work: (at: Work) => Promise<void>): Run => {
    const abort = new AbortController();
    const run: Run = {
      ...{ id: randomUUID().slice(0, 8), title, startedMs: Date.now(), parts: new Map() },
      ...{ progress: undefined, question: undefined, ended: undefined, problem: undefined, stopped: false },
    };
    const at: Work = {
      signal: AbortSignal.any([signal, abort.signal]),
      show: (part, content) => {
        run.parts.set(part, content);
        tell(run.id);
      },
      progress: (what) => (done, of) => {
        run.progress = { what, done, of };
        tell(run.id);
      },
      ask: (question) => {
        if (at.signal.aborted) return Promise.resolve(undefined);
        const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
        const answer = (given: Answer | undefined): void => {
          run.question = undefined;
          at.signal.removeEventListener('abort', decline);
          resolve(given);
          tell(run.id);
        };
        const decline = (): void => answer(undefined);
        at.signal.addEventListener('abort', decline);
        run.progress = undefined;
        run.question = { ...question, answer };
        tell(run.id);
        return promise;
      },
    };
    const perform = async (): Promise<void> => {
      try {
        await work(at);
        run.ended = 'done';
      } catch (error) {
        run.ended = 'failed';
        run.problem = sentence(error);
      }
      run.progress = undefined;
      onEnd();
      tell(run.id);
    };
    runs.set(run.id, Object.assign(run, { abort, over: perform() }));
    for (const [id, { ended }] of runs) if (runs.size > maxRuns && ended) runs.delete(id);
    return run;
  };

  return {
    begin,
    get: (id: string): Run | undefined => runs.get(id),
    /** The newest first. */
    all: (): Run[] => [...runs.values()].reverse(),
    stop: (id: string): void => {
      const run = runs.get(id);
      if (run === undefined || run.ended) return;
      run.stopped = true;
      run.abort.abort();
    },
    /** A run that asks may wait for ever. */
    isBusy: (): boolean => [...runs.values()].some(({ ended, question }) => !ended && !question),
    over: async (): Promise<void> => void (await Promise.all([...runs.values()].map(({ over }) => over))),
    /** Calls it at each change, until the answer is called. */
    onChange: (id: string, listener: () => void): (() => void) => {
      const all = listeners.get(id) ?? new Set();
      listeners.set(id, all.add(listener));
      return () => {
        all.delete(listener);
        if (all.size === 0) listeners.delete(id);
      };
    },
  };
};
