import * as z from 'zod';
import { MessageFailure } from '../lib/failure.ts';
import { grade } from '../lib/grade.ts';
import { handlerOf } from '../lib/handler.ts';
import type { Integration } from '../lib/integration.ts';
import { platformId } from '../lib/message.ts';
import * as grades from '../lib/platform/grades.ts';

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
  run: async ({ orgUnitId, gradeObjectId, userId, grade, comments, privateComments }, { platform }) => {
    const value = { orgUnitId, gradeObjectId, userId };
    const kept =
      comments === undefined || privateComments === undefined
        ? await grades.readGradeComments(platform, value)
        : { comments, privateComments };
    const privately = privateComments ?? kept.privateComments;
    if (privately === undefined)
      throw new MessageFailure('rejected', 'The platform does not tell the private comment of this grade', {
        remedy:
          'A new grade would wipe it out: set data.privateComments ("" for none) and replay, and have the producer send it with each grade.',
      });
    await grades.setGradeValue(platform, value, {
      grade,
      comments: comments ?? kept.comments,
      privateComments: privately,
    });
  },
};

export const handler = handlerOf(integration);
