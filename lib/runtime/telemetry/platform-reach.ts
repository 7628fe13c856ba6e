import * as z from 'zod';
import { type ItemTable, readItem, updateItem } from '../aws/table-items.ts';

/** What connection-check saw last: whether the functions reach the platform, which an operator's machine cannot tell. */
export type PlatformReach = z.infer<typeof reachSchema>;

const reachSchema = z.object({
  atMs: z.number(),
  isReached: z.union([z.literal(0), z.literal(1)]).transform(Boolean),
  /** Since when it is so. */
  sinceMs: z.number(),
  /** What failed, and who must do what; empty if nothing did. */
  what: z.string(),
  remedy: z.string(),
});

export const reachKey = 'seen/connection-check';

const keptSeconds = 7 * 24 * 3_600;
const writingMs = 5_000;

/** @throws if the table cannot be read. */
export const readReach = async (access: ItemTable): Promise<PlatformReach | undefined> => {
  const item = await readItem(access, reachKey);
  return item && reachSchema.parse(item);
};

/** @throws if the table cannot be read or written. */
export const writeReach = async (
  access: ItemTable,
  { isReached, what, remedy }: Pick<PlatformReach, 'isReached' | 'what' | 'remedy'>,
): Promise<void> => {
  const atMs = access.nowMs();
  const before = await readReach(access);
  const sinceMs = before?.isReached === isReached ? before.sinceMs : atMs;
  const set = {
    atMs,
    sinceMs,
    isReached: Number(isReached),
    what,
    remedy,
    expires: Math.ceil(atMs / 1_000) + keptSeconds,
  };
  await updateItem({ ...access, abortSignal: AbortSignal.timeout(writingMs) }, reachKey, { set });
};
