import { join } from 'node:path';
import { quotedText, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import { keepFile } from '../../../runtime/files/tables/packed-rows.ts';
import type { JobStore } from '../../../runtime/jobs/store.ts';
import { acceptedData } from '../compare/oneroster.ts';
import { stateKey } from './record.ts';
import type { SnapshotNow } from './snapshots-now.ts';
import { viewsOfState } from './state-rows.ts';

/**
 * A statement that gives kind and data, as JSON, of everything that a snapshot currently states. It excludes what has not begun or
 * is not graded yet, what was refused and never accepted, and rows of a table for which it is unknown what was sent last. Run it
 * before the next one is made.
 */
export const dataOfSnapshot = async (
  snapshot: SnapshotNow,
  { db, folder, store }: { db: SqlEngine; folder: string; store: Pick<JobStore, 'open'> },
): Promise<string> => {
  const path = join(folder, `${snapshot.id}-state`);
  await keepFile(await store.open(stateKey(snapshot.id)), path);
  await db.run(viewsOfState('state', `FROM read_parquet(${quotedText(path)})`));
  return snapshot.userField
    ? acceptedData(db, snapshot.userField)
    : 'SELECT state_kind AS kind, data FROM state_wanted WHERE data IS NOT NULL AND NOT is_unsent(row_standing)';
};
