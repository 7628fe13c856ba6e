import type { Queue } from '../../aws/batches.ts';
import type { Target } from '../../deployment/target.ts';
import { createLetterReader, type Letter, type LetterReader } from './letter.ts';
import { countsOf, scan } from './queue.ts';
import { createHold, type Hold } from './visibility-lease.ts';

export type VisitOptions = {
  signal: AbortSignal;
  /** How many letters were seen so far, of about so many. */
  onProgress?: ((seen: number, ofAbout: number) => void) | undefined;
};

export type Visit = {
  seen: number;
  /** False where letters may be left that were not seen. */
  whole: boolean;
  /** It ended where as many as were asked for had been found. */
  limitReached?: boolean;
  /** About so many were in somebody else's hands when the visit began, and not seen. */
  hidden: number;
  /** When the oldest of those seen was sent: SQS keeps it for 14 days from then on. Undefined: none was seen. */
  oldestMs: number | undefined;
};

/** Everything that a verb needs to work on letters; `close` gives back all that it still holds. */
export type Desk = {
  queue: Queue;
  hold: Hold;
  readLetter: LetterReader;
  /** Answers how many letters come back only when their lease is over. */
  close(): Promise<number>;
};

export const openDesk = async (target: Target): Promise<Desk> => {
  const queue = { sqs: await target.sqs(), url: await target.deadLetterQueueUrl() };
  const hold = createHold(queue, target.leaseSeconds);
  return {
    queue,
    hold,
    readLetter: createLetterReader(target),
    close: async () => {
      const late = await hold.giveBack();
      hold.close();
      return late;
    },
  };
};

/** Shows each letter once, and holds it; `look` answers false where no more are needed. */
export const visitWith = async (
  desk: Desk,
  target: Target,
  { signal, onProgress, look }: VisitOptions & { look(letter: Letter): boolean | Promise<boolean> },
): Promise<Visit> => {
  const { visible, inFlight } = await countsOf(desk.queue);
  let seen = 0;
  let oldestMs: number | undefined;
  const { whole } = await scan({
    ...desk,
    ...target,
    signal,
    onLetter: async (message) => {
      seen += 1;
      onProgress?.(seen, Math.max(visible, seen));
      const letter = await desk.readLetter(message);
      oldestMs = Math.min(oldestMs ?? letter.sentMs, letter.sentMs);
      return look(letter);
    },
  });
  return { seen, whole, hidden: inFlight, oldestMs };
};

/** Shows each letter once, and gives all of them back. */
export const visit = async (
  target: Target,
  options: VisitOptions & { look(letter: Letter): boolean | Promise<boolean> },
): Promise<Visit> => {
  const desk = await openDesk(target);
  try {
    return await visitWith(desk, target, options);
  } finally {
    await desk.close();
  }
};
