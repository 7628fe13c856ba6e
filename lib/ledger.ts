import { randomUUID } from 'node:crypto';
import { nameOf } from './failure.ts';
import { anyCopy, type Doubt, type Entry, type Judgement, judge } from './ledger-rules.ts';
import type { Item, LedgerTable } from './ledger-table.ts';

export type { Doubt, Entry } from './ledger-rules.ts';

/** The right to send: what the table says meanwhile, and what it said before. */
export type Claim = { entry: Entry; item: Item; before: Item };

export type Verdict =
  | { kind: 'send'; claim: Claim; doubt?: Doubt | undefined }
  | Exclude<Judgement, { kind: 'send' }>;

/**
 * What became of a claim: `undone` where nothing that it sent has acted, `unknown` where something may have, or may yet;
 * `taken` where the platform has answered so with a success, and its effect was not seen.
 */
export type Ending = 'done' | 'undone' | 'unknown' | 'taken';

/** `untilMs`: when it will have ended, one way or the other. */
export type Attempt = { untilMs: number; alone: boolean };

export type Ledger = {
  /** @throws where the table cannot be read or written: then nothing may be sent. */
  claim(entry: Entry, attempt: Attempt): Promise<Verdict>;
  /** Never throws: a claim whose ending cannot be written ends with its lease. */
  end(claim: Claim, ending: Ending): Promise<void>;
  /** Writes down the successes that `end` only remembered, before something starts that may take the function down. */
  confirm(claims: Claim[]): Promise<void>;
  settlingMs: number;
};

export type LedgerOptions = {
  table: LedgerTable;
  /** How long after an unanswered call the platform may still carry it out, in milliseconds. */
  settlingMs: number;
  warn(text: string, facts: Record<string, string>): void;
  nowMs(): number;
};

/** Of so many things it is remembered how they ended, so that their leases need not be waited for. */
const mostRemembered = 10_000;
/** Below every version. */
const noVersion = '0';

/** Whose success needs no write: sent again it would do no harm, and no death is read from it. */
const isSilent = ({ entry, item }: Claim): boolean => entry.repeatable && item.messageId !== anyCopy;

/** What is known of a thing, and the claim that stands for it on the table. */
type Known = { item: Item; claimId: string };

/**
 * What was done to each thing on the platform, and by which message: one write for a repeatable success, two for any
 * other attempt.
 */
export const createLedger = ({ table, settlingMs, warn, nowMs }: LedgerOptions): Ledger => {
  /** By thing: how its last attempt in this container ended, whether or not the table was told. */
  const ended = new Map<string, Known>();
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

  const itemOf = (entry: Entry, { untilMs }: Attempt): Item => ({
    version: entry.version,
    claimId: randomUUID(),
    messageId: entry.messageId,
    outcome: 'claimed',
    leaseMs: untilMs,
    settledMs: untilMs + settlingMs,
    attemptedMs: nowMs(),
    takenMs: 0,
    deaths: 0,
    replays: entry.replays,
  });

  const verdictOn = async (entry: Entry, attempt: Attempt): Promise<Verdict> => {
    const last = ended.get(entry.thing);
    // From what was done here the next message goes on at once, unless somebody else has come in between.
    if (last?.item.outcome === 'done') {
      const verdict = await goOn(last, entry, attempt);
      if (verdict.kind !== 'wait') return verdict;
    }
    const item = itemOf(entry, attempt);
    const untold: Claim = { entry, item, before: { ...item, outcome: 'undone', leaseMs: 0, settledMs: 0 } };
    const { won, item: found } = await orUndo(untold, () => table.claim(entry.thing, item));
    if (won)
      return {
        kind: 'send',
        claim: { entry, item, before: found ?? { ...untold.before, version: noVersion } },
      };
    // The SDK sends a write again whose answer got lost: what is in the way of the second is then the first.
    if (found?.claimId === item.claimId) return { kind: 'send', claim: untold };
    // Gone in between: it has expired, and the next receipt will find nothing in its way.
    if (found === undefined) return { kind: 'wait', seconds: 1 };
    const known = last?.claimId === found.claimId ? last : { item: found, claimId: found.claimId };
    return goOn(known, entry, attempt);
  };

  /** Does as the rules say, and takes the place of what was known, unless somebody else was quicker. */
  const goOn = async (known: Known, entry: Entry, attempt: Attempt): Promise<Verdict> => {
    const judgement = judge(known.item, entry, { nowMs: nowMs(), alone: attempt.alone });
    if (judgement.kind !== 'send') return judgement;
    const { inherited, doubt } = judgement;
    const claim = { entry, item: { ...itemOf(entry, attempt), ...inherited }, before: known.item };
    const won = await orUndo(claim, () =>
      table.replace(entry.thing, { expected: known.claimId, next: claim.item }),
    );
    return won ? { kind: 'send', claim, doubt } : { kind: 'wait', seconds: 1 };
  };

  /** A write that failed may have been carried out all the same: a claim left behind would be taken for a death. */
  const orUndo = async <Answer>(claim: Claim, write: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await write();
    } catch (error) {
      if (!ended.has(claim.entry.thing)) remember(claim, { item: claim.before, claimId: claim.item.claimId });
      await put(claim, claim.before).catch(() => false);
      throw error;
    }
  };

  const remember = ({ entry: { thing } }: Claim, known: Known): void => {
    ended.delete(thing);
    ended.set(thing, known);
    const [oldest] = ended.keys();
    if (ended.size > mostRemembered && oldest !== undefined) ended.delete(oldest);
  };

  const after = ({ item, before }: Claim, ending: Ending): Item => {
    if (ending === 'undone') return before;
    // What an earlier attempt has sent is not settled by the success of a later one.
    const settledMs = ending === 'done' ? before.settledMs : nowMs() + settlingMs;
    if (ending === 'taken') return { ...item, outcome: 'unknown', takenMs: nowMs(), leaseMs: 0, settledMs };
    return { ...item, outcome: ending, leaseMs: 0, settledMs };
  };

  const put = ({ entry, item }: Claim, next: Item): Promise<boolean> =>
    table.replace(entry.thing, { expected: item.claimId, next });

  /** Tells the table how a claim ended; false: it could not be told. */
  const tell = async (claim: Claim, next: Item): Promise<boolean> => {
    try {
      return await put(claim, next);
    } catch (error) {
      warn('the ending of a claim could not be written: it ends with its lease', {
        thing: claim.entry.thing,
        error: nameOf(error),
      });
      return false;
    }
  };

  return {
    settlingMs,
    claim: async (entry, attempt) => {
      await takeTurn(entry.thing);
      let verdict: Verdict | undefined;
      try {
        verdict = await verdictOn(entry, attempt);
        return verdict;
      } finally {
        if (verdict?.kind !== 'send') endTurn(entry.thing);
      }
    },
    end: async (claim, ending) => {
      const item = after(claim, ending);
      const told = !(ending === 'done' && isSilent(claim)) && (await tell(claim, item));
      remember(claim, { item, claimId: told ? item.claimId : claim.item.claimId });
      endTurn(claim.entry.thing);
    },
    confirm: async (claims) => {
      await Promise.all(claims.filter(isSilent).map((claim) => tell(claim, after(claim, 'done'))));
    },
  };
};
