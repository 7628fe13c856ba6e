import type { Crosswalk } from '../crosswalk/look-up.ts';
import type { JobStore } from '../durable/store.ts';
import { failureOf } from '../failure.ts';
import type { Platform } from '../platform/client.ts';
import { sisIdsIn } from '../sis-ids.ts';
import { type AcceptedEvent, acceptedEvents, snapshotsNow } from '../snapshots/snapshots-now.ts';
import { unknownUser } from './check.ts';
import { keptAs } from './choose.ts';
import { isOrgUnitsTurn, type Reason, type Selection } from './select.ts';

export type Telling = { store: JobStore; crosswalk: Crosswalk; platform: Platform };

export type ToldFrom = {
  /** How many were read before where to go on; undefined: all were read. */
  from?: number;
  selected: Record<Reason, number>;
  /** The snapshots that were read. */
  snapshots: string[];
  /** The roles that they give; none where another one is still being sent. */
  roles: number[];
  /** Enrollments whose ids the crosswalk does not know, or not for sure. */
  unknown: number;
};

/** So many are looked up together. */
const batchSize = 1_000;

/**
 * Keeps the enrollments that the SIS' accepted snapshots have, of the org units whose turn it is: of each of them all, as who is not among
 * them is not in the SIS. `isWhole`: of all org units.
 */
export const chooseTold = (
  place: { key: string; from: number; untilMs: number; isWhole: boolean; snapshots: string[] | undefined },
  selection: Selection,
  telling: Telling,
): Promise<ToldFrom> =>
  keptAs(place.key, telling.store, async (add) => {
    const { from, untilMs, isWhole } = place;
    const all = await snapshotsNow(telling.store);
    // What a snapshot says that is being sent need not be on the platform yet.
    const snapshots = all.filter(({ isSending }) => !isSending);
    const ids = snapshots.map(({ id }) => id);
    // Another one was accepted meanwhile: what it says cannot be added to what the former one said.
    if (place.snapshots !== undefined && place.snapshots.join() !== ids.join())
      return { snapshots: place.snapshots, roles: [], unknown: 0 };
    const toldMsOf = new Map(snapshots.map(({ id, droppedMs }) => [id, droppedMs]));
    const roles = new Set<number>();
    let unknown = 0;
    let batch: AcceptedEvent[] = [];
    let read = 0;
    const settle = async (): Promise<void> => {
      const now = batch;
      batch = [];
      for (const found of await Promise.all(
        now.map((event) =>
          resolve(event, telling, (orgUnitId) => isWhole || isOrgUnitsTurn(orgUnitId, selection)),
        ),
      )) {
        if (found === 'another night') continue;
        if (found?.userId === undefined) unknown += 1;
        if (found === undefined) continue;
        const { orgUnitId, userId = unknownUser, roleId, snapshotId } = found;
        add({
          resource: `enrollment/${orgUnitId}/${userId}`,
          subject: { kind: 'enrollment', orgUnitId, userId },
          ...{ reason: 'snapshot', roleId, toldMs: toldMsOf.get(snapshotId) ?? 0 },
        });
      }
    };
    let next: number | undefined;
    for await (const event of acceptedEvents(telling.store, snapshots, ['enrollment-create'])) {
      const { roleId } = event.data as { roleId?: unknown };
      if (typeof roleId === 'number') roles.add(roleId);
      read += 1;
      if (read <= from) continue;
      batch.push(event);
      if (batch.length < batchSize) continue;
      await settle();
      if (Date.now() < untilMs) continue;
      next = read;
      break;
    }
    await settle();
    // Without one of them nobody knows who is too many.
    const given = all.length === snapshots.length ? [...roles] : [];
    return { ...(next !== undefined && { from: next }), snapshots: ids, roles: given, unknown };
  });

type Found = { snapshotId: string; orgUnitId: number; userId?: number; roleId: number };

/** Without `userId` where the user's name stands for nobody, or not for sure; undefined: the org unit's does not. */
const resolve = async (
  { snapshotId, data }: AcceptedEvent,
  { crosswalk, platform }: Telling,
  isItsTurn: (orgUnitId: number) => boolean,
): Promise<Found | 'another night' | undefined> => {
  const { sisIds } = sisIdsIn(data);
  const given = data as { orgUnitId?: number; userId?: number; roleId: number };
  const idOf = async (field: 'orgUnitId' | 'userId'): Promise<number | undefined> => {
    const named = sisIds.filter(({ platformField }) => platformField === field);
    if (named.length === 0) return given[field];
    try {
      return (await crosswalk.platformIds(named, { platform, orgUnitId: undefined }))[field];
    } catch (error) {
      const { kind } = failureOf(error);
      if (kind === 'unknown-id' || kind === 'ambiguous-id') return undefined;
      throw error;
    }
  };
  const orgUnitId = await idOf('orgUnitId');
  if (orgUnitId === undefined) return undefined;
  if (!isItsTurn(orgUnitId)) return 'another night';
  const userId = await idOf('userId');
  return { ...{ snapshotId, orgUnitId, roleId: given.roleId }, ...(userId !== undefined && { userId }) };
};
