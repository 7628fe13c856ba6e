import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { letterOf } from '../../../lib/dead-letter.ts';
import { type Moment, startDeadlyProxy } from './deadly-proxy.ts';
import { eventBody, type Office, officesForTests } from './office.ts';

/** How often each command is killed; `npm run prove:operators` asks for more. */
const runs = Number(process.env.CRASH_RUNS ?? 7);
const seed = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000);

const offices = officesForTests();
const folder = mkdtempSync(join(tmpdir(), 'sis-relay-crash-'));
afterAll(() => rmSync(folder, { recursive: true }));
const bin = resolve(import.meta.dirname, '../../../lib/operator/sis-relay.js');
const leaseSeconds = 2;

/** Runs the command, kills it at that moment, and answers how many requests it had made and whether it was killed. */
const killed = async (office: Office, args: string[], moment: Moment) => {
  let kill = () => {};
  const proxy = await startDeadlyProxy(offices.url(), moment, () => kill());
  const file = join(folder, `${office.target.prefix}${moment.request}${moment.at}.json`);
  writeFileSync(file, JSON.stringify(office.description(proxy.url)));
  const options = ['--stack', file, '--lease', String(leaseSeconds), '--yes'];
  const child = spawn(process.execPath, [bin, ...args, ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  let err = '';
  child.stderr.on('data', (piece) => {
    err += piece;
  });
  kill = () => child.kill('SIGKILL');
  const [status, signal] = await once(child, 'exit');
  await proxy.close();
  return { requests: proxy.requests(), wasKilled: signal === 'SIGKILL', status, err };
};

const never: Moment = { request: Number.POSITIVE_INFINITY, at: 'before' };

/** The same moments for the same seed, from the first request on; the last third only waits for the outcome. */
const momentsOf = (requests: number, salt: number): Moment[] => {
  let state = seed + salt;
  const random = () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  return Array.from({ length: runs }, () => ({
    request: 1 + Math.floor((random() * requests * 2) / 3),
    at: (['before', 'unanswered', 'answered'] as const)[Math.floor(random() * 3)] ?? 'before',
  }));
};

type Case = {
  args(ids: string[]): string[];
  /** What must hold of an office in which it was killed. */
  check(office: Office, bodies: string[], ids: string[]): Promise<void>;
};

const letters = 25;

const bodiesIn = async (office: Office, url: string) => (await office.take(url)).map(({ Body = '' }) => Body);

/** Each letter's message, whole, is where it was or where it was to go. */
const replay: Case = {
  args: () => ['letters', 'replay', '--no-probe', '--canary', '0', '--canary-wait', '1', '--rate', '500'],
  check: async (office, bodies) => {
    const left = await bodiesIn(office, office.deadLetters.url);
    const sent = await bodiesIn(office, office.queueOf('grade-push').url);
    expect([...new Set([...left, ...sent])].sort()).toEqual([...bodies].sort());
    expect(new Set(sent).size, 'no message was sent twice by one run').toBe(sent.length);
  },
};

const discard: Case = {
  args: () => ['letters', 'discard', '--all', '--reason', 'a test'],
  check: async (office, bodies) => {
    const left = await bodiesIn(office, office.deadLetters.url);
    const archives = [...(await office.objects('discarded/')).values()].join('').trim();
    const archived = archives === '' ? [] : archives.split('\n').map((line) => JSON.parse(line).body);
    const ours = archived.filter((body) => bodies.includes(body));
    expect([...new Set([...left, ...ours])].sort()).toEqual([...bodies].sort());
  },
};

const edit: Case = {
  args: ([id = '']) => [
    'letters',
    'edit',
    id,
    '--reason',
    'a test',
    '--wait',
    '1',
    '--set',
    'data.grade.points=7',
  ],
  check: async (office, bodies, [id]) => {
    const left = (await office.take(office.deadLetters.url)).map(letterOf).map(({ body }) => body);
    const sent = await bodiesIn(office, office.queueOf('grade-push').url);
    const [original = ''] = bodies;
    expect(left).toEqual(expect.arrayContaining(bodies.slice(1)));
    if (sent.length > 0) {
      expect(JSON.parse(sent[0] ?? '').data.grade.points).toBe(7);
      const kept = [...(await office.objects('edited/'))].find(([key]) => key.includes(`${id}`))?.[1];
      expect(JSON.parse(kept ?? '').body).toBe(original);
    } else expect(left).toContain(original);
  },
};

test.each(Object.entries({ replay, discard, edit }))(
  `%s loses nothing, killed at any moment (${runs} runs, seed ${seed})`,
  async (name, { args, check }) => {
    const officeWith = async () => {
      const office = await offices.open();
      const bodies = Array.from({ length: letters }, () => eventBody());
      return { office, bodies, ids: await office.park(bodies.map((body) => ({ body }))) };
    };
    const whole = await officeWith();
    const { requests, err } = await killed(whole.office, args(whole.ids), never);
    expect(requests, err).toBeGreaterThan(8);
    await check(whole.office, whole.bodies, whole.ids);

    const moments = momentsOf(requests, name.length);
    const victims = await Promise.all(Array.from({ length: runs }, officeWith));
    let deaths = 0;
    const queue = victims.map((victim, at) => ({ ...victim, moment: moments[at] ?? never }));
    const worker = async () => {
      for (let next = queue.pop(); next; next = queue.pop())
        deaths += Number((await killed(next.office, args(next.ids), next.moment)).wasKilled);
    };
    await Promise.all([worker(), worker(), worker()]);
    // Each time some requests fewer or more are made, so that a late moment may not come.
    expect(deaths).toBeGreaterThanOrEqual(Math.floor(runs / 2));
    // What the dead had in hand shows up when their lease is over.
    await sleep(leaseSeconds * 1000 + 200);
    for (const { office, bodies, ids } of victims) await check(office, bodies, ids);
  },
  600_000,
);
