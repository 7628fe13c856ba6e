import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { reading } from '../client/operation.ts';
import { itemsOf, pageOf } from './paging.ts';

const enrollment = z.looseObject({ OrgUnitId: z.number(), UserId: z.number(), RoleId: z.number() });

export const postEnrollment = reading({
  name: 'create-enrollment',
  call: 'POST /lp/enrollments/',
  scope: 'enrollment:orgunit:create',
  // Enrolling an enrolled user again answers 200 and sets the role.
  repeatable: true,
  answer: enrollment,
});

/** Enrolls a user in an org unit, or sets the role of an enrolled user. */
export const createEnrollment = (
  platform: Platform,
  { orgUnitId, userId, roleId }: { orgUnitId: number; userId: number; roleId: number },
) => platform.call(postEnrollment, { json: { OrgUnitId: orgUnitId, UserId: userId, RoleId: roleId } });

export const deleteEnrollment = reading({
  name: 'delete-enrollment',
  call: 'DELETE /lp/enrollments/orgUnits/{orgUnitId}/users/{userId}',
  scope: 'enrollment:orgunit:delete',
  // A second call finds nothing to remove.
  repeatable: true,
  answer: enrollment,
});

/** Removes a user from an org unit; returns the former enrollment. */
export const removeEnrollment = (
  platform: Platform,
  { orgUnitId, userId }: { orgUnitId: number; userId: number },
) => platform.call(deleteEnrollment, { path: { orgUnitId, userId } });

export const getMyEnrollments = reading({
  name: 'list-my-enrollments',
  call: 'GET /lp/enrollments/myenrollments/',
  scope: 'enrollment:own_enrollment:read',
  answer: pageOf(z.looseObject({})),
});

/** The enrollments of the user whose credential signs (Enrollment.MyOrgUnitAccessInfo). */
export const listMyEnrollments = (platform: Platform) => itemsOf(platform, getMyEnrollments);
