import * as z from 'zod';
import { readEnrollmentState, removedEffect } from '../lib/delivery/handle/fields/enrollment.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { confirmByReadBack } from '../lib/delivery/handle/read-back.ts';
import { MessageFailure } from '../lib/message/failure.ts';
import { platformId } from '../lib/message/message.ts';
import { safe } from '../lib/message/safe-text.ts';
import { failureOf } from '../lib/platform/client/failure-of.ts';
import { isNotFound } from '../lib/platform/client/not-found.ts';
import { findInClasslist, getClasslistPages } from '../lib/platform/resources/classlists.ts';
import { deleteEnrollment, removeEnrollment } from '../lib/platform/resources/enrollments.ts';

const data = z.strictObject({ orgUnitId: platformId, userId: platformId });

type Enrollment = z.infer<typeof data>;

const stillThere = (error: unknown): MessageFailure => {
  const { kind, message, remedy, ...refusal } = failureOf(error);
  return new MessageFailure('rejected', safe`${message}, but the classlist shows the user`, {
    remedy:
      'Check whether the platform has the path and the version of delete-enrollment that sis-relay uses. If not, correct them in PLATFORM_OPERATIONS. Then replay.',
    refusal,
  });
};

/** Removes a user from an org unit. A user who is not enrolled there counts as removed. */
export const integration: Integration<Enrollment> = {
  name: 'enrollment-remove',
  data,
  // The same key as in enrollment-create: of a creation and a removal, the newer one applies.
  resource: ({ orgUnitId, userId }) => `enrollment/${orgUnitId}/${userId}`,
  changes: ['enrollment'],
  operations: [deleteEnrollment, getClasslistPages],
  priority: 'urgent',
  repeatable: true,
  effect: { wanted: () => ({ whole: removedEffect }), shown: readEnrollmentState },
  run: async (enrollment, { platform, note }) => {
    const isEnrolled = async () => (await findInClasslist(platform, enrollment)) !== undefined;
    try {
      await confirmByReadBack(removeEnrollment(platform, enrollment), async () => !(await isEnrolled()));
    } catch (error) {
      // A proxy also answers 404, and so does the API for a wrong path or version. The 404 must come from the API, and only the classlist
      // proves that the user is not enrolled.
      if (!isNotFound(error)) throw error;
      if (await isEnrolled()) throw stillThere(error);
      note(safe`The user was not enrolled`);
    }
  },
};

export const handler = handlerOf(integration);
