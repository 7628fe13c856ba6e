import { json } from '../http/answer.ts';
import { linkedPage } from '../paging.ts';
import { type Call, route } from '../route.ts';
import type { User } from '../state.ts';

const requirements = { scope: 'enrollment:orgunit:read', permission: 'SeeClasslist' } as const;

export const classlistRoutes = [
  route({
    method: 'GET',
    component: 'le',
    path: '{orgUnitId}/classlist/',
    ...requirements,
    handle: (call) => json(membersOf(call).map(classlistUserOut)),
  }),

  route({
    method: 'GET',
    component: 'le',
    path: '{orgUnitId}/classlist/paged/',
    ...requirements,
    handle: (call) =>
      linkedPage(call, { rows: membersOf(call), idOf: ({ userId }) => userId, out: classlistUserOut }),
  }),
];

type Member = User & { roleId: number };

function membersOf({ ids, state: { tables } }: Call<'orgUnitId'>): Member[] {
  return tables.enrollments.where('orgUnitId', ids.orgUnitId).flatMap(({ userId, roleId }) => {
    const user = tables.users.get(userId);
    return user === undefined ? [] : { ...user, roleId };
  });
}

function classlistUserOut(user: Member) {
  return {
    Identifier: String(user.userId),
    ProfileIdentifier: `profile-${user.userId}`,
    DisplayName: `${user.lastName}, ${user.firstName}`,
    Username: user.hidesUserName ? null : user.userName,
    OrgDefinedId: user.hidesUserName ? null : user.orgDefinedId,
    Email: user.hidesEmail ? null : user.email,
    FirstName: user.firstName,
    LastName: user.lastName,
    RoleId: user.roleId,
  };
}
