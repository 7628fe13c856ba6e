import * as z from 'zod';
import { json } from '../http/answer.ts';
import { bind, id } from '../http/bind.ts';
import { bookmarkedPage, linkedPage } from '../paging.ts';
import { richTextOut } from '../rich-text.ts';
import { type Call, found, foundIn, route } from '../route.ts';
import { emptyComment, type Row } from '../state.ts';
import { typeOut } from './org-units.ts';

const enrollmentBody = z.object({ OrgUnitId: id, UserId: id, RoleId: id });
const bodyOf = async (call: Call) => bind(enrollmentBody, await call.json());
const readsClasslists = { scope: 'enrollment:orgunit:read', permission: 'SeeClasslist' } as const;

export const enrollmentRoutes = [
  route(
    'POST lp/enrollments/',
    {
      scope: 'enrollment:orgunit:create',
      permission: 'ManageEnrollments',
      where: async (call) => (await bodyOf(call)).OrgUnitId,
    },
    async (call) => {
      const { OrgUnitId: orgUnitId, UserId: userId, RoleId: roleId } = await bodyOf(call);
      const { users, roles, enrollments } = call.tables;
      found(users.get(userId), 'User');
      found(roles.get(roleId), 'Role');
      const writes = (enrollments.get(orgUnitId, userId)?.writes ?? 0) + 1;
      return json(enrollmentOut(enrollments.put({ orgUnitId, userId, roleId, writes })));
    },
  ),

  route(
    'DELETE lp/enrollments/orgUnits/{orgUnitId}/users/{userId}',
    { scope: 'enrollment:orgunit:delete', permission: 'ManageEnrollments' },
    ({ ids, tables: { enrollments } }) => {
      const enrollment = found(enrollments.get(ids.orgUnitId, ids.userId), 'Enrollment');
      enrollments.delete(enrollment);
      return json(enrollmentOut(enrollment));
    },
  ),

  route(
    'GET lp/enrollments/myenrollments/',
    { scope: 'enrollment:own_enrollment:read', permission: null },
    (call) =>
      bookmarkedPage(call, {
        rows: call.tables.enrollments.where('userId', call.caller.userId),
        idOf: ({ orgUnitId }) => orgUnitId,
        out: (enrollment) => myEnrollmentOut(enrollment, call),
      }),
  ),

  route('GET le/{orgUnitId}/classlist/', readsClasslists, (call) =>
    json(membersOf(call).map(classlistUserOut)),
  ),

  route('GET le/{orgUnitId}/classlist/paged/', readsClasslists, (call) =>
    linkedPage(call, { rows: membersOf(call), idOf: ({ userId }) => userId, out: classlistUserOut }),
  ),

  route(
    'GET lp/{orgUnitId}/groupcategories/{groupCategoryId}/groups/',
    { scope: 'groups:group:read', permission: 'SeeGroups' },
    (call) => {
      const { groupCategoryId } = call.ids;
      foundIn(call, call.tables.groupCategories.get(groupCategoryId), 'Group category');
      const Description = richTextOut(emptyComment);
      return json(
        call.tables.groups
          .where('groupCategoryId', groupCategoryId)
          .map(({ groupId: GroupId, name: Name, userIds: Enrollments }) => ({
            GroupId,
            Name,
            Description,
            Enrollments,
          })),
      );
    },
  ),
];

type Enrollment = Row<'enrollments'>;

const enrollmentOut = ({ orgUnitId: OrgUnitId, userId: UserId, roleId: RoleId }: Enrollment) => ({
  OrgUnitId,
  UserId,
  RoleId,
  IsCascading: false,
});

function myEnrollmentOut({ orgUnitId, roleId }: Enrollment, { tables }: Call) {
  const orgUnit = tables.orgUnits.get(orgUnitId);
  return {
    OrgUnit: { Id: orgUnitId, Type: typeOut(orgUnit?.typeId ?? 0), Name: orgUnit?.name, Code: orgUnit?.code },
    Access: { IsActive: true, CanAccess: true, ClasslistRoleName: tables.roles.get(roleId)?.name ?? null },
  };
}

type Member = Row<'users'> & { roleId: number };

const membersOf = ({ ids, tables }: Call<'orgUnitId'>): Member[] =>
  tables.enrollments.where('orgUnitId', ids.orgUnitId).flatMap(({ userId, roleId }) => {
    const user = tables.users.get(userId);
    return user === undefined ? [] : { ...user, roleId };
  });

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
