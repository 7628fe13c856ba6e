import * as z from 'zod';
import type { CrosswalkKind, CrosswalkSource } from './kinds.ts';

const movedCodes = z.object({
  codes: z.array(
    z.object({ code: z.string(), ids: z.array(z.number()), was: z.array(z.number()), sinceMs: z.number() }),
  ),
});

/** Codes that stand for another org unit than before, without an operator's acceptance: an object in the bucket, by source. */
export type MovedCodes = z.infer<typeof movedCodes>;

export const movedKey = (source: CrosswalkSource): string => `${filledFolder}moved-${source}.json`;

/** The folder of what was filled last. */
export const filledFolder = 'crosswalk-state/filled/';

/** The names of a kind from a source: a packed file of bucket, name as JSON, ids, and what it stood for. */
export const filledKey = (kind: CrosswalkKind, source: CrosswalkSource): string =>
  `${filledFolder}${kind}-${source}.gz`;

/** Empty if the object does not exist yet. */
export const movedIn = (json: unknown): MovedCodes => movedCodes.safeParse(json).data ?? { codes: [] };
