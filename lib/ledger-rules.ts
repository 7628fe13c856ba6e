import type { Item } from './ledger-table.ts';

/** A message as the ledger sees it. */
export type Entry = {
  /** Integration and key: the one thing on the platform that the message changes. */
  thing: string;
  /** The same only for the same message; sorts as the SIS ordered its messages, where they are repeatable. */
  version: string;
  /** SQS' id. */
  messageId: string;
  replays: number;
  /** When somebody who was asked to look for its effect replayed it; undefined: nobody was. */
  decidedMs: number | undefined;
  repeatable: boolean;
};

export type Judgement =
  /** It may be sent: what its claim takes over from earlier attempts. */
  | { kind: 'send'; inherited: Partial<Item>; doubt?: Doubt }
  | { kind: 'duplicate' | 'superseded' | 'crashed' }
  /** Another attempt on this thing is under way, or what it sent may still act. */
  | { kind: 'wait'; seconds: number }
  /** The function died on this message or beside it: ask again when nothing else of the batch can be hurt. */
  | { kind: 'alone' };

/**
 * An earlier attempt of a message that is not repeatable has left no outcome; `taken`: the platform said that it succeeded;
 * `decided`: a person says that it had no effect.
 */
export type Doubt = { sinceMs: number; taken: boolean; decided: boolean };

/**
 * In place of SQS' id: the next copy, whichever it is, knows that the function died. Not so of a first claim, as its
 * success is not written down: only that its own message comes again is a sign of death.
 */
export const anyCopy = '';

/** The function may die on a message so often. */
const mostDeaths = 3;

/** Whether a message may be sent, by what is known of its thing. */
export const judge = (
  item: Item,
  entry: Entry,
  { nowMs, alone }: { nowMs: number; alone: boolean },
): Judgement => {
  const order = orderOf(item.version, entry);
  if (order > 0) return { kind: 'superseded' };
  if (order === 0 && item.outcome === 'done') return { kind: 'duplicate' };
  // The same call does no harm beside one that may still act; that of a newer message could be overtaken by it.
  const freeMs = order === 0 && entry.repeatable ? item.leaseMs : item.settledMs;
  if (freeMs > nowMs) return { kind: 'wait', seconds: Math.ceil((freeMs - nowMs) / 1000) };
  return order < 0 ? { kind: 'send', inherited: {} } : judgeAgain(item, entry, alone);
};

/** Negative: the message is newer than what was done. What is not repeatable has no order: each other message is a new one. */
const orderOf = (done: string, { version, repeatable }: Entry): number =>
  repeatable ? Buffer.compare(Buffer.from(done), Buffer.from(version)) : done === version ? 0 : -1;

/** Of a message that has been claimed before, and is not known to be done. */
const judgeAgain = (item: Item, entry: Entry, alone: boolean): Judgement => {
  const { attemptedMs, outcome } = item;
  const newLife = entry.replays > item.replays;
  const lapsed = outcome === 'claimed' && !newLife;
  const died = lapsed && [entry.messageId, anyCopy].includes(item.messageId);
  const deaths = newLife ? 0 : item.deaths + (died ? 1 : 0);
  if (deaths >= mostDeaths) return { kind: 'crashed' };
  if (died && !alone) return { kind: 'alone' };
  const replays = Math.max(item.replays, entry.replays);
  const decided = newLife && (entry.decidedMs ?? 0) >= item.settledMs;
  // Whoever has looked knows more than the platform's success told.
  const takenMs = decided ? 0 : item.takenMs;
  const inherited = { attemptedMs, takenMs, deaths, replays, ...(lapsed && { messageId: anyCopy }) };
  if (entry.repeatable || outcome === 'undone') return { kind: 'send', inherited };
  return { kind: 'send', inherited, doubt: { sinceMs: attemptedMs, taken: takenMs > 0, decided } };
};
