import * as z from 'zod';
import { unlessAbsent } from './absence.ts';
import type { Platform } from './client.ts';
import { operation, reading } from './operation.ts';
import { plainText, richText, textContent } from './rich-text.ts';

/** A grade by its grade object's type: 1 numeric, 2 pass/fail, 3 selectbox, 4 text. */
export type Grade =
  | { GradeObjectType: 1; PointsNumerator: number }
  | { GradeObjectType: 2; Pass: boolean }
  | { GradeObjectType: 3; Value: string }
  | { GradeObjectType: 4; Text: string };

type GradeValueIds = { orgUnitId: number; gradeObjectId: number; userId: number };

const gradeValuePath = '/{orgUnitId}/grades/{gradeObjectId}/values/{userId}';

export const putGradeValue = operation({
  name: 'set-grade-value',
  method: 'PUT',
  component: 'le',
  path: gradeValuePath,
  scope: 'grades:gradevalues:write',
  repeatable: true,
});

export const getGradeValue = reading({
  name: 'read-grade-value',
  method: 'GET',
  component: 'le',
  path: gradeValuePath,
  scope: 'grades:gradevalues:read',
  repeatable: true,
  answer: z.looseObject({
    PointsNumerator: z.number().nullish(),
    PointsDenominator: z.number().nullish(),
    LastModified: z.string().nullish(),
    // Be it null: of a comment that cannot be read it is not known what the PUT would wipe out.
    Comments: richText.nullable(),
    // Not told by every platform.
    PrivateComments: richText.nullish(),
  }),
});

export type GradeComments = { comments: string; privateComments: string };

/** Sets a user's grade value. The platform replaces the whole of it, so both comments must be given. */
export const setGradeValue = (
  platform: Platform,
  ids: GradeValueIds,
  value: { grade: Grade } & GradeComments,
) =>
  platform.call(putGradeValue, {
    path: ids,
    json: {
      ...value.grade,
      Comments: textContent(value.comments),
      PrivateComments: textContent(value.privateComments),
    },
  });

/** A user's grade value; undefined where there is none yet. */
export const readGradeValue = (platform: Platform, ids: GradeValueIds) =>
  unlessAbsent(platform.call(getGradeValue, { path: ids }));

/**
 * The comments of a user's grade value; where there is no value yet, there is no comment. The private one is undefined where
 * the platform does not tell it.
 */
export const readGradeComments = async (
  platform: Platform,
  ids: GradeValueIds,
): Promise<{ comments: string; privateComments: string | undefined }> => {
  const value = await readGradeValue(platform, ids);
  if (value === undefined) return { comments: '', privateComments: '' };
  const { Comments, PrivateComments } = value;
  return {
    comments: await plainText(Comments),
    privateComments: PrivateComments === undefined ? undefined : await plainText(PrivateComments),
  };
};

/**
 * There is no such call.
 * @throws Error that says why, and what to do instead.
 */
export const deleteGradeValue = (): never => {
  throw new Error(
    'A grade value cannot be deleted: the platform answers DELETE with 405 Method Not Allowed. Set another grade, or have a person clear it in the grade book.',
  );
};
