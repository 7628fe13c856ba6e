import type { Table } from '../../../runtime/files/tables/table.ts';
import { hasRows, statementsIn } from '../compare/statements.ts';
import { type PackageReading, viewRows } from './reading.ts';
import { addReadRows } from './rows.ts';

const sql = statementsIn('enrollments');

const roleColumns = {
  user_source_id: 'userSourcedId',
  role: 'role',
  type: 'roleType',
  status: 'status',
  begins: 'beginDate',
  ends: 'endDate',
  // Columns of School Data Sync.
  prime: 'isPrimary',
  starts: 'roleStartDate',
  stops: 'roleEndDate',
};

/**
 * Gives each enrollment without a role the role of its user: from roles.csv, or, if there is no such file, from users.csv.
 */
export const addUserRoles = async (
  { given, comparison }: PackageReading,
  users: Table | undefined,
): Promise<void> => {
  const { db } = comparison;
  if (!(await hasRows(db, `enrollments_read WHERE role = ''`))) return;
  if (given.modes.roles !== 'absent') {
    const roles = await given.read('roles', ['userSourcedId', 'role']);
    await addReadRows(comparison, 'roles', roles);
    await viewRows(db, roles, { columns: roleColumns });
    await db.run(sql('read_roles'));
  } else if (users) {
    await viewRows(db, users, { columns: { id: 'sourcedId', role: 'role' } });
    await db.run(sql('read_roles_of_users'));
  }
  await db.run(sql('give_roles'));
};
