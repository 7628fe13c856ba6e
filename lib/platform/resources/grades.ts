import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { undefinedIfNotFound } from '../client/not-found.ts';
import { acknowledged, reading } from '../client/operation.ts';
import { plainText, richText, type TextContent, textContent, writtenBack } from '../client/rich-text.ts';

/** A grade by its grade object's type: 1 numeric, 2 pass/fail, 3 selectbox, 4 text. */
export type Grade =
  | { GradeObjectType: 1; PointsNumerator: number }
  | { GradeObjectType: 2; Pass: boolean }
  | { GradeObjectType: 3; Value: string }
  | { GradeObjectType: 4; Text: string };

type GradeValueIds = { orgUnitId: number; gradeObjectId: number; userId: number };

export const putGradeValue = acknowledged({
  name: 'set-grade-value',
  call: 'PUT /le/{orgUnitId}/grades/{gradeObjectId}/values/{userId}',
  scope: 'grades:gradevalues:write',
  repeatable: true,
});

const gradeValue = z.looseObject({
  PointsNumerator: z.number().nullish(),
  Pass: z.boolean().nullish(),
  Value: z.string().nullish(),
  Text: z.string().nullish(),
  PointsDenominator: z.number().nullish(),
  LastModified: z.string().nullish(),
  // Required, if only as null: a PUT would delete a comment that could not be read.
  Comments: richText.nullable(),
  // Not every platform returns them.
  PrivateComments: richText.nullish(),
});

export const getGradeValue = reading({
  name: 'read-grade-value',
  call: 'GET /le/{orgUnitId}/grades/{gradeObjectId}/values/{userId}',
  scope: 'grades:gradevalues:read',
  answer: gradeValue,
});

/** A comment: the words by which it is compared, and the form in which it is written. */
export type Comment = { words: string; content: TextContent };

export const commentOf = (text: string): Comment => ({ words: text, content: textContent(text) });

const readComment = async (text: z.infer<typeof richText> | null): Promise<Comment> => ({
  words: await plainText(text),
  content: writtenBack(text),
});

/** Sets a user's grade value. The platform replaces the whole of it, so both comments must be given. */
export const setGradeValue = (
  platform: Platform,
  ids: GradeValueIds,
  value: { grade: Grade; comments: Comment; privateComments: Comment },
) =>
  platform.call(putGradeValue, {
    path: ids,
    json: {
      ...value.grade,
      Comments: value.comments.content,
      PrivateComments: value.privateComments.content,
    },
  });

/** A user's grade value; undefined if the platform says that there is none yet. */
export const readGradeValue = (platform: Platform, ids: GradeValueIds) =>
  undefinedIfNotFound(platform.call(getGradeValue, { path: ids }), /grade|value/i);

/** The platform's grade of this type, in the form of a PUT; undefined if there is none. */
export const readGrade = async (platform: Platform, ids: GradeValueIds, type: Grade['GradeObjectType']) => {
  const value = await readGradeValue(platform, ids);
  if (value === undefined) return undefined;
  const { Comments, PrivateComments, LastModified } = value;
  return {
    grade: gradeIn[type](value),
    comments: await readComment(Comments),
    // Undefined if the platform does not return them.
    privateComments: PrivateComments === undefined ? undefined : await readComment(PrivateComments),
    /** On the platform's clock; NaN if it is not given. */
    changedMs: Date.parse(LastModified ?? ''),
  };
};

export type ReadGrade = NonNullable<Awaited<ReturnType<typeof readGrade>>>;

type GradeValue = z.infer<typeof gradeValue>;

const gradeIn: Record<Grade['GradeObjectType'], (value: GradeValue) => Grade | undefined> = {
  1: ({ PointsNumerator: points }) =>
    typeof points === 'number' ? { GradeObjectType: 1, PointsNumerator: points } : undefined,
  2: ({ Pass }) => (typeof Pass === 'boolean' ? { GradeObjectType: 2, Pass } : undefined),
  3: ({ Value }) => (typeof Value === 'string' ? { GradeObjectType: 3, Value } : undefined),
  4: ({ Text }) => (typeof Text === 'string' ? { GradeObjectType: 4, Text } : undefined),
};

/** A grade value, read as each type that it may have. */
export const gradesIn = (value: GradeValue): Grade[] =>
  Object.values(gradeIn).flatMap((gradeOf) => gradeOf(value) ?? []);

/**
 * There is no such call.
 * @throws Error that states the reason, and what to do instead.
 */
export const deleteGradeValue = (): never => {
  throw new Error(
    'A grade value cannot be deleted: the platform answers DELETE with 405 Method Not Allowed. Set another grade, or have a person clear it in the grade book.',
  );
};
