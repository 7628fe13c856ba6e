import { join } from 'node:path';
import type { JobStore } from '../../../delivery/durable/store.ts';
import { quotedText, type SetEngine } from '../../../runtime/files/tables/engine.ts';
import { keepFile } from '../../../runtime/files/tables/packed-rows.ts';
import { acceptedData } from '../compare/oneroster.ts';
import { type UserField, userField } from '../package/settings-file.ts';
import {
  type AcceptedSnapshot,
  acceptedKey,
  acceptedSnapshot,
  acceptedTablesPrefix,
  droppedMsOf,
  kindOf,
  stateKey,
} from './record.ts';
import { viewsOfState } from './state-rows.ts';

/** Functions whose effect on the platform can be seen. */
export type SeenFunction = 'enrollment-create' | 'grade-push';

/** A zip or a table that was accepted last, and whose state is kept. */
export type SnapshotNow = Pick<AcceptedSnapshot, 'id'> & {
  /** Of the object that names it. */
  acceptedKey: string;
  /** As people know it: the name of a table, or what a zip is. */
  name: string;
  droppedMs: number;
  /** Some of its events may not be on their queues yet. */
  isSending: boolean;
  /** By the kinds of its lines. */
  functions: ReadonlyMap<string, string>;
  userField?: UserField | undefined;
};

type Store = Pick<JobStore, 'keysUnder' | 'readJsonIfAny' | 'etagOf'>;

/** For a zip; line items are of another kind. */
const kindsOfZip = new Map<string, string>([
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
    const { id, by, sending } = accepted;
    if ((await store.etagOf(stateKey(accepted.id))) === undefined) continue;
    const isZip = key === acceptedKey;
    snapshots.push({
      ...{ id, acceptedKey: key, droppedMs: droppedMsOf(id), isSending: sending === true },
      name: isZip ? 'the export of OneRoster' : key.slice(acceptedTablesPrefix.length, -'.json'.length),
      functions: isZip ? kindsOfZip : functionsIn(by),
      ...(isZip && { userField: userField.parse((JSON.parse(by) as unknown[])[1]) }),
    });
  }
  return snapshots.sort((one, other) => other.droppedMs - one.droppedMs);
};

/** By kind, the functions of the messages that a table was accepted by; `by` is as in `accepted.json`. */
const functionsIn = (by: string): Map<string, string> =>
  new Map((JSON.parse(by) as string[][]).map(([name = ''], at) => [kindOf(at), name]));

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
  await keepFile(await store.open(stateKey(snapshot.id)), path);
  const { tables, data, joins } = snapshot.userField
    ? acceptedData(snapshot.userField)
    : { tables: '', data: 'd.data', joins: 'WHERE d.data IS NOT NULL' };
  await sets.run(viewsOfState('state', `FROM read_parquet(${quotedText(path)})`));
  if (tables !== '') await sets.run(tables);
  return `SELECT d.state_kind AS kind, ${data} AS data FROM state_wanted d ${joins}`;
};
