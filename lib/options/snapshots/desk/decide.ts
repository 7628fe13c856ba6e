import { pollUntil } from '../../../desk/stage-state/execution.ts';
import { errorName } from '../../../runtime/aws/error.ts';
import { actorOf } from '../../../stage/actor.ts';
import type { Audit } from '../../../stage/audit.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import { lambdaOf } from '../../../stage/lambda-client.ts';
import type { Target } from '../../../stage/target.ts';
import type { Decision, SnapshotRecord } from '../state/record.ts';
import { type ProposedSnapshot, readSnapshot, withRemoved } from './read.ts';

type PersonsDecision = Exclude<Decision['decision'], 'superseded'>;

export type DecisionOptions = {
  decision: PersonsDecision;
  reason?: string | undefined;
  audit: Audit;
  signal: AbortSignal;
  confirm(snapshot: ProposedSnapshot): Promise<boolean>;
  /** Maximum time to wait until the import has recorded the decision. */
  patienceMs?: number;
};

/** `already`: the same was decided before. `unheard`: the import has not recorded the decision yet. */
export type DecisionResult = {
  snapshot: SnapshotRecord;
  outcome: 'done' | 'already' | 'unheard' | 'not agreed';
};

const usualPatienceMs = 20_000;

const verbOf = { approved: 'approve', rejected: 'reject' } as const;

/**
 * Passes a person's decision to the waiting import. Only the import writes its record, so two people who decide at the same time
 * learn who was first. @throws RefusedError if there is nothing to decide, or another decision was made.
 */
export const decideSnapshot = async (
  target: Target,
  given: string,
  { decision, reason, audit, signal, confirm, patienceMs = usualPatienceMs }: DecisionOptions,
): Promise<DecisionResult> => {
  const snapshot = await readSnapshot(target, given, signal);
  if (snapshot.state !== 'waiting-for-approval' || snapshot.decided) return before(snapshot, decision);
  const { id, callbackId } = snapshot;
  if (callbackId === undefined)
    throw new RefusedError(`Snapshot ${id} is not ready for a decision yet. Try again in a few seconds.`);
  if (!(await confirm(await withRemoved(target, snapshot))) || signal.aborted)
    return { snapshot, outcome: 'not agreed' };

  const { created, updated, removed } = snapshot.counts;
  const { end } = await audit.begin({
    command: `snapshots ${verbOf[decision]}` as const,
    filter: { snapshot: id },
    reason,
    counts: { created, updated, removed },
  });
  let isSent = false;
  try {
    const at = new Date().toISOString();
    isSent = await answer(target, callbackId, {
      by: await actorOf(target),
      at,
      decision,
      ...(reason !== undefined && { reason }),
    });
  } finally {
    await end({ [decision]: isSent ? 1 : 0 });
  }
  let now = snapshot;
  await pollUntil(
    async () => {
      now = await readSnapshot(target, id, signal);
      return now.state === 'waiting-for-approval' ? undefined : now;
    },
    { signal, patienceMs },
  );
  const isWaiting = now.state === 'waiting-for-approval';
  if (isSent && now.decided?.decision !== otherThan(decision))
    return { snapshot: now, outcome: isWaiting ? 'unheard' : 'done' };
  if (!isWaiting || now.decided) return before(now, decision);
  throw new RefusedError(
    `The import of snapshot ${id} no longer waits: its execution was stopped, or its time has ended. To have the file compared again, put it into the bucket again.`,
  );
};

const otherThan = (decision: PersonsDecision): PersonsDecision =>
  decision === 'approved' ? 'rejected' : 'approved';

/** The result for a snapshot that does not wait. */
const before = (snapshot: SnapshotRecord, decision: PersonsDecision): DecisionResult => {
  const { id, state, decided, why } = snapshot;
  if (decided?.decision === decision) return { snapshot, outcome: 'already' };
  if (decided)
    throw new RefusedError(
      `${decided.by} ${decided.decision} snapshot ${id} at ${decided.at}${decided.reason ? `: ${decided.reason}` : '.'}`,
    );
  const stateTexts: Record<Exclude<SnapshotRecord['state'], 'waiting-for-approval'>, string> = {
    comparing: 'it is still being compared',
    sending: 'its changes are few enough, and are being sent',
    accepted: 'its changes were few enough, and were sent',
    rejected: 'it was not approved in time',
    failed: 'its import failed',
    superseded: 'a newer snapshot took its place',
  };
  const reason = state === 'waiting-for-approval' ? '' : stateTexts[state];
  throw new RefusedError(
    `Snapshot ${id} cannot be ${decision}: ${reason}${why && state === 'failed' ? ` (${why})` : ''}.`,
  );
};

/** False if no execution waits for it any more. */
const answer = async (target: Target, CallbackId: string, decision: Decision): Promise<boolean> => {
  const { lambda, sdk } = await lambdaOf(target);
  const Result = Buffer.from(JSON.stringify(decision));
  try {
    await lambda.send(new sdk.SendDurableExecutionCallbackSuccessCommand({ CallbackId, Result }));
    return true;
  } catch (error) {
    if (/^(CallbackTimeout|InvalidParameterValue|ResourceNotFound)Exception$/.test(errorName(error)))
      return false;
    throw error;
  }
};
