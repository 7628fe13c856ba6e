import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeadLetter } from '../../dead-letter.ts';
import { type Letter, unnamed } from '../reading/letter.ts';
import type { Session } from '../reading/session.ts';

/** Sees which of the messages that were sent fail again, and so are letters again. */
export type FailureWatch = {
  /** Must be called before they are sent: a letter may be back before SQS has answered. */
  expect(letters: Letter[]): void;
  /** Those that SQS did not take after all. */
  forget(letters: Letter[]): void;
  /** Letters that came back, by the id under which they were sent. */
  cameBack: Map<string, Letter>;
  /** The error with which so many in a row, of one function, have come back; undefined: none has. */
  errorOfRow(length: number): string | undefined;
  /** Reads the dead-letter queue now, until it shows no more letters. */
  poll(): Promise<void>;
  /** Why the dead-letter queue cannot be read any more; undefined: it can. */
  problem(): unknown;
  stop(): Promise<void>;
};

/** One sent letter in the row of its function, and the error with which it came back. */
type Sent = { id: string; error?: string };

/** Polls the dead-letter queue. The session has leased all letters that were there before, so what it receives is new. */
export const watchFailures = (session: Session): FailureWatch => {
  const expected = new Map<string, string[]>();
  /** By function, in the order of sending. */
  const sent = new Map<string, Sent[]>();
  const places = new Map<string, { row: Sent[]; at: number }>();
  const cameBack = new Map<string, Letter>();
  /** By its length, the error of a row. */
  const rows = new Map<number, string>();
  let polling: Promise<void> = Promise.resolve();
  let stopped = false;
  let problem: unknown;

  const note = (letter: Letter): void => {
    const id = expected.get(keyOf(letter, letter.replays))?.shift();
    const place = id === undefined ? undefined : places.get(id);
    if (id === undefined || place === undefined) return;
    cameBack.set(id, withoutMessage(letter));
    const entry = place.row[place.at];
    if (entry) entry.error = `${letter.kind}: ${letter.cause}`;
    rows.set(lengthOfRowAt(place), `${letter.kind}: ${letter.error}`);
  };
  const poll = (): Promise<void> => {
    polling = polling.then(async () => {
      for (let letters = await session.receiveNew(); letters; letters = await session.receiveNew()) {
        for (const letter of letters) note(letter);
        if (stopped) return;
      }
    });
    return polling;
  };

  const watching = (async () => {
    for (let failures = 0; !stopped; await sleep(100))
      try {
        await poll();
        failures = 0;
      } catch (error) {
        polling = Promise.resolve();
        failures += 1;
        if (failures === 5) problem = error;
      }
  })();

  return {
    expect: (letters) => {
      for (const letter of letters) {
        const key = keyOf(letter, letter.replays + 1);
        expected.set(key, [...(expected.get(key) ?? []), letter.id]);
        const row = sent.get(letter.function) ?? [];
        sent.set(letter.function, row);
        places.set(letter.id, { row, at: row.push({ id: letter.id }) - 1 });
      }
    },
    forget: (letters) => {
      for (const letter of letters) {
        const key = keyOf(letter, letter.replays + 1);
        expected.set(key, expected.get(key)?.filter((id) => id !== letter.id) ?? []);
      }
    },
    cameBack,
    errorOfRow: (length) => [...rows].find(([each]) => each >= length)?.[1],
    poll,
    problem: () => problem,
    stop: async () => {
      stopped = true;
      await watching;
    },
  };
};

/** Many may come back, and the queue has them whole. The words are masked first, as only the message tells which are personal. */
const withoutMessage = (letter: Letter): Letter => {
  const { failure } = letter;
  const masked = failure?.detail === undefined ? {} : { detail: unnamed(letter, failure.detail) };
  return { ...letter, body: '', attributes: {}, message: {}, failure: failure && { ...failure, ...masked } };
};

/** A message that fails again comes back with the same body, one replay older. */
const keyOf = ({ body, source }: DeadLetter, replays: number): string =>
  createHash('sha256')
    .update(`${source.split(':').at(-1)}\n${replays}\n${body}`)
    .digest('base64');

/** How many neighbours, with it, came back with the same error. */
const lengthOfRowAt = ({ row, at }: { row: Sent[]; at: number }): number => {
  const { error } = row[at] ?? {};
  let first = at;
  let last = at;
  while (first > 0 && row[first - 1]?.error === error) first -= 1;
  while (last < row.length - 1 && row[last + 1]?.error === error) last += 1;
  return last - first + 1;
};
