import * as z from 'zod';
import type { Platform } from './client.ts';
import { reading } from './operation.ts';

const postEnrollment = reading({
  name: 'create-enrollment',
  method: 'POST',
  component: 'lp',
  path: '/enrollments/',
  scope: 'enrollment:orgunit:create',
  // Enrolling an enrolled user again answers 200 and sets the role.
  repeatable: true,
  answer: z.looseObject({ OrgUnitId: z.number(), UserId: z.number(), RoleId: z.number() }),
});

/** Enrolls a user in an org unit, or sets the role of one who is. */
export const createEnrollment = (
  platform: Platform,
  { orgUnitId, userId, roleId }: { orgUnitId: number; userId: number; roleId: number },
) => platform.call(postEnrollment, { json: { OrgUnitId: orgUnitId, UserId: userId, RoleId: roleId } });
