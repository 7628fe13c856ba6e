import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { jsonIn } from '../../../message/json.ts';
import type { Audit } from '../../stage/audit.ts';
import { RefusedError } from '../../stage/command-errors.ts';
import { restAfter } from '../../stage/poll-delay.ts';
import type { Target } from '../../stage/target.ts';
import { type Patience, resultOf, startExecution } from '../reconcile/execution.ts';

export type FillOptions = {
  /** Also reads users from the classlists of all courses, if there is no file of users. */
  classlists: boolean;
  /** A person has looked: what the sources lack is removed, however much it is. */
  acceptRemovals: boolean;
  reason?: string | undefined;
  audit: Audit;
};

const answer = z.object({ outcome: z.enum(['filled', 'held']), message: z.string() });

/** `held`: some names stay as they were, and a person must find out why. */
export type FillResult = z.output<typeof answer>;

/** Has the crosswalk filled now. Returns the execution's name. @throws RefusedError */
export const startFill = async (
  target: Target,
  { classlists, acceptRemovals, reason, audit }: FillOptions,
): Promise<string> => {
  const id = `fill-${randomUUID()}`;
  const request = { classlists, acceptRemovals };
  const { end } = await audit.begin({ command: 'crosswalk fill', reason, filter: { id, ...request } });
  let started = 0;
  try {
    await startExecution(target, id, request, 'crosswalk-fill');
    started = 1;
  } finally {
    await end({ started });
  }
  return id;
};

/** Waits until a fill has ended; undefined: the time is up. @throws RefusedError if it failed. */
export const awaitFill = async (
  target: Target,
  id: string,
  { signal, patienceMs }: Patience,
): Promise<FillResult | undefined> => {
  const endMs = performance.now() + patienceMs;
  for (let looks = 1; ; looks += 1) {
    const result = await resultOf(target, id, 'crosswalk-fill');
    if (result !== undefined) {
      const read = answer.safeParse(jsonIn(result));
      if (read.success) return read.data;
      throw new RefusedError(`The fill ${id} has ended, but its result cannot be read. Look at its log.`);
    }
    if (signal.aborted || performance.now() > endMs) return undefined;
    await restAfter(looks, signal);
  }
};
