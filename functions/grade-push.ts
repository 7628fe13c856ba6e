import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { handlerOf } from '../lib/delivery/handler.ts';
import { unlessSeen } from '../lib/delivery/read-back.ts';
import { MessageFailure } from '../lib/failure.ts';
import type { Integration, IntegrationContext } from '../lib/integration.ts';
import { platformId } from '../lib/message.ts';
import { grade } from '../lib/message-fields/grade.ts';
import * as grades from '../lib/platform/resources/grades.ts';

const comment = z.string().max(4_000, 'must be at most 4,000 characters').optional();
const ids = { orgUnitId: platformId, gradeObjectId: platformId, userId: platformId };
const data = z.strictObject({ ...ids, grade, comments: comment, privateComments: comment });

type Data = z.infer<typeof data>;

const wanted = ({ grade, comments, privateComments }: Data): Record<string, string> => ({
  grade: JSON.stringify(grade),
  ...(comments !== undefined && { comments }),
  ...(privateComments !== undefined && { privateComments }),
});

const shown = ({ grade, ...ids }: Data, { platform }: IntegrationContext) =>
  grades.readGrade(platform, ids, grade.GradeObjectType);

const notShown = (what: string, remedy: string) =>
  new MessageFailure('rejected', `The platform does not tell ${what} of this grade`, { remedy });

/**
 * Sets a user's grade. A comment that the message does not give stays as it is; an empty one clears it. The grade and both
 * comments are ordered each by itself: what a newer message has given stays as well.
 */
export const integration: Integration<Data> = {
  name: 'grade-push',
  data,
  resource: ({ orgUnitId, gradeObjectId, userId }) => `grade/${orgUnitId}/${gradeObjectId}/${userId}`,
  fields: (given) => Object.keys(wanted(given)),
  operations: [grades.getGradeValue, grades.putGradeValue],
  priority: 'urgent',
  repeatable: true,
  run: async (given, context) => {
    const takes = (field: string) => context.fields.includes(field);
    const isWhole = takes('grade') && takes('comments') && takes('privateComments');
    const kept = isWhole ? undefined : await shown(given, context);
    // Where there is no grade yet, there is no comment either.
    const before = kept ?? { grade: undefined, comments: '', privateComments: '' };
    const grade = takes('grade') ? given.grade : before.grade;
    const { comments = '' } = takes('comments') ? given : before;
    const { privateComments } = takes('privateComments') ? given : before;
    if (privateComments === undefined)
      throw notShown(
        'the private comment',
        'A new grade would wipe it out: set data.privateComments ("" for none) and replay, and have the producer send it with each grade.',
      );
    if (grade === undefined)
      throw notShown(
        'the newer value',
        'The comments of this message came after a newer grade and cannot be added without it: add them by hand, then discard this letter; or replay it when the platform tells the grade.',
      );
    const value = { grade, comments, privateComments };
    await unlessSeen(grades.setGradeValue(context.platform, given, value), async () => {
      const { changedMs: _, ...now } = (await shown(given, context)) ?? {};
      return isDeepStrictEqual(now, value);
    });
  },
  effect: {
    wanted,
    shown: async (given, context) => {
      const value = await shown(given, context);
      if (value === undefined) return undefined;
      const { grade, changedMs, ...comments } = value;
      return { fields: { ...comments, grade: grade && JSON.stringify(grade) }, changedMs };
    },
  },
};

export const handler = handlerOf(integration);
