import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import { recordsOf } from '../../../delivery/letters/read-records.ts';
import type { Target } from '../../../stage/target.ts';
import { type Letter, sameness } from './letter.ts';
import { letterIndexOf } from './list.ts';
import { openSession, type QueueSession, type ReadOptions } from './session.ts';

/** Letters that were received from the queue and are leased to this process. */
export type LeasedLetters<Of extends { id: string }> = {
  session: QueueSession;
  /** In the order of selection. */
  letters: Of[];
  /** Letters that have left the queue, or that somebody else has leased. */
  gone: Of[];
  /** About how many letters others have leased. */
  held: number;
  /** @throws if it is none of `letters`. */
  read(letter: Of): Promise<Letter>;
};

/** How long to wait for letters that somebody else has leased, in milliseconds. */
const patienceMs = 15_000;

type LeaseRequest<Of> = ReadOptions & {
  letters: readonly Of[];
  /** Ends the search after this many letters of the queue. Default: all are searched, and awaited if somebody else has leased them. */
  atMost?: number;
};

/**
 * Receives the selected letters and works on them; those that remain at the end are given back. Other letters are given back as soon
 * as the selected ones are found. `backLater`: how many letters others see only when their lease ends.
 */
export const withLetters = async <Result extends object, Of extends { id: string }>(
  target: Target,
  { letters: wanted, atMost = Number.POSITIVE_INFINITY, signal, onProgress }: LeaseRequest<Of>,
  work: (inHand: LeasedLetters<Of>) => Promise<Result>,
): Promise<Result & { backLater: number }> => {
  const session = await openSession(target);
  const spool = await createSpool<Letter>();
  const byId = new Map(wanted.map((letter) => [letter.id, letter]));
  const found = new Map<string, { place: LetterPosition; sqsId: string; copies: string[]; same: string }>();
  let result: Result;
  let backLater = 0;

  const sweep = async (): Promise<void> => {
    for await (const letter of session.letters({ signal })) {
      if (session.summary().seen > atMost) return;
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
      const { hidden, seen } = session.summary();
      const isOver = found.size === byId.size || hidden === 0 || seen > atMost || signal.aborted;
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

/** Why a listed letter could not be received. */
export const goneBecause = (held: number): string =>
  held > 0
    ? 'another operator has it in hand'
    : 'it is no longer in the queue, or another operator has it in hand';

/**
 * Finds which ids are those of letters, or of messages that are letters again under another id. The lists show which may be; the queue
 * shows which are: the letters that it returns, or that somebody else may have leased.
 */
export const stillLetters = async (
  target: Target,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Set<string>> => {
  const letterIndex = letterIndexOf(target);
  /** The listed letter of each id. */
  const listed = new Map<string, string>();
  const asked = new Set<string>();
  for (let open = new Map(ids.map((id) => [id, id])); open.size > 0; ) {
    const records = await recordsOf(letterIndex, [...open.values()], { signal });
    const next: typeof open = new Map();
    for (const [id, message] of open) {
      asked.add(message);
      const { state, as } = records.get(message) ?? {};
      if (state === 'letter') listed.set(id, message);
      else if (as !== undefined && !asked.has(as)) next.set(id, as);
    }
    open = next;
  }
  const letters = Array.from(new Set(listed.values()), (id) => ({ id }));
  const { there } = await withLetters(target, { letters, signal }, async (inHand) => ({
    there: new Set([...inHand.letters, ...(inHand.held > 0 ? inHand.gone : [])].map(({ id }) => id)),
  }));
  return new Set([...listed].flatMap(([id, message]) => (there.has(message) ? [id] : [])));
};

type LetterPosition = { at: number; bytes: number };

/** Keeps on disk the items that are too many for memory. They are gone when the process ends, even if it crashes. */
const createSpool = async <Item>() => {
  const path = join(tmpdir(), `sis-relay-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  // Letters hold personal data: a deleted file that is still open disappears with the process, and nobody else can open it.
  await rm(path);
  let end = 0;
  return {
    put: async (item: Item): Promise<LetterPosition> => {
      const bytes = serialize(item);
      const place = { at: end, bytes: bytes.length };
      end += bytes.length;
      await file.write(bytes, 0, bytes.length, place.at);
      return place;
    },
    get: async ({ at, bytes }: LetterPosition): Promise<Item> => {
      const buffer = Buffer.allocUnsafe(bytes);
      await file.read(buffer, 0, bytes, at);
      return deserialize(buffer);
    },
    close: () => file.close(),
  };
};
