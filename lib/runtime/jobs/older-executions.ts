import type { LambdaClient } from '@aws-sdk/client-lambda';
import { type BackoffLimits, waitSeconds } from '../../message/backoff.ts';
import { awsClient, timeouts } from '../aws/clients.ts';
import type { Engine } from './engine.ts';
import { listExecutions } from './executions.ts';

/** Returns the running executions of all versions of a function, the oldest first. */
export type RunningExecutions = (functionArn: string) => Promise<string[]>;

type WaitOptions = {
  running: RunningExecutions;
  backoff: BackoffLimits;
  /** Whether its turn has come, by what is running; default: if it is the oldest. */
  isItsTurn?(running: string[]): Promise<boolean>;
  /** Which turn it is, of an execution that takes several. */
  again?: number | undefined;
};

/** A list may be older than the execution that asks. */
const patientQuestions = 3;

/**
 * Waits until no older execution of the function is running. The engine knows which ones run, so an execution that was stopped, or
 * ran out of time, does not block others.
 * @throws Error if the engine does not list the execution that asks: then it lists others no better, and nothing keeps two apart.
 */
export const waitForOlderExecutions = async (
  engine: Engine,
  { running, backoff, again, isItsTurn = async ([first]) => first === engine.executionArn }: WaitOptions,
): Promise<void> => {
  // Without a version: executions of older versions count, too.
  const functionArn = engine.executionArn.split(':').slice(0, 7).join(':');
  const turn = again === undefined ? '' : ` of turn ${again + 1}`;
  for (let attempt = 1; ; attempt += 1) {
    const seconds = await engine.step(`is it the first, ${attempt}${turn}`, {
      work: async () => {
        const all = await running(functionArn);
        if (await isItsTurn(all)) return 0;
        const isUnlisted = attempt >= patientQuestions && !all.includes(engine.executionArn);
        return isUnlisted ? -1 : waitSeconds({ receiveCount: attempt }, backoff);
      },
      backoff,
    });
    if (seconds === 0) return;
    if (seconds < 0)
      throw new Error(
        `Lambda does not list the execution ${engine.executionArn} among those that are running, so it is unknown whether another one is at work: nothing was begun`,
      );
    await engine.wait(`for those before it, ${attempt}${turn}`, seconds);
  }
};

/** Loaded when an execution begins. */
export const createRunningExecutions = async (): Promise<RunningExecutions> => {
  const { LambdaClient } = await import('@aws-sdk/client-lambda');
  return runningExecutions(awsClient(LambdaClient, timeouts({ connectionMs: 2_000, requestMs: 30_000 })));
};

export const runningExecutions =
  (lambda: LambdaClient): RunningExecutions =>
  async (functionName) => {
    const running = await listExecutions(lambda, functionName, { Statuses: ['RUNNING'] });
    return running.flatMap(({ DurableExecutionArn }) => DurableExecutionArn ?? []);
  };
