import * as z from 'zod';
import { readEnrollmentState, roleEffect } from '../lib/delivery/handle/fields/enrollment.ts';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { confirmByReadBack } from '../lib/delivery/handle/read-back.ts';
import { platformId } from '../lib/message/message.ts';
import { findInClasslist, getClasslistPages } from '../lib/platform/resources/classlists.ts';
import { createEnrollment, postEnrollment } from '../lib/platform/resources/enrollments.ts';

const data = z.strictObject({ orgUnitId: platformId, userId: platformId, roleId: platformId });

/** Enrolls a user in an org unit, or sets the role of a user who is already enrolled. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'enrollment-create',
  data,
  resource: ({ orgUnitId, userId }) => `enrollment/${orgUnitId}/${userId}`,
  changes: ['enrollment'],
  operations: [postEnrollment, getClasslistPages],
  priority: 'urgent',
  repeatable: true,
  effect: { wanted: ({ roleId }) => ({ whole: roleEffect(roleId) }), shown: readEnrollmentState },
  run: (enrollment, { platform }) =>
    confirmByReadBack(createEnrollment(platform, enrollment), async () => {
      const shown = await findInClasslist(platform, enrollment);
      return shown?.RoleId === enrollment.roleId;
    }),
};

export const handler = handlerOf(integration);
