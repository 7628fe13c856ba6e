import { outdatedAfterDays } from './memory.ts';
import type { Field, Item } from './table.ts';

/** A message as the ledger sees it. */
export type Entry = {
  /** The key of the one resource on the platform that the message changes, as in `grade/2001/5001/301`: integrations may share it. */
  resource: string;
  /** What of it the message gives: each field is ordered by itself, so that nobody supersedes what it does not give. */
  fields: readonly string[];
  /** The same only for the same message; sorts as the SIS ordered its messages, where they are repeatable. */
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
  /** These fields may be sent: what their claim takes over from earlier attempts of the message. */
  | { kind: 'send'; fields: string[]; inherited: Partial<Field>; unresolved?: Unresolved }
  | { kind: 'superseded' | 'outdated' | 'crashed' }
  /** `of`: SQS' id of the message that was done, or has claimed what this one wants; undefined: it was this one. */
  | { kind: 'duplicate'; of: string | undefined }
  /** Another attempt on this resource is under way, or what it sent may still act. */
  | { kind: 'wait'; seconds: number; why: Waiting; rival?: Rival }
  /** The function died on this message or beside it: ask again when nothing else of the batch is under way. */
  | { kind: 'isolate' };

/** `busy`: for the resource. `newer`: to know whether a newer message, which would supersede this one, was done. */
type Waiting = 'busy' | 'newer';

/** The claim in the way: if the platform shows all that it was to change, dated since then, it was done. */
export type Rival = { claimedMs: number; digests: Record<string, string> };

/**
 * An earlier attempt of a message that is not repeatable has left no outcome; `acceptedUnverified`: the platform answered with a success;
 * `decided`: a person says that it had no effect; `refusal`: what the platform said, as JSON.
 */
export type Unresolved = {
  sinceMs: number;
  acceptedUnverified: boolean;
  decided: boolean;
  refusal: string | undefined;
};

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

/**
 * Which fields of a message may be sent, by what is known of its resource: a field that a newer message has set is superseded,
 * one that the same message has set is a duplicate.
 */
export const judge = (item: Item, entry: Entry, context: Context): Judgement => {
  const { nowMs } = context;
  const given = entry.fields.map((field) => ({ field, state: item.fields[field] }));
  const orderOf = ({ version }: Field): number =>
    Buffer.compare(Buffer.from(version), Buffer.from(entry.version));
  // A person has looked at what the platform holds, after the grace period of all that the newer message sent.
  const isDecided = ({ outcome, claimedMs }: Field): boolean =>
    (outcome === 'unknown' || outcome === 'undone') &&
    (entry.decidedMs ?? 0) > Math.max(claimedMs, item.graceEndsMs - 1);
  const isOpen = (state: Field | undefined): boolean => {
    if (state === undefined || orderOf(state) < 0) return true;
    return orderOf(state) > 0 ? isDecided(state) : isOwnBusiness(state, entry, context);
  };
  const unfinished = given.filter(({ state }) => state && orderOf(state) === 0 && state.outcome !== 'done');
  const open = given.filter(({ state }) => isOpen(state));
  // All fields that are not done are sent together: two copies of the message must not send one part each.
  const toSend =
    open.length === 0 ? [] : given.filter((each) => open.includes(each) || unfinished.includes(each));
  const newer = given.flatMap(({ state }) => (state && orderOf(state) > 0 && !isOpen(state) ? [state] : []));
  // Only what was done supersedes: until that is known of a newer message, the older one waits.
  const doneMs = Math.max(0, ...newer.map((state) => presumedDoneMs(state, context)));
  if (doneMs > nowMs) return waitFor(doneMs, 'newer', { item, entry, context });
  const isOwn = item.fields[item.last]?.version === entry.version;
  // Another SQS message of it is at work, which may end as undone: until that is known, this one must stay.
  const goneMs = Math.max(
    item.leaseMs,
    ...unfinished.map(({ state }) => (state ? abandonedMs(state, entry, context) : 0)),
  );
  if (toSend.length === 0 && isOwn && goneMs > nowMs)
    return waitFor(goneMs, 'busy', { item, entry, context });
  if (toSend.length === 0 && newer.length === given.length) return { kind: 'superseded' };
  if (toSend.length === 0) {
    const other = given.find(
      ({ state }) => state && orderOf(state) === 0 && state.messageId !== entry.messageId,
    );
    return { kind: 'duplicate', of: other?.state?.messageId };
  }
  if (isOutdated(entry, nowMs) && toSend.some(({ state }) => state === undefined))
    return { kind: 'outdated' };

  // The same call does no harm beside one that may still act; one of another message could be overtaken by it.
  const freeMs = isOwn && entry.repeatable ? item.leaseMs : item.graceEndsMs;
  if (freeMs > nowMs) return waitFor(freeMs, 'busy', { item, entry, context });
  const fields = toSend.map(({ field }) => field);
  const before = unfinished[0]?.state;
  return before === undefined
    ? { kind: 'send', fields, inherited: {} }
    : judgeAgain(before, { item, entry, context, fields });
};

/**
 * Whether a field that the same message has claimed is still to be done. A claim of another SQS message of the same event is that
 * one's business: it was done, comes back, or became a letter.
 */
const isOwnBusiness = (state: Field, entry: Entry, context: Context): boolean =>
  state.outcome !== 'done' &&
  (isReplayOf(state, entry) ||
    state.messageId === entry.messageId ||
    (isUnended(state, entry) && abandonedMs(state, entry, context) <= context.nowMs));

/** A success that is not repeatable is always written down: such a claim without an ending has died. */
const isUnended = ({ outcome }: Field, { repeatable }: Entry): boolean =>
  outcome === 'claimed' && !repeatable;

/** When the SQS message of a claim that died counts as gone, as its queue would have shown it again; 0: it may be done. */
const abandonedMs = (state: Field, entry: Entry, { hiddenMs }: Context): number =>
  isUnended(state, entry) ? state.claimedMs + hiddenMs : 0;

const isReplayOf = (state: Field, entry: Entry): boolean => entry.replays > state.replays;

/** The fields of a message that was claimed by this very SQS message, and has come back: its attempt has died. */
export const lapsedFields = (item: Item, { fields, version, messageId }: Entry, nowMs: number): string[] =>
  item.leaseMs > nowMs
    ? []
    : fields.filter((field) => {
        const state = item.fields[field];
        return state?.version === version && state.messageId === messageId && state.outcome === 'claimed';
      });

/** When a claim is presumed done, unless its message comes back before. */
const presumedDoneMs = ({ outcome, claimedMs }: Field, { hiddenMs }: Context): number => {
  if (outcome === 'done') return 0;
  return outcome === 'claimed' ? claimedMs + hiddenMs : Number.POSITIVE_INFINITY;
};

type Known = { item: Item; entry: Entry; context: Context };

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
  if (claim.version === entry.version) return undefined;
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
const judgeAgain = (
  state: Field,
  { item, entry, context, fields }: Known & { fields: string[] },
): Judgement => {
  const { attemptedMs, outcome } = state;
  const isReplay = isReplayOf(state, entry);
  const died = outcome === 'claimed' && !isReplay;
  const crashes = isReplay ? 0 : state.crashes + (died ? 1 : 0);
  if (crashes >= maxCrashes) return { kind: 'crashed' };
  if (crashes > 0 && !context.isolated) return { kind: 'isolate' };
  const decided = isReplay && (entry.decidedMs ?? 0) >= item.graceEndsMs;
  // Whoever has looked knows more than the platform's success told.
  const acceptedMs = decided ? 0 : state.acceptedMs;
  const { refusal } = state;
  const inherited = { attemptedMs, acceptedMs, crashes, refusal };
  if (entry.repeatable || outcome === 'undone') return { kind: 'send', fields, inherited };
  const unresolved = { sinceMs: attemptedMs, acceptedUnverified: acceptedMs > 0, decided, refusal };
  return { kind: 'send', fields, inherited, unresolved };
};
