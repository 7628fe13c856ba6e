import type * as z from 'zod';
import {
  type AcceptedSnapshot,
  acceptedKeyOf,
  acceptedSnapshot,
  droppedMsOf,
  lastEnd,
  lastEndKey,
} from './record.ts';
import type { SnapshotStore } from './store.ts';

/** The last accepted snapshot of this key's name; undefined: there is none, or its feed has ended. */
export const lastAccepted = async (
  store: Pick<SnapshotStore, 'readJsonIfAny'>,
  key: string,
): Promise<AcceptedSnapshot | undefined> => {
  const json = await store.readJsonIfAny(acceptedKeyOf(key));
  return json === undefined ? undefined : acceptedSnapshot.parse(json);
};

/** Everything of it is sent. The end of a feed leaves nothing with which a file of its name would be compared. */
export const acceptSnapshot = async (
  store: Pick<SnapshotStore, 'writeJson' | 'remove'>,
  key: string,
  accepted: AcceptedSnapshot,
): Promise<void> => {
  if (!accepted.isEnd) return store.writeJson(acceptedKeyOf(key), accepted);
  // What is sent later must be newer than the removals.
  await store.writeJson(lastEndKey, { id: accepted.id } satisfies z.output<typeof lastEnd>);
  await store.remove(acceptedKeyOf(key));
};

/** When what was accepted last of this name, or ended last of any, was put into the bucket. Ids have no milliseconds. */
export const lastDroppedMsOf = async (
  last: AcceptedSnapshot | undefined,
  store: Pick<SnapshotStore, 'readJsonIfAny'>,
): Promise<number> => {
  const { data: end } = lastEnd.safeParse(await store.readJsonIfAny(lastEndKey));
  return Math.max(0, ...[last, end].flatMap((each) => (each ? droppedMsOf(each.id) + 999 : [])));
};
