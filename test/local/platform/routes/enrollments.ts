import { json } from '../http/answer.ts';
import { id, object } from '../http/bind.ts';
import { notFound } from '../http/refusal.ts';
import { bookmarkedPage } from '../paging.ts';
import { type Call, route } from '../route.ts';
import type { Enrollment, State } from '../state.ts';
import { typeOut } from './org-units.ts';

const enrollmentBody = object({ OrgUnitId: id, UserId: id, RoleId: id });
const bodyOf = async (call: Call) => enrollmentBody(await call.json(), '');

export const enrollmentRoutes = [
  route({
    method: 'POST',
    component: 'lp',
    path: 'enrollments/',
    scope: 'enrollment:orgunit:create',
    permission: 'ManageEnrollments',
    where: async (call) => (await bodyOf(call)).OrgUnitId,
    async handle(call) {
      const { OrgUnitId: orgUnitId, UserId: userId, RoleId: roleId } = await bodyOf(call);
      const { users, roles, enrollments } = call.state.tables;
      if (users.get(userId) === undefined) throw notFound('User');
      if (roles.get(roleId) === undefined) throw notFound('Role');
      const writes = (enrollments.get(orgUnitId, userId)?.writes ?? 0) + 1;
      return json(enrollmentOut(enrollments.put({ orgUnitId, userId, roleId, writes })));
    },
  }),

  route({
    method: 'DELETE',
    component: 'lp',
    path: 'enrollments/orgUnits/{orgUnitId}/users/{userId}',
    scope: 'enrollment:orgunit:delete',
    permission: 'ManageEnrollments',
    handle({ ids, state: { tables } }) {
      const enrollment = tables.enrollments.get(ids.orgUnitId, ids.userId);
      if (enrollment === undefined) throw notFound('Enrollment');
      tables.enrollments.delete(enrollment);
      return json(enrollmentOut(enrollment));
    },
  }),

  route({
    method: 'GET',
    component: 'lp',
    path: 'enrollments/myenrollments/',
    scope: 'enrollment:own_enrollment:read',
    permission: null,
    handle: (call) =>
      bookmarkedPage(call, {
        rows: call.state.tables.enrollments.where('userId', call.caller.userId),
        idOf: ({ orgUnitId }) => orgUnitId,
        out: (enrollment) => myEnrollmentOut(enrollment, call.state),
      }),
  }),
];

function enrollmentOut({ orgUnitId, userId, roleId }: Enrollment) {
  return { OrgUnitId: orgUnitId, UserId: userId, RoleId: roleId, IsCascading: false };
}

function myEnrollmentOut({ orgUnitId, roleId }: Enrollment, { tables }: State) {
  const orgUnit = tables.orgUnits.get(orgUnitId);
  return {
    OrgUnit: { Id: orgUnitId, Type: typeOut(orgUnit?.typeId ?? 0), Name: orgUnit?.name, Code: orgUnit?.code },
    Access: { IsActive: true, CanAccess: true, ClasslistRoleName: tables.roles.get(roleId)?.name ?? null },
  };
}
