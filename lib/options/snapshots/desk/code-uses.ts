import { join } from 'node:path';
import { unlessError } from '../../../runtime/aws/error.ts';
import { quotedText, withSqlEngine } from '../../../runtime/files/tables/engine.ts';
import { keepFile } from '../../../runtime/files/tables/packed-rows.ts';
import { bucketOf } from '../../../stage/audit-log.ts';
import type { Target } from '../../../stage/target.ts';
import { stateKey } from '../state/record.ts';
import { type SnapshotNow, snapshotsNow } from '../state/snapshots-now.ts';
import { stateColumns, viewsOfState } from '../state/state-rows.ts';
import { type ComparisonStore, createSnapshotStore } from '../state/store.ts';

/** What an accepted file wants by the code of an org unit. */
export type CodeUse = { file: string; rows: number; people: number };

/**
 * What was accepted by a code, in each accepted file that uses it: the next import of such a file moves that with the code. Undefined: it
 * cannot be read with these rights.
 */
export const usesOfCode = async (target: Target, code: string): Promise<CodeUse[] | undefined> => {
  const store = createSnapshotStore({ s3: await target.s3(), bucket: await bucketOf(target) });
  return unlessError(/^AccessDenied$/, () => usesOfCodeIn(store, code));
};

export const usesOfCodeIn = (
  store: Pick<ComparisonStore, 'keysUnder' | 'readJsonIfAny' | 'etagOf' | 'open'>,
  code: string,
): Promise<CodeUse[]> =>
  withSqlEngine(async (db, folder) => {
    await db.run(stateColumns);
    const uses: CodeUse[] = [];
    for (const snapshot of await snapshotsNow(store)) {
      const path = join(folder, snapshot.id);
      if (!(await keepFile(await store.open(stateKey(snapshot.id)), path))) continue;
      await db.run(viewsOfState('state', `FROM read_parquet(${quotedText(path)})`));
      const [rows = 0, people = 0] = (await db.row<[number, number]>(countOf(snapshot), [code])) ?? [];
      if (rows > 0) uses.push({ file: snapshot.name, rows, people });
    }
    return uses;
  });

/** `$1`: the code. A table names the org unit; an export names that of an enrollment, and the grade object of a grade. */
const countOf = ({ userField, functions }: SnapshotNow): string =>
  userField === undefined
    ? `SELECT count(*), count(DISTINCT user_name) FROM state_wanted
       WHERE state_kind IN (${[...functions.keys()].map(quotedText).join(', ')}) AND org_unit_or_object = 'orgUnitCode=' || $1`
    : `SELECT count(*), count(DISTINCT user_name) FROM state_wanted
       WHERE (state_kind = '2' AND org_unit_or_object = $1) OR (state_kind = '3' AND org_unit_or_object IN (
         SELECT coalesce(CAST(json AS JSON) ->> '$.object', id)
         FROM (SELECT source_id AS id, json FROM state_line_items UNION ALL SELECT object_id, json FROM state_grade_objects)
         WHERE CAST(json AS JSON) ->> '$.data.orgUnitCode' = $1))`;
