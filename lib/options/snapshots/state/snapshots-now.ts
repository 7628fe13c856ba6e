import type { JobStore } from '../../../runtime/jobs/store.ts';
import { type UserField, userField } from '../package/settings-file.ts';
import { zipFeed } from '../request.ts';
import {
  type AcceptedSnapshot,
  acceptedKey,
  acceptedSnapshot,
  acceptedTablesPrefix,
  droppedMsOf,
  kindOf,
  stateKey,
} from './record.ts';

/** Functions whose effect on the platform can be seen. */
export type SeenFunction = 'enrollment-create' | 'grade-push';

/** A zip or a table that was accepted last, and whose state is kept. */
export type SnapshotNow = Pick<AcceptedSnapshot, 'id'> & {
  /** Of the object that names it. */
  acceptedKey: string;
  /** As people know it: the name of a table, or what a zip is. */
  name: string;
  /** By which `snapshots end` names it. */
  feed: string;
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
      ...(isZip
        ? { name: 'the export of OneRoster', feed: zipFeed }
        : { name: tableOf(key), feed: tableOf(key) }),
      functions: isZip ? kindsOfZip : functionsIn(by),
      ...(isZip && { userField: userField.parse((JSON.parse(by) as unknown[])[1]) }),
    });
  }
  return snapshots.sort((one, other) => other.droppedMs - one.droppedMs);
};

const tableOf = (key: string): string => key.slice(acceptedTablesPrefix.length, -'.json'.length);

/** By kind, the functions of the messages that a table was accepted by; `by` is as in `accepted.json`. */
const functionsIn = (by: string): Map<string, string> =>
  new Map((JSON.parse(by) as string[][]).map(([name = ''], at) => [kindOf(at), name]));
