import { outdatedAfterDays } from '../../message/retention.ts';
import { identityDigest, isSameMessage, thingIn } from './identity.ts';
import type { Field, Item } from './table.ts';

/** A message as the ledger sees it. */
export type Entry = {
  /** The key of the one resource on the platform that the message changes, as in `grade/2001/5001/301`: integrations may share it. */
  resource: string;
  /** What of it the message gives: each field is ordered by itself, so that nobody supersedes what it does not give. */
  fields: readonly string[];
  /** Tells the message and, where it is repeatable, when it happened: by it they sort as the SIS ordered them. */
  version: string;
  /** When the SIS says that it happened. */
  timeMs: number;
  /** SQS' id. */
  messageId: string;
  replays: number;
  /** When somebody who was asked to look for its effect replayed it; undefined: nobody was. */
  decidedMs: number | undefined;
  repeatable: boolean;
  /** By field, of what it is to become; a field may have none. */
  digests: Record<string, string>;
};

export type Judgement =
  /** These fields may be sent, as this version: what their claim takes over from earlier attempts of the message. */
  | {
      kind: 'send';
      fields: string[];
      version: string;
      inherited: Partial<Field>;
      unresolved?: Unresolved;
    }
  | { kind: 'superseded' | 'outdated' | 'crashed' }
  /** `of`: SQS' id of the message that was done, or has claimed what this one wants; undefined: it was this one. */
  | { kind: 'duplicate'; of: string | undefined }
  /** Another attempt on this resource is under way, what it sent may still act, or is to be looked for. */
  | { kind: 'wait'; seconds: number; why: Waiting; rival?: Rival }
  /** The function died on this message or beside it: ask again when nothing else of the batch is under way. */
  | { kind: 'isolate' };

/**
 * `busy`: for the resource. `newer`: to know whether a newer message, which would supersede this one, was done. `copy`: for another SQS
 * message of the same event, which left no outcome and may come back. `look`: until it was looked for what this one may hide.
 */
type Waiting = 'busy' | 'newer' | 'copy' | 'look';

/** The claim in the way: if the platform shows all that it was to change, dated since then, it was done. */
export type Rival = { claimedMs: number; digests: Record<string, string> };

/**
 * An earlier attempt of a message that is not repeatable has left no outcome; `acceptedUnverified`: the platform answered with a success;
 * `decided`: a person says that it had no effect; `refusal`: what the platform said, as JSON; `changedSince`: these fields of the resource
 * were claimed since by what changes them.
 */
export type Unresolved = {
  sinceMs: number;
  acceptedUnverified: boolean;
  decided: boolean;
  refusal: string | undefined;
  changedSince: readonly string[];
};

/** Of the last claim of a message that must not be sent twice, and that nobody has decided on. */
export const unresolvedOf = (
  { attemptedMs, acceptedMs, refusal, version }: Field,
  { fields }: Item,
): Unresolved => ({
  ...{ sinceMs: attemptedMs, acceptedUnverified: acceptedMs > 0, decided: false, refusal },
  changedSince: Object.entries(fields).flatMap(([field, other]) =>
    !other.once && !isSameMessage(other.version, version) && other.claimedMs > attemptedMs ? field : [],
  ),
});

type Context = {
  nowMs: number;
  /** Nothing else of the batch is under way. */
  isolated: boolean;
  /** A claimed message that did not come back for so long was done: its queue would have shown it again. */
  hiddenMs: number;
};

/** The function may die on a message so often. */
const maxCrashes = 3;

export const isTooOld = (timeMs: number, nowMs: number): boolean =>
  timeMs < nowMs - outdatedAfterDays * 24 * 3_600_000;

export const isOutdated = ({ timeMs, decidedMs }: Entry, nowMs: number): boolean =>
  decidedMs === undefined && isTooOld(timeMs, nowMs);

/** What a message meets: all that is known of its resource. */
type Known = {
  item: Item;
  entry: Entry;
  context: Context;
  /** With the time that it gave first: whichever it gives when it comes again, it is no newer. */
  version: string;
  /** It was seen before all that is known of the fields. */
  isSeen: boolean;
};

const knownOf = (item: Item, entry: Entry, context: Context): Known => {
  const own = Object.values(item.fields).find((state) => isOf(state, entry));
  const seen = item.seen[thingIn(entry.fields[0] ?? '')] ?? [];
  return {
    ...{ item, entry, context },
    version: own?.version ?? entry.version,
    isSeen: own === undefined && seen.includes(identityDigest(entry.version)),
  };
};

/** Whether the message itself, whichever time it gives, has made the claim. */
const isOf = (state: Field, { version }: Entry): boolean => isSameMessage(state.version, version);

/** How a field of the resource stands to the message in hand. */
type Standing =
  /** Nothing of it is in the way: nothing is known, an older message is, or a person has overruled a newer one. */
  | 'free'
  /** It is this message's, which was not done: whoever has it in hand goes on. */
  | 'unfinished'
  /** Another SQS message of the same event has claimed it: it was done, or comes back. */
  | 'elsewhere'
  | 'done'
  /** A newer message has claimed it. */
  | 'newer';

type Given = { field: string; state: Field | undefined; standing: Standing };

/**
 * Which fields of a message may be sent, by what is known of its resource: a field that a newer message has set is superseded,
 * one that the same message has set is a duplicate.
 */
export const judge = (item: Item, entry: Entry, context: Context): Judgement => {
  const known = knownOf(item, entry, context);
  const { nowMs } = context;
  const given = entry.fields.map((field): Given => {
    const state = item.fields[field];
    return { field, state, standing: standingOf(state, known) };
  });
  // Only what was done supersedes: until that is known of a newer message, the older one waits.
  const newerDoneMs = Math.max(
    0,
    ...having(given, 'newer').map(({ state }) => presumedDoneMs(state, context)),
  );
  if (newerDoneMs > nowMs) return waitFor(newerDoneMs, 'newer', known);
  if (having(given, 'free', 'unfinished').length === 0) return nothingToSend(given, known);

  // All fields that are not done are sent together: two copies of the message must not send one part each.
  const toSend = having(given, 'free', 'unfinished', 'elsewhere');
  if (isOutdated(entry, nowMs) && toSend.some(({ state }) => state === undefined))
    return { kind: 'outdated' };
  const freeMs = busyUntilMs(known);
  if (freeMs > nowMs) return waitFor(freeMs, 'busy', known);
  const lookedMs = entry.repeatable ? heldUntilMs(item.fields, context.hiddenMs) : 0;
  if (lookedMs > nowMs) return waitFor(lookedMs, 'look', known);
  const fields = toSend.map(({ field }) => field);
  const [before] = having(toSend, 'unfinished', 'elsewhere');
  return before?.state === undefined
    ? { kind: 'send', fields, version: known.version, inherited: {} }
    : judgeAgain(before.state, fields, known);
};

const having = (given: readonly Given[], ...standings: Standing[]): Given[] =>
  given.filter(({ standing }) => standings.includes(standing));

const standingOf = (state: Field | undefined, known: Known): Standing => {
  if (state === undefined) return 'free';
  if (isOf(state, known.entry)) return ownStanding(state, known);
  const isNewer = known.isSeen || isLater(state.version, known.version);
  return isNewer && !isOverruled(state, known) ? 'newer' : 'free';
};

/** As DynamoDB compares texts. */
export const isLater = (version: string, other: string): boolean =>
  Buffer.compare(Buffer.from(version), Buffer.from(other)) > 0;

/** Of a field that the same message has claimed. */
const ownStanding = (state: Field, { entry, context }: Known): Standing => {
  if (state.outcome === 'done') return 'done';
  const isOwn =
    isReplayOf(state, entry) ||
    state.messageId === entry.messageId ||
    // Nothing of it had an effect.
    state.outcome === 'undone' ||
    (isOpen(state, entry) && goneMs(state, entry, context) <= context.nowMs);
  return isOwn ? 'unfinished' : 'elsewhere';
};

/** A person has looked at what the platform holds, after the grace period of all that the newer message sent. */
const isOverruled = ({ outcome, claimedMs }: Field, { item, entry }: Known): boolean =>
  (outcome === 'unknown' || outcome === 'undone') &&
  (entry.decidedMs ?? 0) > Math.max(claimedMs, item.graceEndsMs - 1);

/** The message has made the last claim. */
const isLast = ({ item, entry }: Known): boolean => {
  const last = item.fields[item.last];
  return last !== undefined && isOf(last, entry);
};

const nothingToSend = (given: readonly Given[], known: Known): Judgement => {
  const { item, entry, context } = known;
  // Another SQS message of it is at work, which may end as undone: until that is known, this one must stay.
  const endsMs = isLast(known) ? item.leaseMs : 0;
  if (endsMs > context.nowMs) return waitFor(endsMs, 'busy', known);
  const elsewhere = having(given, 'elsewhere');
  const othersGoneMs = Math.max(0, ...elsewhere.map(({ state }) => goneMs(state, entry, context)));
  if (othersGoneMs > context.nowMs) return waitFor(othersGoneMs, 'copy', known);
  if (having(given, 'newer').length === given.length) return { kind: 'superseded' };
  const other = having(given, 'done', 'elsewhere').find(({ state }) => state?.messageId !== entry.messageId);
  return { kind: 'duplicate', of: other?.state?.messageId };
};

/** The same call does no harm beside one that may still act; one of another message could be overtaken by it. */
const busyUntilMs = (known: Known): number =>
  isLast(known) && known.entry.repeatable ? known.item.leaseMs : known.item.graceEndsMs;

/**
 * Until when it is looked for what was created here, and left no outcome. Whatever is changed before may hide it, as another name does:
 * it would be created again. After that its message is a letter, or gone.
 */
export const heldUntilMs = (fields: Item['fields'], hiddenMs: number): number =>
  Math.max(
    0,
    ...Object.values(fields).map(({ once, outcome, claimedMs }) =>
      once && (outcome === 'claimed' || outcome === 'unknown') ? claimedMs + hiddenMs : 0,
    ),
  );

/**
 * Whether it is certain that a claim of the same message was not seen to be done: its outcome is unknown, or it has died, as a success
 * that is not repeatable is always written down. That is no duplicate, whoever brings the message once more.
 */
const isOpen = ({ outcome }: Field, { repeatable }: Entry): boolean =>
  outcome === 'unknown' || (outcome === 'claimed' && !repeatable);

/** When the SQS message of such a claim counts as a letter or gone, as its queue would have shown it again; 0: it may be done. */
const goneMs = (state: Field | undefined, entry: Entry, { hiddenMs }: Context): number =>
  state && isOpen(state, entry) ? state.claimedMs + hiddenMs : 0;

const isReplayOf = (state: Field, entry: Entry): boolean => entry.replays > state.replays;

/** The fields of a message that was claimed by this very SQS message, and has come back: its attempt has died. */
export const lapsedFields = (item: Item, entry: Entry, nowMs: number): string[] =>
  item.leaseMs > nowMs
    ? []
    : entry.fields.filter((field) => {
        const state = item.fields[field];
        return state?.outcome === 'claimed' && isOf(state, entry) && state.messageId === entry.messageId;
      });

/** When a claim is presumed done, unless its message comes back before. */
const presumedDoneMs = (state: Field | undefined, { hiddenMs }: Context): number => {
  if (state === undefined || state.outcome === 'done') return 0;
  return state.outcome === 'claimed' ? state.claimedMs + hiddenMs : Number.POSITIVE_INFINITY;
};

/** A newer message without an outcome waits itself, for as long at most, or is a letter that waits for somebody. */
const askAgainSeconds = 1_800;

const waitFor = (untilMs: number, why: Waiting, { item, entry, context: { nowMs } }: Known): Judgement => {
  const rival = rivalIn(item, entry);
  const seconds = Number.isFinite(untilMs) ? Math.ceil((untilMs - nowMs) / 1000) : askAgainSeconds;
  return { kind: 'wait', why, seconds, ...(rival && { rival }) };
};

/**
 * Undefined where seeing the effect would prove nothing: a claim that repeats an earlier attempt, whose call may still be on its
 * way, and a claim that sets the same value as the one before it, whose effect looks the same.
 */
const rivalIn = ({ fields, last }: Item, entry: Entry): Rival | undefined => {
  const claim = fields[last];
  if (claim === undefined || claim.outcome !== 'claimed' || claim.attemptedMs !== claim.claimedMs)
    return undefined;
  if (isOf(claim, entry)) return undefined;
  const own = Object.entries(fields).filter(
    ([, { version, claimedMs }]) => version === claim.version && claimedMs === claim.claimedMs,
  );
  if (own.every(([, { repeats }]) => repeats)) return undefined;
  const digests = own.flatMap(([field, { digest }]) => (digest === undefined ? [] : [[field, digest]]));
  return digests.length === own.length
    ? { claimedMs: claim.claimedMs, digests: Object.fromEntries(digests) }
    : undefined;
};

/** Of a message that has been claimed before, and is not known to be done. */
const judgeAgain = (state: Field, fields: string[], known: Known): Judgement => {
  const { item, entry, context, version } = known;
  const { attemptedMs, outcome } = state;
  const isReplay = isReplayOf(state, entry);
  const died = outcome === 'claimed' && !isReplay;
  const crashes = isReplay ? 0 : state.crashes + (died ? 1 : 0);
  if (crashes >= maxCrashes) return { kind: 'crashed' };
  if (crashes > 0 && !context.isolated) return { kind: 'isolate' };
  const decided = isReplay && (entry.decidedMs ?? 0) >= item.graceEndsMs;
  // Whoever has looked knows more than the platform's success told.
  const acceptedMs = decided ? 0 : state.acceptedMs;
  const inherited = { attemptedMs, acceptedMs, crashes, refusal: state.refusal };
  if (entry.repeatable || outcome === 'undone') return { kind: 'send', fields, version, inherited };
  const unresolved = { ...unresolvedOf({ ...state, acceptedMs }, item), decided };
  return { kind: 'send', fields, version, inherited, unresolved };
};
