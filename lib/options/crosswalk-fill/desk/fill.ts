import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import {
  audited,
  executionResultOf,
  type PollOptions,
  pollUntil,
  startExecution,
} from '../../../desk/stage-state/execution.ts';
import { jsonIn } from '../../../message/json.ts';
import type { Audit } from '../../../stage/audit.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';

type FillOptions = {
  /** Also reads users from the classlists of all courses, if there is no file of users. */
  classlists: boolean;
  /** A person has looked: what the sources lack is removed, however much it is. */
  acceptRemovals: boolean;
  reason?: string | undefined;
  audit: Audit;
};

const answer = z.object({
  outcome: z.enum(['filled', 'held']),
  message: z.string(),
  /** Undefined: a version before 1.1 filled it. */
  unread: z.array(z.string()).optional(),
  withoutUsers: z.boolean().optional(),
});

/** `held`: some names stay as they were, and a person must find out why. */
export type FillResult = z.output<typeof answer>;

/** Has the crosswalk filled now. Returns the execution's name. @throws RefusedError */
export const startFill = async (
  target: Target,
  { reason, audit, ...request }: FillOptions,
): Promise<string> => {
  const id = `fill-${randomUUID()}`;
  const entry = { reason, filter: { id, ...request }, done: 'started' };
  await audited(audit, { command: 'crosswalk fill', ...entry }, () =>
    startExecution(target, { of: 'crosswalk-fill', name: id }, request),
  );
  return id;
};

/** Waits until a fill has ended; undefined: the time is up. @throws RefusedError if it failed. */
export const awaitFill = async (
  target: Target,
  id: string,
  patience: PollOptions,
): Promise<FillResult | undefined> => {
  const result = await pollUntil(
    () => executionResultOf(target, { of: 'crosswalk-fill', name: id }),
    patience,
  );
  if (result === undefined) return undefined;
  const { data } = answer.safeParse(jsonIn(result));
  if (data !== undefined) return data;
  throw new RefusedError(`The fill ${id} has ended, but its result cannot be read. Look at its log.`);
};
