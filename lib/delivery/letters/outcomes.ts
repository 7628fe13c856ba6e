import { setTimeout as sleep } from 'node:timers/promises';
import { type FailureKind, needsPerson } from '../../message/failure-kinds.ts';
import { networkRemedyIn } from '../../message/network-errors.ts';
import { recordsOf } from './read-records.ts';
import type { IndexRecord, LetterIndexTable } from './record.ts';

/** The outcome of a message that was sent; `unknown`: no function has recorded one yet. */
export type SendOutcome = 'through' | 'cameBack' | 'waits' | 'unknown';

export type Outcomes = {
  /** By SQS' ids, messages that were sent with the attribute `receipt`. */
  expect(messages: readonly string[]): void;
  outcomeOf(message: string): SendOutcome;
  recordOf(message: string): IndexRecord | undefined;
  /** Waits until the final outcome of each is known, or the time is over; returns the number still open. */
  settled(
    messages: readonly string[],
    options: { waitSeconds: number; signal: AbortSignal },
  ): Promise<number>;
  /** Why the table cannot be read now; undefined if it can. */
  problem(): unknown;
  stop(): Promise<void>;
};

const fastMs = 150;
const slowMs = 1_000;
/** Number of messages asked for at once, the oldest first. */
const maxAsked = 1_000;
/** After this many failed reads in a row, the failure is reported. */
const maxFailures = 5;

/** Reads the outcomes that functions record for messages whose sender asks for it. */
export const watchOutcomes = (table: LetterIndexTable): Outcomes => {
  const open = new Set<string>();
  const records = new Map<string, IndexRecord>();
  const ending = new AbortController();
  let problem: unknown;

  const read = async (): Promise<boolean> => {
    const asked = [...open].slice(0, maxAsked);
    if (asked.length === 0) return false;
    const found = await recordsOf(table, asked);
    // If another message of the same event was sent, its outcome decides: it may wait, or be a letter.
    const copies = [...found.values()].filter(({ state, as }) => state === 'duplicate' && as !== undefined);
    const originals = await recordsOf(
      table,
      copies.flatMap(({ as }) => as ?? []),
    );
    for (const [message, record] of found) {
      const original = record.state === 'duplicate' ? originals.get(record.as ?? '') : undefined;
      const decisive = original?.state === 'waiting' || original?.state === 'letter' ? original : record;
      records.set(message, decisive);
      if (decisive.state !== 'waiting') open.delete(message);
    }
    // Those without an answer go to the end, so that the others are asked for, too.
    if (open.size > maxAsked) for (const message of asked) if (open.delete(message)) open.add(message);
    return [...found.values()].some(({ state }) => state !== 'waiting');
  };

  const watching = (async () => {
    let pauseMs = fastMs;
    for (let failures = 0; !ending.signal.aborted; await sleep(pauseMs, undefined, ending).catch(() => {}))
      try {
        pauseMs = (await read()) ? fastMs : Math.min(slowMs, pauseMs * 1.2);
        failures = 0;
        problem = undefined;
      } catch (error) {
        failures += 1;
        pauseMs = slowMs;
        if (failures >= maxFailures) problem = error;
      }
  })();

  const outcomeOf = (message: string): SendOutcome => {
    const state = records.get(message)?.state;
    if (state === undefined) return 'unknown';
    if (state === 'waiting') return 'waits';
    return state === 'letter' ? 'cameBack' : 'through';
  };
  /** Waiting does not heal it, so nothing waits for it. */
  const isStuck = (message: string): boolean => {
    const { kind, error = '' } = records.get(message) ?? {};
    return (
      outcomeOf(message) === 'waits' &&
      (needsPerson(kind as FailureKind) || networkRemedyIn(error) !== undefined)
    );
  };

  return {
    expect: (messages) => {
      for (const message of messages) open.add(message);
    },
    outcomeOf,
    recordOf: (message) => records.get(message),
    settled: async (messages, { waitSeconds, signal }) => {
      const startedMs = Date.now();
      for (;;) {
        const left = messages.filter((each) => !['through', 'cameBack'].includes(outcomeOf(each)));
        const isOver = signal.aborted || Date.now() - startedMs >= waitSeconds * 1000;
        if (left.every(isStuck) || isOver) return left.length;
        await sleep(50);
      }
    },
    problem: () => problem,
    stop: async () => {
      ending.abort();
      await watching;
    },
  };
};
