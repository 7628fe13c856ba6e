import type { Failure } from '../../message/failure.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import { ownText, safe } from '../../message/safe-text.ts';
import type { Platform } from '../../platform/client/client.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { bulkPlatform } from '../../runtime/jobs/bulk-platform.ts';
import type { JobServices } from '../../runtime/jobs/job-services.ts';
import type { JobStore } from '../../runtime/jobs/store.ts';
import type { ItemAttempt, WorkList } from '../../runtime/jobs/work-list.ts';
import type { Observe } from '../../runtime/telemetry/observe.ts';
import type { ExportRequest } from './export-request.ts';
import type { ExportSettings } from './export-settings.ts';
import { exportOperations, type Part, partsOf } from './parts.ts';
import { addFailure, addFile, addTotals, type ExportTotals, noTotals } from './totals.ts';

export type ExportServices = Pick<JobServices, 'platform' | 'store' | 'observe'> & {
  callUsage?: JobServices['callUsage'];
  limits: JobServices['limits'] & ExportSettings['limits'];
};

export type ExportRun = { request: ExportRequest; runId: string; services: ExportServices };

/** An org unit, or the rest of it. */
type OrgUnit = {
  orgUnitId: number;
  /** The files that remain to be exported, in this order; undefined: all. */
  left?: string[];
};

export const orgUnitList = ({ request, runId, services }: ExportRun): WorkList<OrgUnit, ExportTotals> => {
  const { store, observe, limits, callUsage } = services;
  return {
    what: safe`the course export ${ownText(runId)}`,
    nameOf: (first, last) =>
      first === last ? `org unit ${first.orgUnitId}` : `org units ${first.orgUnitId} to ${last.orgUnitId}`,
    noSum: noTotals,
    add: addTotals,
    inStep: async ({ sum: totals, signal }, work) => {
      const platform = bulkPlatform(services, { operations: exportOperations, signal });
      const folder = `${limits.prefix}${runId}/`;
      const context = { request, folder, platform, store, observe, totals, signal };
      await work((task) => exportOrgUnit(task, context));
      await callUsage?.write();
    },
    giveUp: (totals, task, failure) => {
      const remedy = `${failure.remedy} Then export only this org unit, with more of both.`;
      const reported = failure.kind === 'crashed' ? { ...failure, remedy } : failure;
      addFailure(totals, filesOf(task, request), reported);
    },
    // One after the other, so that an interrupted invocation cuts off only one org unit of each step.
    concurrency: { steps: limits.concurrency, items: 1 },
    minPerStep: 1,
    maxWaitMs: limits.maxWaitMs,
  };
};

type ExportContext = {
  request: ExportRequest;
  /** Prefix of all keys of the run. */
  folder: string;
  platform: Platform;
  store: JobStore;
  observe: Observe;
  totals: ExportTotals;
  /** Fires when the time is up. */
  signal: AbortSignal;
};

const filesOf = ({ orgUnitId, left }: OrgUnit, { details }: ExportRequest): string[] =>
  left ?? partsOf(orgUnitId, details[orgUnitId]).map(({ file }) => file);

/** Stores one part after the other. Refused parts are recorded; parts that fail for now are left, the failed one last. */
const exportOrgUnit = async (task: OrgUnit, context: ExportContext): Promise<ItemAttempt<OrgUnit>> => {
  const { request, folder, platform, store, observe, totals, signal } = context;
  const { orgUnitId } = task;
  const all = partsOf(orgUnitId, request.details[orgUnitId]);
  const parts = filesOf(task, request).flatMap((file): Part[] => all.filter((part) => part.file === file));
  let answered = false;
  for (const [at, { file, isOrgUnit, store: storePart }] of parts.entries()) {
    const left = { orgUnitId, left: [...parts.slice(at + 1).map((each) => each.file), file] };
    const refusals: [item: string, failure: Failure][] = [];
    const refused = (item: string, failure: Failure) => void refusals.push([item, failure]);
    try {
      signal.throwIfAborted();
      const stored = await storePart(`${folder}${file}`, { platform, store, refused });
      if (stored) addFile(totals, file, stored);
      for (const [item, failure] of refusals) addFailure(totals, [`${file} ${item}`], failure);
      answered = true;
    } catch (error) {
      if (signal.aborted) return { left, answered };
      const failure = failureOf(error);
      if (isRetried(failure.kind)) return { left, failure, answered };
      if (failure.kind === 'defect') observe.error(safe`a defect of sis-relay`, {}, error);
      else answered = true;
      addFailure(totals, [file], failure);
      // The org unit does not exist, so it has no further parts.
      if (isOrgUnit && failure.status === 404) return { answered };
    }
  }
  return { answered };
};
