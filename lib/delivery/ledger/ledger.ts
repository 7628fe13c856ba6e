import { randomBytes } from 'node:crypto';
import { safe, type Warn } from '../../message/safe-text.ts';
import { isSameMessage, shortVersion } from '../../message/version.ts';
import { errorName } from '../../runtime/aws/error.ts';
import { lockIdLength } from './codec.ts';
import {
  type FieldState,
  isOverruling,
  type OpenChange,
  type ResourceState,
  remembering,
  shortId,
  withCrash,
  withoutForgotten,
} from './item.ts';
import { type ItemFull, withCapacityFor } from './item-capacity.ts';
import { type JudgeInput, type Judgement, judge, type LedgerMessage, type SendJudgement } from './judge.ts';
import { ResourceLocks } from './resource-locks.ts';
import type { LedgerTable, LockRequest } from './table.ts';

/** The right to send, until it is settled. `before`: what to return to if nothing that it sends has an effect. */
export type LockedResource = SendJudgement & {
  entry: LedgerMessage;
  lockId: string;
  begunMs: number;
  item: ResourceState;
};

export type Verdict = LockedResource | Exclude<Judgement, SendJudgement> | ItemFull;

/**
 * How an attempt ended. `undone`: nothing that it sent had an effect. `unknown`: something may have had one, or may yet.
 * `accepted-unverified`: the platform answered with a success, but does not show the effect.
 */
export type AttemptEnding = 'done' | 'undone' | 'unknown' | 'accepted-unverified';

export type SettleOptions = {
  ending: AttemptEnding;
  /** The platform's answer. Only a message that must not be sent twice is looked up, and needs the answer for its report. */
  refusal?: string | undefined;
  /** It becomes a letter. */
  isParked?: boolean;
};

/** `lockMs`: neither the attempt nor a call without an answer acts for longer. */
export type TakeOptions = { lockMs: number; isolated: boolean };

/** Records what was done to each resource on the platform, and by which message: two writes an attempt. */
export type Ledger = {
  /** Locks the resource, and decides. @throws if the table cannot be written: then nothing may be sent. */
  take(entry: LedgerMessage, options: TakeOptions): Promise<Verdict>;
  /** Never throws. False if the outcome could not be written: then the message must stay on its queue. */
  settle(taken: LockedResource, settling: SettleOptions): Promise<boolean>;
  /** Time in milliseconds during which the platform may still carry out an unanswered call. */
  lateEffectMs: number;
};

export type LedgerOptions = {
  table: LedgerTable;
  lateEffectMs: number;
  warn: Warn;
  nowMs(): number;
};

/** The ledger in its table. Messages of one container about one resource take turns. */
export class TableLedger implements Ledger {
  readonly lateEffectMs: number;
  readonly #table: LedgerTable;
  readonly #warn: Warn;
  readonly #nowMs: () => number;
  readonly #locks = new ResourceLocks();

  constructor({ table, lateEffectMs, warn, nowMs }: LedgerOptions) {
    this.lateEffectMs = lateEffectMs;
    this.#table = table;
    this.#warn = warn;
    this.#nowMs = nowMs;
  }

  async take(entry: LedgerMessage, options: TakeOptions): Promise<Verdict> {
    await this.#locks.lock(entry.resource);
    let verdict: Verdict | undefined;
    try {
      verdict = await this.#verdictOn(entry, options);
      return verdict;
    } finally {
      if (verdict?.kind !== 'send') this.#locks.unlock(entry.resource);
    }
  }

  async settle(taken: LockedResource, settling: SettleOptions): Promise<boolean> {
    const { resource } = taken.entry;
    const nowMs = this.#nowMs();
    const ended = withEnding(taken, settling, { nowMs, lateEffectMs: this.lateEffectMs });
    const item = withoutForgotten(ended, nowMs);
    try {
      return await this.#table.replace(resource, taken.lockId, item);
    } catch (error) {
      this.#warn(safe`the outcome of a message could not be written: it stays on its queue`, {
        error: errorName(error),
      });
      return false;
    } finally {
      this.#locks.unlock(resource);
    }
  }

  async #verdictOn(entry: LedgerMessage, { lockMs, isolated }: TakeOptions): Promise<Verdict> {
    const { resource } = entry;
    const begunMs = this.#nowMs();
    const taking = lockRequestOf(entry, { begunMs, lockMs });
    const { lock, untilMs } = taking;
    const release = () => this.#giveBack(() => this.#table.release(resource, taking));
    const found = await undoOnError(() => this.#table.take(resource, taking), release);
    if (found.item === undefined) return overtaken;
    const item = found.item.busyUntilMs > this.#nowMs() ? found.item : withCrash(found.item);
    const verdict = decide({ item, entry, nowMs: this.#nowMs(), isolated });
    if (verdict.kind !== 'send') {
      if (found.isTaken) await release();
      if (verdict.kind === 'crashed') await this.#markParked(entry, item, lock.id);
      return verdict;
    }
    const taken = { ...verdict, entry, lockId: lock.id, begunMs };
    return found.isTaken || (await this.#takeOver(taken, item, { lock, untilMs })) ? taken : overtaken;
  }

  /** Records that the message is not tried again, so that others do not wait for it. */
  #markParked(
    { resource, fields, version }: LedgerMessage,
    item: ResourceState,
    lockId: string,
  ): Promise<unknown> {
    const parked = withFields(item, fields, ({ done, open }) => {
      const isOwn = open && isSameMessage(open.version, version);
      return { done, open: isOwn ? { ...open, isParked: true } : open };
    });
    return this.#giveBack(() => this.#table.replace(resource, item.lockId, { ...parked, lockId }));
  }

  /** Locks a resource that has an open change. False: another container was faster. */
  #takeOver(taken: LockedResource, found: ResourceState, { lock, untilMs }: LockRequest): Promise<boolean> {
    const { resource } = taken.entry;
    const busyUntilMs = Math.max(untilMs, found.busyUntilMs);
    const locked = { ...withBegun(taken), lockId: lock.id, lock, busyUntilMs };
    const unlocked = { ...taken.item, lockId: lock.id };
    return undoOnError(
      () => this.#table.replace(resource, found.lockId, locked),
      () => this.#giveBack(() => this.#table.replace(resource, lock.id, unlocked)),
    );
  }

  /** A lock that is left behind counts as a crash. */
  #giveBack(write: () => Promise<unknown>): Promise<unknown> {
    return write().catch((error: unknown) =>
      this.#warn(safe`a lock of the ledger could not be given back: it ends by itself`, {
        error: errorName(error),
      }),
    );
  }
}

/** What is sent must have room in the item. */
const decide = (
  input: JudgeInput,
): (SendJudgement & { item: ResourceState }) | Exclude<Judgement, SendJudgement> | ItemFull => {
  const judgement = judge(input);
  if (judgement.kind !== 'send') return judgement;
  const decided = input.entry.decidedMs !== undefined;
  const item = withCapacityFor(input.item, { adding: judgement.fields, decided, nowMs: input.nowMs });
  return 'kind' in item ? item : { ...judgement, item };
};

/** A failed write may have had its effect. */
const undoOnError = async <Answer>(
  write: () => Promise<Answer>,
  undo: () => Promise<unknown>,
): Promise<Answer> => {
  try {
    return await write();
  } catch (error) {
    await undo();
    throw error;
  }
};

const overtaken = { kind: 'wait', seconds: 1, why: 'busy' } as const;

/** 36 bits: each write is billed by the KiB. */
const newLockId = (): string => randomBytes(5).toString('base64url').slice(0, lockIdLength);

const lockRequestOf = (
  entry: LedgerMessage,
  { begunMs, lockMs }: { begunMs: number; lockMs: number },
): LockRequest => {
  const { fields, version, messageId, replays, repeatable } = entry;
  const [field = ''] = fields;
  return {
    lock: {
      id: newLockId(),
      holder: shortId(messageId),
      replays,
      version: shortVersion(version),
      fields,
    },
    untilMs: begunMs + lockMs,
    begun: repeatable ? undefined : { field, version, messageId, begunMs, replays },
  };
};

/**
 * This attempt takes over what an earlier attempt of the message left open, with its number of crashes. A replay sets that number to 0.
 */
const openOf = ({
  entry: { messageId, replays, repeatable },
  version,
  before,
  begunMs,
}: LockedResource): OpenChange => ({
  sinceMs: begunMs,
  acceptedMs: 0,
  ...before,
  version,
  messageId,
  replays,
  begunMs,
  crashes: before && replays <= before.replays ? before.crashes : 0,
  isNonRepeatable: !repeatable,
  isParked: false,
});

/** A message that must not be sent twice is open as soon as its attempt begins. */
const withBegun = (taken: LockedResource): ResourceState => {
  const { item, entry, fields, before } = taken;
  if (before === undefined && entry.repeatable) return item;
  return withFields(item, fields, ({ done }) => ({ done, open: openOf(taken) }));
};

const withEnding = (
  taken: LockedResource,
  { ending, refusal, isParked = false }: SettleOptions,
  { nowMs, lateEffectMs }: { nowMs: number; lateEffectMs: number },
): ResourceState => {
  const { item, entry, fields, version, begunMs, before, lockId } = taken;
  // The call of an earlier attempt may still act, however this attempt ends.
  const busyField = item.busyUntilMs > nowMs ? item.busyField : undefined;
  const free = { ...item, busyField, lockId };
  if (ending === 'undone')
    return before ? withFields(free, fields, ({ done }) => ({ done, open: { ...before, isParked } })) : free;
  const { messageId, digests, repeatable } = entry;
  const [field = ''] = fields;
  const overrules = isOverruling(item, fields, version);
  const { recentMessages } = item;
  const recent = repeatable ? remembering(recentMessages, { field, version, overrules }) : recentMessages;
  const next = { ...free, recentMessages: recent };
  if (ending === 'done')
    return withFields(next, fields, (_, name) => ({
      done: { version, messageId, begunMs, digest: digests[name] },
    }));
  const open: OpenChange = {
    ...openOf(taken),
    acceptedMs: ending === 'accepted-unverified' ? nowMs : acceptedMsOf(taken),
    refusal: repeatable ? undefined : (refusal ?? before?.refusal),
    isParked,
  };
  const opened = withFields(next, fields, ({ done }) => ({ done, open }));
  return { ...opened, busyUntilMs: nowMs + lateEffectMs, busyField: field };
};

/** A person who has looked knows more than the platform's success shows. */
const acceptedMsOf = ({ before, unresolved }: LockedResource): number =>
  unresolved?.decided ? 0 : (before?.acceptedMs ?? 0);

const withFields = (
  item: ResourceState,
  names: readonly string[],
  change: (field: FieldState, name: string) => FieldState,
): ResourceState => ({
  ...item,
  fields: {
    ...item.fields,
    ...Object.fromEntries(names.map((name) => [name, change(item.fields[name] ?? {}, name)])),
  },
});
