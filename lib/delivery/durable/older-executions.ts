import { type BackoffLimits, waitSeconds } from '../../message/backoff.ts';
import { awsClient, timeouts } from '../../runtime/aws/clients.ts';
import type { Engine } from './engine.ts';

/** Returns the running executions of a function, the oldest first, as the engine lists them. */
export type RunningExecutions = (functionArn: string) => Promise<string[]>;

/**
 * Waits until no older execution of the function is running. The engine knows which ones run, so an execution that was stopped, or
 * ran out of time, does not block others.
 */
export const waitForOlderExecutions = async (
  engine: Engine,
  { running, backoff }: { running: RunningExecutions; backoff: BackoffLimits },
): Promise<void> => {
  // Without a version: executions of older versions count, too.
  const functionArn = engine.executionArn.split(':').slice(0, 7).join(':');
  for (let attempt = 1; ; attempt += 1) {
    const seconds = await engine.step(`is it the first, ${attempt}`, {
      work: async () => {
        const [first] = await running(functionArn);
        return first === engine.executionArn ? 0 : waitSeconds({ receiveCount: attempt }, backoff);
      },
      backoff,
    });
    if (seconds === 0) return;
    await engine.wait(`for those before it, ${attempt}`, seconds);
  }
};

/** Loaded when an execution begins. */
export const createRunningExecutions = async (): Promise<RunningExecutions> => {
  const { LambdaClient, ListDurableExecutionsByFunctionCommand } = await import('@aws-sdk/client-lambda');
  const lambda = awsClient(LambdaClient, timeouts({ connectionMs: 2_000, requestMs: 30_000 }));
  return async (FunctionName) => {
    const { DurableExecutions = [] } = await lambda.send(
      new ListDurableExecutionsByFunctionCommand({ FunctionName, Statuses: ['RUNNING'], ReverseOrder: true }),
    );
    return DurableExecutions.flatMap(({ DurableExecutionArn }) => DurableExecutionArn ?? []);
  };
};
