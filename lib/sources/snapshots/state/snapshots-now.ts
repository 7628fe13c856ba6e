import { join } from 'node:path';
import type { JobStore } from '../../../delivery/durable/store.ts';
import { quotedText, type SetEngine } from '../../../runtime/files/tables/engine.ts';
import { keepFile, packedRows } from '../../../runtime/files/tables/packed-rows.ts';
import { acceptedData } from '../compare/oneroster.ts';
import { type UserField, userField } from '../package/settings-file.ts';
import {
  type AcceptedSnapshot,
  acceptedKey,
  acceptedSnapshot,
  acceptedTablesPrefix,
  droppedMsOf,
  kindOf,
  stateKeyOf,
} from './record.ts';

/** Functions whose effect on the platform can be seen. */
export type SeenFunction = 'enrollment-create' | 'grade-push';

/** A zip or a table that was accepted last, and whose state is kept. */
export type SnapshotNow = Pick<AcceptedSnapshot, 'id' | 'holds'> & {
  droppedMs: number;
  /** Some of its events may not be on their queues yet. */
  isSending: boolean;
  /** By the kinds of its lines. */
  functions: ReadonlyMap<string, SeenFunction>;
  userField?: UserField | undefined;
};

type Store = Pick<JobStore, 'keysUnder' | 'readJsonIfAny' | 'etagOf'>;

/** For a zip; line items are of another kind. */
const kindsOfZip = new Map<string, SeenFunction>([
  ['2', 'enrollment-create'],
  ['3', 'grade-push'],
]);

/** The snapshots that are currently valid: the last zip and the last table of each name, the latest first. */
export const snapshotsNow = async (store: Store): Promise<SnapshotNow[]> => {
  const snapshots: SnapshotNow[] = [];
  for (const key of [acceptedKey, ...(await store.keysUnder(acceptedTablesPrefix))]) {
    const json = await store.readJsonIfAny(key);
    if (json === undefined) continue;
    const accepted = acceptedSnapshot.parse(json);
    const { id, holds, by, sending } = accepted;
    if ((await store.etagOf(stateKeyOf(accepted))) === undefined) continue;
    const isZip = key === acceptedKey;
    snapshots.push({
      ...{ id, holds, droppedMs: droppedMsOf(id), isSending: sending === true },
      functions: isZip ? kindsOfZip : seenIn(by),
      ...(isZip && holds === 'tables' && { userField: userField.parse((JSON.parse(by) as unknown[])[1]) }),
    });
  }
  return snapshots.sort((one, other) => other.droppedMs - one.droppedMs);
};

/** By kind, the functions of the messages that a table was accepted by; `by` is as in `accepted.json`. */
const seenIn = (by: string): Map<string, SeenFunction> =>
  new Map(
    (JSON.parse(by) as string[][]).flatMap(([name = ''], at) => (isSeen(name) ? [[kindOf(at), name]] : [])),
  );

const isSeen = (name: string): name is SeenFunction => name === 'enrollment-create' || name === 'grade-push';

/**
 * A statement that gives kind and data, as JSON, of everything that a snapshot currently states. It excludes what has not begun or
 * is not graded yet, what was refused and never accepted, and rows of a table for which it is unknown what was sent last. The
 * engine has room for one zip, and any number of tables.
 */
export const dataOfSnapshot = async (
  snapshot: SnapshotNow,
  { sets, folder, store }: { sets: SetEngine; folder: string; store: Pick<JobStore, 'open'> },
): Promise<string> => {
  const path = join(folder, `${snapshot.id}-state`);
  const isThere = await keepFile(await store.open(stateKeyOf(snapshot)), path);
  if (snapshot.holds !== 'tables') {
    // The form of versions before 1.2.
    await sets.run('CREATE OR REPLACE TABLE lines_now (kind VARCHAR, data VARCHAR)');
    if (isThere) await sets.run(addLines, [path]);
    return 'FROM lines_now';
  }
  const { tables, data, joins } = snapshot.userField
    ? acceptedData(snapshot.userField)
    : { tables: '', data: 'd.data', joins: 'WHERE d.data IS NOT NULL' };
  await sets.run(`CREATE OR REPLACE VIEW state AS FROM read_parquet(${quotedText(path)})`);
  if (tables !== '') await sets.run(tables);
  return `SELECT d.kind, ${data} AS data FROM state d ${joins}`;
};

const addLines = `
  INSERT INTO lines_now SELECT kind, CAST(json AS JSON) -> 'data' FROM ${packedRows('$1', ['kind', 'key', 'json'])}
    WHERE NOT coalesce(CAST(json AS JSON) ->> 'pending' = 'true', false)`;
