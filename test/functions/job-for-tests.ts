import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest';
import { passingTime } from '../local/aws/passing-time.ts';
import { filesIn } from '../local/bucket.ts';
import { type Controls, controlsOf } from '../local/controls.ts';
import { startLambda } from '../local/lambda/lambda.ts';
import type { InvokeResult } from '../local/lambda/runtime-api.ts';
import { durableOptionsOf, type Stack, settingsOf, startStack } from '../local/stack.ts';
import { logForTests } from './log-for-tests.ts';

/** What the platform answers if it knows the credential no more. */
export const invalidToken = {
  status: 403,
  headers: { 'content-type': 'text/plain' },
  body: 'Invalid token',
};

/** A whole execution of a job. */
export type Execute = (event: unknown) => Promise<InvokeResult>;

type Options = {
  /** Over those of the stack. */
  settings?(): Record<string, string>;
  /** Default: the stack's. */
  bucket?(): string;
  /** In place of passing the time. */
  pause?(ms: number, signal: AbortSignal): Promise<unknown>;
};

/** A durable function for a test file, on a stack that runs no function: it waits without waiting. */
export function jobForTests(name: string, options: Options = {}) {
  const time = passingTime();
  const logged = logForTests();
  let stack: Stack;
  let controls: Controls;
  let meanwhile: (() => unknown) | undefined;

  const passTime = async (ms: number): Promise<void> => {
    const act = meanwhile;
    meanwhile = undefined;
    await act?.();
    // Others of this process go on.
    await sleep(1);
    time.pass(ms);
  };
  const settings = (): Record<string, string> => ({
    ...settingsOf(stack.description, name),
    RESERVE_MS: '1000',
    LOG_LEVEL: 'info',
    ...options.settings?.(),
  });

  beforeAll(async () => {
    stack = await startStack({ functions: false, durable: { pause: options.pause ?? passTime } });
    controls = controlsOf(stack.description);
    Object.assign(process.env, settings());
  });
  beforeEach(() => {
    meanwhile = undefined;
    return controls.reset();
  });
  afterAll(() => stack.close());

  return {
    time,
    logged,
    settings,
    ...filesIn(() => ({
      s3: stack.s3,
      description: { bucket: options.bucket?.() ?? stack.description.bucket },
    })),
    stack: () => stack,
    controls: () => controls,

    /** What happens while an execution waits for the first time; answers whether it has happened. */
    meanwhile: (act: () => unknown): (() => boolean) => {
      meanwhile = act;
      return () => meanwhile === undefined;
    },

    /** The metrics of this name, each with its outcome. */
    metrics: (metric: string): [outcome: string, value: number][] =>
      logged().flatMap((line) => {
        const { outcome, [metric]: value } = line.startsWith('{"_aws"') ? JSON.parse(line) : {};
        return value === undefined ? [] : [[outcome, value[0]]];
      }),

    /** The function in a process of its own, until the test ends. */
    inProcess: async (more: object = {}) => {
      const lambda = await startLambda({
        functions: {
          [name]: {
            handler: `functions/${name}.handler`,
            env: { ...settings(), ...more },
            timeoutMs: 890_000,
            maximumConcurrency: 1,
            durable: durableOptionsOf(name),
          },
        },
        executions: stack.executions,
      });
      onTestFinished(() => lambda.close());
      const execute: Execute = (event) => lambda.invoke(name, event);
      return { lambda, execute };
    },
  };
}
