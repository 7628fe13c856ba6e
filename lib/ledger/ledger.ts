import { randomUUID } from 'node:crypto';
import { errorName } from '../aws/error.ts';
import {
  type Entry,
  isOutdated,
  type Judgement,
  judge,
  lapsedFields,
  type Rival,
  type Unresolved,
} from './rules.ts';
import { type Field, type Item, type LedgerTable, memoryDays } from './table.ts';

export type { Entry, Rival, Unresolved } from './rules.ts';

/** The right to send: what the table says meanwhile, and what it said before. */
export type Claim = { entry: Entry; fields: readonly string[]; item: Item; before: Item };

type Wait = Extract<Judgement, { kind: 'wait' }>;

export type Verdict =
  | { kind: 'send'; claim: Claim; unresolved?: Unresolved | undefined }
  | { kind: Exclude<Judgement['kind'], 'send' | 'wait'> }
  | (Omit<Wait, 'rival'> & { rival?: SeenRival | undefined });

/** A claim in the way, with what it takes to say that its effect was seen. */
export type SeenRival = Rival & { known: Known };

/**
 * What became of a claim: `undone` where nothing that it sent has acted, `unknown` where something may have, or may yet;
 * `accepted-unverified` where the platform has answered so with a success, and its effect was not seen.
 */
export type Ending = 'done' | 'undone' | 'unknown' | 'accepted-unverified';

/** `leaseMs`: after so long it will have ended, one way or the other. */
export type Attempt = { leaseMs: number; isolated: boolean };

export type Ledger = {
  /** @throws where the table cannot be read or written: then nothing may be sent. */
  claim(entry: Entry, attempt: Attempt): Promise<Verdict>;
  /**
   * Never throws. False where the ending could not be written: others take the claim for a success once its message has not
   * come back for as long as its queue hides it, so that the message must stay there as it is.
   */
  end(claim: Claim, ending: Ending, refusal?: string): Promise<boolean>;
  /** Writes down the successes that `end` only remembered, before something starts that may take the function down. */
  confirm(claims: Claim[]): Promise<void>;
  /** The platform shows what a rival was to do: it is known for done. */
  seen(resource: string, rival: SeenRival): void;
  graceMs: number;
};

export type LedgerOptions = {
  table: LedgerTable;
  /** How long after an unanswered call the platform may still carry it out, in milliseconds. */
  graceMs: number;
  /** After so long a claimed message that its queue has not shown again was done, in milliseconds. */
  hiddenMs: number;
  warn(text: string, facts: Record<string, string>): void;
  nowMs(): number;
};

/** Of so many resources it is remembered how their last claims ended, so that their leases need not be waited for. */
const maxRemembered = 10_000;

const nothingKnown = (claimId: string): Item => ({
  claimId,
  leaseMs: 0,
  graceEndsMs: 0,
  last: '',
  fields: {},
});

/** Whose success needs no write: sent again it would do no harm, and no crash is read from it. */
const isSilent = ({ entry, item, fields }: Claim): boolean =>
  entry.repeatable && fields.every((field) => item.fields[field]?.crashes === 0);

/** What is known of a resource, and the claim that stands for it on the table. `partial`: of the claim's own fields alone. */
type Known = { item: Item; claimId: string; partial?: true };

/**
 * What was done to each resource on the platform, and by which message: one write for a repeatable success, two for any
 * other attempt.
 */
export const createLedger = ({ table, graceMs, hiddenMs, warn, nowMs }: LedgerOptions): Ledger => {
  /** By resource: how its last attempt in this container ended, whether or not the table was told. */
  const ended = new Map<string, Known>();
  /** Within this container, messages about the same resource take turns, instead of waiting for each other's leases. */
  const turns = new Map<string, PromiseWithResolvers<void>>();

  const takeTurn = async (resource: string): Promise<void> => {
    for (let before = turns.get(resource); before; before = turns.get(resource)) await before.promise;
    turns.set(resource, Promise.withResolvers());
  };
  const endTurn = (resource: string): void => {
    turns.get(resource)?.resolve();
    turns.delete(resource);
  };

  /** The item as a claim of these fields makes it. */
  const claimed = (
    entry: Entry,
    fields: readonly string[],
    { attempt, before, inherited }: { attempt: Attempt; before: Item; inherited: Partial<Field> },
  ): Item => {
    // A claim that repeats an earlier attempt is later than that, and so told from it.
    const claimedMs = Math.max(nowMs(), (inherited.attemptedMs ?? 0) + 1);
    const { version, messageId, replays, digests } = entry;
    const own = fields.map((field): [string, Field] => [
      field,
      {
        ...{ version, messageId, replays, outcome: 'claimed', claimedMs, attemptedMs: claimedMs },
        ...{ acceptedMs: 0, crashes: 0, ...inherited },
        ...(digests[field] !== undefined && { digest: digests[field] }),
        ...(digests[field] !== undefined &&
          digests[field] === before.fields[field]?.digest && { repeats: true as const }),
      },
    ]);
    return {
      claimId: randomUUID(),
      leaseMs: claimedMs + attempt.leaseMs,
      graceEndsMs: claimedMs + attempt.leaseMs + graceMs,
      last: fields[0] ?? '',
      fields: { ...before.fields, ...Object.fromEntries(own) },
    };
  };

  const verdictOn = async (entry: Entry, attempt: Attempt): Promise<Verdict> => {
    const { resource, fields } = entry;
    const last = ended.get(resource);
    // From what was done here the next message goes on at once, unless somebody else has come in between.
    if (last?.item.fields[last.item.last]?.outcome === 'done') {
      // Of what others have claimed, only the table tells whether it was done.
      const verdict = await goOn(last, entry, { ...attempt, presumedMs: Number.POSITIVE_INFINITY });
      if (verdict.kind !== 'wait') return verdict;
    }
    const mustBeKnown = isOutdated(entry, nowMs());
    const item = claimed(entry, fields, { attempt, before: nothingKnown(''), inherited: {} });
    const untold: Claim = { entry, fields, item, before: undone({ item, fields }) };
    const { won, item: found } = await orUndo(untold, () => table.claim(resource, item, { mustBeKnown }), {
      partial: true,
    });
    if (won) {
      const before = found ?? nothingKnown(item.claimId);
      const now = { ...item, fields: { ...before.fields, ...item.fields } };
      return { kind: 'send', claim: { entry, fields, item: now, before } };
    }
    // The SDK sends a write again whose answer got lost: what is in the way of the second is then the first.
    if (found?.claimId === item.claimId)
      return {
        kind: 'send',
        claim: { entry, fields, item: found, before: undone({ item: found, fields }) },
      };
    if (found === undefined && mustBeKnown) return { kind: 'outdated' };
    // Gone in between: it has expired, and the next receipt will find nothing in its way.
    if (found === undefined) return { kind: 'wait', seconds: 1, why: 'busy' };
    return goOn(knownOf(found, last), entry, attempt);
  };

  /** The same claim, of which this container knows more. */
  const knownOf = (found: Item, last: Known | undefined): Known => {
    if (last?.claimId !== found.claimId) return { item: found, claimId: found.claimId };
    if (!last.partial) return last;
    return { ...last, item: { ...last.item, fields: { ...found.fields, ...last.item.fields } } };
  };

  /** Does as the rules say, and takes the place of what was known, unless somebody else was quicker. */
  const goOn = async (
    known: Known,
    entry: Entry,
    attempt: Attempt & { presumedMs?: number },
  ): Promise<Verdict> => {
    const { isolated, presumedMs = hiddenMs } = attempt;
    const judgement = judge(known.item, entry, { nowMs: nowMs(), isolated, hiddenMs: presumedMs });
    if (judgement.kind !== 'send' && !(await tellReturn(known, entry))) return overtaken;
    if (judgement.kind === 'wait') {
      const { rival, ...wait } = judgement;
      return rival ? { ...wait, rival: { ...rival, known } } : wait;
    }
    if (judgement.kind !== 'send') return judgement;
    const { fields, inherited, unresolved } = judgement;
    const item = claimed(entry, fields, { attempt, before: known.item, inherited });
    // What an earlier attempt of the same message did that left no outcome is unknown, however this one ends.
    const again = fields.filter((field) => {
      const state = known.item.fields[field];
      return state?.version === entry.version && state.outcome === 'claimed';
    });
    const { crashes = 0 } = inherited;
    const before = withOutcome({ item: known.item, fields: again }, 'unknown', { crashes });
    const claim = { entry, fields, item, before };
    // Where the claim itself fails, nothing was tried, and what was known stands.
    const won = await orUndo({ ...claim, before: known.item }, () => replace(entry.resource, known, item));
    return won ? { kind: 'send', claim, unresolved } : overtaken;
  };

  /** It has come back, so that what it has claimed is not done: nobody must take it for that, whatever happens next. */
  const tellReturn = async (known: Known, entry: Entry): Promise<boolean> => {
    const fields = lapsedFields(known.item, entry, nowMs());
    const crashes = 1 + (known.item.fields[fields[0] ?? '']?.crashes ?? 0);
    if (fields.length === 0) return true;
    const next = withOutcome({ item: known.item, fields }, 'unknown', { crashes });
    return replace(entry.resource, known, { ...next, claimId: randomUUID() });
  };

  const replace = (resource: string, { item, claimId }: Known, next: Item): Promise<boolean> =>
    table.replace(resource, { expected: { ...item, claimId }, next });

  /** A write that failed may have been carried out all the same: a claim left behind would count as a crash. */
  const orUndo = async <Answer>(
    claim: Claim,
    write: () => Promise<Answer>,
    known: { partial?: true } = {},
  ): Promise<Answer> => {
    try {
      return await write();
    } catch (error) {
      const { resource } = claim.entry;
      if (!ended.has(resource))
        remember(resource, { item: claim.before, claimId: claim.item.claimId, ...known });
      await put(claim, claim.before, known).catch(() => false);
      throw error;
    }
  };

  const remember = (resource: string, known: Known): void => {
    ended.delete(resource);
    ended.set(resource, known);
    const [oldest] = ended.keys();
    if (ended.size > maxRemembered && oldest !== undefined) ended.delete(oldest);
  };

  const after = (claim: Claim, ending: Ending, refusal?: string): Item => {
    const { before } = claim;
    if (ending === 'undone') return before;
    // What an earlier attempt has sent is not proved over by the success of a later one.
    const graceEndsMs = ending === 'done' ? before.graceEndsMs : nowMs() + graceMs;
    const accepted = ending === 'accepted-unverified' && { acceptedMs: nowMs() };
    const more = { ...accepted, ...(refusal !== undefined && { refusal }) };
    const ended = withOutcome(claim, ending === 'accepted-unverified' ? 'unknown' : ending, more);
    return { ...ended, fields: remembered(ended.fields), leaseMs: 0, graceEndsMs };
  };

  /** A resource with many fields would grow for ever, as each claim keeps the whole of it from expiring. */
  const remembered = (fields: Item['fields']): Item['fields'] => {
    const sinceMs = nowMs() - memoryDays * 24 * 3_600_000;
    return Object.fromEntries(Object.entries(fields).filter(([, { claimedMs }]) => claimedMs > sinceMs));
  };

  const put = ({ entry, item }: Claim, next: Item, more: { partial?: true } = {}): Promise<boolean> =>
    table.replace(entry.resource, { expected: item, next, ...more });

  /** Tells the table how a claim ended; false: it could not be told. */
  const tell = async (claim: Claim, next: Item): Promise<boolean> => {
    try {
      return await put(claim, next);
    } catch (error) {
      warn('the ending of a claim could not be written: it ends with its lease', {
        resource: claim.entry.resource,
        error: errorName(error),
      });
      return false;
    }
  };

  return {
    graceMs,
    claim: async (entry, attempt) => {
      await takeTurn(entry.resource);
      let verdict: Verdict | undefined;
      try {
        verdict = await verdictOn(entry, attempt);
        return verdict;
      } finally {
        if (verdict?.kind !== 'send') endTurn(entry.resource);
      }
    },
    end: async (claim, ending, refusal) => {
      const item = after(claim, ending, refusal);
      const silent = ending === 'done' && isSilent(claim);
      const told = !silent && (await tell(claim, item));
      const { resource } = claim.entry;
      remember(resource, { item, claimId: told ? item.claimId : claim.item.claimId });
      endTurn(resource);
      return silent || told;
    },
    confirm: async (claims) => {
      await Promise.all(claims.filter(isSilent).map((claim) => tell(claim, after(claim, 'done'))));
    },
    seen: (resource, { known: { item, claimId }, digests }) => {
      const done = withOutcome({ item, fields: Object.keys(digests) }, 'done');
      remember(resource, { item: { ...done, leaseMs: 0, graceEndsMs: 0 }, claimId });
    },
  };
};

const overtaken = { kind: 'wait', seconds: 1, why: 'busy' } as const;

/** Before a claim whose answer got lost: that nothing acts any more, and not what stood in these fields. */
const undone = (claim: { item: Item; fields: readonly string[] }): Item => ({
  ...withOutcome(claim, 'undone'),
  leaseMs: 0,
  graceEndsMs: 0,
});

/** The item with another ending of these fields' claims. */
const withOutcome = (
  { item, fields }: { item: Item; fields: readonly string[] },
  outcome: Field['outcome'],
  more: Partial<Field> = {},
): Item => {
  const changed = fields.flatMap((field): [string, Field][] => {
    const state = item.fields[field];
    return state === undefined ? [] : [[field, { ...state, ...more, outcome }]];
  });
  return { ...item, fields: { ...item.fields, ...Object.fromEntries(changed) } };
};
