import * as z from 'zod';
import { handlerOf } from '../lib/handler.ts';
import type { Integration } from '../lib/integration.ts';
import { platformId } from '../lib/message.ts';
import { createEnrollment, postEnrollment } from '../lib/platform/enrollments.ts';

const data = z.strictObject({ orgUnitId: platformId, userId: platformId, roleId: platformId });

/** Enrolls a user in an org unit, or sets the role of one who is enrolled. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'enrollment-create',
  data,
  key: ({ orgUnitId, userId }) => `${orgUnitId}/${userId}`,
  operations: [postEnrollment],
  repeatable: true,
  run: (enrollment, { platform }) => createEnrollment(platform, enrollment),
};

export const handler = handlerOf(integration);
