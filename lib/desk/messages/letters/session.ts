import type { Message } from '@aws-sdk/client-sqs';
import { chunksOf } from '../../../runtime/aws/parallel.ts';
import type { Queue } from '../../../runtime/aws/sqs.ts';
import type { Target } from '../../../stage/target.ts';
import { createLetterReader, type Letter } from './letter.ts';
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
  /** About how many letters somebody else had leased meanwhile; they were not read. */
  hidden: number;
  /** When the oldest letter that was read was sent: SQS keeps it for 14 days from then on. Undefined: none was read. */
  oldestMs: number | undefined;
};

/** Work on the dead-letter queue. Received letters stay leased until they are deleted or the session is closed. */
export type QueueSession = {
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
/** If SQS returns nothing new although its own count shows more, receiving goes on, at most this often. */
const maxRounds = 5;

export const openSession = async (target: Target): Promise<QueueSession> => {
  const queue = { sqs: await target.sqs(), url: await target.deadLetterQueueUrl() };
  const lease = createVisibilityLease(queue, target.leaseSeconds);
  const readLetter = createLetterReader(target);
  const summary: ReadSummary = { seen: 0, whole: false, hidden: 0, oldestMs: undefined };

  const receiveLeased = async (): Promise<Message[]> => {
    const options = { leaseSeconds: lease.seconds(), pollSeconds: target.pollSeconds };
    const answers = await Promise.allSettled(
      Array.from({ length: receivers }, () => receive(queue, options)),
    );
    const messages = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    // Also if a call failed: all must be given back.
    const leased = messages.filter(({ MessageId = '', ReceiptHandle = '' }) =>
      lease.add(MessageId, ReceiptHandle, options.leaseSeconds),
    );
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
    return leased;
  };

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
      for (let rounds = 0; rounds < maxRounds && !isOver(); ) {
        const leased = await receiveLeased();
        for (const some of chunksOf(leased, 10))
          for (const letter of await Promise.all(some.map(readLetter))) {
            if (signal.aborted) return;
            summary.seen += 1;
            summary.oldestMs = Math.min(summary.oldestMs ?? letter.sentMs, letter.sentMs);
            onProgress?.(summary.seen, Math.max(visible, summary.seen));
            yield letter;
          }
        if (leased.length > 0) continue;
        if ((await counted()) === 0) break;
        rounds += 1;
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
  work: (session: QueueSession) => Promise<Value>,
): Promise<Value> => {
  const session = await openSession(target);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
};
