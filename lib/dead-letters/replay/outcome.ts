import { setTimeout as sleep } from 'node:timers/promises';
import { countsOf } from '../reading/queue.ts';
import type { Session } from '../reading/session.ts';
import type { FailureWatch } from './failure-watch.ts';

type Sent = { id: string; queueUrl: string | undefined };
type WaitOptions = { session: Session; watch: FailureWatch; signal: AbortSignal; waitSeconds: number };

/** Waits until each of these came back or went through; answers of how many neither is known in time. */
export const undecidedAfterWait = async (letters: Sent[], options: WaitOptions): Promise<number> => {
  const queues = [...Map.groupBy(letters, ({ queueUrl = '' }) => queueUrl)];
  const undecided = await Promise.all(queues.map(([url, each]) => undecidedOn(url, each, options)));
  return undecided.reduce((sum, count) => sum + count, 0);
};

/**
 * SQS does not tell which messages a queue holds, only how many: where it holds fewer than were sent and have not come back,
 * the difference went through.
 */
const undecidedOn = async (url: string, letters: Sent[], options: WaitOptions): Promise<number> => {
  const { session, watch, signal, waitSeconds } = options;
  const notBack = () => letters.filter(({ id }) => !watch.cameBack.has(id)).length;
  const queued = async (): Promise<number> => {
    const { visible, inFlight, delayed } = await countsOf({ ...session.queue, url });
    return visible + inFlight + delayed;
  };
  const startedMs = Date.now();
  let through = 0;
  for (;;) {
    const passedSeconds = (Date.now() - startedMs) / 1000;
    const isOver = signal.aborted || watch.problem() !== undefined || passedSeconds >= waitSeconds;
    if (notBack() <= through || isOver) return Math.max(0, notBack() - through);
    if (passedSeconds >= session.target.countsLagSeconds) {
      const before = await queued();
      if (before < notBack()) {
        // A function writes the letter before its message is deleted: what has failed again can be received by now.
        await watch.poll();
        through = Math.max(through, notBack() - Math.max(before, await queued()));
      }
    }
    await sleep(200);
  }
};
