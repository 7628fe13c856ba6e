import type { Platform } from '../../platform/client/client.ts';
import { type GradeObject, listGradeObjects } from '../../platform/resources/grade-objects.ts';

/** The grade objects of org units, as they were listed last. */
export type GradeObjects = {
  /**
   * Those of one, listed at `sinceMs` or later; default: at most a minute ago.
   * @throws what the platform's answer to the list makes.
   */
  of(orgUnitId: number, platform: Platform, sinceMs?: number): Promise<readonly GradeObject[]>;
};

/** For so long a list is trusted: names are given to other grade objects by people, at any time. */
export const listKeptMs = 60_000;
/** Of so many org units at most: the one that was listed first is forgotten. */
const maxOrgUnits = 1_000;

/** One list serves all messages of a container about an org unit, also those that ask at the same time. */
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
