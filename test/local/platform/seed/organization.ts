import { organizationId } from '../auth/roles.ts';
import {
  anything,
  boolean,
  exactly,
  id,
  list,
  nullable,
  optional,
  or,
  record,
  string,
} from '../http/bind.ts';
import { fileFields, type Sower, sower, storeFile } from './sower.ts';

/** Org units, people and what belongs to them. */
export const organizationSowers: Record<string, Sower> = {
  roles: sower(
    exactly({ roleId: id, name: optional(string), permissions: or(list(string), []) }),
    ({ name, ...row }, { tables }) => tables.roles.put({ name: name ?? `Role ${row.roleId}`, ...row }),
  ),

  orgUnits: sower(
    exactly({
      orgUnitId: id,
      name: optional(string),
      code: optional(string),
      typeId: or(id, 3),
      parents: or(list(id), [organizationId]),
    }),
    ({ name, code, parents, ...row }, { tables }) =>
      tables.orgUnits.put({
        name: name ?? `Course ${row.orgUnitId}`,
        code: code ?? `C-${row.orgUnitId}`,
        parents: [...parents],
        ...row,
      }),
  ),

  users: sower(
    exactly({
      userId: id,
      userName: optional(string),
      firstName: or(string, 'Local'),
      lastName: or(string, 'User'),
      email: optional(string),
      orgDefinedId: or(nullable(string), null),
      hidesUserName: or(boolean, false),
      hidesEmail: or(boolean, false),
      userKey: optional(string),
    }),
    ({ userKey, ...given }, { tables, userKeys }) => {
      const userName = given.userName ?? `user.${given.userId}`;
      tables.users.put({ ...given, userName, email: given.email ?? `${userName}@example.edu` });
      userKeys.set(given.userId, userKey ?? `local-key-${given.userId}`);
    },
  ),

  enrollments: sower(exactly({ orgUnitId: id, userId: id, roleId: id }), (row, { tables }) =>
    tables.enrollments.put({ ...row, writes: 0 }),
  ),

  profileImages: sower(exactly({ userId: id, ...fileFields }), (row, state) =>
    state.tables.profileImages.put({ userId: row.userId, ...storeFile(state, row), writes: 0 }),
  ),

  courseImages: sower(exactly({ orgUnitId: id, ...fileFields }), (row, state) =>
    state.tables.courseImages.put({ orgUnitId: row.orgUnitId, ...storeFile(state, row) }),
  ),

  userAttributes: sower(
    exactly({ userId: id, attributes: list(exactly({ attributeId: string, value: list(string) })) }),
    (row, { tables }) => tables.userAttributes.put({ ...row, writes: 0 }),
  ),

  demographicsDataTypes: sower(
    exactly({ dataTypeId: string, name: string }),
    ({ dataTypeId, name }, { tables }) =>
      tables.demographicsDataTypes.put({ dataTypeId: dataTypeId.toLowerCase(), name }),
  ),

  configurationVariables: sower(
    exactly({
      configId: string,
      name: or(string, 'Variable'),
      scope: or(string, 'Org'),
      description: or(string, ''),
      dataType: or(string, 'String'),
      defaultValue: or(string, ''),
      canEditSystemValue: or(boolean, false),
      orgValue: or(anything, null),
    }),
    (row, { tables }) => tables.configurationVariables.put({ ...row, writes: 0 }),
  ),

  ePortfolioObjects: sower(exactly({ objectId: id, userId: id, object: record }), (row, { tables }) =>
    tables.ePortfolioObjects.put({ ...row, writes: 0 }),
  ),
};
