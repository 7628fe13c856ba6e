import * as z from 'zod';
import { type ItemTable, readItem, updateItem } from '../aws/table-items.ts';

/** Who has paused a function, and why: its event-source mapping shows only that it is disabled. */
export type PauseRecord = z.infer<typeof recordSchema>;

const recordSchema = z.object({ sinceMs: z.number(), who: z.string(), reason: z.string() });

const keyOf = (functionName: string): string => `paused/${functionName}`;

/** The end of the year 9999: a pause lasts until a person ends it. */
const never = 253_402_300_799;
const writingMs = 15_000;

/** @throws if the table cannot be read. */
export const readPause = async (
  access: ItemTable,
  functionName: string,
): Promise<PauseRecord | undefined> => {
  const item = await readItem(access, keyOf(functionName));
  return item && recordSchema.parse(item);
};

/** When the longest current pause began; undefined if no function is paused. @throws if the table cannot be read. */
export const oldestPauseMs = async (
  access: ItemTable,
  functionNames: readonly string[],
): Promise<number | undefined> => {
  const records = await Promise.all(functionNames.map((name) => readPause(access, name)));
  const times = records.flatMap((record) => record?.sinceMs ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
};

/** Undefined ends the pause. @throws if the table cannot be written. */
export const writePause = async (
  access: ItemTable,
  functionName: string,
  record: PauseRecord | undefined,
): Promise<void> => {
  const set = record ? { ...record, expires: never } : { expires: Math.floor(access.nowMs() / 1000) };
  const abortSignal = AbortSignal.timeout(writingMs);
  await updateItem({ ...access, abortSignal }, keyOf(functionName), { set });
};
