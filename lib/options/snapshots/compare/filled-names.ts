import { join } from 'node:path';
import { type CrosswalkKind, crosswalkSources } from '../../../crosswalk/kinds.ts';
import { filledKey } from '../../../crosswalk/moved.ts';
import type { SqlEngine } from '../../../runtime/files/tables/engine.ts';
import { loadFile } from '../../../runtime/files/tables/packed-rows.ts';
import type { JobStore } from '../../../runtime/jobs/store.ts';

type LoadOptions = { db: SqlEngine; folder: string; store: Pick<JobStore, 'etagOf' | 'open'> };

/**
 * Makes `known_names` (`field`, `name`, `id`): the names that stand for one id of the platform by the crosswalk's last fill of these
 * kinds. Looking up each name would query its table a million times. The others are in `doubtful_names`: a name that stands for two, or
 * a code whose move no operator has accepted. Messages with these go by the name, so that they are parked with what is to be done.
 */
export const loadKnownNames = async (
  kinds: readonly CrosswalkKind[],
  loading: LoadOptions,
): Promise<void> => {
  await loadFilledNames(kinds, loading);
  await loading.db.run(`
    CREATE TABLE all_names AS
      SELECT field, name, any_value(ids) AS id, min(ids) = max(ids) AND NOT contains(min(ids), ',') AND max(coalesce(was, '')) = '' AS is_known
      FROM filled_names WHERE ids <> '' GROUP BY field, name;
    CREATE TABLE known_names AS SELECT field, name, id FROM all_names WHERE is_known;
    CREATE TABLE doubtful_names AS SELECT field, name FROM all_names WHERE NOT is_known;
    DROP TABLE all_names; DROP TABLE filled_names`);
};

/** Fills the table `filled_names` (`field`, `name`, `ids`, `was`) from the crosswalk's last fill of these kinds; `filled_fields`: which were filled. */
export const loadFilledNames = async (
  kinds: readonly CrosswalkKind[],
  { db, folder, store }: LoadOptions,
): Promise<void> => {
  await db.run(`
    CREATE TABLE filled_names (field VARCHAR, name VARCHAR, ids VARCHAR, was VARCHAR);
    CREATE TABLE filled_fields (field VARCHAR)`);
  for (const kind of kinds)
    for (const source of crosswalkSources) {
      const key = filledKey(kind, source);
      if ((await store.etagOf(key)) === undefined) continue;
      await db.run('INSERT INTO filled_fields VALUES ($1)', [kind]);
      await loadFile(await store.open(key), {
        path: join(folder, `${kind}-${source}.gz`),
        db,
        insert: `INSERT INTO filled_names SELECT '${kind}', CAST(json AS JSON) ->> '$', ids, was FROM`,
        columns: ['shard', 'json', 'ids', 'was'],
      });
    }
};
