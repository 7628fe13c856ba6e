import type { Platform } from '../../platform/client/client.ts';
import { type GradeObject, listGradeObjects } from '../../platform/resources/grade-objects.ts';

/** The grade objects of org units, from their last lists. */
export type GradeObjects = {
  /**
   * The grade objects of an org unit, listed at `sinceMs` or later; default: at most a minute ago.
   * @throws any error of the platform's list call.
   */
  of(orgUnitId: number, platform: Platform, sinceMs?: number): Promise<readonly GradeObject[]>;
};

/** A list is trusted for this time: people can rename grade objects at any time. */
export const listKeptMs = 60_000;
/** Maximum number of org units; the one listed first is forgotten. */
const maxOrgUnits = 1_000;

/** One list serves all messages of a container about an org unit, including those that ask at the same time. */
export const createGradeObjects = (nowMs: () => number): GradeObjects => {
  const kept = new Map<number, { atMs: number; list: Promise<readonly GradeObject[]> }>();
  return {
    of: (orgUnitId, platform, sinceMs = nowMs() - listKeptMs) => {
      const known = kept.get(orgUnitId);
      if (known !== undefined && known.atMs >= sinceMs) return known.list;
      const list = Array.fromAsync(listGradeObjects(platform, orgUnitId));
      const listed = { atMs: nowMs(), list };
      kept.delete(orgUnitId);
      kept.set(orgUnitId, listed);
      const [first] = kept.keys();
      if (kept.size > maxOrgUnits && first !== undefined) kept.delete(first);
      list.catch(() => {
        if (kept.get(orgUnitId) === listed) kept.delete(orgUnitId);
      });
      return list;
    },
  };
};
