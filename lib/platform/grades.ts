import * as z from 'zod';
import type { Platform } from './client.ts';
import { PlatformError } from './error.ts';
import { operation, reading } from './operation.ts';

/** Text as grades take it, to be told from `{Text,Html}`, the form in which the same text is read. */
type TextContent = { Content: string; Type: 'Text' };

export const textContent = (text: string): TextContent => ({ Content: text, Type: 'Text' });

/** A grade by its grade object's type: 1 numeric, 2 pass/fail, 3 selectbox, 4 text. */
export type Grade =
  | { GradeObjectType: 1; PointsNumerator: number }
  | { GradeObjectType: 2; Pass: boolean }
  | { GradeObjectType: 3; Value: string }
  | { GradeObjectType: 4; Text: string };

type GradeValueIds = { orgUnitId: number; gradeObjectId: number; userId: number };

const richText = z.looseObject({ Text: z.string().nullish(), Html: z.string().nullish() }).nullish();

const gradeValuePath = '/{orgUnitId}/grades/{gradeObjectId}/values/{userId}';

const putGradeValue = operation({
  name: 'set-grade-value',
  method: 'PUT',
  component: 'le',
  path: gradeValuePath,
  scope: 'grades:gradevalues:write',
  repeatable: true,
});

const getGradeValue = reading({
  name: 'read-grade-value',
  method: 'GET',
  component: 'le',
  path: gradeValuePath,
  scope: 'grades:gradevalues:read',
  repeatable: true,
  answer: z.looseObject({ Comments: richText, PrivateComments: richText }),
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

/** The comments of a user's grade value; a 404 means that there is no value yet, and so no comment. */
export const readGradeComments = async (platform: Platform, ids: GradeValueIds): Promise<GradeComments> => {
  try {
    const value = await platform.call(getGradeValue, { path: ids });
    return { comments: plainText(value.Comments), privateComments: plainText(value.PrivateComments) };
  } catch (error) {
    if (error instanceof PlatformError && error.refused?.status === 404)
      return { comments: '', privateComments: '' };
    throw error;
  }
};

/** A comment that has HTML alone is kept with its markup: dropping the words would be worse. */
const plainText = (text: z.infer<typeof richText>): string => text?.Text || text?.Html || '';
