// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { letterOf } from '../../../../lib/delivery/letters/dead-letter.ts';
import { listLetters } from '../../../../lib/desk/messages/letters/list.ts';
import { eventBody, never, type Office, officesForTests } from '../../desk/cli/office.ts';
import { type Moment, startDeadlyProxy } from '../../desk/messages/letters/deadly-proxy.ts';

/** The proof `crash-operators` asks for 200. */
const runs = Number(process.env.CRASH_RUNS ?? 3);
const messages = 4;
/** A message is received, recorded, parked and acknowledged; at the end the queue is empty. */
const requests = 4 * messages + 1;

const offices = officesForTests();

const parker = async (office: Office, moment?: Moment): Promise<boolean> => {
  const { url: queueUrl, arn } = office.queueOf('grade-push');
  let kill = () => {};
  const servers = { queues: offices.url(), tables: offices.tables() };
  const proxy = await startDeadlyProxy(servers, moment ?? { request: 10_000, at: 'before' }, () => kill());
  const script = join(import.meta.dirname, 'parker.ts');
  const there = (url: string) => url.replace(offices.url(), proxy.url);
  const args = [proxy.url, there(queueUrl), arn, there(office.deadLetters.url), office.desk.table];
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  kill = () => child.kill('SIGKILL');
  const [status, signal] = await once(child, 'exit');
  await proxy.close();
  if (moment === undefined) expect({ status, signal }).toEqual({ status: 0, signal: null });
  return signal === 'SIGKILL';
};

const listedIn = async (office: Office): Promise<string[]> =>
  (await listLetters(office.target, { filter: {}, limit: 1_000 }, { signal: never })).letters
    .map(({ id }) => id)
    .sort();

test(`of a function that is killed between record, letter and acknowledgement, no letter is hidden or lost (${runs} runs)`, async () => {
  const moments = Array.from({ length: runs }, (_, at): Moment => {
    const all = ['before', 'unanswered', 'answered'] as const;
    return { request: 1 + ((at * 7) % requests), at: all[at % 3] ?? 'before' };
  });
  let died = 0;
  const runOnce = async (moment: Moment): Promise<void> => {
    const office = await offices.open();
    const { url } = office.queueOf('grade-push');
    const sent = await office.send(
      url,
      Array.from({ length: messages }, () => ({ MessageBody: eventBody() })),
    );
    if (await parker(office, moment)) died += 1;
    // What it had in hand is handed out again, to another container.
    await sleep(1_200);
    await parker(office);
    await sleep(1_200);
    await parker(office);
    const listed = await listedIn(office);
    await office.list();
    const healed = await listedIn(office);
    const letters = (await office.take(office.deadLetters.url)).map((each) => letterOf(each).letterId ?? '');
    expect(await office.take(url)).toEqual([]);
    expect([...new Set(letters)].sort()).toEqual(sent.sort());
    expect(listed, 'every letter is listed before anybody looks').toEqual(sent.sort());
    expect(healed, 'the lists are whole').toEqual(sent.sort());
  };
  const queue = [...moments];
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await runOnce(next);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  process.stdout.write(`parking: killed ${died} of ${runs} times; every letter was listed, and none lost\n`);
  expect(died).toBeGreaterThanOrEqual(Math.floor(runs / 2));
}, 3_600_000);
