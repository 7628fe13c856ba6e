import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Context } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type * as changePoll from '../../functions/change-poll.ts';
import { handler } from '../../functions/change-poll.ts';
import { refusedKeyOf } from '../../lib/options/changes/poll-services.ts';
import { createPositionStore } from '../../lib/options/changes/position-store.ts';
import { createQuickDynamoDb } from '../../lib/runtime/aws/dynamodb-quick.ts';
import { type Moment, startDeadlyProxy } from '../lib/desk/messages/letters/deadly-proxy.ts';
import { localClient } from '../local/aws/aws.ts';
import { filesIn } from '../local/bucket.ts';
import { controlsOf } from '../local/controls.ts';
import { eventOf } from '../local/examples.ts';
import { inThisProcess } from '../local/in-this-process.ts';
import { takeAll } from '../local/queues.ts';
import { type Stack, settingsOf, startStack } from '../local/stack.ts';
import { moduleAnew } from '../module-anew.ts';
import { mapping, registration, startChanges } from '../options/changes/changes.ts';

let stack: Stack;
let changes: Awaited<ReturnType<typeof startChanges>>;
const lines: string[] = [];

const settings = () => ({
  CHANGES_URL: changes.url,
  CHANGES_PRIVATE: 'true',
  CHANGES_SECRET: 'changes',
  CHANGES_LIMIT: '12',
});

beforeAll(async () => {
  changes = await startChanges();
  stack = await startStack({ functions: ['enrollment-create'], lambda: inThisProcess });
  const environment = { ...settingsOf(stack.description, 'change-poll'), ...settings() };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
  const secret = { header: 'Authorization', value: 'Bearer of-the-sis' };
  await controlsOf(stack.description).secret('sis-relay/local/changes', secret);
  await put('change-poll/mapping.json', JSON.stringify(mapping));
});
afterAll(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await Promise.all([stack?.close(), changes?.close()]);
});

const { put, jsonAt } = filesIn(() => stack);
const placeOf = (name: string) =>
  createPositionStore({
    dynamodb: createQuickDynamoDb(localClient(stack.description.dynamodb)),
    table: stack.description.table,
    name,
    nowMs: Date.now,
  });
const never = new AbortController().signal;
const refused = (id: string) => jsonAt(`change-poll/refused/${id}.json`);

const context = { getRemainingTimeInMillis: () => 60_000 } as Context;

test('a change of the SIS reaches the platform, and is not sent again', async () => {
  const published = new Date().toISOString();
  changes.has([registration(1, { published }), registration(2, { content: { status: 'registered' } })]);
  const scheduled = await eventOf('change-poll');
  expect(await handler(scheduled, context)).toEqual({
    outcome: 'done',
    pages: 1,
    sent: 1,
    skipped: 0,
    refused: 1,
  });
  await expect
    .poll(async () => (await controlsOf(stack.description).state()).enrollments)
    .toContainEqual(expect.objectContaining({ orgUnitId: 2001, userId: 303, roleId: 110 }));
  expect(await refused('2')).toMatchObject({ notice: { id: '2' } });
  expect(changes.asked[0]?.headers.authorization).toBe('Bearer of-the-sis');
  expect(await handler(scheduled, context)).toMatchObject({ outcome: 'done', pages: 0 });
  expect(lines.join('')).toContain('change-poll');
  expect(lines.join('')).not.toContain('of-the-sis');
});

test.each([
  ['2', 'change-poll/refused/2.json'],
  ['a/b ü', 'change-poll/refused/a%2Fb%20%C3%BC.json'],
  ['ü'.repeat(200), /^change-poll\/refused\/[0-9a-f]{64}\.json$/],
  ['🎓'.repeat(200), /^change-poll\/refused\/[0-9a-f]{64}\.json$/],
  ['half \ud83c', /^change-poll\/refused\/[0-9a-f]{64}\.json$/],
])('a refused notice with the id %j is kept under a name that S3 takes', (id, key) => {
  expect(refusedKeyOf(id)).toMatch(key);
});

test('without an address it does nothing', async () => {
  vi.stubEnv('CHANGES_URL', '');
  const { handler: another } = await moduleAnew<typeof changePoll>('functions/change-poll.ts');
  expect(await another({}, context)).toMatchObject({ outcome: 'off' });
});

describe('the last id', () => {
  test('is moved by one of two runs alone, and never back', async () => {
    const place = placeOf('two');
    const at = (lastId: string) => ({ lastId, refused: 1 });
    expect(await place.read(never)).toEqual({ lastId: undefined, refused: 0 });
    expect(await place.move(undefined, at('3'), never)).toBe(true);
    // The same write, sent twice.
    expect(await place.move(undefined, at('3'), never)).toBe(true);
    expect(await place.move(undefined, at('2'), never)).toBe(false);
    expect(await Promise.all([place.move('3', at('5'), never), place.move('3', at('4'), never)])).toContain(
      false,
    );
    expect(await place.move('3', at('6'), never)).toBe(false);
    expect(['4', '5'].map(at)).toContainEqual(await place.read(never));
  });
});

/** Every call that a run makes, in its order. */
const calls = [
  'the mapping is read',
  'the last id is read',
  'the secret is read',
  'messages are sent',
  'more of them are sent',
  'a refused notice is kept',
  'the last id is stored',
];
const moments = calls.flatMap((call, at) =>
  (['before', 'unanswered'] as const).map((when): [string, Moment] => [
    `${when === 'before' ? 'before' : 'after'} ${call}`,
    { request: at + 1, at: when },
  ]),
);

describe('a run that dies', () => {
  test.each(moments)('%s loses no change', { tags: ['long'] }, async (_, moment) => {
    const name = `killed-${moment.request}-${moment.at}`;
    const wanted = Array.from({ length: 11 }, (_, each) => `${name}-${each}`);
    const bad = `${name}-bad`;
    changes.has([
      ...wanted.map((id) => registration(id, { operation: 'deleted' })),
      registration(bad, { content: { status: 'registered' } }),
    ]);
    expect(await run(name, moment)).toBeUndefined();
    expect(await run(name)).toMatchObject({ outcome: 'done' });
    const messages = await takeAll(stack, stack.description.queues['enrollment-remove']);
    const found = messages.map(({ Body = '' }) => JSON.parse(Body).id);
    expect([...new Set(found)].sort()).toEqual([...wanted].sort());
    // Sent again are those alone that were sent before it died, and with the same ids.
    expect(found.length).toBeLessThanOrEqual(2 * wanted.length);
    expect(await refused(bad)).toMatchObject({ notice: { id: bad } });
    expect((await placeOf(name).read(never)).lastId).toBe(bad);
  });
});

/** One invocation in a process of its own, killed at a moment: then there is no summary. */
async function run(name: string, moment: Moment = { request: 1_000, at: 'before' }): Promise<unknown> {
  let kill = () => {};
  const { sqs, dynamodb, secretsManager } = stack.description;
  const servers = { queues: sqs, tables: dynamodb, secrets: secretsManager };
  const proxy = await startDeadlyProxy(servers, moment, () => kill());
  const own: Record<string, string> = {
    ...settingsOf(stack.description, 'change-poll'),
    ...settings(),
    CHANGES_NAME: name,
  };
  for (const service of ['S3', 'SQS', 'DYNAMODB', 'SECRETS_MANAGER'])
    own[`AWS_ENDPOINT_URL_${service}`] = proxy.url;
  // The client of SQS goes by the address of a queue.
  own.DEAD_LETTER_QUEUE_URL = own.DEAD_LETTER_QUEUE_URL?.replace(sqs, proxy.url) ?? '';
  const child = spawn(process.execPath, [join(import.meta.dirname, '../options/changes/process.ts')], {
    env: { PATH: process.env.PATH, ...own },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  kill = () => child.kill('SIGKILL');
  const [out] = await Promise.all([buffer(child.stdout), once(child, 'close')]);
  await proxy.close();
  const summaryLine = `${out}`.split('\n').find((line) => line.startsWith('{"summary"'));
  return summaryLine && JSON.parse(summaryLine).summary;
}
