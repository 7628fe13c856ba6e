// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from '@aws-sdk/client-sqs';
import { afterAll, expect, test } from 'vitest';
import { listLetters } from '../../../../../lib/desk/messages/letters/list.ts';
import { countsOf } from '../../../../../lib/desk/messages/letters/queue.ts';
import { sendAll } from '../../../../../lib/runtime/aws/sqs.ts';
import { waitLimitMs } from '../../../../limits.ts';
import { attemptsIn } from '../../../../local/scenarios/play.ts';
import { seed } from '../../../../seed.ts';
import { localOffice } from '../../cli/local-office.ts';
import { eventBody, type Office, officesForTests } from '../../cli/office.ts';
import { typed } from '../../cli/typed.ts';
import { type Moment, startDeadlyProxy } from './deadly-proxy.ts';

/** How often each command is killed; the proof `crash-operators` kills each 200 times. */
const runs = Number(process.env.CRASH_RUNS ?? 2);
const lettersPerRun = 25;
const leaseSeconds = 2;

/** Where letters lie, with queues of their own for each run; and the functions, platform and ledger that take what was sent. */
const offices = officesForTests();
/** Of each event, the number of attempts that may have written: where the platform or AWS gave no answer in time, too. */
const writing = new Map<string, number>();
const platform = localOffice({
  // With two containers a copy waits, for as long as the other could still be at work on the first: right, and long.
  containersPerFunction: runs < 10 ? 1 : 2,
  onLog: (_, line) => {
    for (const { eventId = '', outcome, kind } of attemptsIn(line))
      if (outcome === 'done' || kind === 'unavailable') writing.set(eventId, (writing.get(eventId) ?? 0) + 1);
  },
});
const folder = mkdtempSync(join(tmpdir(), 'sis-relay-crash-'));
afterAll(() => rmSync(folder, { recursive: true }));
const bin = resolve(import.meta.dirname, '../../../../../lib/desk/cli/sis-relay.js');

const stackFile = (office: Office, server?: string): string => {
  const file = join(folder, `${office.target.prefix}${server === undefined ? 'whole' : 'deadly'}.json`);
  writeFileSync(file, JSON.stringify(office.description(server)));
  return `--stack ${file} --yes`;
};

/** Runs the command in a process of its own, and kills it at that moment. */
const killed = async (office: Office, line: string, moment: Moment) => {
  let kill = () => {};
  const proxy = await startDeadlyProxy({ queues: offices.url(), tables: offices.tables() }, moment, () =>
    kill(),
  );
  const args = `${line} ${stackFile(office, proxy.url)} --lease ${leaseSeconds}`.split(' ');
  const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  let err = '';
  child.stderr.on('data', (piece) => {
    err += piece;
  });
  kill = () => child.kill('SIGKILL');
  const [, signal] = await once(child, 'exit');
  await proxy.close();
  return { requests: proxy.requests(), died: signal === 'SIGKILL', err };
};

const never: Moment = { request: Number.POSITIVE_INFINITY, at: 'before' };

/** Every moment that there is, before any of them comes a second time; the same order for the same seed. */
const momentsOf = (requests: number): Moment[] => {
  let state = seed;
  const random = () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  const all = Array.from({ length: requests }, (_, at) =>
    (['before', 'unanswered', 'answered'] as const).map((each): Moment => ({ request: at + 1, at: each })),
  );
  const shuffled = all
    .flat()
    .map((moment) => ({ moment, place: random() }))
    .sort((one, other) => one.place - other.place);
  return Array.from({ length: runs }, (_, at) => shuffled[at % shuffled.length]?.moment ?? never);
};

/** Grades, which a second copy writes once more to no harm, and submissions, which no copy may hand in twice. */
const names = ['grade-push', 'submission-upload'] as const;
const nameOf = ({ Body = '' }: Message) =>
  names.find((name) => JSON.parse(Body).type.includes(name)) ?? names[0];
const userOf = ({ Body = '' }: Message): number => JSON.parse(Body).data.userId;

const bodiesOf = (messages: Message[]): string[] => messages.map(({ Body = '' }) => Body).sort();

/** The bodies in what was archived under a prefix. */
const archivedIn = async (office: Office, under: string, bodies: string[]): Promise<string[]> =>
  [...(await office.objects(under)).values()]
    .flatMap((lines) => lines.trim().split('\n'))
    .map((line): string => JSON.parse(line).body)
    .filter((body) => bodies.includes(body));

type Kept = { office: Office; bodies: string[]; sent: Message[]; left: Message[] };
type Command = {
  line(id: string): string;
  /** How many points the messages give that it sends. */
  points: number;
  /** What must hold after it was killed, and was then typed once more as an operator would. */
  check(kept: Kept): Promise<void> | void;
};

const commands: Record<string, Command> = {
  replay: {
    line: () => 'letters replay --no-probe --canary 5 --canary-wait 1 --continue-undecided --rate 500',
    points: 8.5,
    check: ({ bodies, sent, left }) => {
      expect(left).toEqual([]);
      expect([...new Set(bodiesOf(sent))]).toEqual([...bodies].sort());
    },
  },
  discard: {
    line: () => 'letters discard --all --reason test',
    points: 0,
    check: async ({ office, bodies, sent, left }) => {
      expect([left, sent]).toEqual([[], []]);
      const archived = await archivedIn(office, 'discarded/', bodies);
      expect([...new Set(archived)].sort()).toEqual([...bodies].sort());
    },
  },
  edit: {
    line: (id) => `letters edit ${id} --reason test --wait 1 --set data.grade.points=7`,
    points: 7,
    check: async ({ office, bodies, sent, left }) => {
      const [original = ''] = bodies;
      expect(bodiesOf(left)).toEqual(bodies.slice(1).sort());
      expect(sent.length).toBeGreaterThanOrEqual(1);
      const { data, ...envelope } = JSON.parse(original);
      for (const body of bodiesOf(sent))
        expect(JSON.parse(body)).toEqual({
          ...envelope,
          data: { ...data, grade: { type: 'numeric', points: 7 } },
        });
      expect(await archivedIn(office, 'edited/', bodies)).toContain(original);
    },
  },
};

const key = (userId: number) => ({
  type: 'id-key',
  appId: 'local-app',
  appKey: 'local-app-key',
  userId: String(userId),
  userKey: `local-key-${userId}`,
});

/** Hands what was sent to the functions, copies and all, and waits until they are through with it. */
const carryOut = async (messages: Message[]): Promise<void> => {
  const { sqs, description } = platform.stack();
  const controls = platform.controls();
  const userIds = [...new Set(messages.map(userOf))];
  await controls.seed({
    users: userIds.map((userId) => ({ userId, userName: `u${userId}`, firstName: 'L', lastName: 'L' })),
    enrollments: userIds.map((userId) => ({ orgUnitId: 2001, userId, roleId: 110 })),
  });
  for (const [name, each] of Map.groupBy(messages, nameOf)) {
    const queue = { sqs, url: description.queues[name] ?? '' };
    if (name === 'submission-upload')
      for (const userId of new Set(each.map(userOf)))
        await controls.secret(`${description.secrets.userPrefix}${userId}`, key(userId));
    const outgoing = each.map(({ Body = '', MessageAttributes = {} }) => ({
      body: Body,
      attributes: MessageAttributes,
    }));
    expect((await sendAll(queue, outgoing)).failures.size).toBe(0);
    for (let left = 1; left > 0; await sleep(100)) {
      const { visible, inFlight, delayed } = await countsOf(queue);
      left = visible + inFlight + delayed;
    }
  }
  expect((await countsOf({ sqs, url: description.deadLetters })).visible, 'letters').toBe(0);
};

const firstUsers: Record<string, number> = { replay: 100_000, discard: 200_000, edit: 300_000 };

test.each(Object.entries(commands))(
  `%s loses nothing and does nothing twice, killed at any moment (${runs} runs, seed ${seed})`,
  async (name, { line, points, check }) => {
    let nextUser = firstUsers[name] ?? 0;
    const officeWithLetters = async () => {
      const office = await offices.open();
      const letters = Array.from({ length: lettersPerRun }, (_, at) => {
        const name = names[at % 5 === 4 ? 1 : 0];
        const texts = name === 'grade-push' ? { comments: '', privateComments: '' } : {};
        return { function: name, body: eventBody(name, { userId: nextUser++, ...texts }) };
      });
      const bodies = letters.map(({ body }) => body);
      const [id = ''] = await office.park(letters);
      return { office, bodies, id };
    };
    const whole = await officeWithLetters();
    const { requests, err } = await killed(whole.office, line(whole.id), never);
    expect(requests, err).toBeGreaterThan(8);

    const all: Message[] = [];
    const died: Moment[] = [];
    let twice = 0;
    const runOnce = async (moment: Moment): Promise<void> => {
      const { office, bodies, id } = await officeWithLetters();
      const death = await killed(office, line(id), moment);
      if (death.died) died.push(moment);
      const takeSent = async () =>
        (await Promise.all(names.map((each) => office.take(office.queueOf(each).url)))).flat();
      const first = await takeSent();
      // What the dead had in hand shows up when their lease is over, which they may have prolonged until they died, and a busy
      // server a little later.
      await sleep(leaseSeconds * 1000 + 1_500);
      await typed(`${line(id)} ${stackFile(office)}`);
      const second = await takeSent();
      for (const each of [first, second])
        expect(new Set(bodiesOf(each)).size, 'no run sends a message twice').toBe(each.length);
      const sent = [...first, ...second];
      await office.list();
      const { letters } = await listLetters(
        office.target,
        { filter: {}, limit: 100 },
        { signal: AbortSignal.timeout(waitLimitMs) },
      );
      const left = await office.take(office.deadLetters.url);
      expect(letters.map(({ id }) => id).sort(), 'the lists are whole').toEqual(
        left.map(({ MessageId = '' }) => MessageId).sort(),
      );
      await check({ office, bodies, sent, left });
      twice += sent.length - new Set(bodiesOf(sent)).size;
      all.push(...sent);
    };
    const moments = momentsOf(requests);
    const queue = [...moments];
    const worker = async () => {
      for (let next = queue.pop(); next; next = queue.pop()) await runOnce(next);
    };
    await Promise.all(Array.from({ length: 6 }, worker));
    // Each time some requests fewer or more are made, so that a late moment may not come.
    expect(died.length).toBeGreaterThanOrEqual(Math.floor(runs / 2));

    await carryOut(all);
    const { gradeValues = [], submissions = [] } = await platform.controls().state();
    const sentByUser = Map.groupBy(all, userOf);
    for (const [userId, copies] of sentByUser) {
      if (copies.map(nameOf).includes('submission-upload'))
        expect(submissions.filter((row) => row.userId === userId)).toHaveLength(1);
      else {
        const values = gradeValues.filter((row) => row.userId === userId);
        expect(values).toMatchObject([{ pointsNumerator: points }]);
        const { id } = JSON.parse(copies[0]?.Body ?? '');
        expect(values[0]?.writes).toBeLessThanOrEqual(writing.get(id) ?? 0);
      }
    }
    const kinds = new Set(died.map(({ request, at }) => `${request} ${at}`));
    process.stdout.write(
      `${name}: killed ${died.length} of ${runs} times, at ${kinds.size} of its ${requests * 3} moments; ` +
        `${all.length} messages sent, ${twice} of them second copies; the platform holds each of ${sentByUser.size} as it must\n`,
    );
  },
  3_600_000,
);
