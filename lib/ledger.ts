import { randomUUID } from 'node:crypto';
import { createLedgerTable, type Item, type LedgerTableOptions, previousOf } from './ledger-table.ts';

/** A message as the ledger sees it. */
export type Entry = {
  /** Integration and key: the one thing on the platform that the message changes. */
  thing: string;
  /** Sorts as the SIS ordered its messages; the same only for the same message. */
  version: string;
  /** SQS' id: who dies is the message that SQS hands out again, not another copy of it. */
  messageId: string;
  replays: number;
  repeatable: boolean;
};

/** The right to send, until the lease ends. */
export type Claim = { id: string; entry: Entry };

export type Verdict =
  | { kind: 'send'; claim: Claim; doubt?: Doubt }
  | { kind: 'duplicate' | 'superseded' | 'crashed' }
  /** Another attempt on this thing is under way, or may still be. */
  | { kind: 'wait'; seconds: number }
  /** The function died on this message or beside it: ask again when nothing else of the batch can be hurt. */
  | { kind: 'alone' };

/** An earlier attempt of a message that is not repeatable has left no outcome; `decided`: a person looked, and replayed it. */
export type Doubt = { sinceMs: number; decided: boolean };

/** What became of a claim: `undone` where the platform certainly has not acted, `unknown` where it may have, or may yet. */
export type Ending = 'done' | 'undone' | 'unknown';

export type Ledger = {
  /** @throws where the table cannot be read or written: then nothing may be sent. */
  claim(entry: Entry, attempt: { untilMs: number; alone: boolean }): Promise<Verdict>;
  /** Never throws: a claim whose ending cannot be written ends with its lease. */
  end(claim: Claim, ending: Ending): Promise<void>;
  /** Writes down the successes that `end` only remembered, before something starts that may take the function down. */
  confirm(claims: Claim[]): Promise<void>;
  settlingMs: number;
};

export type LedgerOptions = LedgerTableOptions & {
  /** How long after an unanswered call the platform may still carry it out, in milliseconds. */
  settlingMs: number;
  warn(text: string, facts: Record<string, string>): void;
};

/** The function may die on a message so often. */
const mostDeaths = 3;
/** So many ended claims are remembered, so that their leases need not be waited for. */
const mostRemembered = 10_000;

/**
 * What was done to each thing on the platform, and by which message: one write for a repeatable success, two for any
 * other attempt.
 */
export const createLedger = ({ settlingMs, warn, nowMs, ...options }: LedgerOptions): Ledger => {
  const table = createLedgerTable({ ...options, nowMs });
  const ended = new Map<string, Ending>();
  /** Within this container, messages about the same thing take turns, instead of waiting for each other's leases. */
  const turns = new Map<string, PromiseWithResolvers<void>>();

  const takeTurn = async (thing: string): Promise<void> => {
    for (let before = turns.get(thing); before; before = turns.get(thing)) await before.promise;
    turns.set(thing, Promise.withResolvers());
  };
  const endTurn = (thing: string): void => {
    turns.get(thing)?.resolve();
    turns.delete(thing);
  };

  const remember = (claimId: string, ending: Ending): void => {
    ended.set(claimId, ending);
    const oldest = ended.keys().next().value;
    if (ended.size > mostRemembered && oldest !== undefined) ended.delete(oldest);
  };

  const fresh = (entry: Entry, untilMs: number): Item => ({
    version: entry.version,
    claimId: randomUUID(),
    messageId: entry.messageId,
    outcome: 'claimed',
    leaseMs: untilMs,
    attemptedMs: nowMs(),
    deaths: 0,
    replays: entry.replays,
  });

  const claim: Ledger['claim'] = async (entry, attempt) => {
    await takeTurn(entry.thing);
    let verdict: Verdict | undefined;
    try {
      verdict = await verdictOn(entry, attempt);
      return verdict;
    } finally {
      if (verdict?.kind !== 'send') endTurn(entry.thing);
    }
  };

  const verdictOn: Ledger['claim'] = async (entry, attempt) => {
    const first = fresh(entry, attempt.untilMs);
    if (await table.claim(entry.thing, first)) return { kind: 'send', claim: { id: first.claimId, entry } };
    const item = await table.read(entry.thing);
    // Gone in between: it expired, and the next receipt will find nothing in its way.
    if (item === undefined) return { kind: 'wait', seconds: 1 };
    return judge(item, entry, attempt);
  };

  const judge = async (
    item: Item,
    entry: Entry,
    attempt: { untilMs: number; alone: boolean },
  ): Promise<Verdict> => {
    const order = Buffer.compare(Buffer.from(item.version), Buffer.from(entry.version));
    if (order > 0) return { kind: 'superseded' };
    const known = ended.get(item.claimId);
    const ending = known ?? (item.outcome === 'claimed' ? undefined : item.outcome);
    const leased = item.leaseMs > nowMs() && (known === undefined || known === 'unknown');
    if (order < 0) return leased ? waitFor(item) : take(item, fresh(entry, attempt.untilMs), entry);
    if (ending === 'done') return { kind: 'duplicate' };
    // To send the same again while an unanswered call may still act does no harm, where it can be repeated at all.
    if (leased && !(ending === 'unknown' && entry.repeatable)) return waitFor(item);

    const newLife = entry.replays > item.replays;
    const died = ending === undefined && item.messageId === entry.messageId && !newLife;
    const deaths = newLife ? 0 : item.deaths + (died ? 1 : 0);
    if (deaths >= mostDeaths) return { kind: 'crashed' };
    if (died && !attempt.alone) return { kind: 'alone' };
    const again = { ...fresh(entry, attempt.untilMs), attemptedMs: item.attemptedMs, deaths };
    const verdict = await take(item, again, entry);
    if (verdict.kind !== 'send' || entry.repeatable || ending === 'undone') return verdict;
    return { ...verdict, doubt: { sinceMs: item.attemptedMs, decided: newLife } };
  };

  /** Takes a claim over, unless somebody else was quicker. */
  const take = async (item: Item, next: Item, entry: Entry): Promise<Verdict> =>
    (await table.replace(entry.thing, {
      expected: item.claimId,
      next: { ...next, ...previousOf(item, next) },
    }))
      ? { kind: 'send', claim: { id: next.claimId, entry } }
      : { kind: 'wait', seconds: 1 };

  const waitFor = (item: Item): Verdict => ({
    kind: 'wait',
    seconds: Math.max(1, Math.ceil((item.leaseMs - nowMs()) / 1000)),
  });

  const write = async ({ id, entry }: Claim, ending: Ending): Promise<void> => {
    try {
      if (ending === 'undone') await table.release(entry.thing, id);
      else
        await table.end(entry.thing, id, {
          outcome: ending,
          leaseMs: ending === 'done' ? 0 : nowMs() + settlingMs,
        });
    } catch (error) {
      const name = error instanceof Error ? error.name : typeof error;
      warn('the ending of a claim could not be written: it ends with its lease', {
        thing: entry.thing,
        ending,
        error: name,
      });
    }
  };

  return {
    settlingMs,
    claim,
    end: async (claim, ending) => {
      remember(claim.id, ending);
      if (ending !== 'done' || !claim.entry.repeatable) await write(claim, ending);
      endTurn(claim.entry.thing);
    },
    confirm: async (claims) => {
      await Promise.all(claims.map((claim) => write(claim, 'done')));
    },
  };
};
