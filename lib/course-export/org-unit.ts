import { dispositions, type Failure, failureOf } from '../failure.ts';
import type { Platform } from '../platform/client.ts';
import type { Observe } from '../telemetry/observe.ts';
import { type Part, partsOf } from './parts.ts';
import type { ExportRequest } from './request.ts';
import type { ExportStore } from './store.ts';
import { addFailure, addFile, type ExportTotals } from './totals.ts';

/** An org unit, or what is left of it. */
export type Task = {
  orgUnitId: number;
  /** The files that are left, in this order; all of them where this is undefined. */
  left?: string[];
  /** When it first failed for the time being, and has not ceased since. */
  sinceMs?: number;
  /** How often in a row an invocation ended before anything more of it was had. */
  cuts?: number;
};

/** What came of an org unit's turn. */
export type Turn = {
  /** What is left without a failure was cut off by the end of the time. */
  left: string[];
  failure?: Failure;
  /** Something was had, or refused: the platform is there. */
  answered: boolean;
};

type ExportContext = {
  request: ExportRequest;
  /** What all keys of the run begin with. */
  folder: string;
  platform: Platform;
  store: ExportStore;
  observe: Observe;
  totals: ExportTotals;
  /** Of the end of the time. */
  signal: AbortSignal;
};

export const filesOf = ({ orgUnitId, left }: Task, { details }: ExportRequest): string[] =>
  left ?? partsOf(orgUnitId, details[orgUnitId]).map(({ file }) => file);

/** Stores one part after the other. What is refused is written down, and what cannot be had now is left, that one last. */
export const exportOrgUnit = async (task: Task, context: ExportContext): Promise<Turn> => {
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
      // Of what does not exist there is nothing to ask.
      if (isOrgUnit && failure.status === 404) return { left: [], answered };
    }
  }
  return { left: [], answered };
};
