import type { LambdaClient } from '@aws-sdk/client-lambda';
import { type BackoffLimits, waitSeconds } from '../../message/backoff.ts';
import { awsClient, timeouts } from '../../runtime/aws/clients.ts';
import type { Engine } from './engine.ts';

/** Returns the running executions of a function, the oldest first, as the engine lists them. */
export type RunningExecutions = (functionArn: string) => Promise<string[]>;

type Waiting = {
  running: RunningExecutions;
  backoff: BackoffLimits;
  /** Whether its turn has come, by what is running; default: if it is the oldest. */
  isItsTurn?(running: string[]): Promise<boolean>;
};

/**
 * Waits until no older execution of the function is running. The engine knows which ones run, so an execution that was stopped, or
 * ran out of time, does not block others.
 */
export const waitForOlderExecutions = async (
  engine: Engine,
  { running, backoff, isItsTurn = async ([first]) => first === engine.executionArn }: Waiting,
): Promise<void> => {
  // Without a version: executions of older versions count, too.
  const functionArn = engine.executionArn.split(':').slice(0, 7).join(':');
  for (let attempt = 1; ; attempt += 1) {
    const seconds = await engine.step(`is it the first, ${attempt}`, {
      work: async () => {
        const isNow = await isItsTurn(await running(functionArn));
        return isNow ? 0 : waitSeconds({ receiveCount: attempt }, backoff);
      },
      backoff,
    });
    if (seconds === 0) return;
    await engine.wait(`for those before it, ${attempt}`, seconds);
  }
};

/** Loaded when an execution begins. */
export const createRunningExecutions = async (): Promise<RunningExecutions> => {
  const { LambdaClient } = await import('@aws-sdk/client-lambda');
  return runningExecutions(awsClient(LambdaClient, timeouts({ connectionMs: 2_000, requestMs: 30_000 })));
};

export const runningExecutions =
  (lambda: LambdaClient): RunningExecutions =>
  async (FunctionName) => {
    const { paginateListDurableExecutionsByFunction: pagesOf } = await import('@aws-sdk/client-lambda');
    const running: string[] = [];
    const asked = { FunctionName, Statuses: ['RUNNING' as const], ReverseOrder: true };
    for await (const { DurableExecutions = [] } of pagesOf({ client: lambda }, asked))
      running.push(...DurableExecutions.flatMap(({ DurableExecutionArn }) => DurableExecutionArn ?? []));
    return running;
  };
