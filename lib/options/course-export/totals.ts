import type { Failure } from '../../message/failure.ts';
import type { StoredPart } from './parts.ts';

/** A failure, and all parts that it affected. */
type FailureGroup = Failure & {
  part: string;
  count: number;
  /** The files that are missing, such as `classlists/2001`, `quiz-attempts/2001-9201`. */
  files: string[];
};

/** What was stored, by kind of part, and what failed, by cause. */
export type ExportTotals = {
  parts: Record<string, { files: number; lines: number; bytes: number }>;
  failures: FailureGroup[];
};

export const noTotals = (): ExportTotals => ({ parts: {}, failures: [] });

const partOf = (file: string): string => file.split('/')[0] ?? '';

export const addStored = (
  { parts }: ExportTotals,
  part: string,
  { files, lines, bytes }: StoredPart & { files: number },
): void => {
  const before = parts[part] ?? { files: 0, lines: 0, bytes: 0 };
  parts[part] = { files: before.files + files, lines: before.lines + lines, bytes: before.bytes + bytes };
};

export const addFile = (totals: ExportTotals, file: string, stored: StoredPart): void =>
  addStored(totals, partOf(file), { files: 1, ...stored });

/** Groups equal failures, as one cause may concern thousands of org units. */
export const addFailure = ({ failures }: ExportTotals, files: string[], failure: Failure): void => {
  // There is no letter to replay: the remedy is another export.
  const remedy = failure.remedy.replace(/\b(then )?replay\b/, '$1export again');
  for (const [part, some] of Map.groupBy(files, partOf)) {
    const isAlike = (group: FailureGroup) =>
      group.part === part &&
      (['kind', 'status', 'type', 'title', 'required'] as const).every(
        (name) => group[name] === failure[name],
      );
    const group = failures.find(isAlike);
    if (group === undefined) failures.push({ ...failure, part, remedy, count: some.length, files: some });
    else {
      group.count += some.length;
      for (const file of some) group.files.push(file);
    }
  }
};

export const addTotals = (totals: ExportTotals, { parts, failures }: ExportTotals): void => {
  for (const [part, stored] of Object.entries(parts)) addStored(totals, part, stored);
  for (const { part, count, files, ...failure } of failures) addFailure(totals, files, failure);
};

/** Org units with at least one failure. */
export const incompleteIn = ({ failures }: ExportTotals): number =>
  new Set(failures.flatMap(({ files }) => files.map((file) => /\/(\d+)/.exec(file)?.[1]))).size;
