// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sqsMessageOf } from '../../../../../lib/delivery/letters/dead-letter.ts';
import { listLetters } from '../../../../../lib/desk/messages/letters/list.ts';
import { countsOf } from '../../../../../lib/desk/messages/letters/queue.ts';
import { reindexLetters } from '../../../../../lib/desk/messages/letters/reindex.ts';
import { sendAll } from '../../../../../lib/runtime/aws/sqs.ts';
import { randomFrom } from '../../../../fuzz/random.ts';
import { waitLimitMs } from '../../../../limits.ts';
import { seed } from '../../../../seed.ts';
import { localOffice } from '../../cli/local-office.ts';
import { eventBody, failureOf, never } from '../../cli/office.ts';

/** The proof `two-operators` asks for 3,000. */
const letters = Number(process.env.OPERATED_LETTERS ?? 60);
const kinds = [
  ...(['rejected', 'missing-scope', 'missing-permission', 'credentials', 'throttled'] as const),
  ...(['unavailable', 'intercepted', 'crashed', 'defect', 'unexpected-answer'] as const),
];
/** By user, how often the platform did not answer in time: a grade is then written again. */
const unanswered = new Map<number, number>();
const office = localOffice({
  onLog: (_, line) => {
    const userId = Number(/values\/(\d+): no answer in time/.exec(line)?.[1]);
    unanswered.set(userId, (unanswered.get(userId) ?? 0) + 1);
  },
});
const bin = resolve(import.meta.dirname, '../../../../../lib/desk/cli/sis-relay.js');
const random = randomFrom(seed);

/** Grades, which may be written again to no harm, and every fifth a submission, which may not. */
const nameOf = (at: number): 'grade-push' | 'submission-upload' =>
  at % 5 === 4 ? 'submission-upload' : 'grade-push';
const userOf = (at: number): number => 500_000 + at;

const listed = async (): Promise<number> =>
  (await listLetters(office.target(), { filter: {}, limit: 0 }, { signal: never })).matching;

/** Types replays of one kind after the other until no letter is left, and is killed now and then. */
const operate = async (order: readonly string[]) => {
  let killed = 0;
  let typed = 0;
  for (let at = 0; (await listed()) > 0; at += 1) {
    const kind = order[at % order.length] ?? '';
    const args = `letters replay --kind ${kind} --yes --no-probe --rate 500 --canary-wait 10 --lease 2 --stack ${office.file}`;
    const child = spawn(process.execPath, [bin, ...args.split(' ')], { stdio: 'ignore' });
    const isDoomed = random.happens(0.3);
    const timer = setTimeout(() => isDoomed && child.kill('SIGKILL'), 400 + random.below(1_500));
    const [, signal] = await once(child, 'exit');
    clearTimeout(timer);
    typed += 1;
    if (signal === 'SIGKILL') {
      killed += 1;
      // What is sent and deleted may still be listed, as nobody was left to say so.
      await sleep(2_500);
      await reindexLetters(office.target(), { signal: never, settleMs: 0 });
    }
  }
  return { killed, typed };
};

test(`${letters} letters of ten kinds, two operators at once, killed at random: none is lost, none is sent twice`, async () => {
  const { sqs, description } = office.stack();
  const controls = office.controls();
  const all = Array.from({ length: letters }, (_, at) => at);
  await controls.seed({
    users: all
      .map(userOf)
      .map((userId) => ({ userId, userName: `u${userId}`, firstName: 'L', lastName: 'L' })),
    enrollments: all.map((at) => ({ orgUnitId: 2001, userId: userOf(at), roleId: 110 })),
  });
  for (const at of all.filter((each) => nameOf(each) === 'submission-upload'))
    await controls.secret(`${description.secrets.userPrefix}${userOf(at)}`, {
      type: 'id-key',
      appId: 'local-app',
      appKey: 'local-app-key',
      userId: String(userOf(at)),
      userKey: `local-key-${userOf(at)}`,
    });
  const parked = all.map((at) => {
    const name = nameOf(at);
    const texts = name === 'grade-push' ? { comments: '', privateComments: '' } : {};
    const { MessageBody: body, MessageAttributes: attributes } = sqsMessageOf({
      body: eventBody(name, { userId: userOf(at), ...texts }),
      replays: 0,
      attributes: {},
      source: `arn:aws:sqs:us-east-1:000000000000:sis-relay-local-${name}`,
      failure: failureOf(name, kinds[at % kinds.length]),
    });
    return { body, attributes };
  });
  expect((await sendAll({ sqs, url: description.deadLetters }, parked)).failures.size).toBe(0);
  await reindexLetters(office.target(), { signal: never, settleMs: 0 });
  expect(await listed()).toBe(letters);

  const operators = await Promise.all([operate(kinds), operate([...kinds].reverse())]);
  const queues = ['grade-push', 'submission-upload'].map((name) => description.queues[name] ?? '');
  for (const url of [...queues, description.deadLetters])
    await expect
      .poll(async () => Object.values(await countsOf({ sqs, url })), { timeout: waitLimitMs })
      .toEqual([0, 0, 0]);
  await reindexLetters(office.target(), { signal: never, settleMs: 0 });
  expect(await listed()).toBe(0);
  const { gradeValues = [], submissions = [] } = await controls.state();
  for (const at of all) {
    const held = nameOf(at) === 'grade-push' ? gradeValues : submissions;
    expect(held.filter((row) => row.userId === userOf(at))).toHaveLength(1);
  }
  const most = ({ userId }: { userId?: unknown }): number => 1 + (unanswered.get(Number(userId)) ?? 0);
  const grades = gradeValues.filter(({ userId }) => Number(userId) >= 500_000);
  const isRight = (writes: unknown, atMost: number): boolean =>
    Number(writes) >= 1 && Number(writes) <= atMost;
  expect(grades.filter((row) => !isRight(row.writes, most(row)))).toEqual([]);
  const [typed, killed] = [operators.map((each) => each.typed), operators.map((each) => each.killed)];
  process.stdout.write(
    `${letters} letters: two operators typed ${typed.join(' and ')} commands, of which ${killed.join(' and ')} were killed\n`,
  );
}, 1_800_000);
