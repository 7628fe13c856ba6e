import { randomUUID } from 'node:crypto';
import { memoryDays } from '../../message/retention.ts';
import { errorName } from '../../runtime/aws/error.ts';
import { identityDigest, isSameMessage, remembering, thingIn } from './identity.ts';
import { overfills, withRoom } from './room.ts';
import {
  type Entry,
  hasFailed,
  heldUntilMs,
  isLater,
  isOutdated,
  type Judgement,
  judge,
  lapsedFields,
  presumedDone,
  type Rival,
  standingIn,
  type Unresolved,
} from './rules.ts';
import type { Field, Item, LedgerTable } from './table.ts';

export type { Entry, Rival, Unresolved } from './rules.ts';

/** The right to send: the item that the claim wrote, and the item that it replaced. */
export type Claim = { entry: Entry; fields: readonly string[]; item: Item; before: Item };

type Wait = Extract<Judgement, { kind: 'wait' }>;

export type Verdict =
  | { kind: 'send'; claim: Claim; unresolved?: Unresolved | undefined }
  | Exclude<Judgement, { kind: 'send' | 'wait' }>
  /** The item of the resource has no room for another claim. */
  | Full
  | (Omit<Wait, 'rival'> & { rival?: SeenRival | undefined });

/** Number of remembered changes of the resource, and how many of them have no outcome. */
export type Full = { kind: 'full'; fields: number; open: number };

/** A claim in the way, and the known state of its resource, which `seen` needs. */
export type SeenRival = Rival & { known: Known };

/**
 * How a claim ended. `undone`: nothing that it sent had an effect. `unknown`: something may have had one, or may yet.
 * `accepted-unverified`: the platform answered with a success, but does not show the effect.
 */
export type Ending = 'done' | 'undone' | 'unknown' | 'accepted-unverified';

/** `leaseMs`: the attempt ends within it. `isolated`: no other message of the batch is being processed. */
export type ClaimOptions = { leaseMs: number; isolated: boolean };

export type Ledger = {
  /**
   * Call this for a message that SQS has delivered before. If its claim stands, the message was not done; this records it, so that
   * no other attempt presumes it done while it waits for its turn to call the platform. True: the function died while it processed
   * this message or one beside it.
   * @throws if the table cannot be read or written.
   */
  returned(entry: Entry): Promise<boolean>;
  /** @throws if the table cannot be read or written: then nothing may be sent. */
  claim(entry: Entry, options: ClaimOptions): Promise<Verdict>;
  /**
   * Never throws. False if the ending could not be written: then the message must stay on its queue unchanged, because others
   * presume it done if its queue has not delivered it again for `hiddenMs`.
   */
  end(claim: Claim, ending: Ending, refusal?: string): Promise<boolean>;
  /** Writes the successes that `end` only remembered, before anything starts that may kill the function. */
  confirm(claims: Claim[]): Promise<void>;
  /** Remembers that a rival was done, as the platform shows. */
  seen(resource: string, rival: SeenRival): void;
  graceMs: number;
};

export type LedgerOptions = {
  table: LedgerTable;
  /** Time in milliseconds during which the platform may still carry out an unanswered call. */
  graceMs: number;
  /** A claimed message that its queue has not delivered again for this time is presumed done, in milliseconds. */
  hiddenMs: number;
  /**
   * Those of these SQS messages that are known to have become letters, or to wait and to be due since then. A message that comes back
   * tells the ledger so, but cannot if what its ids of the SIS stood for is no longer known. @throws if it cannot be read.
   */
  openOf?: ((messages: readonly string[], dueSinceMs: number) => Promise<ReadonlySet<string>>) | undefined;
  warn(text: string, facts: Record<string, string>): void;
  nowMs(): number;
};

/** Number of resources whose last ending is remembered: messages in this container need not wait for those leases. */
const maxRemembered = 10_000;

/** Other containers may write each time; without an end this would take the whole invocation. */
const maxReads = 20;

const nothingKnown = (claimId: string): Item => ({
  claimId,
  leaseMs: 0,
  graceEndsMs: 0,
  heldMs: 0,
  last: '',
  fields: {},
  seen: {},
});

/** Whether a success needs no write: sending it again does no harm, and it ends no series of crashes. */
const isSilent = ({ entry, item }: Claim): boolean =>
  entry.repeatable && item.fields[item.last]?.crashes === 0;

/** What a claim is made from; `inherited`: what it takes over from earlier attempts of the message. */
type Claiming = { options: ClaimOptions; before: Item; version: string; inherited: Partial<Field> };

/** The known state of a resource, and the claim that stands in the table. `partial`: only the claim's own fields are known. */
type Known = { item: Item; claimId: string; partial?: true };

/**
 * Records what was done to each resource on the platform, and by which message. A repeatable success costs one write, any other
 * attempt two.
 */
export const createLedger = ({ table, graceMs, hiddenMs, openOf, warn, nowMs }: LedgerOptions): Ledger => {
  /** By resource: how its last attempt in this container ended, even if that was not written. */
  const ended = new Map<string, Known>();
  /** Within this container, messages about the same resource take turns instead of waiting for each other's leases. */
  const turns = new Map<string, PromiseWithResolvers<void>>();

  const takeTurn = async (resource: string): Promise<void> => {
    for (let before = turns.get(resource); before; before = turns.get(resource)) await before.promise;
    turns.set(resource, Promise.withResolvers());
  };
  const endTurn = (resource: string): void => {
    turns.get(resource)?.resolve();
    turns.delete(resource);
  };

  const claimed = (
    entry: Entry,
    fields: readonly string[],
    { options, before, version, inherited }: Claiming,
  ): Item => {
    // Strictly later than the attempt that it repeats: rules.ts recognizes a repeated claim by that.
    const claimedMs = Math.max(nowMs(), (inherited.attemptedMs ?? 0) + 1);
    const { messageId, replays, digests } = entry;
    const own = fields.map((field): [string, Field] => {
      const digest = digests[field];
      const replaced = before.fields[field];
      const repeats = digest === replaced?.digest && { repeats: true as const };
      return [
        field,
        {
          ...{ version, messageId, replays, outcome: 'claimed', claimedMs, attemptedMs: claimedMs },
          ...{ acceptedMs: 0, crashes: 0, ...inherited },
          ...(digest !== undefined && { digest, ...repeats }),
          ...(!entry.repeatable && { once: true }),
          ...(replaced && hasFailed(replaced) && { stands: replaced.stands }),
        },
      ];
    });
    return held({
      claimId: newClaimId(),
      leaseMs: claimedMs + options.leaseMs,
      graceEndsMs: claimedMs + options.leaseMs + graceMs,
      last: fields[0] ?? '',
      fields: { ...before.fields, ...Object.fromEntries(own) },
      seen: seenWith(entry, fields, { before, version }),
    });
  };

  const held = (item: Omit<Item, 'heldMs'>): Item => ({
    ...item,
    heldMs: heldUntilMs(item.fields, hiddenMs),
  });

  /** A message that must not be sent twice is remembered by a field of its own. */
  const seenWith = (
    { repeatable }: Entry,
    fields: readonly string[],
    { before, version }: Pick<Claiming, 'before' | 'version'>,
  ): Item['seen'] => {
    const [field] = fields;
    if (!repeatable || field === undefined) return before.seen;
    // If a person has put an older message over a newer one, it is unknown which earlier messages are older than it.
    const isOverruling = fields.some((each) => {
      const state = before.fields[each];
      return state && !isSameMessage(state.version, version) && isLater(state.version, version);
    });
    const thing = thingIn(field);
    const earlier = isOverruling ? [] : before.seen[thing];
    return { ...before.seen, [thing]: remembering(identityDigest(version), earlier) };
  };

  const verdictOn = async (entry: Entry, options: ClaimOptions): Promise<Verdict> => {
    const { resource, fields } = entry;
    const last = ended.get(resource);
    // After a success in this container the next message continues at once, unless another container has claimed the resource
    // since.
    if (last?.item.fields[last.item.last]?.outcome === 'done') {
      // Fields that others have claimed are not presumed done here: only the table knows.
      const verdict = await goOn(last, entry, { ...options, presumedMs: Number.POSITIVE_INFINITY });
      if (verdict.kind !== 'wait') return verdict;
    }
    const mustBeKnown = isOutdated(entry, nowMs());
    const { version } = entry;
    const item = claimed(entry, fields, { options, before: nothingKnown(''), version, inherited: {} });
    const proposed: Claim = { entry, fields, item, before: undone({ item, fields }) };
    const { won, item: found } = await orUndo(proposed, () => table.claim(resource, item, { mustBeKnown }), {
      partial: true,
    });
    if (won) {
      const before = found ?? nothingKnown(item.claimId);
      const now = {
        ...item,
        fields: { ...before.fields, ...item.fields },
        seen: seenWith(entry, fields, { before, version }),
      };
      const claim = { entry, fields, item: now, before };
      const isVain = fields.some((field) => isNoLater(now.fields[field], before.fields[field]));
      if (!isVain && !overfills(now, before)) return { kind: 'send', claim };
      // DynamoDB compares the written values, not what an older version of sis-relay meant by them, and it counts no bytes.
      const left = { ...before, claimId: newClaimId() };
      const isBack = await orUndo(claim, () => replace(resource, { item, claimId: item.claimId }, left));
      return isBack ? goOn({ item: left, claimId: left.claimId }, entry, options) : overtaken;
    }
    // A write whose answer was lost is sent again: then the first write blocks the second.
    if (found?.claimId === item.claimId)
      return {
        kind: 'send',
        claim: { entry, fields, item: found, before: undone({ item: found, fields }) },
      };
    if (found === undefined && mustBeKnown) return { kind: 'outdated' };
    // It expired before the answer arrived: the next receipt finds nothing in its way.
    if (found === undefined) return { kind: 'wait', seconds: 1, why: 'busy' };
    return goOn(knownOf(found, last), entry, options);
  };

  /** What was read, or what this container knows beyond it, if both belong to the same claim. */
  const knownOf = (found: Item, last: Known | undefined): Known => {
    if (last?.claimId !== found.claimId) return { item: found, claimId: found.claimId };
    if (!last.partial) return last;
    const { seen } = found;
    return { ...last, item: { ...last.item, fields: { ...found.fields, ...last.item.fields }, seen } };
  };

  const openFields = async (presumed: Map<string, string>): Promise<string[]> => {
    const open = presumed.size > 0 ? await openOf?.([...presumed.values()], nowMs() - hiddenMs) : undefined;
    return [...presumed].flatMap(([field, messageId]) => (open?.has(messageId) ? field : []));
  };

  /** Applies the rules and replaces the known claim, unless another container was faster. */
  const goOn = async (
    known: Known,
    entry: Entry,
    options: ClaimOptions & { presumedMs?: number },
  ): Promise<Verdict> => {
    const { isolated, presumedMs = hiddenMs } = options;
    const context = { nowMs: nowMs(), isolated, hiddenMs: presumedMs };
    const judgement = judge(known.item, entry, context);
    const open = judgement.kind === 'wait' ? [] : await openFields(presumedDone(known.item, entry, context));
    if (open.length > 0) {
      const item = { ...withOutcome({ item: known.item, fields: open }, 'unknown'), claimId: newClaimId() };
      const isWritten = await replace(entry.resource, known, item);
      return isWritten ? goOn({ item, claimId: item.claimId }, entry, options) : overtaken;
    }
    if (judgement.kind !== 'send' && !(await recordReturn(known, entry))) return overtaken;
    if (judgement.kind === 'wait') {
      const { rival, ...wait } = judgement;
      return rival ? { ...wait, rival: { ...rival, known } } : wait;
    }
    if (judgement.kind !== 'send') return judgement;
    const { fields, version, inherited, unresolved } = judgement;
    const room = roomFor(known.item, entry, (before) =>
      claimed(entry, fields, { options, before, version, inherited }),
    );
    if ('kind' in room) return room;
    const { item, before: left } = room;
    // An earlier attempt of the same message that left no outcome stays unknown, however this one ends.
    const again = fields.filter((field) => {
      const state = left.fields[field];
      return state?.outcome === 'claimed' && isSameMessage(state.version, entry.version);
    });
    const { crashes = 0 } = inherited;
    const before = withOutcome({ item: left, fields: again }, 'unknown', () => ({ crashes }));
    const claim = { entry, fields, item, before };
    // If the claim itself cannot be written, nothing was tried, and the earlier state stands.
    const won = await orUndo({ ...claim, before: known.item }, () => replace(entry.resource, known, item));
    return won ? { kind: 'send', claim, unresolved } : overtaken;
  };

  /**
   * A message that comes back was not done. This writes that down, so that it is never presumed done. False: another container has
   * written since.
   */
  const recordReturn = async (known: Known, entry: Entry): Promise<boolean> => {
    const done = doneHere(known, entry);
    const fields = lapsedFields(known.item, entry, nowMs()).filter((field) => !done.includes(field));
    const crashes = 1 + (known.item.fields[fields[0] ?? '']?.crashes ?? 0);
    if (fields.length + done.length === 0) return true;
    // Dated now: that its queue delivers it shows that it is still active, which another copy of it waits for.
    const returned = withOutcome({ item: known.item, fields }, 'unknown', () => ({
      crashes,
      claimedMs: nowMs(),
    }));
    const next = withOutcome({ item: returned, fields: done }, 'done');
    return replace(entry.resource, known, { ...next, claimId: newClaimId() });
  };

  /** Fields in which another copy of the message has left no outcome, while this container knows that it was done before. */
  const doneHere = ({ item }: Known, entry: Entry): string[] => {
    const here = ended.get(entry.resource)?.item.fields ?? {};
    const isOwn = (state: Field | undefined): state is Field =>
      state !== undefined && isSameMessage(state.version, entry.version);
    return entry.fields.filter((field) => {
      const [there, known] = [item.fields[field], here[field]];
      const isOpen = isOwn(there) && there.outcome !== 'done' && item.leaseMs <= nowMs();
      return isOpen && isOwn(known) && known.outcome === 'done';
    });
  };

  /**
   * The item with the claim. If it has no room, fields older than the memory are removed; if a person has checked what the platform
   * holds, the oldest ones as well.
   */
  const roomFor = (
    known: Item,
    { fields, decidedMs }: Entry,
    claim: (before: Item) => Item,
  ): { item: Item; before: Item } | Full => {
    const item = claim(known);
    if (!overfills(item, known)) return { item, before: known };
    const young = remembered(known);
    const left =
      decidedMs === undefined
        ? young
        : remembered(withRoom(young, { keeping: fields, beforeMs: nowMs() - hiddenMs }));
    const smaller = claim(left);
    if (!overfills(smaller, left)) return { item: smaller, before: left };
    const states = Object.values(known.fields);
    const open = states.filter(({ once, outcome }) => once && outcome !== 'done' && outcome !== 'undone');
    return { kind: 'full', fields: states.length, open: open.length };
  };

  const replace = (resource: string, { item, claimId }: Known, next: Item): Promise<boolean> =>
    table.replace(resource, { expected: { ...item, claimId }, next: held(next) });

  /** A failed write may have had its effect: a claim that it left behind would count as a crash. */
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
      await put(claim, claim.before, known).catch(() => {});
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
    // The success of a later attempt does not end the grace period of an earlier one.
    const graceEndsMs = ending === 'done' ? before.graceEndsMs : nowMs() + graceMs;
    const accepted = ending === 'accepted-unverified' && { acceptedMs: nowMs() };
    // Only what must not be sent twice is looked up, and needs the platform's words for its report.
    const isAsked = refusal !== undefined && !claim.entry.repeatable;
    const more = { ...accepted, ...(isAsked && { refusal }) };
    const outcome = ending === 'accepted-unverified' ? 'unknown' : ending;
    const ended = withOutcome(claim, outcome, (field) => ({
      ...more,
      stands: outcome === 'done' ? undefined : standingIn(before.fields[field]),
    }));
    return { ...remembered(ended), leaseMs: 0, graceEndsMs };
  };

  /** Without fields too old to matter: each claim keeps the whole item from expiring, so it would grow without bound. */
  const remembered = (item: Item): Item => {
    const sinceMs = nowMs() - memoryDays * 24 * 3_600_000;
    const fields = Object.entries(item.fields).filter(([, { claimedMs }]) => claimedMs > sinceMs);
    const things = new Set(fields.map(([field]) => thingIn(field)));
    const seen = Object.entries(item.seen).filter(([thing]) => things.has(thing));
    return { ...item, fields: Object.fromEntries(fields), seen: Object.fromEntries(seen) };
  };

  const put = ({ entry, item }: Claim, next: Item, more: { partial?: true } = {}): Promise<boolean> =>
    table.replace(entry.resource, { expected: item, next: held(next), ...more });

  /** False: the ending could not be written. */
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
    returned: async (entry) => {
      // An attempt on the same resource that ends meanwhile would write back what it found there.
      await takeTurn(entry.resource);
      try {
        for (let reads = 0; reads < maxReads; reads += 1) {
          const found = await table.read(entry.resource);
          if (found === undefined) return false;
          const known = knownOf(found, ended.get(entry.resource));
          if (await recordReturn(known, entry))
            return judge(known.item, entry, { nowMs: nowMs(), isolated: false, hiddenMs }).kind === 'isolate';
        }
        // The claim that follows tries again.
        return false;
      } finally {
        endTurn(entry.resource);
      }
    },
    claim: async (entry, options) => {
      await takeTurn(entry.resource);
      let verdict: Verdict | undefined;
      try {
        verdict = await verdictOn(entry, options);
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

/** 70 bits in 12 characters: each item has one, and a write is billed by the KiB. */
const newClaimId = (): string =>
  Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url', 7);

/** Whether a claim of a field is not later than the claim that it replaced. */
const isNoLater = (claimed: Field | undefined, before: Field | undefined): boolean =>
  claimed !== undefined && before !== undefined && !isLater(claimed.version, before.version);

/**
 * The state to return to after a claim whose answer was lost: nothing acts any more, and the earlier content of these fields is not
 * known.
 */
const undone = (claim: { item: Item; fields: readonly string[] }): Item => ({
  ...withOutcome(claim, 'undone'),
  leaseMs: 0,
  graceEndsMs: 0,
});

const withOutcome = (
  { item, fields }: { item: Item; fields: readonly string[] },
  outcome: Field['outcome'],
  more: (field: string) => Partial<Field> = () => ({}),
): Item => {
  const changed = Object.entries(item.fields).map(([field, state]): [string, Field] => [
    field,
    fields.includes(field) ? { ...state, ...more(field), outcome } : state,
  ]);
  return { ...item, fields: Object.fromEntries(changed) };
};
