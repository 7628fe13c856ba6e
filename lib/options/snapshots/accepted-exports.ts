import { crosswalkKinds } from '../../crosswalk/kinds.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import type { SisId } from '../../message/sis-ids.ts';
import type { ExportsQuery, ReadAcceptedExports } from '../../option.ts';
import { failureOf } from '../../platform/client/failure-of.ts';
import { inParallel } from '../../runtime/aws/parallel.ts';
import { loadFilledNames } from './compare/filled-names.ts';
import { createTables } from './compare/wanted.ts';
import { dataOfSnapshot } from './state/snapshot-data.ts';
import { snapshotsNow } from './state/snapshots-now.ts';

type Names = Pick<ExportsQuery, 'db' | 'folder' | 'store' | 'crosswalk' | 'platform'>;

/** A name with two meanings stands for nothing. A moved code stands for nothing until an operator accepts the move. */
const standsFor = `
  CREATE TABLE stands_for AS
    SELECT field, name, CAST(min(ids) AS BIGINT) AS id, bool_or(was IS NOT NULL) AS has_moved
    FROM filled_names WHERE ids IS NOT NULL GROUP BY field, name HAVING min(ids) = max(ids) AND NOT contains(min(ids), ',');
  DROP TABLE filled_names;
`;

/** The contents of a snapshot, `data`, with the platform's ids if the crosswalk knows them for sure. */
const saidBy = (data: string): string => `
  said AS NOT MATERIALIZED (
    SELECT fn, coalesce(d.orgUnitId, o.id) AS org_unit_id, coalesce(d.userId, u.id) AS user_id, d.roleId AS role_id, data
    FROM (
      SELECT fn, data, from_json(data, '{"orgUnitId": "BIGINT", "orgUnitCode": "VARCHAR", "userId": "BIGINT", "userName": "VARCHAR",
        "orgDefinedId": "VARCHAR", "roleId": "BIGINT"}') AS d
      FROM (${data}) JOIN seen USING (kind)
    )
    LEFT JOIN stands_for o ON o.field = 'orgUnitCode' AND o.name = d.orgUnitCode
    LEFT JOIN stands_for u ON u.field = CASE WHEN d.userName IS NULL THEN 'orgDefinedId' ELSE 'userName' END
      AND u.name = coalesce(d.userName, d.orgDefinedId)
  )`;

export const readAcceptedExports: ReadAcceptedExports = async (query) => {
  const { db, store, functions, insert, settledOnly = false } = query;
  const all = await snapshotsNow(store);
  const used = all.filter(({ isSending }) => !(settledOnly && isSending));
  if (used.length === 0) return all;
  await db.run('CREATE TABLE seen (kind VARCHAR, fn VARCHAR)');
  await createTables(db);
  await loadNames(query);
  for (const snapshot of used) {
    await db.run('DELETE FROM seen');
    await db.add(
      'seen',
      [...snapshot.functions].filter(([, name]) => functions.some((each) => each === name)),
    );
    const data = await dataOfSnapshot(snapshot, query);
    await db.run(`WITH ${saidBy(data)} ${insert}`, [snapshot.droppedMs]);
  }
  return all;
};

const loadNames = async (names: Names): Promise<void> => {
  const { db } = names;
  await loadFilledNames(crosswalkKinds, names);
  await db.run(standsFor);
  const moved = await db.all<[string]>(
    "SELECT name FROM stands_for WHERE field = 'orgUnitCode' AND has_moved",
  );
  const open: string[] = [];
  await inParallel(moved, async ([name]) => {
    if (!(await isAccepted(name, names))) open.push(name);
  });
  if (open.length === 0) return;
  await db.run('CREATE TABLE open_moves (name VARCHAR)');
  await db.add(
    'open_moves',
    open.map((name) => [name]),
  );
  await db.run(
    "DELETE FROM stands_for WHERE field = 'orgUnitCode' AND name IN (SELECT name FROM open_moves)",
  );
};

const isAccepted = async (value: string, { crosswalk, platform }: Names): Promise<boolean> => {
  const code: SisId = { field: 'orgUnitCode', platformField: 'orgUnitId', value };
  try {
    await crosswalk.platformIds([code], { platform, orgUnitId: undefined, sentMs: 0 });
    return true;
  } catch (error) {
    const { kind } = failureOf(error);
    if (kind === 'defect' || (kind !== 'unknown-id' && isRetried(kind))) throw error;
    return false;
  }
};
