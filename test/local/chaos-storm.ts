import { setTimeout as sleep } from 'node:timers/promises';
import { kinds, pick, type Random } from './chaos-messages.ts';
import type { Controls } from './controls.ts';
import type { Stack } from './stack.ts';

type Service = Parameters<Controls['awsFault']>[0];

/** What is cut off for seconds at a time, and how. */
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

/** Faults of the platform in a tenth of its requests, a process killed every second, and one outage after the other. */
export function startStorm(
  { lambda }: Stack,
  controls: Controls,
  { random, seed, say }: { random: Random; seed: number; say(line: string): void },
) {
  const story = { kills: 0, outages: [] as string[] };
  const ending = new AbortController();
  const every = async (ms: number, act: () => Promise<void> | void) => {
    while (!ending.signal.aborted) {
      await act();
      await sleep(ms, undefined, { signal: ending.signal }).catch(() => {});
    }
  };
  const faults = Promise.all(
    [
      { status: 503, headers: { 'retry-after': '1' } },
      { reset: 'before' } as const,
      { reset: 'after' } as const,
      { truncate: true } as const,
      // Longer than a function waits: it acts when nobody listens any more.
      { delayMs: 1_500 },
    ].map((effect, at) => controls.fault(effect, { probability: 0.02, times: 1_000_000, seed: seed + at })),
  );
  const killing = every(1_000, () => {
    const alive = kinds.filter((kind) => (lambda?.containers(kind).length ?? 0) > 0);
    const victim = alive.length > 0 ? lambda?.kill(pick(alive, random)) : undefined;
    if (victim !== undefined) story.kills += 1;
  });
  const cutting = every(500, async () => {
    const [what, service, fault] = pick(outages, random);
    const forMs = 500 + Math.floor(random() * 2_500);
    say(`  ${what} for ${(forMs / 1000).toFixed(1)} s`);
    story.outages.push(what);
    await controls.awsFault(service, { ...fault, forMs });
    await sleep(forMs, undefined, { signal: ending.signal }).catch(() => {});
  });
  return {
    story,
    async end() {
      ending.abort();
      await Promise.all([faults, killing, cutting]);
      await controls.clearFaults();
    },
  };
}
