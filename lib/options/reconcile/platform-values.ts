import { removedEffect, roleEffect } from '../../delivery/handle/fields/enrollment.ts';
import type { Platform } from '../../platform/client/client.ts';
import { comparableText, plainText } from '../../platform/client/rich-text.ts';
import { listClasslist } from '../../platform/resources/classlists.ts';
import { type Grade, gradesIn, readGradeValue } from '../../platform/resources/grades.ts';
import type { Nothing, PlatformValue } from './classes.ts';
import type { Subject } from './selection.ts';

/** A missing grade has no comments either; a user who is not in the classlist was removed. */
export const nothingOf = ({ kind }: Subject): Nothing =>
  kind === 'grade' ? { comments: '', privateComments: '' } : { whole: removedEffect };

/** The platform's state of a grade; undefined: it does not exist. @throws the failure of the call. */
export const readGradeValues = async (
  platform: Platform,
  { orgUnitId, gradeObjectId = 0, userId }: Subject,
): Promise<PlatformValue | undefined> => {
  const value = await readGradeValue(platform, { orgUnitId, gradeObjectId, userId });
  if (value === undefined) return undefined;
  const { Comments, PrivateComments, LastModified } = value;
  const changedMs = Date.parse(withZone(LastModified ?? '')) - (platform.clockOffsetMs() ?? 0);
  return {
    fields: {
      // The grade object's type does not matter: the same value of another type has another digest.
      grade: gradesIn(value).map((grade: Grade) => JSON.stringify(grade)),
      comments: formsOf(await plainText(Comments)),
      privateComments: PrivateComments === undefined ? undefined : formsOf(await plainText(PrivateComments)),
    },
    changedMs: Number.isNaN(changedMs) ? undefined : changedMs,
    ...(LastModified && !Number.isNaN(changedMs) && { changedAt: LastModified }),
  };
};

/** The platform's times are UTC, also without a zone. */
const withZone = (text: string): string => (/(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);

/** The second form is digested now; the first one was digested by earlier versions. */
const formsOf = (text: string): string[] => [text, comparableText(text)];

/**
 * The roles of each user in an org unit's classlist, which may list a user twice. Undefined: privacy hides a user.
 * @throws the failure of the call.
 */
export const readRoles = async (
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

/** The classlist does not show when an enrollment was changed. */
export const enrollmentValueOf = (roleIds: readonly number[] | undefined): PlatformValue => ({
  fields: { whole: roleIds?.map(roleEffect) },
  changedMs: undefined,
});
