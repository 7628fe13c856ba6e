import { errorName } from '../../runtime/aws/error.ts';
import { listExecutions } from '../../runtime/jobs/executions.ts';
import type { Audit, AuditEntry } from '../../stage/audit.ts';
import { RefusedError } from '../../stage/command-errors.ts';
import { lambdaOf } from '../../stage/lambda-client.ts';
import { pollDelay } from '../../stage/poll-delay.ts';
import type { Target } from '../../stage/target.ts';

/** Does something, with its begin and end in the audit log. `done`: the name of its count there, which is 0 if it fails. */
export const audited = async (
  audit: Audit,
  { done, count = 1, ...entry }: AuditEntry & { done: string; count?: number },
  work: () => Promise<unknown>,
): Promise<void> => {
  const { end } = await audit.begin(entry);
  let counted = 0;
  try {
    await work();
    counted = count;
  } finally {
    await end({ [done]: counted });
  }
};

/** An execution of a function that operators start. */
export type Execution = { of: 'reconcile' | 'crosswalk-fill' | 'snapshot-import'; name: string };

/** Starts the function; the same name starts nothing twice. @throws RefusedError if there is no such function. */
export const startExecution = async (
  target: Target,
  { of, name }: Execution,
  request: object,
): Promise<void> => {
  const { lambda, sdk } = await lambdaOf(target);
  const functionName = `${target.prefix}${of}`;
  const invoke = new sdk.InvokeCommand({
    FunctionName: `${functionName}:durable`,
    InvocationType: 'Event',
    DurableExecutionName: name,
    Payload: Buffer.from(JSON.stringify(request)),
  });
  try {
    await lambda.send(invoke);
  } catch (error) {
    if (errorName(error) !== 'ResourceNotFoundException') throw error;
    throw new RefusedError(`There is no function ${functionName}. Deploy this version of sis-relay.`);
  } finally {
    lambda.destroy();
  }
};

const ends: Record<string, string> = {
  FAILED: 'it failed',
  TIMED_OUT: 'its time ended',
  STOPPED: 'it was stopped',
};

type ExecutionEnd = { status: string; arn: string | undefined };

/** Undefined: it has not ended. */
const endOf = async (target: Target, { of, name }: Execution): Promise<ExecutionEnd | undefined> => {
  const { lambda } = await lambdaOf(target);
  try {
    const listed = await listExecutions(lambda, `${target.prefix}${of}`, { DurableExecutionName: name });
    // AWS may also list those whose names contain this one.
    const its = listed.find(({ DurableExecutionName }) => DurableExecutionName === name);
    const { Status: status, DurableExecutionArn: arn } = its ?? {};
    return status === undefined || status === 'RUNNING' ? undefined : { status, arn };
  } finally {
    lambda.destroy();
  }
};

/** The result of an execution, as JSON; undefined: it has not ended. @throws RefusedError if it has ended without success. */
export const executionResultOf = async (
  target: Target,
  execution: Execution,
): Promise<string | undefined> => {
  const ended = await endOf(target, execution);
  if (ended?.arn === undefined) return undefined;
  const { lambda, sdk } = await lambdaOf(target);
  const get = new sdk.GetDurableExecutionCommand({ DurableExecutionArn: ended.arn });
  const { Result, Error: error } = await lambda.send(get).finally(() => lambda.destroy());
  if (ended.status === 'SUCCEEDED') return Result ?? '';
  const why = error?.ErrorMessage === undefined ? '' : `: ${error.ErrorMessage}`;
  const { of, name } = execution;
  throw new RefusedError(
    `The execution ${name} of ${target.prefix}${of}: ${ends[ended.status] ?? 'it has ended'}${why}`,
  );
};

export type PollOptions = {
  signal: AbortSignal;
  patienceMs: number;
};

/** Looks until there is a value; undefined: the time is up. */
export const pollUntil = async <Value>(
  look: (looks: number) => Promise<Value | undefined>,
  { signal, patienceMs }: PollOptions,
): Promise<Value | undefined> => {
  const endMs = performance.now() + patienceMs;
  for (let looks = 1; ; looks += 1) {
    const found = await look(looks);
    if (found !== undefined || signal.aborted || performance.now() > endMs) return found;
    await pollDelay(looks, signal);
  }
};

/** The execution's state is requested once per this many looks. */
const looksPerQuestion = 5;

/**
 * Looks until an execution has recorded a value; undefined: the time is up. @throws RefusedError if it has ended, and there is still no
 * value.
 */
export const pollUntilEnd = <Value>(
  target: Target,
  execution: Execution,
  { look, ...patience }: PollOptions & { look(): Promise<Value | undefined> },
): Promise<Value | undefined> =>
  pollUntil(async (looks) => {
    const found = await look();
    if (found !== undefined || looks % looksPerQuestion > 0) return found;
    // The right to invoke a function does not include the right to list its executions.
    const ended = await endOf(target, execution).catch(() => undefined);
    const why = ends[ended?.status ?? ''];
    const last = why === undefined ? undefined : await look();
    if (why === undefined || last !== undefined) return last;
    throw new RefusedError(
      `The execution ${execution.name} of ${target.prefix}${execution.of} has ended without a result: ${why}. Look at its log.`,
    );
  }, patience);
