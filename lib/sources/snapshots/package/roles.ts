import { rowsOf, type Table } from '../../../runtime/files/tables/table.ts';
import type { Reading } from './reading.ts';
import { addReadRows } from './rows.ts';

const roleColumns = {
  ...{
    user_source_id: 'userSourcedId',
    role: 'role',
    type: 'roleType',
    status: 'status',
    begins: 'beginDate',
    ends: 'endDate',
  },
  // Columns of School Data Sync.
  ...{ prime: 'isPrimary', starts: 'roleStartDate', stops: 'roleEndDate' },
};

/**
 * Gives each enrollment without a role the role of its user: from roles.csv, primary roles first, or, if there is no such file, from
 * users.csv. `user_roles` lists the users that have a role.
 */
export const addUserRoles = async (
  { given, comparison }: Reading,
  { users, day }: { users: Table | undefined; day: string },
): Promise<void> => {
  const { sets } = comparison;
  await sets.run('CREATE TABLE user_roles (user_source_id VARCHAR, role VARCHAR)');
  const [missing = 0] =
    (await sets.row<[number]>(`SELECT count(*) FROM enrollments_read WHERE role = ''`)) ?? [];
  if (missing === 0) return;
  if (given.modes.roles !== 'absent') {
    const roles = await given.read('roles', ['userSourcedId', 'role']);
    await addReadRows(comparison, 'roles', roles);
    await sets.run(
      `INSERT INTO user_roles
         SELECT user_source_id, CASE WHEN count(DISTINCT role) FILTER (is_prime) = 1 THEN min(role) FILTER (is_prime)
             WHEN count(DISTINCT role) = 1 THEN min(role) END
         FROM (SELECT user_source_id, trimmed(role) AS role, word_in(type) = 'primary' OR word_in(prime) = 'true' AS is_prime
           FROM (${rowsOf(roles, roleColumns)})
           WHERE NOT is_gone(word_in(status)) AND trimmed(role) <> ''
             AND coalesce(day_of(trimmed(coalesce(begins, starts))), '') <= '${day}'
             AND coalesce(day_of(trimmed(coalesce(ends, stops))), '9') >= '${day}')
         GROUP BY user_source_id`,
      [roles.path],
    );
  } else if (users && users.at('role') >= 0)
    await sets.run(
      `INSERT INTO user_roles SELECT id, CASE WHEN count(DISTINCT role) = 1 THEN min(role) END
         FROM (SELECT id, trimmed(role) AS role FROM (${rowsOf(users, { id: 'sourcedId', role: 'role' })})) WHERE role <> '' GROUP BY id`,
      [users.path],
    );
  await sets.run(`
    UPDATE enrollments_read SET role = u.role FROM user_roles u
      WHERE enrollments_read.role = '' AND u.user_source_id = enrollments_read.user_source_id AND u.role IS NOT NULL`);
};
