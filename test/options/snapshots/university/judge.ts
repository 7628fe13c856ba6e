import type { PlatformState } from '../../../local/controls.ts';
import type { Changes, Truth } from './truth.ts';

/** What of the platform is compared. */
export const tablesCompared = ['enrollments', 'gradeObjects', 'gradeValues'] as const;

/** How often each thing was written since it is there: whoever tells what has not changed is found out by this. */
export type Writes = { enrollments: Map<string, number>; grades: Map<string, number> };

export const noWrites = (): Writes => ({ enrollments: new Map(), grades: new Map() });

/** Counts what a night's changes write. */
export const addWrites = (writes: Writes, changes: Changes): void => {
  for (const kind of ['enrollments', 'grades'] as const)
    for (const [key, change] of changes[kind]) {
      if (change === 'created' || change === 'updated')
        writes[kind].set(key, (writes[kind].get(key) ?? 0) + 1);
      // An enrollment that is removed is no longer there; a grade stays.
      else if (change === 'removed' && kind === 'enrollments') writes[kind].delete(key);
    }
};

type Line = Map<string, string>;

/** What the platform must hold, each thing in words. What was there before the university came must stay. */
const wantedLines = (truth: Truth, writes: Writes, before: PlatformState): Line => {
  const lines = linesOf(before);
  for (const [key, { orgUnitId, userId, roleId }] of truth.enrollments)
    lines.set(
      `enrollment ${orgUnitId}/${userId}`,
      `role ${roleId}, written ${writes.enrollments.get(key)} times`,
    );
  for (const { orgUnitId, name, maxPoints } of truth.gradeObjects.values())
    lines.set(`grade object ${orgUnitId}/${name}`, `numeric, of ${maxPoints}`);
  for (const [key, { lineItemId, userId, points, comment }] of truth.grades) {
    const { orgUnitId, name } = truth.gradeObjects.get(lineItemId) ?? { orgUnitId: 0, name: '' };
    const value = `${points} points, “${comment}”, “”, written ${writes.grades.get(key)} times`;
    lines.set(`grade ${orgUnitId}/${name}/${userId}`, value);
  }
  return lines;
};

type Text = { content: string };

const linesOf = (state: PlatformState): Line => {
  const lines: Line = new Map();
  const add = (what: string, value: string): void => {
    lines.set(lines.has(what) ? `another ${what}` : what, value);
  };
  for (const { orgUnitId, userId, roleId, writes } of state.enrollments ?? [])
    add(`enrollment ${orgUnitId}/${userId}`, `role ${roleId}, written ${writes} times`);
  const names = new Map<unknown, unknown>();
  for (const { gradeObjectId, orgUnitId, name, maxPoints, gradeObjectType } of state.gradeObjects ?? []) {
    names.set(gradeObjectId, name);
    add(
      `grade object ${orgUnitId}/${name}`,
      `${gradeObjectType === 1 ? 'numeric' : `type ${gradeObjectType}`}, of ${maxPoints}`,
    );
  }
  for (const row of state.gradeValues ?? []) {
    const [shown, hidden] = [(row.comments as Text).content, (row.privateComments as Text).content];
    add(
      `grade ${row.orgUnitId}/${names.get(row.gradeObjectId)}/${row.userId}`,
      `${row.pointsNumerator} points, “${shown}”, “${hidden}”, written ${row.writes} times`,
    );
  }
  return lines;
};

/** What the platform holds otherwise than it must: nothing, if all is well. */
export const differencesIn = (
  state: PlatformState,
  { truth, writes, before }: { truth: Truth; writes: Writes; before: PlatformState },
): string[] => {
  const [wanted, found] = [wantedLines(truth, writes, before), linesOf(state)];
  const problems: string[] = [];
  for (const [what, value] of wanted) {
    const held = found.get(what);
    if (held === undefined) problems.push(`${what} is missing: ${value}`);
    else if (held !== value) problems.push(`${what}: ${held}, and not ${value}`);
  }
  for (const [what, value] of found) if (!wanted.has(what)) problems.push(`${what} is too much: ${value}`);
  return problems;
};
