import type { SQSRecord } from 'aws-lambda';
import { type Failure, MessageFailure } from '../../message/failure.ts';
import { type Draft, draftOf, FileNotice, type Message } from '../../message/message.ts';
import type { Priority } from '../../message/priority.ts';
import type { PlatformIds } from '../../message/sis-ids.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { PlatformError } from '../../platform/client/platform-error.ts';
import type { CallReport } from '../../runtime/telemetry/call-report.ts';
import { lookUpOperations } from '../crosswalk/look-up.ts';
import type { Claim, Ending, Entry, Full, Ledger, SeenRival, Verdict } from '../ledger/ledger.ts';
import { type AttemptContext, createAttemptContext } from './attempt-context.ts';
import type { Integration } from './integration.ts';
import { entryOf, fieldsOf } from './ledger-entry.ts';
import type { Limits, Services } from './services.ts';
import { type Delivery, priorityOf, wholeOf } from './sqs-delivery.ts';
import { StaleReadError } from './stale-read.ts';
import { isRivalDone, wasDone, writtenRefusal } from './verify-attempt.ts';
import { afterFailure, type Failed, type NotDone, noTurn, type Turn, waitForTurn } from './wait-or-park.ts';

/** Shared by the messages of one invocation. */
export type Invocation = {
  services: Services;
  /** When every attempt must have ended. */
  deadlineMs: number;
  /** Until then messages wait for their turns. */
  turnsUntilMs: number;
  /** Aborts the calls of an attempt that begins now, when its time is over. */
  timeLimit(): AbortSignal;
  /** No other message of the batch is being processed. */
  isolated: boolean;
};

export type Settlement = Result & {
  /** Undefined if nothing was parsed, or if the message is not valid. */
  eventId: string | undefined;
  /** The calls of the platform. */
  calls: readonly CallReport[];
  /** Time spent waiting for the turn to call the platform. */
  turnMs: number;
  /** What the message's ids of the SIS stand for; undefined if it gives none, or if that is not known. */
  ids?: PlatformIds | undefined;
};

type Result =
  /** `claim`: given if the ledger may only remember the success so far. `reason`: worth logging. */
  | { outcome: 'done'; claim?: Claim; reason?: string | undefined }
  | { outcome: 'superseded' }
  /** `of`: SQS' id of the message that this one is a copy of. */
  | { outcome: 'duplicate'; of: string | undefined }
  /**
   * The function died on this message or one beside it, or may die: nothing was done. Try again when no other message of the batch
   * is being processed. `died`: number of counted deaths.
   */
  | { outcome: 'isolate'; died?: number }
  | NotDone;

export type Received = { record: SQSRecord; delivery: Delivery };

/** Processes one message as far as its state allows; never throws. */
export const attempt = async <Data>(
  integration: Integration<Data>,
  { record, delivery }: Received,
  invocation: Invocation,
): Promise<Settlement> => {
  const { services } = invocation;
  if (!hasTime(invocation)) {
    const result = waitForTurn({ why: 'no-time', seconds: 1 }, delivery, services.limits);
    return { ...result, eventId: undefined, calls: [], turnMs: 0 };
  }
  const looked: CallReport[] = [];
  let draft: Draft<Data> | undefined;
  let ids: PlatformIds | undefined;
  let task: Task<Data> | undefined;
  let result: Result;
  try {
    if (wholeOf(record, integration.name) !== undefined) throw pointsElsewhere;
    draft = draftOf(record.body, integration, delivery.startedMs);
    const priority = priorityOf(record, delivery, integration.priority);
    const asking =
      draft.sisIds.length > 0
        ? { services, priority, sentMs: delivery.sentMs, signal: invocation.timeLimit(), looked }
        : undefined;
    ids = asking && (await idsOf(draft, asking));
    const message = draft.message(ids);
    const context = createAttemptContext(
      { integration, message, priority, sentMs: delivery.sentMs },
      invocation,
    );
    task = { integration, message, record, delivery, invocation, context };
    result = await (services.ledger ? withLedger(services.ledger, task) : withoutLedger(task));
    if (asking && ids && isNotFound(result) && (await standForOthers(draft, ids, asking)))
      result = afterFailure({ failure: failureOf(stoodForOther) }, delivery, services.limits);
  } catch (error) {
    result = await afterError(error, { record, delivery }, invocation);
  } finally {
    task?.context.close();
  }
  return {
    ...result,
    ids,
    eventId: draft?.id,
    calls: [...looked, ...(task?.context.calls ?? [])],
    turnMs: task?.context.turnMs() ?? 0,
  };
};

/** A notice of files is no failure: the events in the files go to the queue, each as its own message. */
const afterError = async (error: unknown, received: Received, invocation: Invocation): Promise<Result> => {
  const { record, delivery } = received;
  const { fanOut, limits, nowMs } = invocation.services;
  let thrown = error;
  if (error instanceof FileNotice && fanOut)
    try {
      const untilMs =
        Math.min(nowMs() + limits.attemptTimeoutMs, invocation.deadlineMs) - fanOutReserveMs(limits);
      return {
        outcome: 'done',
        reason: await fanOut(error.objects, { record, signal: invocation.timeLimit(), untilMs }),
      };
    } catch (failed) {
      thrown = failed;
    }
  return afterFailure({ failure: judged(thrown, { record, invocation }) }, delivery, limits);
};

/** Reading that has begun when the time for files is over gets this much more. */
const fanOutReserveMs = ({ attemptTimeoutMs }: Limits): number => attemptTimeoutMs / 4;

type Asking = {
  services: Services;
  priority: Priority;
  sentMs: number;
  signal: AbortSignal;
  /** The calls of the platform that this took. */
  looked: CallReport[];
};

/** @throws MessageFailure of kind `unknown-id` or `ambiguous-id`, and any error of AWS or the platform. */
const idsOf = <Data>(
  { sisIds, orgUnitId }: Draft<Data>,
  { services, priority, sentMs, signal, looked }: Asking,
): Promise<PlatformIds> => {
  const platform = services.platform.for({
    ...{ actor: undefined, operations: lookUpOperations, priority, signal },
    onCall: (call) => {
      looked.push(call);
      services.observe.call(call);
    },
  });
  return services.crosswalk.platformIds(sisIds, { platform, orgUnitId, sentMs });
};

/** The platform knows no such user, org unit or grade object. */
const isNotFound = (result: Result): boolean =>
  result.outcome === 'parked' && result.failure.kind === 'rejected' && result.failure.status === 404;

/** Whether ids of the SIS now stand for others than this container remembers. */
const standForOthers = async <Data>(
  draft: Draft<Data>,
  ids: PlatformIds,
  asking: Asking,
): Promise<boolean> => {
  asking.services.crosswalk.forget(draft.sisIds);
  const now = await idsOf(draft, asking).catch(() => ids);
  return Object.entries(now).some(([field, id]) => ids[field] !== id);
};

const pointsElsewhere = new MessageFailure(
  'rejected',
  'SQS’ own redrive sent this letter back, but its message is in the bucket, so there was nothing to send',
  {
    remedy:
      'Replay it with `sis-relay letters replay` or from the console. They send the message from the bucket. If it was not kept there, have the producer send it again, and discard this letter.',
  },
);

const stoodForOther = new MessageFailure(
  'unknown-id',
  'The platform does not know the id that an id of the SIS stood for: the message is sent again with the current id',
  {
    remedy:
      'Do nothing at first: the message is sent again by itself. If this lasts, find out why what it names stands for something else again and again.',
  },
);

type Task<Data> = Received & {
  integration: Integration<Data>;
  message: Message<Data>;
  invocation: Invocation;
  context: AttemptContext;
};

/** An attempt that begins later cannot finish in the remaining time. */
export const lastBeginMs = ({
  services: { limits },
  deadlineMs,
}: Pick<Invocation, 'services' | 'deadlineMs'>): number => deadlineMs - limits.attemptTimeoutMs;

const hasTime = (invocation: Invocation): boolean => invocation.services.nowMs() <= lastBeginMs(invocation);

const turnless = <Data>(seconds: number, { delivery, invocation }: Task<Data>): NotDone =>
  waitForTurn({ why: 'pace', seconds }, delivery, invocation.services.limits);

const judged = (
  error: unknown,
  { record, invocation }: Pick<Task<never>, 'record' | 'invocation'>,
): Failure => {
  const failure = failureOf(error);
  const { messageId } = record;
  if (failure.kind === 'defect')
    invocation.services.observe.error('a defect of sis-relay', { messageId }, error);
  return failure;
};

const failed = <Data>(failure: Failed, { delivery, invocation }: Task<Data>): NotDone =>
  afterFailure(failure, delivery, invocation.services.limits);

const withoutLedger = async <Data>(task: Task<Data>): Promise<Result> => {
  const { integration, message, context } = task;
  const seconds = await context.takeTurn(task.invocation.turnsUntilMs);
  if (seconds > 0) return turnless(seconds, task);
  try {
    await integration.run(message.data, context.forFields(fieldsOf(integration, message)));
  } catch (error) {
    return failed({ failure: judged(error, task) }, task);
  }
  return doneWith(context);
};

const doneWith = ({ notes }: AttemptContext): { outcome: 'done'; reason: string | undefined } => ({
  outcome: 'done',
  reason: notes.join('; ') || undefined,
});

const withLedger = async <Data>(ledger: Ledger, task: Task<Data>): Promise<Result> => {
  const { delivery, invocation } = task;
  const { limits, digest } = invocation.services;
  const entry = await entryOf(task, digest);
  let verdict: Verdict;
  try {
    const hasDied = delivery.attempts > 1 && (await ledger.returned(entry));
    if (hasDied && !invocation.isolated) return { outcome: 'isolate' };
    // Before the claim, which would age while its message waits.
    const seconds = await task.context.takeTurn(invocation.turnsUntilMs);
    if (seconds > 0) return turnless(seconds, task);
    verdict = await askLedger(ledger, entry, invocation);
    if (verdict.kind === 'wait' && verdict.rival && (await isSeen(entry, verdict.rival, task))) {
      ledger.seen(entry.resource, verdict.rival);
      verdict = await askLedger(ledger, entry, invocation);
    }
  } catch (error) {
    // It is not known whether the claim was written.
    return failed({ failure: judged(error, task), claimed: true }, task);
  }
  switch (verdict.kind) {
    case 'send':
      return send(ledger, task, verdict);
    case 'wait': {
      const { why, seconds, rival } = verdict;
      return waitForTurn({ why, seconds, mayEndEarlier: rival !== undefined }, delivery, limits);
    }
    case 'full':
      return failed({ failure: failureOf(noRoom(verdict)) }, task);
    case 'crashed':
      return failed({ failure: failureOf(crashed) }, task);
    case 'outdated':
      return failed({ failure: failureOf(outdated) }, task);
    case 'duplicate':
      return { outcome: verdict.kind, of: verdict.of };
    default:
      return { outcome: verdict.kind };
  }
};

export const crashed = new MessageFailure(
  'crashed',
  'The function died three times while it handled this message',
);

const outdated = new MessageFailure(
  'outdated',
  'The message is older than the ledger remembers. Something newer may have been done since',
);

/** Nothing was sent. A replay states that a person has looked, so the ledger may forget. */
const noRoom = ({ fields, open }: Full): MessageFailure =>
  new MessageFailure(
    'uncertain',
    `The ledger has no room for one more change of this resource: it remembers ${fields} changes, ${open} of them without an outcome. Nothing was sent`,
    {
      remedy:
        'Find out who sends so many changes of one resource. Decide on its other uncertain letters first. Then check on the platform whether this message was done. If it was, discard this letter. If not, replay it, but not until an hour after the last change. The replay makes the ledger forget the older half of the changes. If the SIS sends one of those again, it counts as new.',
    },
  );

const askLedger = (
  ledger: Ledger,
  entry: Entry,
  { services: { limits }, isolated }: Invocation,
): Promise<Verdict> =>
  // The lease starts when the claim is written, which may take as long as AWS is given.
  ledger.claim(entry, { leaseMs: limits.attemptTimeoutMs + limits.reserveMs, isolated });

const isSeen = <Data>(entry: Entry, rival: SeenRival, task: Task<Data>): Promise<boolean> => {
  const { integration, message, invocation, context } = task;
  return isRivalDone(integration.effect, {
    ...{ data: message.data, resource: entry.resource, rival },
    ...{ context: context.forFields(entry.fields), digest: invocation.services.digest },
  });
};

const send = async <Data>(
  ledger: Ledger,
  task: Task<Data>,
  { claim, unresolved }: Extract<Verdict, { kind: 'send' }>,
): Promise<Result> => {
  const { integration, message, delivery, invocation } = task;
  const unsent = async (turn: Turn): Promise<NotDone> =>
    (await ledger.end(claim, 'undone'))
      ? waitForTurn(turn, delivery, invocation.services.limits)
      : failed({ failure: failureOf(noTurn(turn.why)), claimed: true }, task);
  if (!hasTime(invocation)) return unsent({ why: 'no-time', seconds: 1 });
  try {
    const context = task.context.forFields(claim.fields, claim);
    const isDone =
      unresolved !== undefined && (await wasDone(integration, message.data, { context, unresolved }));
    if (!isDone) await integration.run(message.data, context);
  } catch (error) {
    if (error instanceof StaleReadError)
      return unsent({ why: 'stale', seconds: Number.POSITIVE_INFINITY, mayEndEarlier: true });
    const failure = judged(error, task);
    const isTold = await ledger.end(claim, endingOf(error, task.context.calls), writtenRefusal(failure));
    // What was looked up in vain is not looked up again.
    const isUnanswered = failure.kind === 'uncertain' && !(error instanceof MessageFailure);
    const lookUpSeconds =
      isUnanswered && integration.verify ? Math.ceil(ledger.graceMs / 1000) + 1 : undefined;
    return failed({ failure, lookUpSeconds, claimed: !isTold }, task);
  }
  await ledger.end(claim, 'done');
  return { ...doneWith(task.context), claim };
};

const endingOf = (error: unknown, calls: readonly CallReport[]): Ending => {
  if (error instanceof PlatformError && error.acceptedUnverified) return 'accepted-unverified';
  return calls.some((call) => call.mayHaveActed) ? 'unknown' : 'undone';
};
