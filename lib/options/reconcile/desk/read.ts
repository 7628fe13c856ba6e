import { createInterface } from 'node:readline';
import * as z from 'zod';
import { idGiven, type ReviewBucket, reviewBucketOf } from '../../../desk/stage-state/bucket.ts';
import { jsonIn } from '../../../message/json.ts';
import { RefusedError } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';
import type { EffectClass } from '../classes.ts';
import {
  acceptanceKeyOf,
  acceptedPrefix,
  decidedSchema,
  type Finding,
  findingSchema,
  findingsKey,
  isAccepted,
  latestKey,
  noClasses,
  type Report,
  reconcilePrefix,
  reportKey,
  reportSchema,
  runId,
  timeText,
} from '../record.ts';
import { createGroups, type FindingGroup, groupIdOf, isFault } from './groups.ts';

export type ReviewedRun = {
  report: Report;
  /** Number of writes by class, including what operators have accepted. */
  counts: Record<EffectClass, number>;
  /** Groups of findings that are not accepted. */
  groups: FindingGroup[];
  /** The first of these findings, of the requested groups. */
  findings: Finding[];
  /** How many more of these there are. */
  omitted: number;
  /** Faults that are not accepted. */
  faults: number;
  /** Findings that were accepted since the run began. */
  acceptedSince: number;
  /** Lines and parts of the findings that are missing, or were written by another version of sis-relay. */
  unread: number;
  /** A run that began after this one, if no run was requested. */
  newer: Pick<Report, 'id' | 'state'> | undefined;
};

/** Undefined if it does not exist yet, or was written by another version. */
export const reportIn = async ({ jsonIfAny }: ReviewBucket, id: string): Promise<Report | undefined> =>
  reportSchema.safeParse(await jsonIfAny(reportKey(id))).data;

const latestSchema = z.object({ id: runId });

const latestIn = async ({ jsonIfAny }: ReviewBucket): Promise<string | undefined> =>
  latestSchema.safeParse(await jsonIfAny(latestKey)).data?.id;

/** The newest runs, newest first. Runs of another version are omitted. */
export const listReports = async (
  target: Target,
  { limit, signal }: { limit: number; signal: AbortSignal },
): Promise<Report[]> => {
  const bucket = await reviewBucketOf(target);
  const ids = await bucket.idsIn('', { prefix: reconcilePrefix, signal });
  const reports = await Promise.all(ids.slice(0, limit).map((id) => reportIn(bucket, id)));
  return reports.flatMap((report) => report ?? []);
};

/** The run that is in progress; undefined: none is. */
export const runningComparison = async (target: Target, signal: AbortSignal): Promise<Report | undefined> =>
  (await listReports(target, { limit: 1, signal })).find(({ state }) => state === 'running');

type RunRead = { report: Report; newer: ReviewedRun['newer'] };

/** @param given an id, or its beginning; undefined: the run that ended last. @throws RefusedError if none or more than one matches. */
const readRun = async (target: Target, given: string | undefined, signal: AbortSignal): Promise<RunRead> => {
  const bucket = await reviewBucketOf(target);
  const ids = { prefix: reconcilePrefix, signal };
  const latest = given === undefined ? await latestIn(bucket) : undefined;
  const [newest] = given === undefined ? await bucket.idsIn('', ids) : [];
  const none = `There is no run ${given}. The runs are in the bucket, under ${reconcilePrefix}.`;
  const id =
    given === undefined ? (latest ?? newest) : await idGiven(given, bucket, { ...ids, things: 'runs', none });
  if (id === undefined)
    throw new RefusedError(
      'The platform was not compared with what was sent yet. The function reconcile does this every night. `reconcile run` does it now.',
    );
  const report = await reportIn(bucket, id);
  if (report === undefined)
    throw new RefusedError(
      `The report of run ${id} does not exist yet, or was written by another version of sis-relay.`,
    );
  const later = latest !== undefined && newest !== undefined && newest > latest ? newest : undefined;
  const newer = later === undefined ? undefined : await reportIn(bucket, later);
  return { report, newer: newer && { id: newer.id, state: newer.state } };
};

/** A run's findings omit what was accepted before it. The clock of the operator who accepted may have been this much behind. */
const clockMarginMs = 24 * 3_600_000;

/** The keys of what operators have accepted since. */
const acceptedSince = async (
  { namesUnder, jsonIfAny }: ReviewBucket,
  { startedMs, signal }: { startedMs: number; signal: AbortSignal },
): Promise<Set<string>> => {
  const first = `${acceptedPrefix}${timeText(startedMs - clockMarginMs)}`;
  const names = await namesUnder(acceptedPrefix, signal);
  const keys = new Set<string>();
  for (const name of names.filter((each) => each >= first))
    for (const each of decidedSchema.safeParse(await jsonIfAny(name)).data?.findings ?? [])
      keys.add(acceptanceKeyOf(each));
  return keys;
};

/** Yields its findings one by one; undefined for a line or a part that cannot be read. */
async function* findingsIn(
  { openIfAny }: ReviewBucket,
  { id, parts }: Report,
): AsyncGenerator<Finding | undefined> {
  for (let part = 1; part <= parts; part += 1) {
    const body = await openIfAny(findingsKey(id, part));
    if (body === undefined) yield undefined;
    else {
      // A consumer that needs no more leaves the loop early.
      try {
        for await (const line of createInterface({ input: body, crlfDelay: Number.POSITIVE_INFINITY }))
          if (line !== '') yield findingSchema.safeParse(jsonIn(line)).data;
      } finally {
        body.destroy();
      }
    }
  }
}

export const countsOf = ({ byKind }: Pick<Report, 'byKind'>): Record<EffectClass, number> => {
  const counts = noClasses();
  for (const byClass of Object.values(byKind))
    for (const [name, count] of Object.entries(byClass)) counts[name as EffectClass] += count;
  return counts;
};

export type ReadOptions = {
  run?: string | undefined;
  /** Ids of groups, and resources; default: all. */
  of?: readonly string[] | undefined;
  /** Maximum number of findings to keep. */
  limit: number;
  signal: AbortSignal;
};

/** A run with its findings by group. @throws RefusedError if there is no such run. */
export const readComparison = async (
  target: Target,
  { run, of, limit, signal }: ReadOptions,
): Promise<ReviewedRun> => {
  const { report, newer } = await readRun(target, run, signal);
  const bucket = await reviewBucketOf(target);
  const accepted = await acceptedSince(bucket, { startedMs: report.startedMs, signal });
  const wanted = of && new Set(of);
  const groups = createGroups();
  const findings: Finding[] = [];
  const tally = { omitted: 0, faults: 0, acceptedSince: 0, unread: 0 };
  for await (const finding of findingsIn(bucket, report)) {
    signal.throwIfAborted();
    if (finding === undefined) tally.unread += 1;
    else if (isAccepted(finding, accepted)) tally.acceptedSince += 1;
    else {
      groups.add(finding);
      if (isFault(finding.class)) tally.faults += 1;
      const isWanted = wanted === undefined || wanted.has(finding.resource) || wanted.has(groupIdOf(finding));
      if (isWanted && findings.length < limit) findings.push(finding);
      else if (isWanted) tally.omitted += 1;
    }
  }
  return { report, counts: countsOf(report), groups: groups.all(), findings, ...tally, newer };
};

/** `atLeast`: there are more findings than were counted. */
export type LastComparison = { report: Report; faults: number; atLeast: boolean };

const maxRead = 10_000;

/** The run that ended last; undefined: none has. */
export const lastComparison = async (
  target: Target,
  signal: AbortSignal,
): Promise<LastComparison | undefined> => {
  const bucket = await reviewBucketOf(target);
  const id = await latestIn(bucket);
  const report = id === undefined ? undefined : await reportIn(bucket, id);
  if (report === undefined) return undefined;
  if (report.findings === 0) return { report, faults: 0, atLeast: false };
  const accepted = await acceptedSince(bucket, { startedMs: report.startedMs, signal });
  let [read, faults] = [0, 0];
  for await (const finding of findingsIn(bucket, report)) {
    read += 1;
    if (finding && isFault(finding.class) && !isAccepted(finding, accepted)) faults += 1;
    if (read >= maxRead) return { report, faults, atLeast: true };
  }
  return { report, faults, atLeast: false };
};
