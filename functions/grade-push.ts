import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { grade } from '../lib/delivery/handle/fields/grade.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration, IntegrationContext, PlatformState } from '../lib/delivery/handle/integration.ts';
import { confirmByReadBack } from '../lib/delivery/handle/read-back.ts';
import { MessageFailure } from '../lib/message/failure.ts';
import { platformId } from '../lib/message/message.ts';
import { type SafeText, safe } from '../lib/message/safe-text.ts';
import { comparableText } from '../lib/platform/client/rich-text.ts';
import { type GradeObject, getGradeObjects } from '../lib/platform/resources/grade-objects.ts';
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

/** In the form in which the ledger digests the wanted effect. */
const comparableFields = ({ grade, comments, privateComments }: Omit<grades.ReadGrade, 'changedMs'>) => ({
  grade: grade && JSON.stringify(grade),
  comments: comparableText(comments.words),
  privateComments: privateComments && comparableText(privateComments.words),
});

/** A missing grade is not comparable: a replica may not know it yet. */
const comparable = (value: grades.ReadGrade | undefined): PlatformState =>
  value === undefined
    ? { fields: { grade: '', comments: '', privateComments: '' }, changedMs: Number.NaN }
    : { fields: comparableFields(value), changedMs: value.changedMs };

const notShown = (what: SafeText, remedy: string) =>
  new MessageFailure('rejected', safe`The platform does not show ${what} of this grade`, { remedy });

/**
 * The same points mean another grade if the maximum differs. The change of the maximum may be on its way, as in an export in which
 * both change: then the message waits for it, as for an id that is not known yet.
 */
const checkMaximum = async (
  { orgUnitId, gradeObjectId, grade: { outOf } }: Data,
  { gradeObjects }: IntegrationContext,
): Promise<void> => {
  if (outOf === undefined) return;
  const maximumIn = (all: readonly GradeObject[]) => all.find(({ Id }) => Id === gradeObjectId)?.MaxPoints;
  const maximum = maximumIn(await gradeObjects(orgUnitId, (all) => maximumIn(all) === outOf));
  if (maximum === outOf) return;
  const outOfProblem = safe`The points are out of ${outOf}, but the platform shows`;
  if (typeof maximum !== 'number')
    throw new MessageFailure('rejected', safe`${outOfProblem} no maximum for grade object ${gradeObjectId}`, {
      remedy:
        'Give the grade object a maximum on the platform, or correct data.gradeObjectId, or leave data.grade.outOf out. Then replay.',
    });
  throw new MessageFailure(
    'unknown-id',
    safe`${outOfProblem} the maximum ${maximum} for grade object ${gradeObjectId}. Nothing is sent until it has the maximum ${outOf}`,
    {
      remedy: `1. Check which maximum is right. 2. If it is ${outOf}, find the message that sets it (\`sis-relay letters list --function grade-object-update --org-unit ${orgUnitId}\`, \`sis-relay waiting list --function grade-object-update\`), and replay or wake it, or set the maximum on the platform. 3. If it is ${maximum}, correct data.grade.points and data.grade.outOf (\`sis-relay letters edit\`).`,
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
    const takes = (field: string) => context.fields.includes(field);
    if (takes('grade')) await checkMaximum(given, context);
    const isWhole = takes('grade') && takes('comments') && takes('privateComments');
    const kept = isWhole ? undefined : await shown(given, context);
    if (!isWhole) await context.mustBeCurrent(comparable(kept));
    // Without a grade there is no comment either.
    const none = { grade: undefined, comments: grades.commentOf(''), privateComments: grades.commentOf('') };
    const before = kept ?? none;
    const grade = takes('grade') ? given.grade.value : before.grade;
    const comments = takes('comments') ? grades.commentOf(given.comments ?? '') : before.comments;
    const privateComments = takes('privateComments')
      ? grades.commentOf(given.privateComments ?? '')
      : before.privateComments;
    if (privateComments === undefined)
      throw notShown(
        safe`the private comment`,
        'A new grade would delete this comment. Set data.privateComments ("" for none), then replay. Have the producer send it with each grade.',
      );
    if (grade === undefined)
      throw notShown(
        safe`the newer value`,
        'A newer grade was sent before the comments of this message, and comments cannot be added without that grade. Add them by hand and discard this letter, or replay it when the platform shows the grade.',
      );
    const value = { grade, comments, privateComments };
    await confirmByReadBack(grades.setGradeValue(context.platform, given, value), async () => {
      const now = await shown(given, context);
      return now !== undefined && isDeepStrictEqual(comparableFields(now), comparableFields(value));
    });
  },
  effect: { wanted, shown: async (given, context) => comparable(await shown(given, context)) },
};

export const handler = handlerOf(integration);
