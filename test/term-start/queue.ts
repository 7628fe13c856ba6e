import type { Priority } from '../../lib/message/priority.ts';
import { createHeap } from './clock.ts';
import { type FunctionLoad, sentBy } from './load.ts';

export type Message = {
  priority: Priority;
  sentMs: number;
  /** Of its first receipt. */
  firstMs: number;
  receipts: number;
};

export type Queue = ReturnType<typeof createQueue>;

/** SQS gives out no more before some of them are deleted or visible again. */
const maxInFlight = 120_000;
/** A message that was received so often stands behind all others. */
const receiptsToTheBack = 3;

/**
 * A queue of SQS. What nobody has received yet is no object but a count: it is made when it is received, so that five million
 * messages cost nothing while they wait.
 */
export const createQueue = ({ streams, priority }: FunctionLoad, random: () => number) => {
  const sending = streams
    .filter(({ messages }) => messages > 0)
    .map((stream) => ({
      ...stream,
      sent: 0,
      nextMs: 0,
      everyMs: (stream.toMs - stream.fromMs) / stream.messages,
    }));
  const hidden = createHeap<Message>();
  const again = createHeap<Message>();
  const atTheBack = createHeap<Message>();
  let atWork = 0;
  let bulkAgain = 0;
  let allAgain = 0;

  type Sending = (typeof sending)[number];
  const step = (stream: Sending): void => {
    stream.nextMs =
      stream.sent < stream.messages
        ? stream.fromMs + (stream.sent + random()) * stream.everyMs
        : Number.POSITIVE_INFINITY;
  };
  for (const stream of sending) step(stream);
  const firstSending = (): Sending | undefined => {
    let first: Sending | undefined;
    for (const stream of sending) if (first === undefined || stream.nextMs < first.nextMs) first = stream;
    return first;
  };

  const show = (nowMs: number): void => {
    while (hidden.firstMs() <= nowMs) {
      const visibleMs = hidden.firstMs();
      const message = hidden.take();
      (message.receipts < receiptsToTheBack ? again : atTheBack).add(visibleMs, message);
      allAgain += 1;
      if (message.priority === 'bulk') bulkAgain += 1;
    }
  };
  const takeAgain = (from: typeof again): Message => {
    const message = from.take();
    allAgain -= 1;
    if (message.priority === 'bulk') bulkAgain -= 1;
    return message;
  };

  const takeNew = (stream: Sending): Message => {
    const { nextMs: sentMs, isBulk } = stream;
    stream.sent += 1;
    step(stream);
    return { priority: isBulk ? 'bulk' : priority, sentMs, firstMs: 0, receipts: 0 };
  };

  return {
    receive: (nowMs: number): Message | undefined => {
      show(nowMs);
      if (atWork + hidden.size() >= maxInFlight) return undefined;
      const stream = firstSending();
      const newMs = stream?.nextMs ?? Number.POSITIVE_INFINITY;
      let message: Message | undefined;
      if (again.size() > 0) message = takeAgain(again);
      else if (atTheBack.firstMs() <= newMs && atTheBack.size() > 0) message = takeAgain(atTheBack);
      else if (stream && newMs <= nowMs) message = takeNew(stream);
      if (message === undefined) return undefined;
      if (message.receipts === 0) message.firstMs = nowMs;
      message.receipts += 1;
      atWork += 1;
      return message;
    },
    delete: (): void => {
      atWork -= 1;
    },
    hide: (message: Message, untilMs: number): void => {
      atWork -= 1;
      hidden.add(untilMs, message);
    },
    /** When there may be something to receive. */
    nextMs: (nowMs: number): number => {
      if (again.size() > 0 || atTheBack.size() > 0) return nowMs;
      if (atWork + hidden.size() >= maxInFlight) return hidden.firstMs();
      return Math.min(hidden.firstMs(), firstSending()?.nextMs ?? Number.POSITIVE_INFINITY);
    },
    /** How many lie there and can be received: those marked bulk, or the others. */
    visible: (nowMs: number, isBulk: boolean): number => {
      show(nowMs);
      let count = isBulk ? bulkAgain : allAgain - bulkAgain;
      for (const stream of sending)
        if ((stream.isBulk ?? false) === isBulk) count += Math.max(0, sentBy(stream, nowMs) - stream.sent);
      return count;
    },
    /** Everything was sent, and is gone. */
    isEmpty: (): boolean =>
      atWork + hidden.size() + again.size() + atTheBack.size() === 0 &&
      sending.every(({ nextMs }) => nextMs === Number.POSITIVE_INFINITY),
  };
};
