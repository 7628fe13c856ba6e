import * as z from 'zod';
import { exportDetails } from './export-parts.ts';
import type { Failure } from './failure.ts';
import { platformId } from './message.ts';
import { courseOffering } from './platform/org-units.ts';

/** What is to be exported. */
export const exportRequest = z
  .strictObject({
    /** Default: all org units of the type. */
    orgUnitIds: z
      .array(platformId)
      .min(1, 'must name at least one org unit, or be left out for all courses')
      .transform((ids) => [...new Set(ids)])
      .optional(),
    orgUnitType: platformId.default(courseOffering),
    /** By org unit. */
    details: z
      .record(z.string().regex(/^[1-9]\d*$/, 'must be the id of an org unit'), exportDetails)
      .default({}),
  })
  .refine(
    ({ orgUnitIds, details }) =>
      orgUnitIds === undefined || Object.keys(details).every((id) => orgUnitIds.includes(Number(id))),
    { path: ['details'], error: 'must be about org units that orgUnitIds names' },
  );

export type ExportRequest = z.infer<typeof exportRequest>;

/** An org unit, or what is left of it, whose turn has been and will come again. */
const task = z.object({
  orgUnitId: z.number(),
  /** The parts that are left; all of them where this is undefined. */
  left: z.array(z.string()).optional(),
  /** How often it failed for the time being. */
  attempts: z.number(),
  /** When it first did, and has not ceased since. */
  sinceMs: z.number().optional(),
  dueMs: z.number(),
  /** How often in a row an invocation began it and did not come to its end, or ended before it. */
  cuts: z.number(),
});

export type Task = z.infer<typeof task>;

/** One failure and every part that has failed with it. */
const failureGroup = z.looseObject({
  part: z.string(),
  kind: z.string(),
  message: z.string(),
  remedy: z.string(),
  count: z.number(),
  /** `classlists/2001`, `quiz-attempts/2001-9201`: what would have been the files. */
  files: z.array(z.string()),
});

export type FailureGroup = z.infer<typeof failureGroup>;

/** Where a run is: all that the next invocation needs to go on. */
export const checkpointSchema = z.object({
  runId: z.string(),
  request: exportRequest,
  startedAt: z.string(),
  /** Until then an invocation is at work on it. */
  leaseMs: z.number(),
  /** Undefined as long as the courses are not listed. */
  orgUnitIds: z.array(z.number()).optional(),
  /** Those before this one have had their turn. */
  next: z.number(),
  again: z.array(task),
  counts: z.record(z.string(), z.object({ files: z.number(), lines: z.number(), bytes: z.number() })),
  failures: z.array(failureGroup),
});

export type Checkpoint = z.infer<typeof checkpointSchema>;

export const newCheckpoint = (
  request: ExportRequest,
  { runId, nowMs }: { runId: string; nowMs: number },
): Checkpoint => ({
  ...{ runId, request, startedAt: new Date(nowMs).toISOString(), leaseMs: 0, next: 0 },
  ...{ orgUnitIds: request.orgUnitIds, again: [], counts: {}, failures: [] },
});

/** Puts a failure beside those that are alike, as one cause may meet thousands of org units. */
export const addFailure = (groups: FailureGroup[], file: string, failure: Failure): void => {
  const [part = ''] = file.split('/');
  const isAlike = (group: FailureGroup) =>
    group.part === part &&
    (['kind', 'status', 'type', 'title', 'required'] as const).every((name) => group[name] === failure[name]);
  const group = groups.find(isAlike);
  // There is no letter to replay: the export is asked for again.
  const remedy = failure.remedy.replace(/\b(then )?replay\b/, '$1export again');
  if (group === undefined) groups.push({ part, ...failure, remedy, count: 1, files: [file] });
  else {
    group.count += 1;
    group.files.push(file);
  }
};
