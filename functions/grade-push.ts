import * as z from 'zod';
import { handlerOf } from '../lib/handler.ts';
import type { Integration } from '../lib/integration.ts';
import { platformId } from '../lib/message.ts';
import * as grades from '../lib/platform/grades.ts';

const unless = (expected: string) => ({
  error: (issue: { input?: unknown }) =>
    issue.input === null ? 'must not be null: the platform cannot clear a grade' : `must be ${expected}`,
});

/** Each type of grade as a message gives it, and as the platform takes it. */
const grade = z.discriminatedUnion(
  'type',
  [
    z
      .strictObject({ type: z.literal('numeric'), points: z.number(unless('a number')) })
      .transform(({ points }): grades.Grade => ({ GradeObjectType: 1, PointsNumerator: points })),
    z
      .strictObject({ type: z.literal('pass-fail'), pass: z.boolean(unless('true or false')) })
      .transform(({ pass }): grades.Grade => ({ GradeObjectType: 2, Pass: pass })),
    z
      .strictObject({
        type: z.literal('selectbox'),
        value: z.string(unless('text')).min(1, 'must not be empty'),
      })
      .transform(({ value }): grades.Grade => ({ GradeObjectType: 3, Value: value })),
    z
      .strictObject({ type: z.literal('text'), text: z.string(unless('text')) })
      .transform(({ text }): grades.Grade => ({ GradeObjectType: 4, Text: text })),
  ],
  unless('an object whose type is numeric, pass-fail, selectbox or text'),
);

const comment = z.string().max(4_000, 'must be at most 4,000 characters').optional();
const ids = { orgUnitId: platformId, gradeObjectId: platformId, userId: platformId };
const data = z.strictObject({ ...ids, grade, comments: comment, privateComments: comment });

/** Sets a user's grade. A comment that the message does not give stays as it is; an empty one clears it. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'grade-push',
  data,
  key: ({ orgUnitId, gradeObjectId, userId }) => `${orgUnitId}/${gradeObjectId}/${userId}`,
  operations: [grades.getGradeValue, grades.putGradeValue],
  repeatable: true,
  run: async ({ grade, comments, privateComments, ...value }, { platform }) => {
    const kept =
      comments === undefined || privateComments === undefined
        ? await grades.readGradeComments(platform, value)
        : { comments, privateComments };
    await grades.setGradeValue(platform, value, {
      grade,
      comments: comments ?? kept.comments,
      privateComments: privateComments ?? kept.privateComments,
    });
  },
};

export const handler = handlerOf(integration);
