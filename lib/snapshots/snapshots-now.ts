import { join } from 'node:path';
import type { JobStore } from '../durable/store.ts';
import { temporaryFolder } from '../files/folder.ts';
import { openSetEngine } from '../sets/engine.ts';
import { loadState } from './accepted.ts';
import { acceptedData } from './oneroster.ts';
import {
  type AcceptedSnapshot,
  acceptedKey,
  acceptedSnapshot,
  acceptedTablesPrefix,
  stateKeyOf,
} from './record.ts';
import { type UserField, userField } from './settings-file.ts';
import { functionsOf, linesOfState } from './state-lines.ts';
import { createSets } from './wanted.ts';

/** Whose effect on the platform can be seen. */
export type SeenFunction = 'enrollment-create' | 'grade-push';

/** What the SIS says now of one enrollment or grade, as it would be sent. */
export type AcceptedEvent = { snapshotId: string; function: SeenFunction; data: object };

/** A zip or a table that was accepted last, and whose state is kept. */
export type SnapshotNow = Pick<AcceptedSnapshot, 'id' | 'holds'> & {
  droppedMs: number;
  /** Some of what it says may not be on its queues yet. */
  isSending: boolean;
  /** By the kinds of its lines. */
  functions: ReadonlyMap<string, SeenFunction>;
  /** Of a zip, by which names users are known. */
  userField?: UserField | undefined;
};

type Store = Pick<JobStore, 'keysUnder' | 'readJsonIfAny' | 'etagOf' | 'open'>;

/** Of a zip; line items are of another kind. */
const kindsOfZip = new Map<string, SeenFunction>([
  ['2', 'enrollment-create'],
  ['3', 'grade-push'],
]);

/** What tells now what the SIS says: the last zip and the last table of each name, those that were dropped last first. */
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
      functions: isZip ? kindsOfZip : seenIn(functionsOf(by)),
      ...(isZip && holds === 'tables' && { userField: userField.parse((JSON.parse(by) as unknown[])[1]) }),
    });
  }
  return snapshots.sort((one, other) => other.droppedMs - one.droppedMs);
};

const seenIn = (functions: ReadonlyMap<string, string>): Map<string, SeenFunction> =>
  new Map([...functions].flatMap(([kind, name]) => (isSeen(name) ? [[kind, name]] : [])));

const isSeen = (name: string): name is SeenFunction => name === 'enrollment-create' || name === 'grade-push';

/** As in `20261123T020000Z-0a1b2c3d`. */
export const droppedMsOf = (id: string): number =>
  Date.parse(id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, '$1-$2-$3T$4:$5:$6Z'));

/**
 * All that these snapshots say now for these functions, read as a stream. What has not begun or is not graded yet is not among it,
 * nor what was refused and never accepted.
 */
export async function* acceptedEvents(
  store: Pick<Store, 'open'>,
  snapshots: readonly SnapshotNow[],
  only: readonly SeenFunction[] = ['enrollment-create', 'grade-push'],
): AsyncGenerator<AcceptedEvent> {
  for (const snapshot of snapshots) {
    const { id: snapshotId, functions } = snapshot;
    const kinds = [...functions].flatMap(([kind, name]) => (only.includes(name) ? [kind] : []));
    const rows =
      snapshot.holds === 'tables' ? rowsOfTable(store, snapshot, kinds) : rowsOfLines(store, snapshot);
    for await (const batch of rows)
      for (const [kind, data] of batch) {
        const name = functions.get(kind);
        if (name !== undefined && only.includes(name)) yield { snapshotId, function: name, data };
      }
  }
}

type Row = [kind: string, data: object];

/** As versions before 1.2 kept it. */
async function* rowsOfLines(store: Pick<Store, 'open'>, snapshot: SnapshotNow): AsyncGenerator<Row[]> {
  for await (const lines of linesOfState(await store.open(stateKeyOf(snapshot))))
    yield lines.flatMap((line): Row[] => {
      const kind = line.slice(0, Math.max(0, line.indexOf('\t')));
      if (!snapshot.functions.has(kind)) return [];
      const { data, pending } = JSON.parse(line.slice(line.indexOf('\t', kind.length + 1) + 1)) as Accepted;
      return pending ? [] : [[kind, data]];
    });
}

type Accepted = { data: object; pending?: true };

async function* rowsOfTable(
  store: Pick<Store, 'open'>,
  snapshot: SnapshotNow,
  kinds: readonly string[],
): AsyncGenerator<Row[]> {
  if (kinds.length === 0) return;
  using folder = temporaryFolder();
  const path = join(folder.path, 'state');
  using sets = await openSetEngine({ folder: folder.path, threads: 1 });
  await createSets(sets);
  await loadState({ before: 'tables', sets }, { path, packed: await store.open(stateKeyOf(snapshot)) });
  const { tables, data, joins } = snapshot.userField
    ? acceptedData(snapshot.userField)
    : { tables: '', data: 'd.data', joins: '' };
  if (tables !== '') await sets.run(tables);
  const listed = kinds.map((kind) => `'${kind}'`).join(', ');
  const statement = `SELECT d.kind, ${data} FROM state d ${joins} WHERE d.kind IN (${listed})`;
  for await (const batch of sets.rows<[string, string]>(statement))
    yield batch.map(([kind, data]) => [kind, JSON.parse(data)]);
}
