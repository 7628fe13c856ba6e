import { setTimeout as sleep } from 'node:timers/promises';
import type { Returns } from './returns.ts';
import { countsOf } from './scan.ts';
import type { Target } from './target.ts';
import type { Desk } from './visit.ts';

type Watched = { id: string; queueUrl: string | undefined };
type Around = { desk: Desk; target: Target; returns: Returns; signal: AbortSignal; waitSeconds: number };

/** Waits until each of these came back, or their queues are empty; answers of how many neither was seen in time. */
export const outcomeOf = async (letters: Watched[], around: Around): Promise<number> => {
  const { desk, target, returns, signal, waitSeconds } = around;
  const urls = [...new Set(letters.map(({ queueUrl = '' }) => queueUrl))];
  const quiet = async (): Promise<boolean> => {
    const counts = await Promise.all(urls.map((url) => countsOf({ ...desk.queue, url })));
    return counts.every(({ visible, inFlight, delayed }) => visible + inFlight + delayed === 0);
  };
  const startedMs = Date.now();
  for (;;) {
    const out = letters.filter(({ id }) => !returns.returned.has(id)).length;
    const passedSeconds = (Date.now() - startedMs) / 1000;
    if (out === 0 || signal.aborted || returns.broken() !== undefined || passedSeconds >= waitSeconds)
      return out;
    // A message is deleted after its letter is written: once its queue is empty, what came back is there to be seen.
    if (passedSeconds >= target.countsLagSeconds && (await quiet())) {
      await returns.look();
      if (await quiet()) return 0;
    }
    await sleep(200);
  }
};
