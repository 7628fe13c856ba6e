import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { DeadLetter } from '../../lib/delivery/letters/dead-letter.ts';
import { optionsOf } from '../options.ts';
import { localClient } from './aws.ts';
import {
  chaosSeed,
  handedIn,
  imageOf,
  inTurmoil,
  judge,
  type Kind,
  type Message,
  plan,
  randomFrom,
  sizes,
} from './chaos-messages.ts';
import { idOf, kindOf, replay, send, takeLetters, untilLeft } from './chaos-queues.ts';
import { startStorm } from './chaos-storm.ts';
import { type ChaosResult, type Counts, isWell, tableOf } from './chaos-table.ts';
import { type Controls, controlsOf } from './controls.ts';
import { attemptsIn } from './play.ts';
import { type Stack, startStack } from './stack.ts';

export type ChaosOptions = {
  seed: number;
  messages: number;
  say?(line: string): void;
  /** Ends everything, as the end of a test's time does: what is waited for then fails. */
  signal?: AbortSignal;
};

/**
 * Short times, so that whoever dies is missed soon; each still longer than the one that it must outlast, and than what it ends
 * takes on a busy machine: else that would fail by itself, again and again, when the storm is over.
 */
const times = {
  functionTimeoutMs: 20_000,
  visibilitySeconds: 22,
  settings: {
    ATTEMPT_TIMEOUT_MS: '6000',
    RESERVE_MS: '5000',
    PLATFORM_HEADERS_TIMEOUT_MS: '3000',
    PLATFORM_BODY_TIMEOUT_MS: '3000',
    LEDGER_GRACE_SECONDS: '2',
    QUEUE_BACKLOG_SECONDS: '12',
    WAIT_MAXIMUM_SECONDS: '3',
    SECRET_TTL_SECONDS: '5',
  },
};

/** The whole of sis-relay on this machine, with everything going wrong that can, and then the count of what became of it. */
export async function wreak({
  seed,
  messages: count,
  say = () => {},
  signal,
}: ChaosOptions): Promise<ChaosResult> {
  const startedMs = performance.now();
  const random = randomFrom(seed);
  const counts: Counts = {};
  const add = (row: string, kind: Kind, times = 1) => {
    const cells = counts[row] ?? { ...none };
    cells[kind] += times;
    counts[row] = cells;
  };
  let attempts = 0;
  const stack = await startStack({
    ...times,
    onLog: (name, line) => {
      for (const { outcome } of attemptsIn(line)) {
        add(outcome, name as Kind);
        attempts += 1;
      }
    },
  });
  const controls = controlsOf(stack.description);
  const end = () => void stack.close();
  signal?.addEventListener('abort', end);
  try {
    const picture = await readFile(join(import.meta.dirname, 'files/portrait.png'));
    const messages = plan(count, random, stack.description.bucket);
    await prepare(stack, controls, { count, picture });
    for (const { kind } of messages) add('messages', kind);
    const copies = inTurmoil(messages, random);
    say(`${count} messages, ${copies.length - count} of them twice, from seed ${seed}`);

    const storm = startStorm(stack, controls, {
      ...{ random, seed, say, strikes: Math.ceil(count / 6) },
      attempts: () => attempts,
    });
    await sendAll(stack, copies, Math.max(8_000, count * 20));
    for (const { kind } of copies) add('sent', kind);
    await untilLeft(stack, Math.ceil(count * 0.15));
    await storm.end();
    say('The storm is over; what is left comes to its end');
    await untilLeft(stack, 0);

    const letters = await takeLetters(stack);
    const state = await controls.state();
    const first = judge(messages, state, { parked: new Set(letters.map(idOf)), picture });
    for (const letter of letters) add('letters', (letter.failure?.function ?? kindOf(letter)) as Kind);
    say(`${letters.length} letters; a person replays those of messages that nothing is wrong with`);
    const wrong = new Set(messages.filter((message) => message.wrong).map(({ id }) => id));
    // Whoever is asked to look for a submission, and sees it, throws the letter away.
    const settled = new Set([...wrong, ...handedIn(state)]);
    for (const letter of letters) if (!settled.has(idOf(letter))) await replay(stack, letter);
    await untilLeft(stack, 0);
    const left = await takeLetters(stack);
    const remaining = new Set([...left.map(idOf), ...letters.map(idOf).filter((id) => wrong.has(id))]);
    const last = judge(messages, await controls.state(), { parked: remaining, picture });
    return {
      counts,
      verdicts: [first, last],
      ...storm.story,
      letters: letters.map((letter) => ({
        id: idOf(letter),
        kind: letter.failure?.kind ?? 'none',
        message: letter.failure?.message ?? '',
      })),
      unexpected: unexpected(messages, { letters, left, wrong }),
      seconds: (performance.now() - startedMs) / 1000,
    };
  } finally {
    signal?.removeEventListener('abort', end);
    await stack.close();
  }
}

/** One after the other, evenly over so much time. */
async function sendAll(stack: Stack, copies: Message[], overMs: number): Promise<void> {
  const startedMs = performance.now();
  for (const [at, { kind, body }] of copies.entries()) {
    const earlyMs = startedMs + (at / copies.length) * overMs - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    await send(stack, kind, body);
  }
}

const none: Record<Kind, number> = {
  'grade-push': 0,
  'enrollment-create': 0,
  'enrollment-remove': 0,
  'submission-upload': 0,
  'profile-image-update': 0,
};

async function prepare(
  stack: Stack,
  controls: Controls,
  { count, picture }: { count: number; picture: Buffer },
): Promise<void> {
  const { description } = stack;
  const { submitters, versions, platform } = chaosSeed(count);
  await controls.seed(platform);
  for (const userId of submitters) {
    const key = { appId: 'local-app', appKey: 'local-app-key', userKey: `local-key-${userId}` };
    await controls.secret(`${description.secrets.userPrefix}${userId}`, {
      type: 'id-key',
      userId: `${userId}`,
      ...key,
    });
  }
  const s3 = new S3Client({ ...localClient(description.s3), forcePathStyle: true });
  const put = (name: string, Body: Buffer) =>
    s3.send(new PutObjectCommand({ Bucket: description.bucket, Key: `chaos/${name}`, Body }));
  for (let version = 0; version < versions; version += 1)
    await put(`${version}.png`, imageOf(picture, version));
  for (let size = 0; size < sizes; size += 1) await put(`${size}.pdf`, Buffer.alloc(500 + size, 'pdf'));
  s3.destroy();
}

function unexpected(
  messages: Message[],
  { letters, left, wrong }: { letters: DeadLetter[]; left: DeadLetter[]; wrong: Set<string> },
): string[] {
  const parked = new Set(letters.map(idOf));
  const missing = messages.filter((message) => message.wrong && !parked.has(message.id));
  const needless = left.filter((letter) => !wrong.has(idOf(letter)));
  return [
    ...missing.map(({ id }) => `${id} is refused for good, and has no letter`),
    ...needless.map((letter) => `${idOf(letter)} is a letter again: ${letter.failure?.message}`),
  ];
}

/** `npm run proofs -- --only chaos` */
export async function command(args: string[]): Promise<void> {
  const usage = 'npm run proofs -- --only chaos --seed N -- --messages N';
  const values = optionsOf(
    {
      seed: { type: 'string', default: `${Date.now() % 100_000}` },
      messages: { type: 'string', default: '2000' },
    },
    { usage, args },
  );
  const [seed, messages] = [Number(values.seed), Number(values.messages)];
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(messages) || messages < 1) {
    console.error(usage);
    process.exitCode = 2;
    return;
  }
  const result = await wreak({ seed, messages, say: console.log });
  for (const line of tableOf(result)) console.log(line);
  console.log(
    isWell(result) ? 'All is well.' : `Not all is well. Again: npm run proofs -- --only chaos --seed ${seed}`,
  );
  process.exitCode = isWell(result) ? 0 : 1;
}
