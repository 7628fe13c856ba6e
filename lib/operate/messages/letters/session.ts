import type { Message } from '@aws-sdk/client-sqs';
import type { Queue } from '../../../runtime/aws/sqs.ts';
import type { Target } from '../../stage/target.ts';
import { createLetterReader, type Letter } from './letter.ts';
import { merged } from './merge-generators.ts';
import { countsOf, receive } from './queue.ts';
import { createVisibilityLease, type VisibilityLease } from './visibility-lease.ts';

export type ReadOptions = {
  signal: AbortSignal;
  /** Reports how many letters were read so far, of about how many. */
  onProgress?: ((read: number, ofAbout: number) => void) | undefined;
};

export type ReadSummary = {
  seen: number;
  /** False if some letters may not have been read. */
  whole: boolean;
  /** Reading ended because enough letters had been found. */
  limitReached?: boolean;
  /** About how many letters somebody else had leased meanwhile; they were not read. */
  hidden: number;
  /** When the oldest letter that was read was sent: SQS keeps it for 14 days from then on. Undefined: none was read. */
  oldestMs: number | undefined;
};

/** Work on the dead-letter queue. Received letters stay leased until they are deleted or the session is closed. */
export type Session = {
  target: Target;
  queue: Queue;
  lease: VisibilityLease;
  /** Every letter that nobody else has leased, each once. A consumer that needs no more breaks out of its loop. */
  letters(options: ReadOptions): AsyncGenerator<Letter>;
  /** Covers the letters read so far. */
  summary(): ReadSummary;
  /** Gives back all letters that are still leased. Returns how many others see only when their lease ends. */
  close(): Promise<number>;
};

/** SQS allows 120,000 messages in flight per queue; some are left to others. */
const maxLeased = 110_000;
/**
 * Number of concurrent receive calls. SQS may return nothing although it has messages: the queue counts as empty only if all calls return
 * nothing.
 */
const receivers = 8;
/** Receiving starts again if SQS' own count shows more, at most this often. */
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

/** Closes the session at the end, also after an error. */
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
