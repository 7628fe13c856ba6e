import { outdatedAfterDays } from '../../message/retention.ts';
import { isLater, isSameMessage } from '../../message/version.ts';
import {
  type FieldState,
  firstVersion,
  isSameId,
  isSuperseded,
  type OpenChange,
  type ResourceState,
} from './item.ts';

/** A message, as the ledger knows it. */
export type LedgerMessage = {
  /**
   * The key of the one resource on the platform that the message changes, as in `grade/2001/5001/301`. Integrations may share it.
   */
  resource: string;
  /**
   * The parts of the resource that the message gives. Each field is ordered separately, so that a message supersedes only what it
   * gives.
   */
  fields: readonly string[];
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

/** A message and what is known of its resource. */
export type JudgeInput = {
  item: ResourceState;
  entry: LedgerMessage;
  nowMs: number;
  /** No other message of the batch is being processed. */
  isolated: boolean;
};

export type Judgement =
  | { kind: 'superseded' }
  | { kind: 'outdated' }
  | { kind: 'crashed' }
  /** `of`: SQS' id of the message that was done; undefined: it was this message. */
  | { kind: 'duplicate'; of: string | undefined }
  | { kind: 'wait'; why: LedgerWaitReason; seconds: number }
  /** The function crashed on this message or one beside it: ask again when no other message of the batch is being processed. */
  | { kind: 'isolate'; crashes: number }
  | SendJudgement;

/** These fields may be sent, as this version. */
export type SendJudgement = {
  kind: 'send';
  fields: readonly string[];
  version: string;
  /** What an earlier attempt of the message has left open. */
  before?: OpenChange | undefined;
  /** If it must not be sent twice: what to look for first. */
  unresolved?: UnresolvedAttempt | undefined;
};

/**
 * `busy`: another attempt on the resource is running, or may still act. `newer`: a newer change has no outcome. `copy`: another SQS
 * message of the same event has none. `look`: an effect that this message may hide was not looked up yet.
 */
export type LedgerWaitReason = 'busy' | 'newer' | 'copy' | 'look';

/** An attempt of a message that must not be sent twice has no outcome. */
export type UnresolvedAttempt = {
  sinceMs: number;
  /** The platform answered with a success. */
  acceptedUnverified: boolean;
  /** A person states that it had no effect. */
  decided: boolean;
  /** The platform's answer, as JSON. */
  refusal: string | undefined;
  /** Fields of the resource that other messages have begun to change since. */
  changedSince: readonly string[];
};

/** How a field relates to a message. The first that holds counts. */
const relations = {
  done: ({ done }, { version }) => done !== undefined && isSameMessage(done.version, version),
  superseded: (field, { first }) => isSuperseded(field, first),
  own: ({ open }, { version, isOwn }) =>
    open !== undefined && isSameMessage(open.version, version) && isOwn(open),
  copy: ({ open }, { version }) => open !== undefined && isSameMessage(open.version, version),
  newer: ({ open }, facts) => open !== undefined && facts.isNewer(open) && !facts.isOverruled(open),
  older: ({ done, open }) => done !== undefined || open !== undefined,
} satisfies Record<string, (field: FieldState, facts: FieldFacts) => boolean>;

export type Relation = keyof typeof relations | 'unknown';

type FieldFacts = {
  version: string;
  first: ReturnType<typeof firstVersion>;
  isNewer(open: OpenChange): boolean;
  isOwn(open: OpenChange): boolean;
  isOverruled(open: OpenChange): boolean;
};

type Facts = JudgeInput & {
  version: string;
  given: readonly { field: string; state: FieldState; relation: Relation }[];
  /** By an earlier attempt of the message itself. */
  own: OpenChange | undefined;
  isReplay: boolean;
  some(...relations: Relation[]): boolean;
  every(...relations: Relation[]): boolean;
  wait(why: LedgerWaitReason, untilMs?: number): Judgement;
};

/** The first row whose condition holds decides. Its name says which messages it is for. */
export const rows = {
  'newer messages have done all of it': {
    holds: ({ every }) => every('superseded'),
    gives: () => ({ kind: 'superseded' }),
  },
  'it was done, or newer messages have done the rest': {
    holds: ({ every }) => every('done', 'superseded'),
    gives: ({ given, entry: { messageId } }) => {
      const ids = given.flatMap(({ state, relation }) =>
        relation === 'done' ? [state.done?.messageId] : [],
      );
      return { kind: 'duplicate', of: ids.find((id) => id !== messageId) };
    },
  },
  'a newer change has no outcome': {
    holds: ({ some }) => some('newer'),
    gives: ({ wait }) => wait('newer'),
  },
  'another SQS message of its event has no outcome': {
    holds: ({ some }) => some('copy'),
    gives: ({ wait }) => wait('copy'),
  },
  'it is older than the memory, and nothing is known': {
    holds: ({ some, entry, nowMs }) =>
      some('unknown') && entry.decidedMs === undefined && isTooOld(entry.timeMs, nowMs),
    gives: () => ({ kind: 'outdated' }),
  },
  'an attempt is running, or may still act': {
    holds: (facts) => facts.item.busyUntilMs > facts.nowMs && !repeatsItself(facts),
    gives: ({ wait, item }) => wait('busy', item.busyUntilMs),
  },
  'it could hide a creation that has no outcome': {
    holds: ({ entry, item }) =>
      entry.repeatable &&
      Object.values(item.fields).some(({ open }) => open?.isNonRepeatable && !open.isParked),
    gives: ({ wait }) => wait('look'),
  },
  'the function crashed on it too often': {
    holds: ({ own, isReplay }) => own !== undefined && own.crashes >= maxCrashes && !isReplay,
    gives: () => ({ kind: 'crashed' }),
  },
  'the function crashed on it': {
    holds: ({ own, isReplay, isolated }) => own !== undefined && own.crashes > 0 && !isReplay && !isolated,
    gives: ({ own }) => ({ kind: 'isolate', crashes: own?.crashes ?? 0 }),
  },
  'an attempt of it has no outcome, and it must not be sent twice': {
    holds: ({ own, entry }) => own !== undefined && !entry.repeatable,
    gives: (facts) => ({ ...sending(facts), unresolved: facts.own && unresolvedIn(facts, facts.own) }),
  },
  'nothing is in its way': {
    holds: () => true,
    gives: (facts) => sending(facts),
  },
} satisfies Record<string, { holds(facts: Facts): boolean; gives(facts: Facts): Judgement }>;

export type RowName = keyof typeof rows;

/** Decides on a message, by what is known of its resource. If a function crashed on the resource, the caller has applied `withCrash`. */
export const judge = (input: JudgeInput): Judgement => {
  const facts = factsOf(input);
  return rows[firstRow(facts)].gives(facts);
};

export const rowFor = (input: JudgeInput): RowName => firstRow(factsOf(input));

const firstRow = (facts: Facts): RowName => {
  const names = Object.keys(rows) as RowName[];
  return names.find((name) => rows[name].holds(facts)) ?? 'nothing is in its way';
};

const factsOf = (input: JudgeInput): Facts => {
  const { item, entry, nowMs } = input;
  const first = firstVersion(item, { version: entry.version, field: entry.fields[0] });
  const { version, isRecent } = first;
  const fieldFacts: FieldFacts = {
    version,
    first,
    isNewer: (open) => isRecent || isLater(open.version, version),
    isOwn: (open) => isReplayOf(open, entry) || isSameId(open.messageId, entry.messageId) || open.isParked,
    isOverruled: ({ begunMs }) => (entry.decidedMs ?? 0) > Math.max(begunMs, item.busyUntilMs - 1),
  };
  const given = entry.fields.map((field) => {
    const state = item.fields[field] ?? {};
    return { field, state, relation: relationOf(state, fieldFacts) };
  });
  const own = given.find(({ relation }) => relation === 'own')?.state.open;
  return {
    ...input,
    version,
    given,
    own,
    isReplay: own !== undefined && isReplayOf(own, entry),
    some: (...wanted) => given.some(({ relation }) => wanted.includes(relation)),
    every: (...wanted) => given.every(({ relation }) => wanted.includes(relation)),
    wait: (why, untilMs) => ({
      kind: 'wait',
      why,
      seconds: untilMs === undefined ? openWaitSeconds : Math.ceil((untilMs - nowMs) / 1000),
    }),
  };
};

const relationOf = (state: FieldState, facts: FieldFacts): Relation => {
  for (const [relation, holds] of Object.entries(relations))
    if (holds(state, facts)) return relation as Relation;
  return 'unknown';
};

/** Number of times that the function may die on a message. */
const maxCrashes = 3;

/** An open change may get its outcome at any time, or when a person decides. */
const openWaitSeconds = 1_800;

const isReplayOf = ({ replays, messageId }: OpenChange, entry: LedgerMessage): boolean =>
  entry.replays > replays && !isSameId(messageId, entry.messageId);

/** Repeating the same call does no harm while an earlier one may still act; the call of another message could be overtaken by it. */
const repeatsItself = ({ item, entry, version }: Facts): boolean => {
  const { open } = item.fields[item.busyField ?? ''] ?? {};
  return (
    item.lock === undefined && entry.repeatable && open !== undefined && isSameMessage(open.version, version)
  );
};

/** All fields that are not done are sent together: two copies of the message must not send one part each. */
const sending = ({ given, version, own }: Facts): SendJudgement => ({
  kind: 'send',
  fields: given.flatMap(({ field, relation }) =>
    relation === 'done' || relation === 'superseded' ? [] : field,
  ),
  version,
  before: own,
});

const unresolvedIn = ({ item, entry, isReplay }: Facts, own: OpenChange): UnresolvedAttempt => {
  const decided = isReplay && entry.decidedMs !== undefined && entry.decidedMs >= item.busyUntilMs;
  const unresolved = unresolvedOf(own, item);
  // A person who has looked knows more than the platform's success shows.
  return decided ? { ...unresolved, decided, acceptedUnverified: false } : unresolved;
};

/** For what no person has decided on. */
export const unresolvedOf = (
  { sinceMs, acceptedMs, refusal, version }: OpenChange,
  { fields }: ResourceState,
): UnresolvedAttempt => ({
  sinceMs,
  acceptedUnverified: acceptedMs > 0,
  decided: false,
  refusal,
  changedSince: Object.entries(fields).flatMap(([field, { done, open }]) => {
    const isSince = (change: { version: string; begunMs: number } | undefined) =>
      change && change.begunMs > sinceMs && !isSameMessage(change.version, version);
    return isSince(done) || isSince(open) ? field : [];
  }),
});

const dayMs = 24 * 3_600_000;

/** A newer change may be forgotten. */
export const isTooOld = (timeMs: number, nowMs: number): boolean =>
  timeMs < nowMs - outdatedAfterDays * dayMs;
