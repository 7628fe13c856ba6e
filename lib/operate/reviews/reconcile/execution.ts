import { errorName } from '../../../runtime/aws/error.ts';
import { RefusedError } from '../../stage/command-errors.ts';
import { lambdaOf } from '../../stage/lambda-client.ts';
import { restAfter } from '../../stage/poll-delay.ts';
import type { Target } from '../../stage/target.ts';

/** A function whose executions operators start. */
type Started = 'reconcile' | 'crosswalk-fill';

/** Starts the function; the same name starts nothing twice. @throws RefusedError if there is no such function. */
export const startExecution = async (
  target: Target,
  name: string,
  request: object,
  started: Started = 'reconcile',
): Promise<void> => {
  const { lambda, sdk } = await lambdaOf(target);
  const functionName = `${target.prefix}${started}`;
  const invoke = new sdk.InvokeCommand({
    ...{ FunctionName: `${functionName}:durable`, InvocationType: 'Event', DurableExecutionName: name },
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

/** Why an execution has ended without success, as in `it failed`; undefined: it runs, has succeeded, or its state cannot be read. */
export const endOf = async (target: Target, name: string): Promise<string | undefined> => {
  const { lambda, sdk } = await lambdaOf(target);
  const list = new sdk.ListDurableExecutionsByFunctionCommand({
    FunctionName: `${target.prefix}reconcile`,
    DurableExecutionName: name,
  });
  // The right to invoke a function does not include the right to list its executions.
  const answer = await lambda.send(list).catch(() => undefined);
  lambda.destroy();
  const its = answer?.DurableExecutions?.find(({ DurableExecutionName }) => DurableExecutionName === name);
  return ends[its?.Status ?? ''];
};

/** The result of an execution, as JSON; undefined: it has not ended. @throws RefusedError if it has ended without success. */
export const resultOf = async (
  target: Target,
  name: string,
  started: Started,
): Promise<string | undefined> => {
  const { lambda, sdk } = await lambdaOf(target);
  try {
    const { DurableExecutions = [] } = await lambda.send(
      new sdk.ListDurableExecutionsByFunctionCommand({
        FunctionName: `${target.prefix}${started}`,
        DurableExecutionName: name,
      }),
    );
    const its = DurableExecutions.find(({ DurableExecutionName }) => DurableExecutionName === name);
    if (its?.DurableExecutionArn === undefined || its.Status === 'RUNNING') return undefined;
    const { DurableExecutionArn } = its;
    const { Result, Error: error } = await lambda.send(
      new sdk.GetDurableExecutionCommand({ DurableExecutionArn }),
    );
    if (its.Status === 'SUCCEEDED') return Result ?? '';
    const why = error?.ErrorMessage === undefined ? '' : `: ${error.ErrorMessage}`;
    throw new RefusedError(
      `The execution ${name} of ${target.prefix}${started}: ${ends[its.Status ?? ''] ?? 'it has ended'}${why}`,
    );
  } finally {
    lambda.destroy();
  }
};

const ends: Record<string, string> = {
  FAILED: 'it failed',
  TIMED_OUT: 'its time ended',
  STOPPED: 'it was stopped',
};

export type Patience = {
  signal: AbortSignal;
  patienceMs: number;
};

/** The execution's state is requested once per this many looks. */
const looksPerQuestion = 5;

/**
 * Looks until there is a value; undefined: the time is up. @throws RefusedError if the execution has ended, and there is still no value.
 */
export const waitFor = async <Value>(
  target: Target,
  execution: string,
  { look, signal, patienceMs }: Patience & { look(): Promise<Value | undefined> },
): Promise<Value | undefined> => {
  const endMs = performance.now() + patienceMs;
  for (let looks = 1; ; looks += 1) {
    const found = await look();
    if (found !== undefined || signal.aborted || performance.now() > endMs) return found;
    const why = looks % looksPerQuestion === 0 ? await endOf(target, execution) : undefined;
    if (why !== undefined) {
      const last = await look();
      if (last !== undefined) return last;
      throw new RefusedError(
        `The execution ${execution} of ${target.prefix}reconcile has ended without a result: ${why}. Look at its log.`,
      );
    }
    await restAfter(looks, signal);
  }
};
