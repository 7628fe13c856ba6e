import type { JobStore } from '../../../runtime/jobs/store.ts';
import { isTable, zipFeed } from '../feed.ts';
import { type UserField, userField } from '../package/settings-file.ts';
import { acceptedKeys } from './accepted-snapshot.ts';
import {
  type AcceptedSnapshot,
  acceptedSnapshot,
  droppedMsOf,
  feedOfAccepted,
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
  for (const key of await acceptedKeys(store)) {
    const json = await store.readJsonIfAny(key);
    if (json === undefined) continue;
    const accepted = acceptedSnapshot.parse(json);
    const { id, by, sending, sentMs = droppedMsOf(id) } = accepted;
    if ((await store.etagOf(stateKey(accepted.id))) === undefined) continue;
    const feed = feedOfAccepted(key);
    const isZip = !isTable(feed);
    snapshots.push({
      id,
      acceptedKey: key,
      droppedMs: sentMs,
      isSending: sending === true,
      feed,
      name: feed === zipFeed ? 'the export of OneRoster' : feed,
      functions: isZip ? kindsOfZip : functionsIn(by),
      ...(isZip && { userField: userField.parse((JSON.parse(by) as unknown[])[1]) }),
    });
  }
  return snapshots.sort((one, other) => other.droppedMs - one.droppedMs);
};

/** By kind, the functions of the messages that a table was accepted by; `by` is as in `accepted.json`. */
const functionsIn = (by: string): Map<string, string> =>
  new Map((JSON.parse(by) as string[][]).map(([name = ''], at) => [kindOf(at), name]));
