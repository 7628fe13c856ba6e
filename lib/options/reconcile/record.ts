import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { classes, type EffectClass } from './classes.ts';
import { reasons } from './selection.ts';

/** Runs in the bucket: `reconcile/<run>/report.json`, `reconcile/<run>/findings-<n>.jsonl`. */
export const reconcilePrefix = 'reconcile/';
/** `{ id }` of the run that ended last. */
export const latestKey = `${reconcilePrefix}latest.json`;
export const reportKey = (run: string): string => `${reconcilePrefix}${run}/report.json`;
/** Its lines are findings. Parts are numbered from 1; a part without findings is empty. */
export const findingsKey = (run: string, part: number): string =>
  `${reconcilePrefix}${run}/findings-${part}.jsonl`;
/** What operators have accepted: one object per command, named by its time, so that none overwrites another. */
export const acceptedPrefix = `${reconcilePrefix}accepted/`;

/** As in `20261123T020000Z-0a1b2c3d`: ids sort by the time at which the runs began. */
export const runId = z.string().regex(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/);
/** The first part of such an id. */
export const timeText = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
/** For a run, or for an operator's request to the function. */
export const newRunId = (): string => `${timeText(Date.now())}-${randomBytes(4).toString('hex')}`;

const subject = z.strictObject({
  kind: z.enum(['grade', 'enrollment']),
  orgUnitId: z.number(),
  userId: z.number(),
  gradeObjectId: z.number().optional(),
});

/** A difference between the platform and what the SIS sent. It contains no value, neither the sent one nor the present one. */
export const findingSchema = z.object({
  class: z.enum(classes),
  /** As in the ledger: `grade/2001/5001/301`, `enrollment/2001/301`. */
  resource: z.string(),
  subject,
  /** The parts of a grade that differ. */
  fields: z.array(z.string()),
  reason: z.enum(reasons),
  /** When it was written, and by which message, by SQS' id; undefined: sis-relay has not written it. */
  writtenMs: z.number().optional(),
  messageId: z.string().optional(),
  /** When the platform last changed it, in the platform's format; undefined: it is missing, or the platform does not report it. */
  changedAt: z.string().optional(),
  /** Why it cannot be read, and the kind of failure. */
  error: z.string().optional(),
  kind: z.string().optional(),
});
export type Finding = z.infer<typeof findingSchema>;

const byClass = z.record(z.enum(classes), z.number());
const tally = z.object({
  /** How many were selected for this reason, and how many of them were checked. */
  selected: z.number(),
  looked: z.number(),
  byClass,
  /** Writes that cannot be judged: they are in progress, have no digest, or are not shown. */
  uncompared: z.number(),
});
export type Tally = z.infer<typeof tally>;

/** `report.json`: the run writes it when it begins, after each pass, and when it ends. Other versions of the command read it, too. */
export const reportSchema = z.object({
  id: runId,
  /** `partial`: the time was up before everything was checked. `failed`: `why` gives the reason. */
  state: z.enum(['running', 'whole', 'partial', 'failed']),
  why: z.string().optional(),
  startedMs: z.number(),
  /** While the run is in progress: when the report was written. */
  endedMs: z.number(),
  /** Writes since then are recent. */
  sinceMs: z.number(),
  /** How many grades and enrollments the ledger has. */
  entries: z.number(),
  /** The share of the random sample among older writes, and the number of nights in which each of them has its turn. */
  share: z.number(),
  nights: z.number(),
  /** The snapshots that the platform was compared with. */
  snapshots: z.array(z.string()),
  /** How many of their enrollments name an org unit or user that the crosswalk does not know, or not for sure. */
  unknown: z.number(),
  tallies: z.record(z.enum(reasons), tally),
  /** A difference that the ledger and a snapshot both show is counted once. */
  byKind: z.record(z.enum(['grade', 'enrollment']), byClass),
  /** Differences that operators have not accepted, by class and in all, and the number that they have. */
  open: byClass,
  findings: z.number(),
  accepted: z.number(),
  /** How many objects hold the findings. */
  parts: z.number(),
  /** Calls of the platform. */
  calls: z.number(),
});
export type Report = z.infer<typeof reportSchema>;

/** A finding of this write, in this class, with this change on the platform, and no other. */
const decidedFinding = z.strictObject({
  resource: z.string(),
  class: z.enum(classes),
  writtenMs: z.number().optional(),
  changedAt: z.string().optional(),
});
/** An operator's decision on findings: to accept them, or to have them sent again. */
export const decidedSchema = z.strictObject({
  by: z.string(),
  atMs: z.number(),
  why: z.string(),
  findings: z.array(decidedFinding),
});
export type DecidedFindings = z.infer<typeof decidedSchema>;

/** Identifies a finding in another run. */
export const acceptanceKeyOf = ({
  resource,
  class: itsClass,
  writtenMs = 0,
  changedAt = '',
}: Pick<Finding, 'resource' | 'class' | 'writtenMs' | 'changedAt'>): string =>
  `${resource} ${itsClass} ${writtenMs} ${changedAt}`;

/** If the platform changed a resource after its acceptance, the acceptance no longer applies. Some decisions do not contain that time. */
export const isAccepted = ({ changedAt, ...finding }: Finding, accepted: ReadonlySet<string>): boolean =>
  accepted.has(acceptanceKeyOf(finding)) ||
  (changedAt !== undefined && accepted.has(acceptanceKeyOf({ ...finding, changedAt })));

export const noClasses = (): Record<EffectClass, number> =>
  Object.fromEntries(classes.map((each) => [each, 0])) as Record<EffectClass, number>;

export const noTally = (): Tally => ({ selected: 0, looked: 0, byClass: noClasses(), uncompared: 0 });

/** `reconcile/resends/<id>.json`: what an operator wants sent again by the function `reconcile`. */
export const resendKey = (id: string): string => `${reconcilePrefix}resends/${id}.json`;

/** `reconcile/resends/<id>-result.json`: the result. */
export const resendResultKey = (id: string): string => `${reconcilePrefix}resends/${id}-result.json`;
/** What the SIS itself must send again: class, resource, ids of the platform and of the SIS, when it was written. */
export const resendListKey = (id: string): string => `${reconcilePrefix}resends/${id}-for-the-sis.csv`;
export const resendResultSchema = z.strictObject({
  id: runId,
  /** `failed`: `why` gives the reason. What was sent before is in the outcomes. */
  state: z.enum(['done', 'failed']),
  why: z.string().optional(),
  outcomes: z.array(
    z.strictObject({
      resource: z.string(),
      /**
       * `sent`: on its queue, because the SIS' snapshot has what was written. `newer`: it was written again since, or somebody has changed
       * it on the platform.
       * `not-held`: no snapshot has it as it was written, so that it is in the list for the SIS. `not-for-us`: sis-relay has not written
       * it.
       */
      outcome: z.enum(['sent', 'newer', 'not-held', 'not-for-us']),
      /** SQS' id. */
      messageId: z.string().optional(),
    }),
  ),
});
export type ResendResult = z.infer<typeof resendResultSchema>;

type ResendOutcome = ResendResult['outcomes'][number];
export type ResendCounts = Record<ResendOutcome['outcome'], number>;

/** How many findings had each outcome. */
export const resendCounts = (outcomes: Iterable<ResendOutcome>): ResendCounts => {
  const counts: ResendCounts = { sent: 0, newer: 0, 'not-held': 0, 'not-for-us': 0 };
  for (const { outcome } of outcomes) counts[outcome] += 1;
  return counts;
};
