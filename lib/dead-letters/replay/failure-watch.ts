import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeadLetter } from '../../dead-letter.ts';
import type { Target } from '../../deployment/target.ts';
import { type Letter, unnamed } from '../reading/letter.ts';
import { receive } from '../reading/queue.ts';
import type { Desk } from '../reading/session.ts';

/** What comes back of the letters that were sent. */
export type Returns = {
  /** Before they are sent: a letter may be back before SQS has answered. */
  expect(letters: Letter[]): void;
  /** Those that SQS did not take after all. */
  forget(letters: Letter[]): void;
  /** Letters that came back, by the id under which they were sent. */
  returned: Map<string, Letter>;
  /** The error with which so many in a row, of one function, have come back; undefined: none has. */
  errorOfRow(length: number): string | undefined;
  /** Looks now, until nothing more is to be seen. */
  look(): Promise<void>;
  /** Undefined while the dead-letter queue can be read. */
  broken(): unknown;
  stop(): Promise<void>;
};

/** Watches the dead-letter queue, all of whose other letters the desk holds, for messages that failed again. */
export const watchReturns = (desk: Desk, target: Target): Returns => {
  const expected = new Map<string, string[]>();
  /** By function: what was sent, in order, and the error with which it came back. */
  const sent = new Map<string, { id: string; error?: string }[]>();
  const places = new Map<string, { row: { id: string; error?: string }[]; at: number }>();
  const returned = new Map<string, Letter>();
  const rows = new Map<number, string>();
  let looking: Promise<void> = Promise.resolve();
  let stopped = false;
  let failure: unknown;

  const lookOnce = async (): Promise<boolean> => {
    const messages = await receive({ ...desk, ...target });
    for (const message of messages) {
      // Held from now on, whatever it is, so that the next look finds what is newer.
      if (!desk.hold.add(message.MessageId ?? '', message.ReceiptHandle ?? '')) continue;
      const letter = await desk.readLetter(message);
      const id = expected.get(keyOf(letter, letter.replays))?.shift();
      const place = id === undefined ? undefined : places.get(id);
      if (id === undefined || place === undefined) continue;
      returned.set(id, withoutMessage(letter));
      const entry = place.row[place.at];
      if (entry) entry.error = `${letter.kind}: ${letter.cause}`;
      const length = rowAround(place);
      rows.set(length, `${letter.kind}: ${letter.error}`);
    }
    return messages.length > 0;
  };
  const look = (): Promise<void> => {
    looking = looking.then(async () => {
      while (await lookOnce()) if (stopped) return;
    });
    return looking;
  };

  const watching = (async () => {
    for (let failures = 0; !stopped; await sleep(100))
      try {
        await look();
        failures = 0;
      } catch (error) {
        looking = Promise.resolve();
        failures += 1;
        if (failures === 5) failure = error;
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
    returned,
    errorOfRow: (length) => [...rows].find(([each]) => each >= length)?.[1],
    look,
    broken: () => failure,
    stop: async () => {
      stopped = true;
      await watching;
    },
  };
};

/** It lies in the queue, and there may be many. By its message alone is known which of the platform's words are personal. */
const withoutMessage = (letter: Letter): Letter => {
  const { failure } = letter;
  const masked = failure?.detail === undefined ? {} : { detail: unnamed(letter, failure.detail) };
  return { ...letter, body: '', attributes: {}, raw: {}, failure: failure && { ...failure, ...masked } };
};

/** A message that fails again comes back with the same body, one replay older. */
const keyOf = ({ body, source }: DeadLetter, replays: number): string =>
  createHash('sha256')
    .update(`${source.split(':').at(-1)}\n${replays}\n${body}`)
    .digest('base64');

/** How many neighbours, with it, came back with the same error. */
const rowAround = ({ row, at }: { row: { error?: string }[]; at: number }): number => {
  const { error } = row[at] ?? {};
  let first = at;
  let last = at;
  while (first > 0 && row[first - 1]?.error === error) first -= 1;
  while (last < row.length - 1 && row[last + 1]?.error === error) last += 1;
  return last - first + 1;
};
