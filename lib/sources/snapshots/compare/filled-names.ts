import { join } from 'node:path';
import { type CrosswalkKind, crosswalkSources } from '../../../delivery/crosswalk/kinds.ts';
import { filledKey } from '../../../delivery/crosswalk/moved.ts';
import type { JobStore } from '../../../delivery/durable/store.ts';
import type { SetEngine } from '../../../runtime/files/tables/engine.ts';
import { loadFile } from '../../../runtime/files/tables/packed-rows.ts';

type Loading = { sets: SetEngine; folder: string; store: Pick<JobStore, 'etagOf' | 'open'> };

/**
 * Fills the table `filled_names` (`field`, `name`, `ids`, `was`) from the crosswalk's last fill of these kinds: looking up each
 * name would query its table a million times.
 */
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
