import { randomBytes } from 'node:crypto';
import { isRetried } from '../../message/failure-kinds.ts';
import { ownText, safe } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { listOrgUnits } from '../../platform/resources/org-units.ts';
import { bulkPlatform } from '../../runtime/jobs/bulk-platform.ts';
import type { Job } from '../../runtime/jobs/engine.ts';
import { type JobRun, jobOf } from '../../runtime/jobs/job.ts';
import type { JobServices } from '../../runtime/jobs/job-services.ts';
import { waitForOlderExecutions } from '../../runtime/jobs/older-executions.ts';
import { workThrough } from '../../runtime/jobs/work-list.ts';
import type { Observe } from '../../runtime/telemetry/observe.ts';
import { type RequestedExport, requestedIn } from './export-request.ts';
import { type ExportRun, type ExportServices, orgUnitList } from './org-unit.ts';
import { exportOperations } from './parts.ts';
import { type ExportTotals, incompleteIn } from './totals.ts';

/** The result of a run that ended by itself. Otherwise the run throws, and the engine reports a failed execution. */
export type ExportAnswer = {
  /** `incomplete`: some files failed; the manifest says which, and why. `empty`: no course is listed. */
  outcome: 'complete' | 'incomplete' | 'empty';
  message: string;
  runId: string;
  /** The folder of its files. */
  files: string;
  manifest: string;
  orgUnits: { wanted: number; incomplete: number };
};

type Services = ExportServices & Pick<JobServices, 'running'>;

/** Copies courses and their contents to S3. */
export const exportJob = (services: () => Promise<Services>): Job<RequestedExport, ExportAnswer> =>
  jobOf({
    requestIn: requestedIn,
    whatOf: () => safe`the course export`,
    services,
    executions: ({ limits }) => `${limits.prefix}executions/`,
    work: async ({ isScheduled, request }, run) => {
      const { engine, services } = run;
      const { observe, running, limits } = services;
      // Counted before its turn comes, so that a long wait for others does not look like a missing run.
      if (isScheduled) await engine.step('nightly', { work: async () => countNightly(observe) });
      await waitForOlderExecutions(engine, { running, backoff: limits.backoff });
      return exportCourses(request, run);
    },
  });

const countNightly = (observe: Observe): void => {
  observe.count('NightlyExports', { function: 'course-export' }, 1);
  observe.flush();
};

const exportCourses = async (
  request: RequestedExport['request'],
  jobRun: JobRun<Services>,
): Promise<ExportAnswer> => {
  const { engine, services, folder } = jobRun;
  const { limits, store } = services;
  const { backoff } = limits;
  const { runId, startedMs } = await engine.step('begin', {
    // Before the first call of the platform: the bucket must be writable.
    work: async () => {
      const startedMs = Date.now();
      const begun = { runId: runIdAt(startedMs), startedMs };
      await store.writeJson(`${folder}run.json`, { ...begun, request });
      return begun;
    },
    backoff,
  });
  const run: ExportRun = { request, runId, services };
  const orgUnitIds =
    request.orgUnitIds ??
    (await engine.step('list', { work: () => listCourses(run, startedMs + limits.maxWaitMs), backoff }));
  const orgUnits = orgUnitIds.map((orgUnitId) => ({ orgUnitId }));
  const totals = await workThrough(orgUnits, orgUnitList(run), { run: jobRun, startedMs });
  return engine.step('manifest', {
    work: () => finish(run, { startedMs, wanted: orgUnitIds.length, totals }),
    backoff,
  });
};

/** Ids that sort by when the runs began. */
const runIdAt = (nowMs: number): string =>
  `${new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(4).toString('hex')}`;

/** Includes those whose details were requested: otherwise a course that is gone would be omitted without notice. */
const listCourses = async ({ request, services }: ExportRun, untilMs: number): Promise<number[]> => {
  const { observe } = services;
  const signal = AbortSignal.timeout(600_000);
  const platform = bulkPlatform(services, { operations: exportOperations, signal });
  const ids = new Set<number>();
  try {
    for await (const { Identifier } of listOrgUnits(platform, { type: request.orgUnitType }))
      ids.add(Number(Identifier));
  } catch (error) {
    const { kind, message, remedy } = failureOf(error);
    if (kind === 'defect' || (isRetried(kind) && Date.now() < untilMs)) throw error;
    // A retry would be refused again, and without the list nothing can be exported.
    throw new Error(`The courses could not be listed: ${message}. ${remedy}`);
  } finally {
    observe.flush();
  }
  for (const id of Object.keys(request.details)) ids.add(Number(id));
  return [...ids];
};

/** Every outcome is reported each time, so that an alarm about one of them ends. */
const countRun = (outcome: ExportAnswer['outcome'], { count }: Observe): void => {
  for (const each of ['complete', 'incomplete', 'empty'])
    count('ExportRuns', { outcome: each }, each === outcome ? 1 : 0);
};

type FinishedExport = { startedMs: number; wanted: number; totals: ExportTotals };

const finish = async (
  { request, runId, services }: ExportRun,
  { startedMs, wanted, totals }: FinishedExport,
): Promise<ExportAnswer> => {
  const { store, observe, limits } = services;
  const { parts, failures } = totals;
  const incomplete = incompleteIn(totals);
  const outcome = wanted === 0 ? 'empty' : incomplete > 0 ? 'incomplete' : 'complete';
  const orgUnits = { wanted, incomplete };
  const files = `${limits.prefix}${runId}/`;
  const manifest = `${files}manifest.json`;
  await store.writeJson(manifest, {
    runId,
    outcome,
    request,
    orgUnits,
    parts,
    startedAt: new Date(startedMs).toISOString(),
    finishedAt: new Date().toISOString(),
    failures: failures.map((failure) => ({ ...failure, files: failure.files.toSorted() })),
  });
  const log = outcome === 'complete' ? observe.info : observe.warn;
  log(safe`the course export ${ownText(runId)} is ${outcome}`, {
    count: incomplete > 0 ? incomplete : wanted,
  });
  countRun(outcome, observe);
  for (const { files } of Object.values(parts)) observe.count('ExportParts', { outcome: 'stored' }, files);
  for (const { count } of failures) observe.count('ExportParts', { outcome: 'failed' }, count);
  observe.flush();
  const message = `${wanted - incomplete} of ${wanted} org units are complete.`;
  const addresses = { files: store.addressOf(files), manifest: store.addressOf(manifest) };
  return { outcome, message, runId, ...addresses, orgUnits };
};
