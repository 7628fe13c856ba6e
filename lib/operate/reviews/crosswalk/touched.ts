import { join } from 'node:path';
import { unlessError } from '../../../runtime/aws/error.ts';
import { inSets, quotedText } from '../../../runtime/files/tables/engine.ts';
import { keepFile } from '../../../runtime/files/tables/packed-rows.ts';
import { stateKey } from '../../../sources/snapshots/state/record.ts';
import { type SnapshotNow, snapshotsNow } from '../../../sources/snapshots/state/snapshots-now.ts';
import { createSnapshotStore } from '../../../sources/snapshots/state/store.ts';
import { bucketOf } from '../../stage/audit-log.ts';
import type { Target } from '../../stage/target.ts';

/** What an accepted file wants by the code of an org unit. */
export type Touched = { file: string; rows: number; people: number };

/**
 * What was accepted by a code, in each accepted file that uses it: the next import of such a file moves that with the code. Undefined: it
 * cannot be read with these rights.
 */
export const touchedBy = async (target: Target, code: string): Promise<Touched[] | undefined> => {
  const store = createSnapshotStore({ s3: await target.s3(), bucket: await bucketOf(target) });
  return unlessError(/^AccessDenied$/, async () => {
    const snapshots = await snapshotsNow(store);
    if (snapshots.length === 0) return [];
    return inSets(async (sets, folder) => {
      const touched: Touched[] = [];
      for (const snapshot of snapshots) {
        const path = join(folder, snapshot.id);
        if (!(await keepFile(await store.open(stateKey(snapshot.id)), path))) continue;
        const [rows = 0, people = 0] =
          (await sets.row<[number, number]>(countOf(snapshot, path), [code])) ?? [];
        if (rows > 0) touched.push({ file: snapshot.name, rows, people });
      }
      return touched;
    });
  });
};

/** `$1`: the code. In a table, `a` names the org unit; in an export, that of an enrollment, and the grade object of a grade. */
const countOf = ({ userField }: SnapshotNow, path: string): string => {
  const state = `read_parquet(${quotedText(path)})`;
  return userField === undefined
    ? `SELECT count(*), count(DISTINCT b) FROM ${state} WHERE kind NOT IN ('R', 'S', 'A') AND a = 'orgUnitCode=' || $1`
    : `SELECT count(*), count(DISTINCT b) FROM ${state}
       WHERE (kind = '2' AND a = $1) OR (kind = '3' AND a IN (
         SELECT coalesce(CAST(data AS JSON) ->> '$.object', key) FROM ${state}
         WHERE kind IN ('1', 'O') AND CAST(data AS JSON) ->> '$.data.orgUnitCode' = $1))`;
};
