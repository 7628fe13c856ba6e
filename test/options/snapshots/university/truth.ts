import { roleIds, type Sis } from './sis.ts';

/** What the platform must hold of the university: nothing more, nothing less. */
export type Truth = {
  /** By class and user. */
  enrollments: Map<string, EnrollmentTruth>;
  /** By the SIS' own ids, as names change. */
  gradeObjects: Map<string, GradeObjectTruth>;
  /** By line item and user. */
  grades: Map<string, GradeTruth>;
};
/** `as`: the user name by which it was told. */
type EnrollmentTruth = Entry & { orgUnitId: number; userId: number; roleId: number; as: string };
type GradeObjectTruth = Entry & { orgUnitId: number; name: string; maxPoints: number };
type GradeTruth = Entry & { lineItemId: string; userId: number; points: number; comment: string; as: string };
type Entry = {
  /** It is being graded anew; until then the old grade holds. */
  isPending?: true;
};

export const noTruth = (): Truth => ({ enrollments: new Map(), gradeObjects: new Map(), grades: new Map() });

type Options = {
  day: string;
  before: Truth;
};

/** What an export of that day says. */
export const truthOf = (sis: Sis, options: Options): Truth => ({
  enrollments: enrollmentsOf(sis, options),
  gradeObjects: gradeObjectsOf(sis, options),
  grades: gradesOf(sis, options),
});

const enrollmentsOf = (sis: Sis, { day }: Options): Truth['enrollments'] => {
  const truth: Truth['enrollments'] = new Map();
  for (const { classId, userId, role, begin = '', end = '9999' } of sis.current()) {
    const [one, person] = [sis.classes.get(classId), sis.people.get(userId)];
    if (one === undefined || person === undefined || begin > day || end < day) continue;
    const { platformId: orgUnitId } = one;
    const { platformId, userName } = person;
    truth.set(`${classId} ${userId}`, { orgUnitId, userId: platformId, roleId: roleIds[role], as: userName });
  }
  return truth;
};

const gradeObjectsOf = (sis: Sis, { before }: Options): Truth['gradeObjects'] => {
  const truth: Truth['gradeObjects'] = new Map(before.gradeObjects);
  for (const { id, classId, title, max } of sis.lineItems.values())
    truth.set(id, { orgUnitId: sis.classes.get(classId)?.platformId ?? 0, name: title, maxPoints: max });
  return truth;
};

const gradesOf = (sis: Sis, { before }: Options): Truth['grades'] => {
  const truth: Truth['grades'] = new Map(before.grades);
  for (const { lineItemId, userId, score, comment, status } of sis.results.values()) {
    const { platformId = 0, userName: as = '' } = sis.people.get(userId) ?? {};
    const key = `${lineItemId} ${userId}`;
    const known = truth.get(key);
    if (status === 'fully graded')
      truth.set(key, { lineItemId, userId: platformId, points: score, comment, as });
    else if (known) truth.set(key, { ...known, as, isPending: true });
  }
  return truth;
};

type Change = 'created' | 'updated' | 'removed' | 'unchanged';
export type Changes = Record<keyof Truth, Map<string, Change>>;

/** What became of each thing, by its key. A delta does not tell of grades that are still pending. */
export const changesOf = (before: Truth, after: Truth, isDelta: boolean): Changes => ({
  enrollments: differences(before.enrollments, after.enrollments, isDelta),
  gradeObjects: differences(before.gradeObjects, after.gradeObjects, isDelta),
  grades: differences(before.grades, after.grades, isDelta),
});

const differences = (
  before: Map<string, Entry>,
  after: Map<string, Entry>,
  isDelta: boolean,
): Map<string, Change> => {
  const found = new Map<string, Change>();
  for (const [key, value] of after) {
    const old = before.get(key);
    if (old === undefined) found.set(key, 'created');
    else if (valueText(old) !== valueText(value)) found.set(key, 'updated');
    else if (!value.isPending || (isDelta && old.isPending)) found.set(key, 'unchanged');
  }
  for (const key of before.keys()) if (!after.has(key)) found.set(key, 'removed');
  return found;
};

const valueText = ({ isPending: _, ...value }: Entry): string => JSON.stringify(value);

export const countOf = (changes: Map<string, Change>, ...kinds: Change[]): number =>
  [...changes.values()].filter((change) => kinds.includes(change)).length;

/** The messages by function that tell these changes, each once. Of a line item or result that is gone there is none. */
export const messagesOf = ({ enrollments, gradeObjects, grades }: Changes): Record<string, number> => ({
  'enrollment-create': countOf(enrollments, 'created', 'updated'),
  'enrollment-remove': countOf(enrollments, 'removed'),
  'grade-object-create': countOf(gradeObjects, 'created'),
  'grade-object-update': countOf(gradeObjects, 'updated'),
  'grade-push': countOf(grades, 'created', 'updated'),
});
