import { createInterface } from 'node:readline';
import * as z from 'zod';
import type { JobStore } from '../../../delivery/durable/store.ts';
import { jsonIn } from '../../../message/json.ts';
import { unlessError } from '../../../runtime/aws/error.ts';
import type { EffectClass } from '../../../scheduled/reconcile/classes.ts';
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
} from '../../../scheduled/reconcile/record.ts';
import { bucketOf } from '../../stage/audit-log.ts';
import { RefusedError } from '../../stage/command-errors.ts';
import type { Target } from '../../stage/target.ts';
import { createGroups, type FindingGroup, groupIdOf, isFault } from './groups.ts';

export type Comparison = {
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

export const storeOf = async (target: Target): Promise<JobStore> => {
  const { createJobStore } = await import('../../../delivery/durable/store.ts');
  return createJobStore({ s3: await target.s3(), bucket: await bucketOf(target) });
};

type Listing = { prefix: string; signal: AbortSignal };

/** What lies directly under the prefix, folders by their names, in order. */
const namesUnder = async (target: Target, { prefix, signal }: Listing): Promise<string[]> => {
  const { paginateListObjectsV2 } = await import('@aws-sdk/client-s3');
  const input = { Bucket: await bucketOf(target), Prefix: prefix, Delimiter: '/' };
  const pages = paginateListObjectsV2({ client: await target.s3() }, input, { abortSignal: signal });
  const names: string[] = [];
  for await (const { CommonPrefixes = [], Contents = [] } of pages)
    names.push(
      ...CommonPrefixes.map(({ Prefix = '' }) => Prefix.slice(0, -1)),
      ...Contents.map(({ Key = '' }) => Key),
    );
  return names.sort();
};

/** Ids of runs, newest first. */
const idsIn = async (target: Target, beginning: string, signal: AbortSignal): Promise<string[]> =>
  (await namesUnder(target, { prefix: `${reconcilePrefix}${beginning}`, signal }))
    .map((name) => name.slice(reconcilePrefix.length))
    .filter((name) => runId.safeParse(name).success)
    .reverse();

const missing = /^(NoSuchKey|NotFound)$/;

const readJson = async (store: JobStore, key: string): Promise<unknown> =>
  unlessError(missing, () => store.readJson(key));

/** Undefined if it does not exist yet, or was written by another version. */
export const reportIn = async (store: JobStore, id: string): Promise<Report | undefined> =>
  reportSchema.safeParse(await readJson(store, reportKey(id))).data;

const latestSchema = z.object({ id: runId });

const latestIn = async (store: JobStore): Promise<string | undefined> =>
  latestSchema.safeParse(await readJson(store, latestKey)).data?.id;

/** The newest runs, newest first. Runs of another version are omitted. */
export const listReports = async (
  target: Target,
  { limit, signal }: { limit: number; signal: AbortSignal },
): Promise<Report[]> => {
  const store = await storeOf(target);
  const ids = (await idsIn(target, '', signal)).slice(0, limit);
  const reports = await Promise.all(ids.map((id) => reportIn(store, id)));
  return reports.flatMap((report) => report ?? []);
};

/** The run that is in progress; undefined: none is. */
export const runningComparison = async (target: Target, signal: AbortSignal): Promise<Report | undefined> =>
  (await listReports(target, { limit: 1, signal })).find(({ state }) => state === 'running');

type Read = { report: Report; newer: Comparison['newer'] };

/** @param given an id, or its beginning; undefined: the run that ended last. @throws RefusedError if none or more than one matches. */
const readRun = async (target: Target, given: string | undefined, signal: AbortSignal): Promise<Read> => {
  const store = await storeOf(target);
  const latest = given === undefined ? await latestIn(store) : undefined;
  const isName = given === undefined || /^[\w-]+$/.test(given);
  const ids = isName ? await idsIn(target, given ?? '', signal) : [];
  const [newest, second] = ids;
  const id = latest ?? newest;
  if (id === undefined)
    throw new RefusedError(
      given === undefined
        ? 'The platform was not compared with what was sent yet. The function reconcile does this every night. `reconcile run` does it now.'
        : `There is no run ${given}. The runs are in the bucket, under ${reconcilePrefix}.`,
    );
  if (given !== undefined && second !== undefined && id !== given)
    throw new RefusedError(
      `${ids.length} runs have an id that begins with ${given}, such as ${id} and ${second}. Give more characters.`,
    );
  const report = await reportIn(store, id);
  if (report === undefined)
    throw new RefusedError(
      `The report of run ${id} does not exist yet, or was written by another version of sis-relay.`,
    );
  const later = latest !== undefined && newest !== undefined && newest > latest ? newest : undefined;
  const newer = later === undefined ? undefined : await reportIn(store, later);
  return { report, newer: newer && { id: newer.id, state: newer.state } };
};

/** A run's findings omit what was accepted before it. The clock of the operator who accepted may have been this much behind. */
const clockMarginMs = 24 * 3_600_000;

/** The keys of what operators have accepted since. */
const acceptedSince = async (
  target: Target,
  { startedMs, signal }: { startedMs: number; signal: AbortSignal },
): Promise<Set<string>> => {
  const store = await storeOf(target);
  const first = `${acceptedPrefix}${timeText(startedMs - clockMarginMs)}`;
  const names = await namesUnder(target, { prefix: acceptedPrefix, signal });
  const keys = new Set<string>();
  for (const name of names.filter((each) => each >= first))
    for (const each of decidedSchema.safeParse(await readJson(store, name)).data?.findings ?? [])
      keys.add(acceptanceKeyOf(each));
  return keys;
};

/** Yields its findings one by one; undefined for a line or a part that cannot be read. */
async function* findingsIn(store: JobStore, { id, parts }: Report): AsyncGenerator<Finding | undefined> {
  for (let part = 1; part <= parts; part += 1) {
    const body = await unlessError(missing, () => store.open(findingsKey(id, part)));
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
): Promise<Comparison> => {
  const { report, newer } = await readRun(target, run, signal);
  const accepted = await acceptedSince(target, { startedMs: report.startedMs, signal });
  const wanted = of && new Set(of);
  const groups = createGroups();
  const findings: Finding[] = [];
  const told = { omitted: 0, faults: 0, acceptedSince: 0, unread: 0 };
  for await (const finding of findingsIn(await storeOf(target), report)) {
    signal.throwIfAborted();
    if (finding === undefined) told.unread += 1;
    else if (isAccepted(finding, accepted)) told.acceptedSince += 1;
    else {
      groups.add(finding);
      if (isFault(finding.class)) told.faults += 1;
      const isWanted = wanted === undefined || wanted.has(finding.resource) || wanted.has(groupIdOf(finding));
      if (isWanted && findings.length < limit) findings.push(finding);
      else if (isWanted) told.omitted += 1;
    }
  }
  return { report, counts: countsOf(report), groups: groups.all(), findings, ...told, newer };
};

/** `atLeast`: there are more findings than were counted. */
export type LastComparison = { report: Report; faults: number; atLeast: boolean };

const maxRead = 10_000;

/** The run that ended last; undefined: none has. */
export const lastComparison = async (
  target: Target,
  signal: AbortSignal,
): Promise<LastComparison | undefined> => {
  const store = await storeOf(target);
  const id = await latestIn(store);
  const report = id === undefined ? undefined : await reportIn(store, id);
  if (report === undefined) return undefined;
  if (report.findings === 0) return { report, faults: 0, atLeast: false };
  const accepted = await acceptedSince(target, { startedMs: report.startedMs, signal });
  let [read, faults] = [0, 0];
  for await (const finding of findingsIn(store, report)) {
    read += 1;
    if (finding && isFault(finding.class) && !isAccepted(finding, accepted)) faults += 1;
    if (read >= maxRead) return { report, faults, atLeast: true };
  }
  return { report, faults, atLeast: false };
};
