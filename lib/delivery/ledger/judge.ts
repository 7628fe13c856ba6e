import { outdatedAfterDays } from '../../message/retention.ts';
import { identityDigest, isSameMessage, thingIn } from './identity.ts';
import type { Field, Item } from './table.ts';

export type Entry = {
  /**
   * The key of the one resource on the platform that the message changes, as in `grade/2001/5001/301`. Integrations may share it.
   */
  resource: string;
  /**
   * The parts of the resource that the message gives. Each field is ordered separately, so that a message supersedes only what it
   * gives.
   */
  fields: readonly string[];
  /** Identifies the message and, if it is repeatable, its time: versions sort in the SIS' order. */
  version: string;
  /** The event's time, as the SIS gives it. */
  timeMs: number;
  /** SQS' message id. */
  messageId: string;
  replays: number;
  /** When a person replayed it after they were asked to look for its effect; undefined if none was asked. */
  decidedMs: number | undefined;
  repeatable: boolean;
  /** By field, of its intended value; a field may have none. */
  digests: Record<string, string>;
};

export type Judgement =
  /** These fields may be sent, as this version; `inherited` is taken over from earlier attempts of the message. */
  | {
      kind: 'send';
      fields: string[];
      version: string;
      inherited: Partial<Field>;
      unresolved?: Unresolved;
    }
  | { kind: 'superseded' | 'outdated' | 'crashed' }
  /** `of`: SQS' id of the message that was done, or has claimed the same; undefined: it was this message. */
  | { kind: 'duplicate'; of: string | undefined }
  /** Another attempt on this resource is running, or what it sent may still act, or must be looked up. */
  | { kind: 'wait'; seconds: number; why: Waiting; rival?: Rival }
  /** The function died on this message or one beside it: ask again when no other message of the batch is being processed. */
  | { kind: 'isolate' };

/**
 * `busy`: waits for the resource. `newer`: waits until it is known whether a newer message, which would supersede this one, was
 * done. `copy`: waits for another SQS message of the same event, which left no outcome and may come back. `look`: waits until an
 * effect was looked up that this message may hide.
 */
type Waiting = 'busy' | 'newer' | 'copy' | 'look';

/** The claim in the way: it was done if the platform shows all that it was to change, dated since then. */
export type Rival = { claimedMs: number; digests: Record<string, string> };

/**
 * An earlier attempt of a message that is not repeatable has left no outcome. `acceptedUnverified`: the platform answered with a
 * success. `decided`: a person states that it had no effect. `refusal`: the platform's answer, as JSON. `changedSince`: fields of
 * the resource that were claimed since.
 */
export type Unresolved = {
  sinceMs: number;
  acceptedUnverified: boolean;
  decided: boolean;
  refusal: string | undefined;
  changedSince: readonly string[];
};

/** For the last claim of a message that must not be sent twice, and that no person has decided on. */
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
  /** No other message of the batch is being processed. */
  isolated: boolean;
  /** A claimed message that did not come back for this time was done: otherwise its queue would have delivered it again. */
  hiddenMs: number;
};

/** Number of times that the function may die on a message. */
const maxCrashes = 3;

export const isTooOld = (timeMs: number, nowMs: number): boolean =>
  timeMs < nowMs - outdatedAfterDays * 24 * 3_600_000;

export const isOutdated = ({ timeMs, decidedMs }: Entry, nowMs: number): boolean =>
  decidedMs === undefined && isTooOld(timeMs, nowMs);

/** The message, and all that is known of its resource. */
type Known = {
  item: Item;
  entry: Entry;
  context: Context;
  /** Starts with the time that the message gave first: it is no newer if it gives another time later. */
  version: string;
  /** It was seen before anything that is known of the fields. */
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

/** Whether the message itself made the claim, whatever time it gives. */
const isOf = (state: Field, { version }: Entry): boolean => isSameMessage(state.version, version);

/** How a field of the resource relates to the message. */
type Standing =
  /** Nothing is in the way: nothing is known, or an older message has it, or a person has overruled a newer one. */
  | 'free'
  /** This message has claimed it and was not done: the current attempt continues. */
  | 'unfinished'
  /** Another SQS message of the same event has claimed it: that one was done, or comes back. */
  | 'elsewhere'
  | 'done'
  | 'newer';

type Given = { field: string; state: Field | undefined; standing: Standing };

/**
 * Decides which fields of a message may be sent: a field that a newer message has set is superseded, a field that the same message
 * has set is a duplicate.
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

/** The fields in which another SQS message, newer or of the same event, is only presumed done, by its SQS id. */
export const presumedDone = (item: Item, entry: Entry, context: Context): Map<string, string> => {
  const known = knownOf(item, entry, context);
  return new Map(
    entry.fields.flatMap((field) => {
      const state = item.fields[field];
      const isPresumed =
        state?.outcome === 'claimed' && ['newer', 'elsewhere'].includes(standingOf(state, known));
      return isPresumed ? [[field, state.messageId]] : [];
    }),
  );
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

/** For a field that the same message has claimed. */
const ownStanding = (state: Field, { entry, context }: Known): Standing => {
  if (state.outcome === 'done') return 'done';
  const isOwn =
    isReplayOf(state, entry) ||
    state.messageId === entry.messageId ||
    // It had no effect.
    state.outcome === 'undone' ||
    (isOpen(state, entry) && goneMs(state, entry, context) <= context.nowMs);
  return isOwn ? 'unfinished' : 'elsewhere';
};

/** A person has checked what the platform holds, after the grace period of everything that the newer message sent. */
const isOverruled = (state: Field, { item, entry }: Known): boolean =>
  hasFailed(state) && (entry.decidedMs ?? 0) > Math.max(state.claimedMs, item.graceEndsMs - 1);

const isLast = ({ item, entry }: Known): boolean => {
  const last = item.fields[item.last];
  return last !== undefined && isOf(last, entry);
};

const nothingToSend = (given: readonly Given[], known: Known): Judgement => {
  const { item, entry, context } = known;
  // Another SQS message of the same event is being processed, and may end as undone: until that is known, this one must stay.
  const endsMs = isLast(known) ? item.leaseMs : 0;
  if (endsMs > context.nowMs) return waitFor(endsMs, 'busy', known);
  const elsewhere = having(given, 'elsewhere');
  const othersGoneMs = Math.max(0, ...elsewhere.map(({ state }) => goneMs(state, entry, context)));
  if (othersGoneMs > context.nowMs) return waitFor(othersGoneMs, 'copy', known);
  if (having(given, 'newer').length === given.length) return { kind: 'superseded' };
  const other = having(given, 'done', 'elsewhere').find(({ state }) => state?.messageId !== entry.messageId);
  return { kind: 'duplicate', of: other?.state?.messageId };
};

/**
 * Repeating the same call does no harm while an earlier one may still act; the call of another message could be overtaken by it.
 */
const busyUntilMs = (known: Known): number =>
  isLast(known) && known.entry.repeatable ? known.item.leaseMs : known.item.graceEndsMs;

/**
 * The time until which an effect created here, without a known outcome, is looked up. A change before that may hide the effect, as
 * another name does, and it would be created again. Afterwards its message is a letter or gone.
 */
export const heldUntilMs = (fields: Item['fields'], hiddenMs: number): number =>
  Math.max(
    0,
    ...Object.values(fields).map(({ once, outcome, claimedMs }) =>
      once && (outcome === 'claimed' || outcome === 'unknown') ? claimedMs + hiddenMs : 0,
    ),
  );

/**
 * Whether a claim of the same message is certainly not known to be done: its outcome is unknown, or it has died, as a success that
 * is not repeatable is always written. A message with such a claim is no duplicate, even if another SQS message carries it.
 */
const isOpen = ({ outcome }: Field, { repeatable }: Entry): boolean =>
  outcome === 'unknown' || (outcome === 'claimed' && !repeatable);

/**
 * When the SQS message of such a claim counts as a letter or gone, because its queue would have delivered it again; 0: it may be
 * done.
 */
const goneMs = (state: Field | undefined, entry: Entry, { hiddenMs }: Context): number =>
  state && isOpen(state, entry) ? state.claimedMs + hiddenMs : 0;

const isReplayOf = (state: Field, entry: Entry): boolean => entry.replays > state.replays;

/** The fields that this very SQS message has claimed before: it has come back, so its attempt has died. */
export const lapsedFields = (item: Item, entry: Entry, nowMs: number): string[] =>
  item.leaseMs > nowMs
    ? []
    : entry.fields.filter((field) => {
        const state = item.fields[field];
        return state?.outcome === 'claimed' && isOf(state, entry) && state.messageId === entry.messageId;
      });

/** When a claim is presumed done, unless its message comes back earlier. */
const presumedDoneMs = (state: Field | undefined, { hiddenMs }: Context): number => {
  if (state === undefined || state.outcome === 'done') return 0;
  return state.outcome === 'claimed' ? state.claimedMs + hiddenMs : Number.POSITIVE_INFINITY;
};

/** The last claim of a field that was done, or is presumed done; null and undefined as in `Field`. */
export const standingIn = (state: Field | undefined): Field['stands'] => {
  if (state === undefined) return null;
  if (hasFailed(state)) return state.stands;
  const { claimedMs, digest } = state;
  return digest === undefined ? null : { claimedMs, digest };
};

export const hasFailed = ({ outcome }: Field): boolean => outcome === 'unknown' || outcome === 'undone';

/** A newer message without an outcome waits this long at most, or is a letter that waits for a person. */
const askAgainSeconds = 1_800;

const waitFor = (untilMs: number, why: Waiting, { item, entry, context: { nowMs } }: Known): Judgement => {
  const rival = rivalIn(item, entry);
  const seconds = Number.isFinite(untilMs) ? Math.ceil((untilMs - nowMs) / 1000) : askAgainSeconds;
  return { kind: 'wait', why, seconds, ...(rival && { rival }) };
};

/**
 * Undefined if seeing the effect would prove nothing: if the claim repeats an earlier attempt, whose call may still be under way,
 * or sets the same value as the claim before it.
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

/** For a message that has been claimed before, and is not known to be done. */
const judgeAgain = (state: Field, fields: string[], known: Known): Judgement => {
  const { item, entry, context, version } = known;
  const { attemptedMs, outcome } = state;
  const isReplay = isReplayOf(state, entry);
  const died = outcome === 'claimed' && !isReplay;
  const crashes = isReplay ? 0 : state.crashes + (died ? 1 : 0);
  if (crashes >= maxCrashes) return { kind: 'crashed' };
  if (crashes > 0 && !context.isolated) return { kind: 'isolate' };
  const decided = isReplay && (entry.decidedMs ?? 0) >= item.graceEndsMs;
  // A person who has looked knows more than the platform's success shows.
  const acceptedMs = decided ? 0 : state.acceptedMs;
  const inherited = { attemptedMs, acceptedMs, crashes, refusal: state.refusal };
  if (entry.repeatable || outcome === 'undone') return { kind: 'send', fields, version, inherited };
  const unresolved = { ...unresolvedOf({ ...state, acceptedMs }, item), decided };
  return { kind: 'send', fields, version, inherited, unresolved };
};
