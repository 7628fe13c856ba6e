import { isDeepStrictEqual } from 'node:util';
import { pairsOf } from '../sets/sorted.ts';
import { dayIn, isId } from './cells.ts';
import {
  addEvent,
  type Comparison,
  countMoved,
  countsOf,
  createBreath,
  createRowSorter,
  type Mode,
  type RowSorter,
  separator,
  stateLine,
} from './comparison.ts';
import { type Cells, columnOf, type FileRead, type Read, readRows, wrongStatus } from './reading.ts';
import type { References } from './references.ts';
import type { Files } from './zip.ts';

const kind = '2';
const name = 'enrollments';
const file = 'enrollments.csv';

type Data = { orgUnitCode: string; userName?: string; orgDefinedId?: string; roleId: number };

/** An enrollment that was accepted. */
type Enrollment = {
  data: Data;
  /** The sourcedId of its row. */
  id: string;
  role: string;
  begin?: string;
  end?: string;
  /** It has not begun, so that nothing was sent. */
  pending?: true;
};

/** A row, by its line: `refused`, or the id of one that is deleted, or what it says. */
type EnrollmentRow = { line: number; refused?: true; id?: string; enrollment?: Enrollment };

type Context = { comparison: Comparison; references: References; mode: Mode; day: string };

/** Roles without an id on the platform, and how many rows have them. */
export type UnknownRoles = Map<string, number>;
const maxUnknownRoles = 20;

export const compareEnrollments = async (
  files: Files,
  context: Omit<Context, 'day'>,
): Promise<FileRead & { unknownRoles: UnknownRoles }> => {
  const { comparison, mode } = context;
  const sorter = createRowSorter(comparison.folder);
  const unknownRoles: UnknownRoles = new Map();
  try {
    const day = new Date(comparison.droppedMs).toISOString().slice(0, 10);
    const whole: Context = { ...context, day };
    const { columns, rows, illegible } = await readRows<Column>(
      files,
      { name, mode, required, optional, read: (cell) => read(cell, whole, unknownRoles) },
      { comparison, sorter },
    );
    for (const [role, count] of unknownRoles)
      comparison.report.add({
        ...{ file, column: 'role' },
        problem: `the role ${role} has no id in the settings of snapshots: ${count} rows were refused`,
      });
    await settle(sorter, whole, illegible);
    return { columns, rows, unknownRoles };
  } finally {
    sorter.remove();
  }
};

const required = ['sourcedId', 'classSourcedId', 'userSourcedId', 'role'] as const;
const optional = ['status', 'beginDate', 'endDate'] as const;
type Column = (typeof required)[number] | (typeof optional)[number];

const read = (cell: Cells<Column>, context: Context, unknownRoles: UnknownRoles): Read => {
  const [classId, userId] = [cell('classSourcedId'), cell('userSourcedId')];
  if (!isId(classId)) return { column: 'classSourcedId', problem: 'is no id' };
  if (!isId(userId)) return { column: 'userSourcedId', problem: 'is no id' };
  const key = `${classId}${separator}${userId}`;
  const [id, role, status] = [cell('sourcedId'), cell('role').trim(), cell('status').trim()];
  if (!isId(id)) return { key, column: 'sourcedId', problem: 'is no id' };
  if (status === 'tobedeleted') return { key, row: { id } };
  if (status !== '' && status !== 'active') return { key, column: 'status', problem: wrongStatus };
  const [begin, end] = [cell('beginDate').trim(), cell('endDate').trim()];
  if (begin !== '' && dayIn(begin) === undefined)
    return { key, column: 'beginDate', problem: 'must be a day as in 2026-09-01' };
  if (end !== '' && dayIn(end) === undefined)
    return { key, column: 'endDate', problem: 'must be a day as in 2026-12-20' };
  const joined = dataOf({ classId, userId, role }, context);
  if ('column' in joined) {
    if (joined.role !== undefined) countRole(joined.role, unknownRoles);
    const { column, problem } = joined;
    return { key, column, problem, ...(joined.role !== undefined && { isTold: true }) };
  }
  const dates = { ...(begin !== '' && { begin }), ...(end !== '' && { end }) };
  return { key, row: { id, enrollment: { ...joined, id, role, ...dates } } };
};

const countRole = (role: string, roles: UnknownRoles): void => {
  const told = roles.has(role) || roles.size < maxUnknownRoles ? role : 'and others';
  roles.set(told, (roles.get(told) ?? 0) + 1);
};

type Named = { classId: string; userId: string; role: string };
type Joined = { data: Data } | { column: string; problem: string; role?: string };

/** What is sent of an enrollment. */
const dataOf = ({ classId, userId, role }: Named, { references, comparison }: Context): Joined => {
  const { settings } = comparison;
  const code = references.classes(classId);
  if (code.problem !== undefined) return { column: 'classSourcedId', problem: code.problem };
  const user = references.users(userId);
  if (user.problem !== undefined) return { column: 'userSourcedId', problem: user.problem };
  const roleId = Object.hasOwn(settings.roles, role) ? settings.roles[role] : undefined;
  if (roleId === undefined)
    return { column: 'role', problem: 'has no id in the settings', role: JSON.stringify(role.slice(0, 50)) };
  return { data: { orgUnitCode: code.value, [settings.user.field]: user.value, roleId } as Data };
};

const settle = async (sorter: RowSorter, context: Context, illegible: boolean): Promise<void> => {
  const breathe = createBreath();
  for (const { key, old, new: now } of pairsOf(context.comparison.accepted(kind), sorter.groups())) {
    await breathe();
    const before = old?.value as Enrollment | undefined;
    const rows = (now?.rows ?? []) as EnrollmentRow[];
    const { next, line } = decide(before, { ...{ key, rows, illegible }, context });
    apply({ key, before, next, line }, context);
  }
};

type Given = { key: string; rows: EnrollmentRow[]; illegible: boolean; context: Context };
type Decided = { next: Enrollment | undefined; line?: number };

/** What holds from now on. */
const decide = (before: Enrollment | undefined, { key, rows, illegible, context }: Given): Decided => {
  const { comparison, mode, day } = context;
  const isOver = ({ end }: Enrollment): boolean => end !== undefined && end < day;
  const isPending = ({ begin }: Enrollment): boolean => begin !== undefined && begin > day;
  const kept = (): Decided => ({ next: before && again(key, before, context) });
  if (rows.length === 0) {
    if (before === undefined || (mode === 'bulk' && !illegible) || isOver(before)) return { next: undefined };
    const { next } = kept();
    return { next: next && withPending(next, isPending(next)) };
  }
  if (rows.some(({ refused }) => refused)) return kept();
  const alive = rows.flatMap(({ line, enrollment }) =>
    enrollment === undefined || isOver(enrollment) ? [] : { line, enrollment },
  );
  if (alive.length === 0) {
    // In a delta, the end of one row says nothing of another that holds.
    const isOfAnother = mode === 'delta' && rows.every(({ id }) => id !== before?.id);
    return isOfAnother && before !== undefined && !isOver(before) ? kept() : { next: undefined };
  }
  const active = alive.filter(({ enrollment }) => !isPending(enrollment));
  if (new Set(active.map(({ enrollment }) => enrollment.role)).size > 1) {
    for (const { line } of active) {
      countsOf(comparison, name).refused += 1;
      const problem = 'two active rows of one class and user have different roles';
      comparison.report.add({ file, line, column: 'role', problem });
    }
    return kept();
  }
  // Of those that hold, the one that was accepted; else always the same.
  const candidates = active.length > 0 ? active : alive;
  const chosen = candidates.find(({ enrollment }) => enrollment.id === before?.id) ?? candidates[0];
  if (chosen === undefined) return kept();
  return { next: withPending(chosen.enrollment, active.length === 0), line: chosen.line };
};

const withPending = ({ pending: _, ...enrollment }: Enrollment, isPending: boolean): Enrollment =>
  isPending ? { ...enrollment, pending: true } : enrollment;

/** Its class, user or role may be known by another name now. */
const again = (key: string, before: Enrollment, context: Context): Enrollment => {
  const [classId = '', userId = ''] = key.split(separator);
  const joined = dataOf({ classId, userId, role: before.role }, context);
  return 'data' in joined ? { ...before, data: joined.data } : before;
};

const columns: Record<string, string> = { orgUnitCode: 'classSourcedId', roleId: 'role' };

type Change = {
  key: string;
  before: Enrollment | undefined;
  next: Enrollment | undefined;
  line: number | undefined;
};

/** Older than creations: another row may enroll the same user in the same org unit, as a class or user may have a new id. */
const addRemoval = (
  { key, before }: Pick<Change, 'key' | 'before'>,
  context: Context,
): string | undefined => {
  // By the names of now: the former one of a user may be that of another.
  const { roleId: _, ...who } = before === undefined ? { roleId: 0 } : again(key, before, context).data;
  const event = { kind, key, function: 'enrollment-remove', data: who, isFirst: true };
  return addEvent(context.comparison, event);
};

const isActive = (enrollment: Enrollment | undefined): enrollment is Enrollment =>
  enrollment !== undefined && enrollment.pending === undefined;

const apply = (change: Change, context: Context): void => {
  const { key, line } = change;
  const { comparison } = context;
  const counts = countsOf(comparison, name);
  const { state, acceptedCounts } = comparison;
  const before = isActive(change.before) ? change.before : undefined;
  const next = isActive(change.next) ? change.next : undefined;
  if (before) acceptedCounts[name] = (acceptedCounts[name] ?? 0) + 1;
  if (before && next && isDeepStrictEqual(before.data, next.data)) counts.unchanged += 1;
  else if (before || next) {
    const problem = next
      ? addEvent(comparison, { kind, key, function: 'enrollment-create', data: next.data })
      : addRemoval(change, context);
    if (problem !== undefined) {
      counts.refused += 1;
      comparison.report.add({ file, line, column: columnOf(problem, columns) ?? 'userSourcedId', problem });
      if (change.before) state.add(stateLine(kind, key, change.before));
      return;
    }
    counts[next ? (before ? 'updated' : 'created') : 'removed'] += 1;
    if (next) countMoved(comparison, name, { before: before?.data, next: next.data });
  }
  if (change.next) state.add(stateLine(kind, key, change.next));
};
