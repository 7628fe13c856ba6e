import { safe, type Warn } from '../../message/safe-text.ts';
import { errorName } from '../aws/error.ts';
import { type ItemTable, readItem, updateItem, writeInReserve } from '../aws/table-items.ts';

const keyOf = (functionName: string): string => `arrived/${functionName}`;

/** When the last message of a function came from its producer; undefined: none is known. @throws if the table cannot be read. */
export const readArrivalMs = async (access: ItemTable, functionName: string): Promise<number | undefined> => {
  const { lastMs } = (await readItem(access, keyOf(functionName))) ?? {};
  return lastMs === undefined ? undefined : Number(lastMs);
};

/** A container writes at most once in this time, in milliseconds. */
const restMs = 300_000;

/** Records that messages come, so that their absence is noticed. What waits or is replayed has come before. */
export const createArrivals = ({
  function: name,
  warn,
  ...access
}: ItemTable & { function: string; warn: Warn }) => {
  let writtenMs = Number.NEGATIVE_INFINITY;
  let hasCome = false;
  return {
    record: ({ attempts, replays }: { attempts: number; replays: number }): void => {
      hasCome ||= attempts === 1 && replays === 0;
    },
    /** Call this at the end of an invocation. It never throws. */
    write: async (): Promise<void> => {
      const nowMs = access.nowMs();
      const isKnown = !hasCome || nowMs - writtenMs < restMs;
      hasCome = false;
      if (isKnown) return;
      writtenMs = nowMs;
      await writeInReserve([
        {
          write: (abortSignal) =>
            updateItem({ ...access, abortSignal }, keyOf(name), { set: { lastMs: nowMs } }),
          failed: (error) => warn(safe`an arrival could not be written down`, { error: errorName(error) }),
        },
      ]);
    },
  };
};

export type Arrivals = ReturnType<typeof createArrivals>;
