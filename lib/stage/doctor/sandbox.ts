import { setTimeout as sleep } from 'node:timers/promises';
import type { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { awsClient } from '../../runtime/aws/clients.ts';
import { errorName } from '../../runtime/aws/error.ts';
import { memoize } from '../../runtime/aws/memoize.ts';
import { lambdaOf } from '../lambda-client.ts';
import type { Target } from '../target.ts';
import type { PausedBefore } from './pause.ts';

/** Where a step may make things: all of them bear its name and that of its run, and all of them are removed. */
export type StepSandbox = {
  target: Target;
  /** The beginning of the name of whatever a step makes, as in `sis-relay-test-doctor-1f2e3d4c-redrive`. */
  name: string;
  lambda(): ReturnType<typeof lambdaOf>;
  cloudWatch(): Promise<Pick<CloudWatchClient, 'send'>>;
  /** Of the report of an earlier run: what was paused then. */
  before: PausedBefore | undefined;
  /** What the next run must know of this one. */
  remember(before: PausedBefore): void;
  /** Notes how to remove a thing, then makes it: it is removed even if AWS' answer is lost. */
  make<Made>(what: string, work: () => Promise<Made>, undo: () => Promise<unknown>): Promise<Made>;
  /** @throws AbortError after Ctrl-C. */
  rest(seconds: number): Promise<void>;
  /** Looks every few seconds, for so many seconds in all; undefined: the time is up. @throws AbortError after Ctrl-C. */
  until<Value>(
    seconds: number,
    look: (passedSeconds: number) => Promise<Value | undefined>,
  ): Promise<Value | undefined>;
  /** Removes what was made, the last first, also after Ctrl-C; answers what is left. */
  cleanUp(): Promise<string[]>;
};

type Options = {
  target: Target;
  name: string;
  signal: AbortSignal;
  before: PausedBefore | undefined;
  remember(before: PausedBefore): void;
  /** Tests hurry. */
  secondMs?: number;
  lambda?: StepSandbox['lambda'];
  cloudWatch?: StepSandbox['cloudWatch'];
};

const looksEverySeconds = 3;
const attempts = 12;
const attemptsEverySeconds = 5;

export const createStepSandbox = ({
  target,
  name,
  signal,
  secondMs = 1_000,
  ...given
}: Options): StepSandbox => {
  const made: { what: string; undo(): Promise<unknown> }[] = [];
  const rest = (seconds: number) => sleep(seconds * secondMs, undefined, { signal });
  return {
    target,
    name,
    rest,
    before: given.before,
    remember: given.remember,
    lambda: given.lambda ?? memoize(() => lambdaOf(target)),
    cloudWatch:
      given.cloudWatch ??
      memoize(async () => {
        const sdk = await import('@aws-sdk/client-cloudwatch');
        return awsClient(sdk.CloudWatchClient, target.lambdaOptions ?? {});
      }),
    make: (what, work, undo) => {
      made.push({ what, undo });
      return work();
    },
    until: async (seconds, look) => {
      for (let left = seconds; ; ) {
        signal.throwIfAborted();
        const startedMs = performance.now();
        const found = await look(seconds - left);
        left -= (performance.now() - startedMs) / 1_000;
        if (found !== undefined || left <= 0) return found;
        const pause = Math.min(left, looksEverySeconds);
        await rest(pause);
        left -= pause;
      }
    },
    cleanUp: async () => {
      const left: string[] = [];
      for (const { what, undo } of made.splice(0).reverse()) {
        const why = await whyLeft(undo, () => sleep(attemptsEverySeconds * secondMs));
        if (why !== undefined) left.push(`${what} (${why})`);
      }
      return left;
    },
  };
};

/** AWS refuses while it is still making or removing something else; what is not there need not be removed. */
const whyLeft = async (undo: () => Promise<unknown>, rest: () => Promise<void>) => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await undo();
      return undefined;
    } catch (error) {
      const name = errorName(error);
      if (/NotFound|NonExistent|DoesNotExist|NoSuch/.test(name)) return undefined;
      if (attempt === attempts || /AccessDenied|ExpiredToken|Credentials/.test(name)) return name;
      await rest();
    }
  }
};
