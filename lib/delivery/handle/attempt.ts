import type { SQSRecord } from 'aws-lambda';
import { MessageFailure } from '../../message/failure.ts';
import { type Draft, draftOf, FileNotice, type Message } from '../../message/message.ts';
import { messageIdText, safe, safeList } from '../../message/safe-text.ts';
import type { PlatformIds } from '../../message/sis-ids.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { PlatformError } from '../../platform/client/platform-error.ts';
import type { CallReport } from '../../runtime/telemetry/call-report.ts';
import type { AttemptEnding, Ledger, LockedResource, Verdict } from '../ledger/ledger.ts';
import { type AttemptContext, createAttemptContext } from './attempt-context.ts';
import type { Integration } from './integration.ts';
import { fieldsOf, ledgerMessageOf } from './ledger-message.ts';
import { failures, itemFull } from './reasons.ts';
import type { Limits, Services } from './services.ts';
import { SisIdLookUp } from './sis-id-look-up.ts';
import { type Delivery, priorityOf, storedAtOf } from './sqs-delivery.ts';
import { StaleReadError } from './stale-read.ts';
import { wasDone, writtenRefusal } from './verify-attempt.ts';
import { type AttemptFinding, type AttemptOutcome, waitOrPark } from './wait-or-park.ts';

/** Shared by the messages of one invocation. */
export type Invocation = {
  services: Services;
  /** When every attempt must have ended. */
  deadlineMs: number;
  /** Until then messages wait for their turns. */
  slotsUntilMs: number;
  /** Aborts the calls of an attempt that begins now, when its time is over. */
  timeLimit(): AbortSignal;
  /** No other message of the batch is being processed. */
  isolated: boolean;
};

export type RecordOutcome = AttemptOutcome & {
  /** Undefined if nothing was parsed, or if the message is not valid. */
  eventId: string | undefined;
  /** The calls of the platform. */
  calls: readonly CallReport[];
  /** Time spent waiting for the rate limiter. */
  turnMs: number;
  /** What the message's ids of the SIS stand for; undefined if it gives none, or if that is not known. */
  ids?: PlatformIds | undefined;
};

export type ReceivedRecord = { record: SQSRecord; delivery: Delivery };

/** Processes one message as far as its state allows; never throws. */
export const attempt = async <Data>(
  integration: Integration<Data>,
  { record, delivery }: ReceivedRecord,
  invocation: Invocation,
): Promise<RecordOutcome> => {
  const { services } = invocation;
  const resultFor = (decision: AttemptFinding): AttemptOutcome =>
    waitOrPark(decision, delivery, services.limits);
  if (!hasTime(invocation)) return { ...resultFor(noTime), eventId: undefined, calls: [], turnMs: 0 };
  let lookUp: SisIdLookUp<Data> | undefined;
  let draft: Draft<Data> | undefined;
  let ids: PlatformIds | undefined;
  let task: Task<Data> | undefined;
  let result: AttemptOutcome;
  try {
    if (storedAtOf(record, integration.name) !== undefined) throw failures.pointsElsewhere;
    draft = draftOf(record.body, integration, delivery.startedMs);
    const priority = priorityOf(record, delivery, integration.priority);
    const { sentMs } = delivery;
    if (draft.sisIds.length > 0)
      lookUp = new SisIdLookUp(draft, { services, priority, sentMs, signal: invocation.timeLimit() });
    ids = await lookUp?.ids();
    const message = draft.message(ids);
    const context = createAttemptContext({ integration, message, priority, sentMs }, invocation);
    task = { integration, message, record, delivery, invocation, context, resultFor };
    result = await (services.ledger ? withLedger(services.ledger, task) : withoutLedger(task));
    if (lookUp && ids && isNotFound(result) && (await lookUp.haveChanged(ids)))
      result = resultFor(failBy('stoodForOther'));
  } catch (error) {
    result = resultFor(await afterError(error, record, invocation));
  } finally {
    task?.context.close();
  }
  return {
    ...result,
    ids,
    eventId: draft?.id,
    calls: [...(lookUp?.calls ?? []), ...(task?.context.calls ?? [])],
    turnMs: task?.context.slotWaitMs() ?? 0,
  };
};

/** A notice of files is no failure: the events in the files go to the queue, each as its own message. */
const afterError = async (
  error: unknown,
  record: SQSRecord,
  invocation: Invocation,
): Promise<AttemptFinding> => {
  const { fanOut, limits, nowMs } = invocation.services;
  if (!(error instanceof FileNotice && fanOut)) return failed(error, { record, invocation });
  try {
    const untilMs =
      Math.min(nowMs() + limits.attemptTimeoutMs, invocation.deadlineMs) - fanOutReserveMs(limits);
    const reason = await fanOut(error.objects, { record, signal: invocation.timeLimit(), untilMs });
    return { kind: 'done', reason };
  } catch (thrown) {
    return failed(thrown, { record, invocation });
  }
};

/** Reading that has begun when the time for files is over gets this much more. */
const fanOutReserveMs = ({ attemptTimeoutMs }: Limits): number => attemptTimeoutMs / 4;

/** The platform knows no such user, org unit or grade object. */
const isNotFound = (result: AttemptOutcome): boolean =>
  result.outcome === 'parked' && result.failure.kind === 'rejected' && result.failure.status === 404;

type Task<Data> = ReceivedRecord & {
  integration: Integration<Data>;
  message: Message<Data>;
  invocation: Invocation;
  context: AttemptContext;
  resultFor(decision: AttemptFinding): AttemptOutcome;
};

/** An attempt that begins later cannot finish in the remaining time. */
export const latestStartMs = ({
  services: { limits },
  deadlineMs,
}: Pick<Invocation, 'services' | 'deadlineMs'>): number => deadlineMs - limits.attemptTimeoutMs;

const hasTime = (invocation: Invocation): boolean => invocation.services.nowMs() <= latestStartMs(invocation);

const noTime: AttemptFinding = { kind: 'wait', why: 'no-time', seconds: 1 };

const failed = (
  error: unknown,
  { record: { messageId }, invocation }: Pick<Task<never>, 'record' | 'invocation'>,
): Extract<AttemptFinding, { kind: 'fail' }> => {
  const failure = failureOf(error);
  if (failure.kind === 'defect')
    invocation.services.observe.error(
      safe`a defect of sis-relay`,
      { messageId: messageIdText(messageId) },
      error,
    );
  return { kind: 'fail', failure };
};

const withoutLedger = async <Data>(task: Task<Data>): Promise<AttemptOutcome> => {
  const { integration, message, context, invocation, resultFor } = task;
  const seconds = await context.takeSlot(invocation.slotsUntilMs);
  if (seconds > 0) return resultFor({ kind: 'wait', why: 'pace', seconds });
  try {
    await integration.run(message.data, context.forFields(fieldsOf(integration, message)));
  } catch (error) {
    return resultFor(failed(error, task));
  }
  return resultFor(doneWith(context));
};

const doneWith = ({ notes }: AttemptContext): AttemptFinding => ({
  kind: 'done',
  reason: notes.length === 0 ? undefined : safeList(notes, '; '),
});

const withLedger = async <Data>(ledger: Ledger, task: Task<Data>): Promise<AttemptOutcome> => {
  const { invocation, context, resultFor } = task;
  const entry = await ledgerMessageOf(task, invocation.services.digest);
  // Before the lock, which would last while its message waits.
  const seconds = await context.takeSlot(invocation.slotsUntilMs);
  if (seconds > 0) return resultFor({ kind: 'wait', why: 'pace', seconds });
  let verdict: Verdict;
  try {
    verdict = await ledger.take(entry, {
      lockMs: lockMsOf(invocation, ledger),
      isolated: invocation.isolated,
    });
  } catch (error) {
    // It is not known whether the lock was written.
    return resultFor({ ...failed(error, task), isUnrecorded: true });
  }
  return verdict.kind === 'send' ? sendAndRecord(ledger, task, verdict) : resultFor(unsent(verdict));
};

/** The lock begins when it is written, which may take as long as AWS is given. */
const lockMsOf = ({ services: { limits } }: Invocation, { lateEffectMs }: Ledger): number =>
  limits.attemptTimeoutMs + limits.reserveMs + lateEffectMs;

/** What the ledger decides without a call of the platform. */
export const unsent = (verdict: Exclude<Verdict, LockedResource>): AttemptFinding => {
  if (verdict.kind === 'full') return { kind: 'fail', failure: failureOf(itemFull(verdict)) };
  if (verdict.kind === 'crashed' || verdict.kind === 'outdated') return failBy(verdict.kind);
  return verdict;
};

const failBy = (name: keyof typeof failures): Extract<AttemptFinding, { kind: 'fail' }> => ({
  kind: 'fail',
  failure: failureOf(failures[name]),
});

const sendAndRecord = async <Data>(
  ledger: Ledger,
  task: Task<Data>,
  locked: LockedResource,
): Promise<AttemptOutcome> => {
  const { decision, ending, refusal } = await runIntegration(ledger, task, locked);
  const result = task.resultFor(decision);
  const isParked = result.outcome === 'parked';
  if (await ledger.settle(locked, { ending, refusal, isParked })) return result;
  const { failure } = decision.kind === 'fail' ? decision : failBy('unrecorded');
  return task.resultFor({ kind: 'fail', failure, isUnrecorded: true });
};

type AttemptResult = { decision: AttemptFinding; ending: AttemptEnding; refusal?: string };

const runIntegration = async <Data>(
  ledger: Ledger,
  task: Task<Data>,
  locked: LockedResource,
): Promise<AttemptResult> => {
  const { integration, message, invocation } = task;
  if (!hasTime(invocation)) return { decision: noTime, ending: 'undone' };
  const { unresolved } = locked;
  try {
    const context = task.context.forFields(locked.fields, locked);
    const isDone =
      unresolved !== undefined && (await wasDone(integration, message.data, { context, unresolved }));
    if (!isDone) await integration.run(message.data, context);
    return { decision: doneWith(task.context), ending: 'done' };
  } catch (error) {
    if (error instanceof StaleReadError)
      return {
        decision: { kind: 'wait', why: 'stale', seconds: Number.POSITIVE_INFINITY },
        ending: 'undone',
      };
    const decision = failed(error, task);
    // A message that was looked up without a result is not looked up again.
    const isUnanswered = decision.failure.kind === 'uncertain' && !(error instanceof MessageFailure);
    const lookUpSeconds =
      isUnanswered && integration.verify ? Math.ceil(ledger.lateEffectMs / 1000) + 1 : undefined;
    const ending = endingOf(error, task.context.calls);
    return { decision: { ...decision, lookUpSeconds }, ending, refusal: writtenRefusal(decision.failure) };
  }
};

const endingOf = (error: unknown, calls: readonly CallReport[]): AttemptEnding => {
  if (error instanceof PlatformError && error.acceptedUnverified) return 'accepted-unverified';
  return calls.some((call) => call.mayHaveActed) ? 'unknown' : 'undone';
};
