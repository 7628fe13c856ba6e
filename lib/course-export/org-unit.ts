import type { JobStore } from '../durable/store.ts';
import { dispositions, type Failure, failureOf } from '../failure.ts';
import type { Platform } from '../platform/client.ts';
import type { Observe } from '../telemetry/observe.ts';
import { type Part, partsOf } from './parts.ts';
import type { ExportRequest } from './request.ts';
import { addFailure, addFile, type ExportTotals } from './totals.ts';

/** An org unit, or the rest of it. */
export type Task = {
  orgUnitId: number;
  /** The files that are still to be exported, in this order; undefined: all. */
  left?: string[];
  /** Since when it has failed without a success. */
  sinceMs?: number;
  /** How often in a row an invocation ended without progress. */
  cuts?: number;
};

/** The result of an org unit's turn. */
export type OrgUnitResult = {
  /** If files are left without a failure, the end of the time cut them off. */
  left: string[];
  failure?: Failure;
  /** Something was exported or refused: the platform answers. */
  answered: boolean;
};

type ExportContext = {
  request: ExportRequest;
  /** Prefix of all keys of the run. */
  folder: string;
  platform: Platform;
  store: JobStore;
  observe: Observe;
  totals: ExportTotals;
  /** Fires at the end of the time. */
  signal: AbortSignal;
};

export const filesOf = ({ orgUnitId, left }: Task, { details }: ExportRequest): string[] =>
  left ?? partsOf(orgUnitId, details[orgUnitId]).map(({ file }) => file);

/** Stores one part after the other. Refused parts are recorded; parts that fail for now are left, the failed one last. */
export const exportOrgUnit = async (task: Task, context: ExportContext): Promise<OrgUnitResult> => {
  const { request, folder, platform, store, observe, totals, signal } = context;
  const all = partsOf(task.orgUnitId, request.details[task.orgUnitId]);
  const parts = filesOf(task, request).flatMap((file): Part[] => all.filter((part) => part.file === file));
  let answered = false;
  for (const [at, { file, isOrgUnit, store: storePart }] of parts.entries()) {
    const left = [...parts.slice(at + 1).map((each) => each.file), file];
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
      observe.failed(failure.kind);
      if (dispositions[failure.kind] === 'wait') return { left, failure, answered };
      if (failure.kind === 'defect') observe.error('a defect of sis-relay', {}, error);
      else answered = true;
      addFailure(totals, [file], failure);
      // The org unit does not exist, so it has no further parts.
      if (isOrgUnit && failure.status === 404) return { left: [], answered };
    }
  }
  return { left: [], answered };
};
