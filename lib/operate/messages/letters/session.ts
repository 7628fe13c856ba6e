import type { Message } from '@aws-sdk/client-sqs';
import type { Queue } from '../../../runtime/aws/sqs.ts';
import type { Target } from '../../stage/target.ts';
import { createLetterReader, type Letter } from './letter.ts';
import { merged } from './merge-generators.ts';
import { countsOf, receive } from './queue.ts';
import { createVisibilityLease, type VisibilityLease } from './visibility-lease.ts';

export type ReadOptions = {
  signal: AbortSignal;
  /** How many letters were read so far, of about so many. */
  onProgress?: ((read: number, ofAbout: number) => void) | undefined;
};

export type ReadSummary = {
  /** How many letters were read. */
  seen: number;
  /** False where letters may be left that were not read. */
  whole: boolean;
  /** Reading ended because as many letters as were asked for had been found. */
  limitReached?: boolean;
  /** About so many were leased by somebody else meanwhile, and were not read. */
  hidden: number;
  /** When the oldest letter that was read was sent: SQS keeps it for 14 days from then on. Undefined: none was read. */
  oldestMs: number | undefined;
};

/** Work on the dead-letter queue: whatever it receives stays leased until it is deleted or the session is closed. */
export type Session = {
  target: Target;
  queue: Queue;
  lease: VisibilityLease;
  /** Every letter that nobody else has leased, each once. A consumer that needs no more breaks out of its loop. */
  letters(options: ReadOptions): AsyncGenerator<Letter>;
  /** Of the letters read so far. */
  summary(): ReadSummary;
  /** Gives back all letters that are still leased; answers how many others see only when their lease ends. */
  close(): Promise<number>;
};

/** SQS lets a queue have 120,000 messages in flight; some are left to others. */
const maxLeased = 110_000;
/** So many receive at once. SQS may answer that it has none while it has some: it counts only when all of them hear that. */
const receivers = 8;
/** They begin anew where SQS' own count says that there are more, but not more often than so. */
const maxRounds = 5;

export const openSession = async (target: Target): Promise<Session> => {
  const queue = { sqs: await target.sqs(), url: await target.deadLetterQueueUrl() };
  const lease = createVisibilityLease(queue, target.leaseSeconds);
  const readLetter = createLetterReader(target);
  const summary: ReadSummary = { seen: 0, whole: false, hidden: 0, oldestMs: undefined };

  const receiveLeased = async (): Promise<Message[] | undefined> => {
    const messages = await receive(queue, target);
    if (messages.length === 0) return undefined;
    return messages.filter(({ MessageId = '', ReceiptHandle = '' }) => lease.add(MessageId, ReceiptHandle));
  };

  async function* receiveUntilEmpty(signal: AbortSignal): AsyncGenerator<Letter> {
    while (!signal.aborted && lease.size() < maxLeased) {
      const messages = await receiveLeased();
      if (messages === undefined) return;
      for (const message of messages) yield await readLetter(message);
    }
  }

  return {
    target,
    queue,
    lease,
    async *letters({ signal, onProgress }) {
      // Also at the end: somebody may have taken some after they were counted, and what is not found then is not gone.
      const counted = async (): Promise<number> => {
        const { visible, inFlight } = await countsOf(queue);
        summary.hidden = Math.max(summary.hidden, inFlight - lease.size());
        return visible;
      };
      summary.hidden = 0;
      const visible = await counted();
      const isOver = () => signal.aborted || lease.size() >= maxLeased;
      for (let round = 0; round < maxRounds && !isOver(); round += 1) {
        for await (const letter of merged(
          Array.from({ length: receivers }, () => receiveUntilEmpty(signal)),
        )) {
          if (signal.aborted) return;
          summary.seen += 1;
          summary.oldestMs = Math.min(summary.oldestMs ?? letter.sentMs, letter.sentMs);
          onProgress?.(summary.seen, Math.max(visible, summary.seen));
          yield letter;
        }
        if (isOver() || (await counted()) === 0) break;
      }
      summary.whole = !isOver();
    },
    summary: () => ({ ...summary }),
    close: async () => {
      const late = await lease.giveBack();
      lease.close();
      return late;
    },
  };
};

/** Works in a session that is closed at the end, however that comes. */
export const withSession = async <Value>(
  target: Target,
  work: (session: Session) => Promise<Value>,
): Promise<Value> => {
  const session = await openSession(target);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
};
