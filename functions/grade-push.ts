import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { grade } from '../lib/delivery/handle/fields/grade.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration, IntegrationContext, Shown } from '../lib/delivery/handle/integration.ts';
import { unlessSeen } from '../lib/delivery/handle/read-back.ts';
import { MessageFailure } from '../lib/message/failure.ts';
import { platformId } from '../lib/message/message.ts';
import { comparableText } from '../lib/platform/client/rich-text.ts';
import { getGradeObjects } from '../lib/platform/resources/grade-objects.ts';
import * as grades from '../lib/platform/resources/grades.ts';

const comment = z.string().max(4_000, 'must be at most 4,000 characters').optional();
const ids = { orgUnitId: platformId, gradeObjectId: platformId, userId: platformId };
const data = z.strictObject({ ...ids, grade, comments: comment, privateComments: comment });

type Data = z.infer<typeof data>;

const wanted = ({ grade, comments, privateComments }: Data): Record<string, string> => ({
  grade: JSON.stringify(grade.value),
  ...(comments !== undefined && { comments: comparableText(comments) }),
  ...(privateComments !== undefined && { privateComments: comparableText(privateComments) }),
});

const shown = ({ grade, ...ids }: Data, { platform }: IntegrationContext) =>
  grades.readGrade(platform, ids, grade.value.GradeObjectType);

/** In the form in which the ledger digests the wanted effect. A missing grade is not comparable: a replica may not know it yet. */
const comparable = (value: grades.ReadGrade | undefined): Shown => {
  if (value === undefined)
    return { fields: { grade: '', comments: '', privateComments: '' }, changedMs: Number.NaN };
  const { grade, comments, privateComments, changedMs } = value;
  return {
    fields: {
      grade: grade && JSON.stringify(grade),
      comments: comparableText(comments),
      privateComments: privateComments === undefined ? undefined : comparableText(privateComments),
    },
    changedMs,
  };
};

const notShown = (what: string, remedy: string) =>
  new MessageFailure('rejected', `The platform does not show ${what} of this grade`, { remedy });

/** The same points mean another grade if the maximum differs. The cached list may be a minute old, so a difference is looked up again. */
const checkMaximum = async (
  { orgUnitId, gradeObjectId, grade: { outOf } }: Data,
  { gradeObjects }: IntegrationContext,
): Promise<void> => {
  if (outOf === undefined) return;
  const maximum = async (sinceMs?: number) =>
    (await gradeObjects(orgUnitId, sinceMs)).find(({ Id }) => Id === gradeObjectId)?.MaxPoints;
  if ((await maximum()) === outOf) return;
  const now = await maximum(Date.now());
  if (now === outOf) return;
  throw new MessageFailure(
    'rejected',
    typeof now === 'number'
      ? `The points are out of ${outOf}, but the maximum of the grade object is ${now}`
      : `The points are out of ${outOf}, but the platform shows no maximum for the grade object`,
    {
      remedy:
        'The two maximums must be equal. Correct the grade object on the platform, or the points and data.grade.outOf in the message. Then replay.',
    },
  );
};

/**
 * Sets a user's grade. A comment that the message omits stays as it is; an empty one clears it. The grade and both comments are ordered
 * separately: what a newer message has set also stays.
 */
export const integration: Integration<Data> = {
  name: 'grade-push',
  data,
  resource: ({ orgUnitId, gradeObjectId, userId }) => `grade/${orgUnitId}/${gradeObjectId}/${userId}`,
  fields: (given) => Object.keys(wanted(given)),
  // Messages that name the grade object, or give the maximum of their points, need the list of grade objects.
  changes: ['grade'],
  operations: [grades.getGradeValue, grades.putGradeValue, getGradeObjects],
  priority: 'urgent',
  repeatable: true,
  run: async (given, context) => {
    await checkMaximum(given, context);
    const takes = (field: string) => context.fields.includes(field);
    const isWhole = takes('grade') && takes('comments') && takes('privateComments');
    const kept = isWhole ? undefined : await shown(given, context);
    if (!isWhole) await context.mustBeCurrent(comparable(kept));
    // Without a grade there is no comment either.
    const before = kept ?? { grade: undefined, comments: '', privateComments: '' };
    const grade = takes('grade') ? given.grade.value : before.grade;
    const { comments = '' } = takes('comments') ? given : before;
    const { privateComments } = takes('privateComments') ? given : before;
    if (privateComments === undefined)
      throw notShown(
        'the private comment',
        'A new grade would delete this comment. Set data.privateComments ("" for none), then replay. Have the producer send it with each grade.',
      );
    if (grade === undefined)
      throw notShown(
        'the newer value',
        'A newer grade was sent before the comments of this message, and comments cannot be added without that grade. Add them by hand and discard this letter, or replay it when the platform shows the grade.',
      );
    const value = { grade, comments, privateComments };
    await unlessSeen(grades.setGradeValue(context.platform, given, value), async () => {
      const { changedMs: _, ...now } = (await shown(given, context)) ?? {};
      return isDeepStrictEqual(now, value);
    });
  },
  effect: { wanted },
};

export const handler = handlerOf(integration);
