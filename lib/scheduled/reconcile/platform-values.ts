import { removedDigested, roleDigested } from '../../delivery/handle/fields/enrollment.ts';
import type { Platform } from '../../platform/client/client.ts';
import { comparableText, plainText } from '../../platform/client/rich-text.ts';
import { listClasslist } from '../../platform/resources/classlists.ts';
import { type Grade, gradesIn, readGradeValue } from '../../platform/resources/grades.ts';
import type { Nothing, Shown } from './classes.ts';
import type { Subject } from './selection.ts';

/** A grade that is not there has no comments either; who is not in a classlist was removed. */
export const nothingOf = ({ kind }: Subject): Nothing =>
  kind === 'grade' ? { comments: '', privateComments: '' } : { whole: removedDigested };

/** What the platform shows of a grade; undefined: there is none. @throws what its answer makes. */
export const shownGrade = async (
  platform: Platform,
  { orgUnitId, gradeObjectId = 0, userId }: Subject,
): Promise<Shown | undefined> => {
  const value = await readGradeValue(platform, { orgUnitId, gradeObjectId, userId });
  if (value === undefined) return undefined;
  const { Comments, PrivateComments, LastModified } = value;
  const changedMs = Date.parse(withZone(LastModified ?? '')) - (platform.clockOffsetMs() ?? 0);
  return {
    fields: {
      // Of which type the grade object is does not matter: the value of another type has another digest.
      grade: gradesIn(value).map((grade: Grade) => JSON.stringify(grade)),
      comments: formsOf(await plainText(Comments)),
      privateComments: PrivateComments === undefined ? undefined : formsOf(await plainText(PrivateComments)),
    },
    changedMs: Number.isNaN(changedMs) ? undefined : changedMs,
    ...(LastModified && !Number.isNaN(changedMs) && { changedAt: LastModified }),
  };
};

/** The platform tells times of UTC: without a zone it is of no other. */
const withZone = (text: string): string => (/(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);

/** The second is what is digested; the first was. */
const formsOf = (text: string): string[] => [text, comparableText(text)];

/**
 * Who is in an org unit's classlist, by the user's id, and in which roles: it may have a user twice. Undefined: privacy hides one.
 * @throws what its answer makes.
 */
export const shownRoles = async (
  platform: Platform,
  orgUnitId: number,
): Promise<Map<number, readonly number[] | undefined>> => {
  const roles = new Map<number, readonly number[] | undefined>();
  for await (const { Identifier, RoleId } of listClasslist(platform, orgUnitId)) {
    const userId = Number(Identifier);
    const before = roles.has(userId) ? roles.get(userId) : [];
    roles.set(userId, before && typeof RoleId === 'number' ? [...before, RoleId] : undefined);
  }
  return roles;
};

/** Of one in the classlist, which does not tell when it was changed. */
export const shownEnrollment = (roleIds: readonly number[] | undefined): Shown => ({
  fields: { whole: roleIds?.map(roleDigested) },
  changedMs: undefined,
});
