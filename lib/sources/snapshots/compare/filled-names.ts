import { join } from 'node:path';
import { type CrosswalkKind, crosswalkSources } from '../../../delivery/crosswalk/kinds.ts';
import { filledKey } from '../../../delivery/crosswalk/moved.ts';
import type { JobStore } from '../../../delivery/durable/store.ts';
import type { SetEngine } from '../../../runtime/files/tables/engine.ts';
import { loadFile } from '../../../runtime/files/tables/packed-rows.ts';

type Loading = { sets: SetEngine; folder: string; store: Pick<JobStore, 'etagOf' | 'open'> };

/**
 * Makes `known_names` (`field`, `name`, `id`): the names that stand for one id of the platform by the crosswalk's last fill of these
 * kinds. Looking up each name would query its table a million times. A code that has moved is not known until an operator has accepted
 * the move: its messages are parked, too.
 */
export const loadKnownNames = async (kinds: readonly CrosswalkKind[], loading: Loading): Promise<void> => {
  await loadFilledNames(kinds, loading);
  await loading.sets.run(`
    CREATE TABLE known_names AS
      SELECT field, name, any_value(ids) AS id FROM filled_names WHERE ids <> ''
      GROUP BY field, name HAVING min(ids) = max(ids) AND NOT contains(min(ids), ',') AND max(coalesce(was, '')) = '';
    DROP TABLE filled_names`);
};

/** Fills the table `filled_names` (`field`, `name`, `ids`, `was`) from the crosswalk's last fill of these kinds. */
export const loadFilledNames = async (
  kinds: readonly CrosswalkKind[],
  { sets, folder, store }: Loading,
): Promise<void> => {
  await sets.run('CREATE TABLE filled_names (field VARCHAR, name VARCHAR, ids VARCHAR, was VARCHAR)');
  for (const kind of kinds)
    for (const source of crosswalkSources) {
      const key = filledKey(kind, source);
      if ((await store.etagOf(key)) === undefined) continue;
      await loadFile(await store.open(key), {
        ...{ path: join(folder, `${kind}-${source}.gz`), sets },
        insert: `INSERT INTO filled_names SELECT '${kind}', CAST(json AS JSON) ->> '$', ids, was FROM`,
        columns: ['shard', 'json', 'ids', 'was'],
      });
    }
};
