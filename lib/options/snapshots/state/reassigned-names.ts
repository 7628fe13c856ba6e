import * as z from 'zod';
import type { JobStore } from '../../../runtime/jobs/store.ts';
import { zipFeed } from '../feed.ts';
import { userField } from '../package/settings-file.ts';
import { inOneName, recordsPrefix } from './record.ts';

const userId = z.number().int().positive();

const reassignedName = z.object({
  name: z.string(),
  /** The account that the crosswalk gives by this name. */
  userId,
  /** The `sourcedId` of the record that has the name now, and of the one that had it before, if that is known. */
  record: z.string(),
  former: z.string().optional(),
  /** When the export was put that gave the name to this record. */
  sinceMs: z.number(),
  /** Rows that are not used. A delta may name only some of them. */
  enrollments: z.number().int().nonnegative(),
  results: z.number().int().nonnegative(),
  /** The codes of their classes, or the ids of classes without one. */
  courses: z.array(z.string()),
});
export type ReassignedName = z.output<typeof reassignedName>;

const reassignedNames = z.object({ field: userField, names: z.array(reassignedName) });
export type ReassignedNameList = z.output<typeof reassignedNames>;

/**
 * User names that passed to another record of the SIS while the crosswalk still gives the former one's account, by the last export that
 * was compared, whether or not it is accepted.
 */
export const reassignedKeyOf = (feed: string): string =>
  feed === zipFeed ? reassignedKey : `${reassignedFeedsPrefix}${inOneName(feed)}.json`;
export const reassignedKey = `${recordsPrefix}passed.json`;
export const reassignedFeedsPrefix = `${recordsPrefix}passed/`;

/** Undefined: no export was compared yet. */
export const reassignedIn = (json: unknown): ReassignedNameList | undefined =>
  reassignedNames.safeParse(json).data;

/** The platform's field that names users, a name, the account that it gives, and the record that has it. */
type Same = { name: string; userId: number; record: string };

const acceptedNames = z.object({
  field: userField,
  names: z.array(z.object({ name: z.string(), userId, record: z.string() })),
  by: z.string(),
  at: z.string(),
  reason: z.string().optional(),
});
/** What an operator has accepted at once: the record that has a name now is the person to whom the account belongs. */
export type AcceptedNames = z.output<typeof acceptedNames>;

/** Each object is written once. Only people write there. */
export const acceptedNamesPrefix = 'crosswalk-state/accepted-names/';

/** All acceptances that can be read. */
export const readAcceptedNames = async (
  keys: readonly string[],
  readJson: JobStore['readJsonIfAny'],
): Promise<AcceptedNames[]> => {
  const read = await Promise.all(keys.map(readJson));
  return read.flatMap((json) => acceptedNames.safeParse(json).data ?? []);
};

/** An acceptance holds for exactly this name, account and record: if the name passes on once more, a person is asked again. */
export const isSame = (one: Same, other: Same): boolean =>
  one.name === other.name && one.userId === other.userId && one.record === other.record;
