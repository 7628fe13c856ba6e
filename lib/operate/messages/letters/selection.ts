import { setTimeout as sleep } from 'node:timers/promises';
import type { LetterRecord } from '../../../delivery/letters/record.ts';
import type { Target } from '../../stage/target.ts';
import type { Filter } from './filter.ts';
import { type Group, groupsOf } from './groups.ts';
import { type Letter, sameness } from './letter.ts';
import type { ListCounts } from './queue.ts';
import { findLetters } from './records.ts';
import { openSession, type ReadOptions, type Session } from './session.ts';
import { createSpool, type Place } from './spool.ts';

/** A listed letter that an operator selected. */
export type Selected = { id: string; record: LetterRecord; group: Group };

export type Selection = ListCounts & {
  /** Oldest first. */
  letters: Selected[];
  groups: Group[];
  limitReached: boolean;
};

/** Selects the letters that match, oldest first and at most `limit`. Nothing is received from the queue yet. */
export const selectLetters = async (
  target: Target,
  { filter, limit = Number.POSITIVE_INFINITY }: { filter: Filter; limit?: number | undefined },
  signal: AbortSignal,
): Promise<Selection> => {
  const { letters, among, ...summary } = await findLetters(target, filter, signal);
  const records = letters.slice(0, limit);
  const { groups, groupOf } = groupsOf(records, among);
  return {
    ...summary,
    letters: records.map((record) => ({ id: record.message, record, group: groupOf(record) })),
    groups,
    limitReached: letters.length > limit,
  };
};

/** Letters that were received from the queue and are leased to this process. */
export type InHand = {
  session: Session;
  /** In the order of selection. */
  letters: Selected[];
  /** Letters that have left the queue, or that somebody else has leased. */
  gone: Selected[];
  /** About how many letters others have leased. */
  held: number;
  /** @throws if it is none of `letters`. */
  read(letter: Selected): Promise<Letter>;
};

/** How long to wait for letters that somebody else has leased, in milliseconds. */
const patienceMs = 15_000;

/**
 * Receives the selected letters and works on them; those that remain at the end are given back. Other letters are given back as soon
 * as the selected ones are found. `backLater`: how many letters others see only when their lease ends.
 */
export const withLetters = async <Result extends object>(
  target: Target,
  { letters: wanted, signal, onProgress }: ReadOptions & { letters: Selected[] },
  work: (inHand: InHand) => Promise<Result>,
): Promise<Result & { backLater: number }> => {
  const session = await openSession(target);
  const spool = await createSpool<Letter>();
  const byId = new Map(wanted.map((letter) => [letter.id, letter]));
  const found = new Map<string, { place: Place; sqsId: string; copies: string[]; same: string }>();
  let result: Result;
  let backLater = 0;

  const sweep = async (): Promise<void> => {
    for await (const letter of session.letters({ signal })) {
      const id = byId.has(letter.sqsId) ? letter.sqsId : letter.id;
      if (!byId.has(id)) continue;
      const [known, same] = [found.get(id), sameness(letter)];
      if (known?.same === same) known.copies.push(letter.sqsId);
      // Another letter with the same id stays in the queue; it has its own entry.
      if (known) continue;
      found.set(id, { place: await spool.put({ ...letter, id }), sqsId: letter.sqsId, copies: [], same });
      onProgress?.(found.size, byId.size);
      if (found.size === byId.size) return;
    }
  };
  const collect = async (): Promise<void> => {
    const startedMs = Date.now();
    while (byId.size > 0) {
      await sweep();
      await session.lease.giveBack([...found.values()].flatMap(({ sqsId, copies }) => [sqsId, ...copies]));
      const isOver = found.size === byId.size || session.summary().hidden === 0 || signal.aborted;
      if (isOver || Date.now() - startedMs > patienceMs) return;
      await sleep(500, undefined, { signal }).catch(() => {});
    }
  };

  try {
    await collect();
    result = await work({
      session,
      letters: wanted.filter(({ id }) => found.has(id)),
      gone: wanted.filter(({ id }) => !found.has(id)),
      held: session.summary().hidden,
      read: async ({ id }) => {
        const at = found.get(id);
        if (at === undefined) throw new Error(`${id} is not in hand`);
        return { ...(await spool.get(at.place)), copies: at.copies };
      },
    });
  } finally {
    await spool.close();
    backLater = await session.close();
  }
  return { ...result, backLater };
};
