import * as z from 'zod';
import { failureKindNames, isReplayedBySchedule } from '../../../message/failure-kinds.ts';
import { filterSchema } from '../letters/filter.ts';

/** The options of `sis-relay letters replay`, under the same names. */
const request = z.strictObject({
  filter: filterSchema.default({}),
  /** Selects every letter if there is no filter. */
  all: z.boolean().default(false),
  limit: z.int().positive().optional(),
  dryRun: z.boolean().default(false),
  includeUncertain: z.boolean().default(false),
  canary: z.int().nonnegative().default(5),
  canaryWait: z.number().positive().max(600).default(60),
  continueUndecided: z.boolean().default(false),
  rate: z.number().positive().max(500).default(5),
  stopAfter: z.int().positive().default(5),
  probe: z.boolean().default(true),
  reason: z.string().optional(),
  /** Who makes the request, for the audit log. */
  as: z.string().optional(),
});

/**
 * Failures that go away by themselves, or once the proxy or the key is repaired. A letter that was replayed more than twice is left to
 * people; their replays count, too.
 */
const healing = {
  filter: {
    kind: failureKindNames.filter(isReplayedBySchedule),
    maxReplays: 2,
  },
  limit: 500,
};

/** A scheduled event, or a request. */
export const replayEvent = z
  .union([
    z.looseObject({ 'detail-type': z.string() }).transform(() => ({
      ...request.parse({ ...healing, reason: 'on schedule: their kinds heal by themselves' }),
      scheduled: true,
    })),
    request.transform((asked) => ({ ...asked, scheduled: false })),
  ])
  // The function cannot ask for confirmation as the command does: an invocation without a payload must not send everything.
  .refine(({ filter, all, dryRun }) => all || dryRun || Object.keys(filter).length > 0, {
    path: ['filter'],
    message:
      'Which letters? Give a filter, or all: true for all letters. With dryRun: true, only the plan is shown',
  });
