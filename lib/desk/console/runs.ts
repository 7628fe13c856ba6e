import { randomUUID } from 'node:crypto';
import type { Answer, OperatorContext, Question } from '../operator-actions/operator-context.ts';
import type { View } from '../views/view.ts';

/** A verb in progress: it shows a plan, asks, and reports its progress and its result. */
export type Run = {
  id: string;
  title: string;
  /** What it works on, and who began it. It stays out of the title, which browsers keep. */
  about: string;
  /** The address that begins it again. */
  again: string | undefined;
  startedMs: number;
  /** By title, in the order in which they were first shown. */
  parts: Map<string, View>;
  progress: { what: string; done: number; of: number } | undefined;
  /** The id keeps an answer on an older page from counting for this question. */
  question: (Question & { id: string; askedMs: number; answer(given: Answer | undefined): void }) | undefined;
  /** The letters of its plan were gone before anybody answered. */
  withdrawn: boolean;
  /** Undefined: it is running. */
  ended: 'done' | 'failed' | undefined;
  problem: string | undefined;
  stopped: boolean;
  version: number;
};

export type Runs = ReturnType<typeof createRuns>;

/** Older runs that have ended are dropped. */
const maxRuns = 100;

const newId = (): string => randomUUID().slice(0, 8);

type RunsOptions = Pick<OperatorContext, 'target' | 'audit' | 'signal'> & {
  sentence(error: unknown): string;
  onEnd(): void;
};

export const createRuns = ({ target, audit, signal, sentence, onEnd }: RunsOptions) => {
  const runs = new Map<string, Run & { abort: AbortController; over: Promise<void> }>();

  const begin = (
    title: string,
    work: (at: OperatorContext) => Promise<unknown>,
    { about = '', again }: { about?: string; again?: string } = {},
  ): Run => {
    const abort = new AbortController();
    const run: Run = {
      about: [about, `by ${target.who}`].filter(Boolean).join(', '),
      id: newId(),
      title,
      again,
      startedMs: Date.now(),
      parts: new Map(),
      version: 0,
      progress: undefined,
      question: undefined,
      ended: undefined,
      problem: undefined,
      stopped: false,
      withdrawn: false,
    };
    const update = (news: Partial<Run>): void =>
      void Object.assign(run, { ...news, version: run.version + 1 });
    const show = (title: string, content: View): void => update({ parts: run.parts.set(title, content) });
    const at: OperatorContext = {
      target,
      audit,
      signal: AbortSignal.any([signal, abort.signal]),
      show,
      renew: show,
      progress: (what) => (done, of) => update({ progress: { what, done, of } }),
      ask: (question) => {
        if (at.signal.aborted) return Promise.resolve(undefined);
        const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
        const answer = (given: Answer | undefined): void => {
          at.signal.removeEventListener('abort', decline);
          resolve(given);
          update({ question: undefined });
        };
        const decline = (): void => answer(undefined);
        at.signal.addEventListener('abort', decline);
        update({ progress: undefined, question: { ...question, id: newId(), askedMs: Date.now(), answer } });
        return promise;
      },
    };
    const perform = async (): Promise<void> => {
      const news: Partial<Run> = { ended: 'done', progress: undefined };
      await work(at).catch((error: unknown) => {
        Object.assign(news, { ended: 'failed', problem: sentence(error) });
      });
      onEnd();
      update(news);
    };
    runs.set(run.id, Object.assign(run, { abort, over: perform() }));
    for (const [id, { ended }] of runs) if (runs.size > maxRuns && ended) runs.delete(id);
    return run;
  };

  return {
    begin,
    get: (id: string): Run | undefined => runs.get(id),
    /** Newest first. */
    all: (): Run[] => [...runs.values()].reverse(),
    stop: (id: string): void => {
      const run = runs.get(id);
      if (run === undefined || run.ended) return;
      run.stopped = true;
      run.version += 1;
      run.abort.abort();
    },
    /** A run that asks may wait for ever. */
    isBusy: (): boolean => [...runs.values()].some(({ ended, question }) => !ended && !question),
    over: async (): Promise<void> => void (await Promise.all([...runs.values()].map(({ over }) => over))),
  };
};
