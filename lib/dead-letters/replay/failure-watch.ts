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

/** Where a letter stands in the row of its function: in the order of sending, the error with which each letter came back. */
type Place = { row: (string | undefined)[]; at: number };

/** Polls the dead-letter queue. The session has leased all letters that were there before, so what it receives is new. */
export const watchFailures = (session: Session): FailureWatch => {
  const expected = new Map<string, string[]>();
  const rowsByFunction = new Map<string, Place['row']>();
  const places = new Map<string, Place>();
  const cameBack = new Map<string, Letter>();
  /** By how many in a row came back with it, an error. */
  const errorsByLength = new Map<number, string>();
  let polling: Promise<void> = Promise.resolve();
  let stopped = false;
  let problem: unknown;

  const note = (letter: Letter): void => {
    const id = expected.get(keyOf(letter, letter.replays))?.shift();
    const place = id === undefined ? undefined : places.get(id);
    if (id === undefined || place === undefined) return;
    cameBack.set(id, withoutMessage(letter));
    place.row[place.at] = `${letter.kind}: ${letter.cause}`;
    errorsByLength.set(lengthOfRowAt(place), `${letter.kind}: ${letter.error}`);
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
        const row = rowsByFunction.get(letter.function) ?? [];
        rowsByFunction.set(letter.function, row);
        places.set(letter.id, { row, at: row.push(undefined) - 1 });
      }
    },
    forget: (letters) => {
      for (const letter of letters) {
        const key = keyOf(letter, letter.replays + 1);
        expected.set(key, expected.get(key)?.filter((id) => id !== letter.id) ?? []);
      }
    },
    cameBack,
    errorOfRow: (length) => [...errorsByLength].find(([each]) => each >= length)?.[1],
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
const lengthOfRowAt = ({ row, at }: Place): number => {
  let first = at;
  let last = at;
  while (first > 0 && row[first - 1] === row[at]) first -= 1;
  while (last < row.length - 1 && row[last + 1] === row[at]) last += 1;
  return last - first + 1;
};
