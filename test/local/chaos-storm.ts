import { setTimeout as sleep } from 'node:timers/promises';
import { kinds, pick, type Random } from './chaos-messages.ts';
import type { Controls } from './controls.ts';
import type { Stack } from './stack.ts';

type Service = Parameters<Controls['awsFault']>[0];

/** What is cut off for some calls at a time, and how. */
const outages: [string, Service, object][] = [
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
export function startStorm(
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
    if (working.length === 0 || lambda?.kill(pick(working, random)) === undefined) return false;
    story.kills += 1;
    return true;
  };
  const cut = async (): Promise<void> => {
    const [what, service, fault] = pick(outages, random);
    const times = 'hang' in fault ? 1 + Math.floor(random() * 3) : 3 + Math.floor(random() * 10);
    say(`  ${what}, ${times} times`);
    story.outages.push(what);
    await controls.awsFault(service, { ...fault, times });
  };
  const raging = (async () => {
    for (let strike = 0, seen = -1; strike < 2 * strikes && !ending.signal.aborted; ) {
      await pause(random() * 1_000);
      while (attempts() === seen && !ending.signal.aborted) await pause(20);
      const before = attempts();
      if (strike % 2 === 0) await cut();
      else while (!kill() && !ending.signal.aborted) await pause(5);
      seen = before;
      strike += 1;
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
