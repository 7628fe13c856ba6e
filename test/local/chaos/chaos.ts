import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import type { DeadLetter } from '../../../lib/delivery/letters/dead-letter.ts';
import { type Random, randomFrom } from '../../fuzz/random.ts';
import { numbersOf } from '../../options.ts';
import { type Controls, controlsOf } from '../controls.ts';
import { bodiesOn, replay, send, takeLetters, untilLeft } from '../queues.ts';
import { attemptsIn } from '../scenarios/play.ts';
import { secretOf } from '../scenarios/scenarios.ts';
import { keyOf, type Stack, startStack } from '../stack.ts';
import {
  chaosSeed,
  handedIn,
  imageOf,
  inTurmoil,
  judge,
  type Kind,
  kinds,
  type Message,
  plan,
  sizes,
  submitters,
  type Verdict,
  versions,
} from './messages.ts';

type ChaosOptions = {
  seed: number;
  messages: number;
  say?(line: string): void;
  /** Ends everything, as the end of a test's time does: what is waited for then fails. */
  signal?: AbortSignal;
};

type ChaosResult = {
  /** By what is counted, and by kind. */
  counts: Record<string, Partial<Record<Kind, number>>>;
  /** After the storm, and again when a person has replayed what need not lie there. */
  verdicts: Verdict[];
  kills: number;
  outages: string[];
  letters: DeadLetter[];
  /** Letters that remain though nothing is wrong with their messages, and wrong messages without a letter. */
  unexpected: string[];
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

const idOf = ({ body }: Pick<DeadLetter, 'body'>): string => JSON.parse(body).id;

/** The ids of what waits on the queues for a person, as a newer message about the same thing is a letter that may be replayed. */
function waitingIn(stack: Stack, messages: Message[]): string[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const on = (...queues: string[]) =>
    bodiesOn(stack, ...queues).flatMap((body) => byId.get(idOf({ body })) ?? []);
  const letters = on('sis-relay-local-dead-letters');
  const isWaiting = ({ thing, version }: Message) =>
    letters.some((letter) => letter.thing === thing && letter.version > version);
  return on(...kinds.map((kind) => `sis-relay-local-${kind}`)).flatMap((message) =>
    isWaiting(message) ? message.id : [],
  );
}

/** The whole of sis-relay on this machine, with everything going wrong that can, and then the count of what became of it. */
export async function wreak({
  seed,
  messages: count,
  say = () => {},
  signal,
}: ChaosOptions): Promise<ChaosResult> {
  const random = randomFrom(seed);
  const counts: ChaosResult['counts'] = {};
  const add = (row: string, kind: Kind) => {
    const cells = counts[row] ?? {};
    counts[row] = { ...cells, [kind]: (cells[kind] ?? 0) + 1 };
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
    const picture = await readFile(join(import.meta.dirname, '../files/portrait.png'));
    const messages = plan(count, random, stack.description.bucket);
    await prepare(stack, controls, { count, picture });
    for (const { kind } of messages) add('messages', kind);
    const copies = inTurmoil(messages, random);
    say(`${count} messages, ${copies.length - count} of them twice, from seed ${seed}`);

    const storm = startStorm(stack, controls, {
      random,
      seed,
      say,
      strikes: Math.ceil(count / 6),
      attempts: () => attempts,
    });
    await sendAll(stack, copies, Math.max(8_000, count * 20));
    await untilLeft(stack, Math.ceil(count * 0.15));
    await storm.end();
    say('The storm is over; what is left comes to its end');
    await untilLeft(stack, 0, () => waitingIn(stack, messages).length);

    const waiting = waitingIn(stack, messages);
    const letters = await takeLetters(stack);
    const state = await controls.state();
    const first = judge(messages, state, { parked: new Set([...letters.map(idOf), ...waiting]), picture });
    say(`${waiting.length} messages wait until a person has decided on a newer one`);
    for (const { failure } of letters) add('letters', failure?.function as Kind);
    say(`${letters.length} letters; a person replays those of messages that nothing is wrong with`);
    const wrong = new Set(messages.filter((message) => message.wrong).map(({ id }) => id));
    // Whoever is asked to look for a submission, and sees it, throws the letter away.
    const settled = new Set([...wrong, ...handedIn(state)]);
    for (const letter of letters) if (!settled.has(idOf(letter))) await replay(stack, letter);
    await untilLeft(stack, 0);
    const left = await takeLetters(stack);
    const parked = new Set(letters.map(idOf));
    const remaining = new Set([...left.map(idOf), ...[...parked].filter((id) => wrong.has(id))]);
    const last = judge(messages, await controls.state(), { parked: remaining, picture });
    const missing = [...wrong].filter((id) => !parked.has(id));
    const needless = left.filter((letter) => !wrong.has(idOf(letter)));
    return {
      counts,
      verdicts: [first, last],
      ...storm.story,
      letters,
      unexpected: [
        ...missing.map((id) => `${id} is refused for good, and has no letter`),
        ...needless.map((letter) => `${idOf(letter)} is a letter again: ${letter.failure?.message}`),
      ],
    };
  } finally {
    signal?.removeEventListener('abort', end);
    await stack.close();
  }
}

async function prepare(
  { description, s3 }: Stack,
  controls: Controls,
  { count, picture }: { count: number; picture: Buffer },
): Promise<void> {
  await controls.seed(chaosSeed(count));
  for (const userId of submitters) await controls.secret(secretOf(userId, description), keyOf(userId));
  const put = (name: string, Body: Buffer) =>
    s3.send(new PutObjectCommand({ Bucket: description.bucket, Key: `chaos/${name}`, Body }));
  for (let version = 0; version < versions; version += 1)
    await put(`${version}.png`, imageOf(picture, version));
  for (let size = 0; size < sizes; size += 1) await put(`${size}.pdf`, Buffer.alloc(500 + size, 'pdf'));
}

/** One after the other, evenly over so much time. */
async function sendAll(stack: Stack, copies: Message[], overMs: number): Promise<void> {
  const startedMs = performance.now();
  for (const [at, message] of copies.entries()) {
    const earlyMs = startedMs + (at / copies.length) * overMs - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    await send(stack, message.kind, message);
  }
}

/** What is cut off for some calls at a time, and how. */
const outages: [string, Parameters<Controls['awsFault']>[0], object][] = [
  ['Secrets Manager is down', 'secretsManager', { status: 500 }],
  ['Secrets Manager does not answer', 'secretsManager', { hang: true }],
  ['the ledger is down', 'dynamodb', { status: 500 }],
  ['the ledger is throttled', 'dynamodb', { type: 'ProvisionedThroughputExceededException' }],
  ['the ledger does not answer', 'dynamodb', { hang: true }],
  ['the ledger writes, and its answers get lost', 'dynamodb', { reset: 'after' }],
  [
    'no letters are taken',
    'sqs',
    { action: 'SendMessage', name: 'sis-relay-local-dead-letters', status: 503 },
  ],
  ['visibilities fail in part', 'sqs', { action: 'ChangeMessageVisibilityBatch', failedEntries: 2 }],
  ['messages cannot be deleted', 'sqs', { action: 'DeleteMessageBatch', status: 503 }],
];

type StormOptions = {
  random: Random;
  seed: number;
  /** So many processes are killed at most, and as many outages begin. */
  strikes: number;
  /** How many attempts at messages there were so far. */
  attempts(): number;
  say(line: string): void;
};

/**
 * Faults of the platform in a tenth of its requests; and in turn, a process at work is killed, and calls of a part of AWS fail.
 * Something has become of a message between any two of these, and there are only so many: a slow machine, on which more of
 * them would come for each message, comes to its end like a fast one.
 */
function startStorm(
  { lambda }: Stack,
  controls: Controls,
  { random, seed, strikes, attempts, say }: StormOptions,
) {
  const story = { kills: 0, outages: [] as string[] };
  const ending = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: ending.signal }).catch(() => {});
  const faults = Promise.all(
    [
      { status: 503, headers: { 'retry-after': '1' } },
      { reset: 'before' } as const,
      { reset: 'after' } as const,
      { truncate: true } as const,
      // Longer than a function waits: it acts when nobody listens any more.
      { delayMs: 4_000 },
    ].map((effect, at) => controls.fault(effect, { probability: 0.02, times: 1_000_000, seed: seed + at })),
  );
  const kill = (): boolean => {
    const working = kinds.filter((kind) => lambda?.containers(kind).some(({ busy }) => busy));
    if (working.length === 0 || lambda?.kill(random.one(working)) === undefined) return false;
    story.kills += 1;
    return true;
  };
  const cut = async (): Promise<void> => {
    const [what, service, fault] = random.one(outages);
    const times = 'hang' in fault ? 1 + random.below(3) : 3 + random.below(10);
    say(`  ${what}, ${times} times`);
    story.outages.push(what);
    await controls.awsFault(service, { ...fault, times });
  };
  const raging = (async () => {
    for (let strike = 0, seen = -1; strike < 2 * strikes && !ending.signal.aborted; strike += 1) {
      await pause(random.next() * 1_000);
      while (attempts() === seen && !ending.signal.aborted) await pause(20);
      const before = attempts();
      if (strike % 2 === 0) await cut();
      else while (!kill() && !ending.signal.aborted) await pause(5);
      seen = before;
    }
  })();
  return {
    story,
    async end() {
      ending.abort();
      await Promise.all([faults, raging]);
      await Promise.all([controls.clearFaults(), controls.clearAwsFaults()]);
    },
  };
}

/** Whether all is well. */
export const isWell = ({ verdicts, unexpected }: ChaosResult): boolean =>
  unexpected.length === 0 && verdicts.every((verdict) => Object.values(verdict).flat().length === 0);

/** The counts, the letters by what they say, and whatever is not as it must be. */
export function linesOf({ counts, verdicts, letters, kills, outages, unexpected }: ChaosResult): string[] {
  const causes = Map.groupBy(letters, ({ failure }) =>
    `${failure?.kind}: ${failure?.message}`.replace(/\d{2,}/g, '…'),
  );
  return [
    ...Object.entries(counts).map(([what, cells]) => `${what.padEnd(12)}${JSON.stringify(cells)}`),
    ...[...causes].map(([cause, those]) => `${String(those.length).padStart(5)} × ${cause}`),
    `${kills} processes killed, ${outages.length} outages`,
    ...verdicts.map((verdict) => JSON.stringify(verdict)),
    ...unexpected,
  ];
}

/** `npm run proofs -- --only chaos` */
export async function command(args: string[]): Promise<void> {
  const { seed, messages } = numbersOf(
    { seed: [Date.now() % 100_000], messages: [2_000, 1] },
    { usage: 'npm run proofs -- --only chaos --seed N -- --messages N', args },
  );
  const result = await wreak({ seed, messages, say: console.log });
  for (const line of linesOf(result)) console.log(line);
  console.log(
    isWell(result) ? 'All is well.' : `Not all is well. Again: npm run proofs -- --only chaos --seed ${seed}`,
  );
  process.exitCode = isWell(result) ? 0 : 1;
}
