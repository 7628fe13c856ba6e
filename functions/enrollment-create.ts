import * as z from 'zod';
import { handlerOf } from '../lib/delivery/handler.ts';
import { unlessSeen } from '../lib/delivery/read-back.ts';
import type { Integration } from '../lib/integration.ts';
import { platformId } from '../lib/message.ts';
import { roleDigested } from '../lib/message-fields/enrollment.ts';
import { findInClasslist, getClasslistPages } from '../lib/platform/resources/classlists.ts';
import { createEnrollment, postEnrollment } from '../lib/platform/resources/enrollments.ts';

const data = z.strictObject({ orgUnitId: platformId, userId: platformId, roleId: platformId });

/** Enrolls a user in an org unit, or sets the role of one who is enrolled. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'enrollment-create',
  data,
  resource: ({ orgUnitId, userId }) => `enrollment/${orgUnitId}/${userId}`,
  changes: ['enrollment'],
  operations: [postEnrollment, getClasslistPages],
  priority: 'urgent',
  repeatable: true,
  effect: { wanted: ({ roleId }) => ({ whole: roleDigested(roleId) }) },
  run: (enrollment, { platform }) =>
    unlessSeen(createEnrollment(platform, enrollment), async () => {
      const shown = await findInClasslist(platform, enrollment);
      return shown?.RoleId === enrollment.roleId;
    }),
};

export const handler = handlerOf(integration);
