import type { Priority } from '../../message/priority.ts';
import { safe } from '../../message/safe-text.ts';
import { errorName } from '../aws/error.ts';
import { type ItemTable, readItem, updateItem, writeInReserve } from '../aws/table-items.ts';
import type { Budget } from './call-budget.ts';
import type { CallReport } from './call-report.ts';
import { isThrottled, type Observe } from './observe.ts';

/** The most urgent first. */
export const priorities = ['urgent', 'normal', 'bulk'] as const satisfies readonly Priority[];

/** Calls of all containers of one function, in one class. */
export type CallCount = { function: string; priority: Priority; calls: number; refused: number };

export type CallUsage = {
  calls: CallCount[];
  /** As its containers last reported; empty if the platform reports none. */
  budgets: Omit<Budget, 'cost'>[];
};

/** Calls are counted by periods of this length. */
const periodMs = 300_000;
const periodAt = (ms: number): number => Math.floor(ms / periodMs);
const keyOf = (functionName: string, period: number): string => `pace/${functionName}/${period}`;

/** Calls are reported from the beginning of the period before this one. */
export const countedSinceMs = (nowMs: number): number => (periodAt(nowMs) - 1) * periodMs;

/** @throws if the table cannot be read. */
export const readPaceUse = async (access: ItemTable, functionName: string): Promise<CallUsage> => {
  const period = periodAt(access.nowMs());
  const read = await Promise.all(
    [period - 1, period].map((each) => readItem(access, keyOf(functionName, each))),
  );
  const items = read.filter((item) => item !== undefined);
  const sumOf = (name: string): number => items.reduce((sum, item) => sum + Number(item[name] ?? 0), 0);
  return {
    calls: priorities.flatMap((priority) => {
      const calls = sumOf(`${priority}Calls`);
      return calls === 0
        ? []
        : [{ function: functionName, priority, calls, refused: sumOf(`${priority}Refused`) }];
    }),
    budgets: items.flatMap(({ budget, remaining, endsMs }) =>
      budget === undefined
        ? []
        : [{ budget: Number(budget), remaining: Number(remaining), endsMs: Number(endsMs) }],
    ),
  };
};

export type PaceUseOptions = {
  /** Undefined if no table is configured. */
  access: ItemTable | undefined;
  function: string;
  budget(): Budget | undefined;
  observe: Pick<Observe, 'count' | 'warn'>;
  nowMs(): number;
};

/** A container writes at most once in this time, in milliseconds. */
const restMs = 60_000;

/**
 * Reports how much of the platform's budget is used, in metrics, and how much the function calls, in the ledger's table, which
 * sums the counts of all containers. No decision depends on it.
 */
export const createCallUsageRecorder = ({ access, budget, observe, nowMs, ...of }: PaceUseOptions) => {
  const unwritten = new Map<number, Record<string, number>>();
  let writtenMs = Number.NEGATIVE_INFINITY;
  let mostUsed = 0;

  const writeCounts = (): Promise<void> => {
    if (access === undefined) return Promise.resolve();
    const known = budget();
    const facts = known && { budget: known.budget, remaining: known.remaining, endsMs: known.endsMs };
    const writes = [...unwritten].map(([period, add]) => {
      const expires = Math.ceil(((period + 2) * periodMs) / 1000);
      return {
        write: (abortSignal: AbortSignal) =>
          updateItem({ ...access, abortSignal }, keyOf(of.function, period), {
            set: { expires, ...facts },
            add,
          }),
        failed: (error: unknown) =>
          observe.warn(safe`the calls of the platform could not be written down`, {
            error: errorName(error),
          }),
      };
    });
    return writeInReserve(writes);
  };

  return {
    record: (calls: readonly CallReport[]): void => {
      if (calls.length === 0) return;
      const period = periodAt(nowMs());
      const counts = unwritten.get(period) ?? {};
      unwritten.set(period, counts);
      for (const { priority, status } of calls) {
        counts[`${priority}Calls`] = (counts[`${priority}Calls`] ?? 0) + 1;
        if (isThrottled(status)) counts[`${priority}Refused`] = (counts[`${priority}Refused`] ?? 0) + 1;
      }
      const known = budget();
      if (known) mostUsed = Math.max(mostUsed, known.budget - known.remaining);
    },
    /** Call this at the end of an invocation. It never throws. */
    write: async (): Promise<void> => {
      if (unwritten.size === 0 || nowMs() - writtenMs < restMs) return;
      writtenMs = nowMs();
      const known = budget();
      if (known) {
        observe.count('PaceBudget', {}, known.budget);
        observe.count('PaceUsed', {}, mostUsed);
      }
      mostUsed = 0;
      const written = writeCounts();
      unwritten.clear();
      await written;
    },
  };
};

export type CallUsageRecorder = ReturnType<typeof createCallUsageRecorder>;
