import { setTimeout as sleep } from 'node:timers/promises';
import type { Target } from '../../deployment/target.ts';
import { countsOf } from '../reading/queue.ts';
import type { Desk } from '../reading/session.ts';
import type { Returns } from './failure-watch.ts';

type Watched = { id: string; queueUrl: string | undefined };
type Around = { desk: Desk; target: Target; returns: Returns; signal: AbortSignal; waitSeconds: number };

/** Waits until each of these came back or went through; answers of how many neither is known in time. */
export const outcomeOf = async (letters: Watched[], around: Around): Promise<number> => {
  const queues = [...Map.groupBy(letters, ({ queueUrl = '' }) => queueUrl)];
  const unknown = await Promise.all(queues.map(([url, each]) => outcomeOn(url, each, around)));
  return unknown.reduce((sum, count) => sum + count, 0);
};

/** SQS does not tell which messages a queue holds, but how many: where those are fewer than are out, the others went through. */
const outcomeOn = async (url: string, letters: Watched[], around: Around): Promise<number> => {
  const { desk, target, returns, signal, waitSeconds } = around;
  const out = () => letters.filter(({ id }) => !returns.returned.has(id)).length;
  const held = async (): Promise<number> => {
    const { visible, inFlight, delayed } = await countsOf({ ...desk.queue, url });
    return visible + inFlight + delayed;
  };
  const startedMs = Date.now();
  let through = 0;
  for (;;) {
    const passedSeconds = (Date.now() - startedMs) / 1000;
    const isOver = signal.aborted || returns.broken() !== undefined || passedSeconds >= waitSeconds;
    if (out() <= through || isOver) return Math.max(0, out() - through);
    if (passedSeconds >= target.countsLagSeconds) {
      const before = await held();
      if (before < out()) {
        // A message is deleted after its letter is written: what left its queue as a letter is there to be seen by now.
        await returns.look();
        through = Math.max(through, out() - Math.max(before, await held()));
      }
    }
    await sleep(200);
  }
};
