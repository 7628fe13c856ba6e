import type { Platform } from '../platform/client/client.ts';
import { type GradeObject, listGradeObjects } from '../platform/resources/grade-objects.ts';

/** A list is trusted for this time at most. */
const keptMs = 60_000;
/** A list without what a message means is read again if it is older: that may be new on the platform. */
const recentMs = 5_000;
/** Maximum number of org units; the one listed first is forgotten. */
const maxOrgUnits = 1_000;

export type GradeObjectLists = ReturnType<typeof createGradeObjectLists>;

type ListRequest = {
  platform: Platform;
  /** When the message was sent. */
  sentMs: number;
};

/**
 * The grade objects of org units, from their last lists. Titles and maximums pass to other grade objects, so a list serves only
 * messages that were sent before it was begun: each acts as if it had come when the list was made. One list serves all such messages
 * of a container for a minute, and those that ask while it is being read. A backlog costs one list a minute and org unit; a message
 * that comes alone costs one list.
 */
export const createGradeObjectLists = (nowMs: () => number) => {
  const kept = new Map<number, { begunMs: number; list: Promise<readonly GradeObject[]> }>();

  const listed = (orgUnitId: number, platform: Platform, sinceMs: number) => {
    const known = kept.get(orgUnitId);
    if (known !== undefined && known.begunMs >= sinceMs) return known.list;
    const list = Array.fromAsync(listGradeObjects(platform, orgUnitId));
    const begun = { begunMs: nowMs(), list };
    kept.delete(orgUnitId);
    kept.set(orgUnitId, begun);
    const [first] = kept.keys();
    if (kept.size > maxOrgUnits && first !== undefined) kept.delete(first);
    list.catch(() => {
      if (kept.get(orgUnitId) === begun) kept.delete(orgUnitId);
    });
    return list;
  };

  return {
    /**
     * The grade objects of an org unit: a list in which `isIn` finds the message's grade object, or else a list that is at most five
     * seconds old.
     * @throws any error of the platform's list call.
     */
    of: async (
      orgUnitId: number,
      { platform, sentMs }: ListRequest,
      isIn: (all: readonly GradeObject[]) => boolean,
    ): Promise<readonly GradeObject[]> => {
      const all = await listed(orgUnitId, platform, Math.max(sentMs, nowMs() - keptMs));
      return isIn(all) ? all : listed(orgUnitId, platform, Math.max(sentMs, nowMs() - recentMs));
    },
    /** Call this if the platform does not know one of them. */
    forget: () => kept.clear(),
  };
};
