import { boolean, exactly, id, list, number, oneOf, optional, or, string } from './http/bind.ts';
import { notFound } from './http/refusal.ts';
import type { State } from './state.ts';

const gradeValueKey = { gradeObjectId: id, userId: id };
const enrollmentKey = { orgUnitId: id, userId: id };
const comment = optional(exactly({ content: string, type: oneOf('Text', 'Html') }));

const changes = exactly({
  gradeValues: or(
    list(
      exactly({
        ...gradeValueKey,
        ...{ pointsNumerator: optional(number), pass: optional(boolean) },
        ...{ value: optional(string), text: optional(string) },
        ...{ comments: comment, privateComments: comment },
        lastModified: optional(string),
      }),
    ),
    [],
  ),
  enrollments: or(list(exactly({ ...enrollmentKey, roleId: optional(id) })), []),
});

const removals = exactly({
  gradeValues: or(list(exactly(gradeValueKey)), []),
  enrollments: or(list(exactly(enrollmentKey)), []),
});

/** As by a person, or by a restore: each row keeps what is not named, also when it was modified last. */
export function changeRows(state: State, body: unknown) {
  const { gradeValues, enrollments } = changes(body, '');
  const { tables } = state;
  for (const change of gradeValues)
    tables.gradeValues.put({ ...gradeValueOf(state, change), ...given(change) });
  for (const change of enrollments)
    tables.enrollments.put({ ...enrollmentOf(state, change), ...given(change) });
}

export function removeRows(state: State, body: unknown) {
  const { gradeValues, enrollments } = removals(body, '');
  const { tables } = state;
  for (const key of gradeValues) tables.gradeValues.delete(gradeValueOf(state, key));
  for (const key of enrollments) tables.enrollments.delete(enrollmentOf(state, key));
}

function gradeValueOf(
  { tables }: State,
  { gradeObjectId, userId }: { gradeObjectId: number; userId: number },
) {
  return tables.gradeValues.get(gradeObjectId, userId) ?? missing('Grade value');
}

function enrollmentOf({ tables }: State, { orgUnitId, userId }: { orgUnitId: number; userId: number }) {
  return tables.enrollments.get(orgUnitId, userId) ?? missing('Enrollment');
}

/** What cannot be changed must not pass for changed. */
function missing(what: string): never {
  throw notFound(what);
}

type Given<Change> = { [Name in keyof Change]: Exclude<Change[Name], undefined> };

function given<Change extends object>(change: Change): Partial<Given<Change>> {
  const named = Object.entries(change).filter(([, value]) => value !== undefined);
  return Object.fromEntries(named) as Partial<Given<Change>>;
}
