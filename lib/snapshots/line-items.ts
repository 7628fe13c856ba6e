import { join } from 'node:path';
import { pairsOf } from '../sets/sorted.ts';
import { type Cell, hasControl, isId, numberIn } from './cells.ts';
import {
  addEvent,
  type Comparison,
  countsOf,
  createBreath,
  createRowSorter,
  type Mode,
  type RowSorter,
  stateLine,
} from './comparison.ts';
import { createLookup } from './lookup.ts';
import { type Cells, columnOf, type FileRead, type Read, readRows, wrongStatus } from './reading.ts';
import type { References } from './references.ts';
import type { Files } from './zip.ts';

const kind = '1';
const name = 'lineItems';
const file = 'lineItems.csv';

/** What a line item is on the platform: a grade object of an org unit. */
export type GradeObject = { orgUnitCode: string; name: string; maxPoints: number };

/** `left`: titles that it had. */
type LineItem = { data: GradeObject; class: string; left?: LeftTitle[] };

/** Until then it counts as the title of whoever left it: the platform may have refused the other one. */
type LeftTitle = { name: string; untilMs: number };

/** Longer than a message waits, its letter lies and the ledger remembers. */
const titleHeldMs = 40 * 24 * 3_600_000;

/** A row, by its line: `refused`, or the grade object that it stands for; else it is deleted. */
type LineItemRow = { line: number; refused?: true; item?: LineItem };

type Context = { comparison: Comparison; references: References; mode: Mode };

/** `maxChanges`: it gets another maximum by this snapshot. `formerNames`: of which one may still be its name on the platform. */
type ToBe = GradeObject & { maxChanges: boolean; formerNames: string[] };

/** Tells the grade object of a line item, as it will be. */
export type LineItems = FileRead & {
  gradeObject(sourcedId: string): Cell<ToBe>;
  close(): void;
};

export const compareLineItems = async (files: Files, context: Context): Promise<LineItems> => {
  const { comparison, mode } = context;
  const { folder } = comparison;
  const [rows, byTitle, byKey] = [createRowSorter(folder), createRowSorter(folder), createRowSorter(folder)];
  const known = createLookup(join(folder, 'line-items'));
  try {
    const {
      columns,
      rows: count,
      illegible,
    } = await readRows<Column>(
      files,
      { name, mode, required, optional, read: (cell) => read(cell, context) },
      { comparison, sorter: rows },
    );
    await decideAll({ rows, byTitle, byKey }, context, illegible);
    await refuseTwins({ byTitle, byKey }, comparison);
    const breathe = createBreath();
    for (const { key, rows } of byKey.groups()) {
      await breathe();
      const decided = rows as Decided[];
      const next = apply(key, decided, comparison);
      if (next === undefined) continue;
      comparison.state.add(stateLine(kind, key, next));
      const { maxPoints } = decided[0]?.before?.data ?? next.data;
      const formerNames = (next.left ?? []).map((title) => title.name);
      const toBe: ToBe = { ...next.data, maxChanges: next.data.maxPoints !== maxPoints, formerNames };
      known.set(key, JSON.stringify(toBe));
    }
    return {
      columns,
      rows: count,
      gradeObject: (sourcedId) => {
        const text = known.get(sourcedId);
        return text === undefined
          ? { problem: 'names no line item that can be used' }
          : { value: JSON.parse(text) as ToBe };
      },
      close: known.close,
    };
  } catch (error) {
    known.close();
    throw error;
  } finally {
    for (const each of [rows, byTitle, byKey]) each.remove();
  }
};

const required = ['sourcedId', 'title', 'classSourcedId', 'resultValueMax'] as const;
const optional = ['status'] as const;
type Column = (typeof required)[number] | (typeof optional)[number];

const read = (cell: Cells<Column>, { references }: Context): Read => {
  const key = cell('sourcedId');
  if (!isId(key)) return { column: 'sourcedId', problem: 'is no id' };
  const [title, status, classId] = [cell('title'), cell('status').trim(), cell('classSourcedId')];
  if (status === 'tobedeleted') return { key, row: {} };
  if (status !== '' && status !== 'active') return { key, column: 'status', problem: wrongStatus };
  if (title === '' || hasControl(title))
    return { key, column: 'title', problem: 'must be one line, and not empty' };
  const maxPoints = numberIn(cell('resultValueMax').trim());
  if (maxPoints === undefined)
    return { key, column: 'resultValueMax', problem: 'must be a number as in 100 or 7.5' };
  const code = references.classes(classId);
  if (code.problem !== undefined) return { key, column: 'classSourcedId', problem: code.problem };
  const data: GradeObject = { orgUnitCode: code.value, name: title, maxPoints };
  return { key, row: { item: { data, class: classId } } };
};

/** What was accepted, and what shall hold, unless another has its title. */
type Decided = { before?: LineItem | undefined; next?: LineItem | undefined; line?: number | undefined };
type Sorters = { rows: RowSorter; byTitle: RowSorter; byKey: RowSorter };

const decideAll = async (
  { rows, byTitle, byKey }: Sorters,
  context: Context,
  illegible: boolean,
): Promise<void> => {
  const breathe = createBreath();
  const { comparison } = context;
  for (const { key, old, new: now } of pairsOf(comparison.accepted(kind), rows.groups())) {
    await breathe();
    const before = old?.value as LineItem | undefined;
    const decided = decide(before, (now?.rows ?? []) as LineItemRow[], { ...context, illegible });
    if (decided.next === undefined) byKey.add(key, decided);
    else {
      const next = withLeft(decided.next, before, comparison.droppedMs);
      byTitle.add(titleKey(next), { ...decided, next, key });
      for (const { name } of next.left ?? [])
        byTitle.add(titleKey({ data: { ...next.data, name } }), { leftBy: key } satisfies Left);
    }
  }
};

/** With the titles that it has left in this org unit; in another one it is another grade object. */
const withLeft = ({ left: _, ...next }: LineItem, before: LineItem | undefined, nowMs: number): LineItem => {
  if (before?.data.orgUnitCode !== next.data.orgUnitCode) return next;
  const { name } = before.data;
  const left = [
    ...(before.left ?? []).filter((each) => each.name !== name),
    { name, untilMs: nowMs + titleHeldMs },
  ].filter((each) => each.untilMs > nowMs && each.name.normalize() !== next.data.name.normalize());
  return left.length === 0 ? next : { ...next, left: left.slice(-maxLeft) };
};

/** As many former names as a message may give. */
const maxLeft = 10;

/** The platform’s names are compared without regard to how their accents are encoded. */
const titleKey = ({ data }: Pick<LineItem, 'data'>): string =>
  `${data.orgUnitCode}\u001f${data.name.normalize()}`;

const decide = (
  before: LineItem | undefined,
  rows: LineItemRow[],
  { comparison, references, mode, illegible }: Context & { illegible: boolean },
): Decided => {
  const kept = (): Decided => {
    const code = before && references.classes(before.class).value;
    return before && code !== undefined
      ? { before, next: { ...before, data: { ...before.data, orgUnitCode: code } } }
      : { before, next: before };
  };
  if (rows.length === 0) return mode === 'bulk' && !illegible ? { before } : kept();
  if (rows.some(({ refused }) => refused)) return kept();
  const [first] = rows;
  const contents = new Set(rows.map(({ item }) => JSON.stringify(item)));
  if (contents.size > 1) {
    for (const { line } of rows) {
      countsOf(comparison, name).refused += 1;
      comparison.report.add({
        file,
        line,
        column: 'sourcedId',
        problem: 'another row has it, too, and differs',
      });
    }
    return kept();
  }
  return { before, next: first?.item, line: first?.line };
};

type Titled = Decided & { key: string };
/** Which line item has left this title. */
type Left = { leftBy: string };

/**
 * The platform’s grade objects are known by their names: of two with one name, only what was there before is kept. A title that
 * another one has left is not free: if that change was not done, what is sent by the title would come to the other one.
 */
const refuseTwins = async (
  { byTitle, byKey }: Pick<Sorters, 'byTitle' | 'byKey'>,
  comparison: Comparison,
): Promise<void> => {
  const breathe = createBreath();
  const counts = countsOf(comparison, name);
  for (const { rows: all } of byTitle.groups()) {
    const rows = (all as (Titled | Left)[]).filter((row) => 'key' in row);
    const isTaken = all.length > rows.length;
    for (const { key, before, next, line } of rows) {
      await breathe();
      const isNew = before === undefined || next === undefined || titleKey(before) !== titleKey(next);
      if (!isNew || (rows.length === 1 && !isTaken)) byKey.add(key, { before, next, line });
      else {
        counts.refused += 1;
        const problem =
          rows.length > 1
            ? 'two line items of one class have this title'
            : 'another line item of the class has had this title within 40 days: give this one another title';
        comparison.report.add({ file, line, column: 'title', problem });
        byKey.add(key, { before, next: before });
      }
    }
  }
};

const columns: Record<string, string> = {
  ...{ name: 'title', maxPoints: 'resultValueMax', orgUnitCode: 'classSourcedId' },
};

/** What holds from now on. */
const apply = (key: string, decided: Decided[], comparison: Comparison): LineItem | undefined => {
  const [{ before, next, line } = {}] = decided;
  const counts = countsOf(comparison, name);
  const { acceptedCounts } = comparison;
  if (before !== undefined) acceptedCounts[name] = (acceptedCounts[name] ?? 0) + 1;
  if (next === undefined) {
    // The platform’s grade object stays, with its grades.
    if (before !== undefined) counts.removed += 1;
    return undefined;
  }
  const event = eventOf(before, next);
  if (event === undefined) {
    counts.unchanged += 1;
    return next;
  }
  const problem = addEvent(comparison, { kind, key, ...event });
  if (problem === undefined) {
    counts[event.function === 'grade-object-create' && before === undefined ? 'created' : 'updated'] += 1;
    return next;
  }
  counts.refused += 1;
  comparison.report.add({ file, line, column: columnOf(problem, columns) ?? 'title', problem });
  return before;
};

const eventOf = (
  former: LineItem | undefined,
  { data: { orgUnitCode, name, maxPoints }, left = [] }: LineItem,
): { function: string; data: object } | undefined => {
  const before = former?.data;
  // In another org unit it is another grade object.
  if (before === undefined || before.orgUnitCode !== orgUnitCode)
    return { function: 'grade-object-create', data: { orgUnitCode, type: 'numeric', name, maxPoints } };
  const changes = {
    ...(before.name !== name && { name }),
    ...(before.maxPoints !== maxPoints && { maxPoints }),
  };
  if (Object.keys(changes).length === 0) return undefined;
  const formerNames = left.flatMap((title) => (title.name === before.name ? [] : title.name));
  const which = {
    ...{ orgUnitCode, gradeObjectName: before.name, type: 'numeric' },
    ...(formerNames.length > 0 && { gradeObjectFormerNames: formerNames }),
  };
  return { function: 'grade-object-update', data: { ...which, ...changes } };
};
