import { watchOutcomes } from '../../../delivery/letters/outcomes.ts';
import type { IndexRecord, LetterIndexTable } from '../../../delivery/letters/record.ts';
import type { PublishedMessage } from './publish.ts';

/** `unknown`: no function reported an outcome in time. */
export const outcomes = ['done', 'duplicate', 'superseded', 'letter', 'waiting', 'unknown'] as const;
export type PublishedOutcome = (typeof outcomes)[number];

export type MessageResult = PublishedMessage & {
  outcome: PublishedOutcome;
  /** The failure of a letter, or what a message waits for. */
  kind?: string;
  error?: string;
  remedy?: string | undefined;
};

export type PublishOutcomes = {
  messages: MessageResult[];
  outcomes: Record<PublishedOutcome, number>;
  /** Some outcomes could not be read. */
  unread: boolean;
};

/** Waits for the outcomes of messages that were sent with the attribute `receipt`. */
export const awaitOutcomes = async (
  letterIndex: LetterIndexTable,
  messages: readonly PublishedMessage[],
  {
    onKnown,
    ...options
  }: { waitSeconds: number; signal: AbortSignal; onKnown?: (known: number, of: number) => void },
): Promise<PublishOutcomes> => {
  const watch = watchOutcomes(letterIndex);
  const ids = messages.map(({ messageId }) => messageId);
  const known = (): number =>
    ids.filter((id) => ['through', 'cameBack'].includes(watch.outcomeOf(id))).length;
  const telling = setInterval(() => onKnown?.(known(), ids.length), 1_000);
  try {
    watch.expect(ids);
    await watch.settled(ids, options);
  } finally {
    clearInterval(telling);
    await watch.stop();
  }
  const results = messages.map(
    (message): MessageResult => ({ ...message, ...resultBy(watch.recordOf(message.messageId)) }),
  );
  const counts = Object.fromEntries(
    outcomes.map((each) => [each, results.filter(({ outcome }) => outcome === each).length]),
  ) as PublishOutcomes['outcomes'];
  return { messages: results, outcomes: counts, unread: watch.problem() !== undefined };
};

const resultBy = (record: IndexRecord | undefined): Omit<MessageResult, keyof PublishedMessage> => {
  if (record === undefined) return { outcome: 'unknown' };
  const { state, kind, error, words, remedy } = record;
  if (state === 'done' || state === 'duplicate' || state === 'superseded') return { outcome: state };
  const why = words === undefined ? error : `${error}: ${words}`;
  // An operator may have dealt with its letter already.
  return { outcome: state === 'waiting' ? 'waiting' : 'letter', kind, error: why, remedy };
};
