import * as z from 'zod';
import { handlerOf } from '../lib/handler.ts';
import type { Integration } from '../lib/integration.ts';
import { platformId } from '../lib/message.ts';
import { type Grade, readGradeComments, setGradeValue } from '../lib/platform/grades.ts';

const unless = (expected: string) => ({
  error: (issue: { input?: unknown }) =>
    issue.input === null ? 'must not be null: the platform cannot clear a grade' : `must be ${expected}`,
});

const grade = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('numeric'), points: z.number(unless('a number')) }),
    z.strictObject({ type: z.literal('pass-fail'), pass: z.boolean(unless('true or false')) }),
    z.strictObject({
      type: z.literal('selectbox'),
      value: z.string(unless('text')).min(1, 'must not be empty'),
    }),
    z.strictObject({ type: z.literal('text'), text: z.string(unless('text')) }),
  ],
  unless('an object whose type is numeric, pass-fail, selectbox or text'),
);

const comment = z.string().max(4_000, 'must be at most 4,000 characters').optional();

type Data = z.infer<typeof data>;

const data = z.strictObject({
  orgUnitId: platformId,
  gradeObjectId: platformId,
  userId: platformId,
  grade,
  comments: comment,
  privateComments: comment,
});

const toPlatform = (given: Data['grade']): Grade => {
  if (given.type === 'numeric') return { GradeObjectType: 1, PointsNumerator: given.points };
  if (given.type === 'pass-fail') return { GradeObjectType: 2, Pass: given.pass };
  if (given.type === 'selectbox') return { GradeObjectType: 3, Value: given.value };
  return { GradeObjectType: 4, Text: given.text };
};

/** Sets a user's grade. A comment that the message does not give stays as it is; an empty one clears it. */
export const integration: Integration<Data> = {
  name: 'grade-push',
  data,
  key: ({ orgUnitId, gradeObjectId, userId }) => `${orgUnitId}/${gradeObjectId}/${userId}`,
  repeatable: true,
  run: async ({ grade: given, comments, privateComments, ...ids }, { platform }) => {
    const kept =
      comments === undefined || privateComments === undefined
        ? await readGradeComments(platform, ids)
        : { comments, privateComments };
    await setGradeValue(platform, ids, {
      grade: toPlatform(given),
      comments: comments ?? kept.comments,
      privateComments: privateComments ?? kept.privateComments,
    });
  },
};

export const handler = handlerOf(integration);
