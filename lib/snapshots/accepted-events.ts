import type { JobStore } from '../durable/store.ts';
import { acceptedKey, acceptedSnapshot, acceptedTablesPrefix, stateKey } from './record.ts';
import { functionsOf, linesOfState } from './state-lines.ts';

/** Whose effect on the platform can be seen. */
export type SeenFunction = 'enrollment-create' | 'grade-push';

/** What the SIS says now of one enrollment or grade, as it would be sent. */
export type AcceptedEvent = { snapshotId: string; function: SeenFunction; data: object };

/** A zip or a table that was accepted last, and whose state is kept. */
export type SnapshotNow = {
  id: string;
  droppedMs: number;
  /** Some of what it says may not be on its queues yet. */
  isSending: boolean;
  /** By the kinds of its lines. */
  functions: ReadonlyMap<string, SeenFunction>;
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
    const { id, by, sending } = acceptedSnapshot.parse(json);
    if ((await store.etagOf(stateKey(id))) === undefined) continue;
    const functions = key === acceptedKey ? kindsOfZip : seenIn(functionsOf(by));
    snapshots.push({ id, droppedMs: droppedMsOf(id), isSending: sending === true, functions });
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
  for (const { id: snapshotId, functions } of snapshots)
    for await (const lines of linesOfState(await store.open(stateKey(snapshotId))))
      for (const line of lines) {
        const name = functions.get(line[0] ?? '');
        if (name === undefined || !only.includes(name)) continue;
        const { data, pending } = JSON.parse(line.slice(line.indexOf('\t', 2) + 1)) as Accepted;
        if (!pending) yield { snapshotId, function: name, data };
      }
}

type Accepted = { data: object; pending?: true };
