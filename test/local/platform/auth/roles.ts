import { missingPermission } from '../http/refusal.ts';
import type { Role, State } from '../state.ts';

/** The root of the org structure: a role held there is held in every org unit without one of its own. */
export const organizationId = 6606;

export function authorize(state: State, userId: number, needed: { orgUnitId: number; permission: string }) {
  const permissions = roleIn(state, userId, needed.orgUnitId)?.permissions ?? [];
  if (!permissions.includes('*') && !permissions.includes(needed.permission)) {
    throw missingPermission(needed.orgUnitId, needed.permission);
  }
}

function roleIn({ tables }: State, userId: number, orgUnitId: number): Role | undefined {
  const enrollment =
    tables.enrollments.get(orgUnitId, userId) ?? tables.enrollments.get(organizationId, userId);
  return enrollment && tables.roles.get(enrollment.roleId);
}
