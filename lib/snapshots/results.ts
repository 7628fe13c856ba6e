import { pairsOf } from '../sets/sorted.ts';
import { hasControlInText, instantMsIn, isId, numberIn } from './cells.ts';
import {
  addEvent,
  type Comparison,
  countMoved,
  countsOf,
  createBreath,
  createRowSorter,
  isOfSame,
  type Mode,
  separator,
  stateLine,
  type Times,
  timeOf,
} from './comparison.ts';
import type { LineItems } from './line-items.ts';
import { type Cells, columnOf, type FileRead, type Read, readRows, wrongStatus } from './reading.ts';
import type { References } from './references.ts';
import type { Files } from './zip.ts';

const kind = '3';
const name = 'results';
const file = 'results.csv';

type Grade = { type: 'numeric'; points: number; outOf?: number } | { type: 'text'; text: string };
type Data = {
  orgUnitCode: string;
  gradeObjectName: string;
  gradeObjectFormerNames?: string[];
  userName?: string;
  orgDefinedId?: string;
  grade: Grade;
  comments?: string;
};

/** A grade that was accepted. */
type Result = Times & { data: Data };

/** A row, by its line: `refused`, `pending` until it is fully graded, or the grade; else it is deleted. */
type ResultRow = { line: number; refused?: true; pending?: true; result?: Result };

type Context = { comparison: Comparison; references: References; lineItems: LineItems; mode: Mode };

export const compareResults = async (files: Files, context: Context): Promise<FileRead> => {
  const { comparison, mode } = context;
  const sorter = createRowSorter(comparison.folder);
  try {
    const { columns, rows, illegible } = await readRows<Column>(
      files,
      { name, mode, required, optional, read: (cell) => read(cell, context) },
      { comparison, sorter },
    );
    const breathe = createBreath();
    for (const { key, old, new: now } of pairsOf(comparison.accepted(kind), sorter.groups())) {
      await breathe();
      const before = old?.value as Result | undefined;
      const decided = decide(before, {
        ...{ key, rows: (now?.rows ?? []) as ResultRow[] },
        ...{ illegible, context },
      });
      apply({ key, before, ...decided }, comparison);
    }
    return { columns, rows };
  } finally {
    sorter.remove();
  }
};

const required = ['lineItemSourcedId', 'studentSourcedId', 'scoreStatus', 'score'] as const;
const optional = ['status', 'dateLastModified', 'textScore', 'comment'] as const;
type Column = (typeof required)[number] | (typeof optional)[number];

/** Of OneRoster. Only a score that is fully graded is sent. */
const scoreStatuses = ['exempt', 'fully graded', 'not submitted', 'partially graded', 'submitted'];

const read = (cell: Cells<Column>, context: Context): Read => {
  const [lineItemId, userId] = [cell('lineItemSourcedId'), cell('studentSourcedId')];
  if (!isId(lineItemId)) return { column: 'lineItemSourcedId', problem: 'is no id' };
  if (!isId(userId)) return { column: 'studentSourcedId', problem: 'is no id' };
  const key = `${lineItemId}${separator}${userId}`;
  const status = cell('status').trim();
  if (status === 'tobedeleted') return { key, row: {} };
  if (status !== '' && status !== 'active') return { key, column: 'status', problem: wrongStatus };
  const scoreStatus = cell('scoreStatus').trim().toLowerCase();
  if (!scoreStatuses.includes(scoreStatus))
    return { key, column: 'scoreStatus', problem: `must be one of ${scoreStatuses.join(', ')}` };
  if (scoreStatus !== 'fully graded') return { key, row: { pending: true } };
  const changed = cell('dateLastModified').trim();
  const atMs = instantMsIn(changed);
  if (changed !== '' && atMs === undefined)
    return { key, column: 'dateLastModified', problem: 'must be a time as in 2026-01-31T09:30:00Z' };
  const named = namesOf(lineItemId, userId, context);
  if ('column' in named) return { key, ...named };
  const { outOf, ...names } = named;
  const grade = gradeOf(cell, outOf);
  if ('column' in grade) return { key, ...grade };
  const comments = cell('comment');
  if (hasControlInText(comments)) return { key, column: 'comment', problem: 'holds control characters' };
  const data: Data = { ...names, grade, ...(comments !== '' && { comments }) };
  return { key, row: { result: { data, ...(atMs !== undefined && { atMs }) } } };
};

const gradeOf = (cell: Cells<Column>, outOf: OutOf): Grade | { column: string; problem: string } => {
  const [score, text] = [cell('score').trim(), cell('textScore')];
  const points = numberIn(score);
  if (points !== undefined) return { type: 'numeric', points, ...outOf };
  if (score !== '') return { column: 'score', problem: 'must be a number as in 100 or 7.5' };
  if (text === '') return { column: 'score', problem: 'is empty, and so is textScore' };
  if (hasControlInText(text)) return { column: 'textScore', problem: 'holds control characters' };
  return { type: 'text', text };
};

/**
 * Not where the maximum is changed by this snapshot, too: nobody knows which of the two messages comes first, and a grade that is
 * out of the new maximum would be refused by the old one.
 */
type OutOf = { outOf?: number };
type Names = Pick<
  Data,
  'orgUnitCode' | 'gradeObjectName' | 'gradeObjectFormerNames' | 'userName' | 'orgDefinedId'
> & { outOf: OutOf };

const namesOf = (
  lineItemId: string,
  userId: string,
  { references, lineItems, comparison }: Context,
): Names | { column: string; problem: string } => {
  const gradeObject = lineItems.gradeObject(lineItemId);
  if (gradeObject.problem !== undefined) return { column: 'lineItemSourcedId', problem: gradeObject.problem };
  const user = references.users(userId);
  if (user.problem !== undefined) return { column: 'studentSourcedId', problem: user.problem };
  const { orgUnitCode, name: gradeObjectName, maxPoints, maxChanges, formerNames } = gradeObject.value;
  const outOf: OutOf = maxChanges ? {} : { outOf: maxPoints };
  return {
    ...{ orgUnitCode, gradeObjectName, [comparison.settings.user.field]: user.value, outOf },
    ...(formerNames.length > 0 && { gradeObjectFormerNames: formerNames }),
  };
};

type Given = { key: string; rows: ResultRow[]; illegible: boolean; context: Context };
type Decided = { next: Result | undefined; line?: number; pending?: true };

/** What holds from now on. */
const decide = (before: Result | undefined, { key, rows, illegible, context }: Given): Decided => {
  const { comparison, mode } = context;
  const kept = (): Decided => ({ next: before && again(key, before, context) });
  if (rows.length === 0) return mode === 'bulk' && !illegible ? { next: undefined } : kept();
  if (rows.some(({ refused }) => refused)) return kept();
  const [first] = rows;
  if (first === undefined) return kept();
  const contents = new Set(rows.map(({ line: _, ...row }) => JSON.stringify(row)));
  if (contents.size > 1) {
    const problem = 'another row has this line item and student, too, and differs';
    for (const { line } of rows) {
      countsOf(comparison, name).refused += 1;
      comparison.report.add({ file, line, column: 'lineItemSourcedId', problem });
    }
    return kept();
  }
  return first.pending ? { ...kept(), pending: true } : { next: first.result, line: first.line };
};

/** Its user or line item may be known by another name now. */
const again = (key: string, before: Result, context: Context): Result => {
  const [lineItemId = '', userId = ''] = key.split(separator);
  const named = namesOf(lineItemId, userId, context);
  if ('column' in named) return before;
  const { outOf, ...names } = named;
  const { grade: given, comments } = before.data;
  const grade: Grade = given.type === 'numeric' ? { type: 'numeric', points: given.points, ...outOf } : given;
  return { ...before, data: { ...names, grade, ...(comments !== undefined && { comments }) } };
};

const columns: Record<string, string> = {
  ...{ grade: 'score', comments: 'comment', gradeObjectName: 'lineItemSourcedId' },
  ...{ orgUnitCode: 'lineItemSourcedId', userName: 'studentSourcedId', orgDefinedId: 'studentSourcedId' },
};

type Change = Decided & { key: string; before: Result | undefined };

const apply = ({ key, before, next, line, pending }: Change, comparison: Comparison): void => {
  const counts = countsOf(comparison, name);
  const { state, acceptedCounts } = comparison;
  if (before !== undefined) acceptedCounts[name] = (acceptedCounts[name] ?? 0) + 1;
  if (pending) counts.pending = (counts.pending ?? 0) + 1;
  if (next === undefined) {
    // The platform cannot clear a grade.
    if (before !== undefined) counts.removed += 1;
    return;
  }
  if (before !== undefined && contentOf(before) === contentOf(next)) {
    if (!pending) counts.unchanged += 1;
    const { sentMs } = before;
    state.add(stateLine(kind, key, { ...next, ...(sentMs !== undefined && { sentMs }) }));
    return;
  }
  if (before !== undefined && isOlder(before, next)) {
    counts.refused += 1;
    comparison.report.add({ file, line, column: 'dateLastModified', problem: olderResult });
    state.add(stateLine(kind, key, before));
    return;
  }
  const timeMs = timeFor(before, next, comparison);
  const isCleared = before?.data.comments !== undefined && next.data.comments === undefined;
  const data = isCleared ? { ...next.data, comments: '' } : next.data;
  const problem = addEvent(comparison, { kind, key, function: 'grade-push', data, timeMs });
  if (problem === undefined) {
    counts[before === undefined ? 'created' : 'updated'] += 1;
    countMoved(comparison, name, { before: before?.data, next: next.data });
    state.add(stateLine(kind, key, { ...next, sentMs: timeMs }));
    return;
  }
  counts.refused += 1;
  comparison.report.add({ file, line, column: columnOf(problem, columns) ?? 'score', problem });
  if (before !== undefined) state.add(stateLine(kind, key, before));
};

/** What its students see. The line item's name and maximum are changed by themselves. */
const contentOf = ({ data }: Result): string => {
  const { orgUnitCode, userName, orgDefinedId, grade, comments = '' } = data;
  const value = grade.type === 'numeric' ? grade.points : grade.text;
  return JSON.stringify([orgUnitCode, userName, orgDefinedId, grade.type, value, comments]);
};

const olderResult = 'is before that of the grade that was accepted: an older one is not put over it';

/** An export that was restored, or dropped once more, holds grades of before. */
const isOlder = ({ atMs: beforeMs }: Result, { atMs }: Result): boolean =>
  beforeMs !== undefined && atMs !== undefined && atMs < beforeMs;

/** What was sent to a name that is new here is not known: it may have been another user's, and be newer. */
const timeFor = (before: Result | undefined, next: Result, comparison: Comparison): number =>
  before === undefined || isOfSame(before.data, next.data)
    ? timeOf(before, next, comparison)
    : comparison.droppedMs;
