import type * as z from 'zod';
import { changedGradeObject } from '../lib/delivery/handle/fields/grade-object.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { MessageFailure } from '../lib/message/failure.ts';
import { ownText, type SafeText, safe, safeList } from '../lib/message/safe-text.ts';
import * as grades from '../lib/platform/resources/grade-objects.ts';

type Data = z.infer<typeof changedGradeObject>;

const refused = (message: SafeText, remedy: string) => new MessageFailure('rejected', message, { remedy });

const fieldOf = ({ gradeObjectId }: Data, setting: string) => `object/${gradeObjectId}/${setting}`;

/**
 * Changes settings of a grade object. Each setting is ordered by itself: those that the message omits, or that a newer message has set,
 * stay as they are.
 */
export const integration: Integration<Data> = {
  name: 'grade-object-update',
  data: changedGradeObject,
  // The same key as in grade-object-create: no name changes while a creation looks for it.
  resource: ({ orgUnitId }) => `grade-objects/${orgUnitId}`,
  fields: (given) => Object.keys(given.changes).map((setting) => fieldOf(given, setting)),
  changes: ['grade-objects'],
  operations: [grades.getGradeObject, grades.putGradeObject],
  repeatable: true,
  run: async (given, { platform, fields }) => {
    const { gradeObjectId, gradeType } = given;
    const shown = await grades.requireGradeObject(platform, given);
    if (shown.GradeType !== gradeType)
      throw refused(
        safe`Grade object ${gradeObjectId} does not have the type data.type, and the platform cannot change types`,
        'Correct data.type or data.gradeObjectId, then replay. If you need another type, create a new grade object.',
      );
    const changes = Object.fromEntries(
      Object.entries(given.changes).filter(([setting]) => fields.includes(fieldOf(given, setting))),
    );
    const { settings, notShown } = grades.changedSettings(shown, changes);
    if (notShown.length > 0)
      throw refused(
        safe`The platform does not show ${safeList(notShown.map(ownText))} of grade object ${gradeObjectId}, so an update would reset it`,
        'Add these settings to data, then replay.',
      );
    const { AssociatedTool } = await grades.replaceGradeObject(platform, given, settings);
    // It is unknown whether an update keeps the link to the tool.
    if (shown.AssociatedTool && AssociatedTool === null)
      throw refused(
        safe`Grade object ${gradeObjectId} was updated, but the platform removed its link to an activity`,
        'Link it to that activity again on the platform, then discard the letter.',
      );
  },
};

export const handler = handlerOf(integration);
