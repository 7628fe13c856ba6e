import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import type { IndexRecord } from '../../../../../lib/delivery/letters/record.ts';
import type { Trace } from '../../../../../lib/desk/messages/trace/trace.ts';
import {
  type WaitingList,
  waitingGroups,
  withMended,
} from '../../../../../lib/desk/messages/waiting/waiting.ts';
import type { Target } from '../../../../../lib/stage/target.ts';
import { passingTime } from '../../../../local/aws/passing-time.ts';
import { localOffice } from '../../cli/local-office.ts';
import { documentsIn, typed } from '../../cli/typed.ts';

/** Nothing of what waits goes on by itself within a test. */
const settings = { WAIT_MINIMUM_SECONDS: '600', WAIT_MAXIMUM_SECONDS: '900' };
const lines: string[] = [];
const time = passingTime();
const office = localOffice({
  inProcess: ['grade-push', 'submission-upload'],
  settings,
  onLog: (name, line) => void lines.push(`${name} ${line}`),
});
const log = join(office.folder, 'functions.log');

const command = (line: string) => typed(`${line} --stack ${office.file}`);
const json = async <Document>(line: string): Promise<Document> => {
  const { out, err } = await command(`${line} --json`);
  const [document, ...others] = documentsIn<Document>(out);
  expect(others, out + err).toEqual([]);
  return document as Document;
};
const waiting = (filter = '') => json<WaitingList>(`waiting ${filter}`);
const trace = (id: string) => {
  writeFileSync(log, '');
  for (const line of lines) appendFileSync(log, `${line}\n`);
  return json<Trace>(`trace ${id}`);
};

const { send } = office;
const grade = (userId: number, event: object = {}) => send('grade-push', { userId }, event);

const users = Array.from({ length: 30 }, (_, at) => 800 + at);
const newKey = 'rotated by somebody';

let grades: string[] = [];

beforeAll(async () => {
  writeFileSync(
    office.file,
    JSON.stringify({ ...JSON.parse(readFileSync(office.file, 'utf8')), functionLog: log }),
  );
  await office.enrol(users);
  await office.controls().key(100, newKey);
  await office.controls().fault({ status: 503 }, { path: 'whoami', times: 1 });
  await send('submission-upload', {});
  grades = await Promise.all(users.slice(0, 12).map((userId, at) => grade(userId, { id: `event-${at}` })));
  while ((await waiting()).matching < 13) await sleep(50);
});

test('what waits is listed by cause, with since when, how often tried and the next try', async () => {
  const nowMs = Date.now();
  const { groups, messages, matching } = await waiting();
  expect(matching).toBe(13);
  // The first are refused by the platform, and the others need not ask it: it is one cause.
  const refused = groups.filter(({ kind }) => kind === 'credentials');
  expect(refused.map((group) => group.messages)).toEqual([12]);
  expect(groups.filter(({ kind }) => kind !== 'credentials')).toMatchObject([
    { function: 'submission-upload', kind: 'unavailable', messages: 1, due: 0, unknown: 0, attempts: 1 },
  ]);
  for (const { nextMs, oldestMs, remedy } of groups) {
    expect(nextMs).toBeGreaterThan(nowMs + 60_000);
    expect(oldestMs).toBeLessThan(nowMs);
    expect(remedy).not.toBe('');
  }
  expect(messages.find(({ id }) => id === grades[3])).toMatchObject({
    function: 'grade-push',
    kind: 'credentials',
    next: 'later',
    attempts: 1,
    replays: 0,
    eventId: 'event-3',
    user: '803',
    orgUnit: '2001',
    thing: 'grade object 5001',
    resource: 'grade/2001/5001/803',
    waits: [{ kind: 'credentials', count: 1 }],
  });
  expect(JSON.stringify(messages)).not.toContain('handle');
  expect(await waiting('--limit 2')).toMatchObject({ matching: 13, messages: [{}, {}] });
});

test('what to type once a cause is gone names every kind that waits, the largest first', async () => {
  for (const line of ['waiting', 'status'])
    expect((await command(line)).out).toMatch(
      /^Once the cause is gone: \S.* waiting wake --kind credentials --stack .*\n.* waiting wake --kind unavailable /m,
    );
});

test('to a person it is told in a table, and nothing that matches is exit status 1', async () => {
  const { out, status } = await command('waiting --function grade-push');
  expect(status).toBe(0);
  expect(out).toMatch(/12 messages wait\n/);
  expect(out).toMatch(/ +\d+ {2}grade-push {2}credentials +<1 min +1 {2}in \d+ min/);
  expect(out).toMatch(/803 · 2001 · grade object/);
  const none = await command('waiting --kind aws-refused');
  expect(none).toMatchObject({
    status: 1,
    out: expect.stringMatching(/no message waits, or none matches/),
  });
});

test('status names every cause for which messages wait; a credential that the probe finds refused, too, is one entry', async () => {
  const { out } = await command('status');
  const secret = 'the secret sis-relay/local/service';
  const outText = out.replace(/\s+/g, ' ');
  expect(
    outText.split(`The platform refuses the credential in ${secret}. 12 messages of grade-push wait for it`),
  ).toHaveLength(2);
  expect(outText).toMatch(
    /wait for it \(credentials\), the oldest for <1 min; last tried <1 min ago → Put a valid credential into the secret sis-relay\/local\/service\. Waiting messages then continue by themselves\. Once the cause is gone: sis-relay waiting wake --kind credentials --function grade-push --stack/,
  );
  expect(out).toMatch(/ \d+ {2}grade-push +credentials/);
  expect(out).toMatch(/ 1 {2}submission-upload +unavailable/);
  expect(out).not.toMatch(/being handled/);
});

test('a message that waits is traced by each of its ids, and the trace says for what', async () => {
  const byMessage = await trace(grades[3] ?? '');
  expect(byMessage).toMatchObject({
    outcome: 'waiting',
    events: [
      { what: 'sent', eventId: 'event-3' },
      { what: 'received', message: grades[3], function: 'grade-push', eventId: 'event-3' },
      { what: 'waits', kind: 'credentials', times: 1, next: expect.stringMatching(/Z$/) },
    ],
    messages: [{ message: grades[3], outcome: 'waiting', user: '803' }],
    unread: [],
  });
  for (const id of ['event-3', 'grade/2001/5001/803', grades[3]?.slice(0, 13) ?? ''])
    expect(await trace(id)).toMatchObject({ outcome: 'waiting', messages: [{ message: grades[3] }] });
});

describe('once a cause is gone', () => {
  test('a plan is shown first, and nothing is done without consent', async () => {
    const dry = await command('waiting wake --kind credentials --dry-run');
    expect(dry).toMatchObject({ status: 0, asked: [], out: expect.stringMatching(/12 messages are hidden/) });
    const asked = await typed(`waiting wake --kind credentials --stack ${office.file}`, { answers: ['n'] });
    expect(asked).toMatchObject({ status: 1, asked: ['Wake 12 messages? [y/N] '] });
    const { messages } = await waiting('--kind credentials');
    expect(messages.map(({ next }) => next)).toEqual(messages.map(() => 'later'));
  });

  test('what waited for it is woken, done at once, and the others wait on', async () => {
    const credential = { type: 'id-key', appId: 'local-app', appKey: 'local-app-key', userId: '100' };
    const { secrets } = office.stack().description;
    await office.controls().secret(secrets.service, { ...credential, userKey: newKey });
    expect((await command('status')).out.replace(/\s+/g, ' ')).toMatch(
      /→ The secret of a refused credential was changed <1 min ago: wake what waits for it\. 12 messages/,
    );
    // A function that was just refused looks for a new secret after five seconds.
    time.pass(6_000);
    const woken = await command('waiting wake --kind credentials --yes --reason "the key is back"');
    expect(woken.out).toMatch(/12 messages were woken/);
    expect(woken.status).toBe(0);
    for (const id of grades) expect(await office.ended(id)).toBe('done');
    expect((await waiting('--kind credentials')).matching).toBe(0);
    expect(await waiting()).toMatchObject({ matching: 1, groups: [{ kind: 'unavailable', due: 0 }] });
    const { gradeValues = [] } = await office.controls().state();
    expect(gradeValues.filter(({ userId }) => users.includes(Number(userId)))).toHaveLength(12);
  });

  test('the trace tells the wait, who woke it and why, and that it is done', async () => {
    const done = await trace(`${grades[3]} --log`);
    expect(done).toMatchObject({ outcome: 'done', unread: [] });
    // What the log and the table tell of the end may have the same time.
    expect(done.events.map(({ what }) => what).sort()).toEqual([
      'attempt',
      'attempt',
      'claimed',
      'done',
      'received',
      'sent',
      'waited',
      'woken',
    ]);
    expect(done.events.slice(0, 2)).toMatchObject([{ what: 'sent' }, { what: 'received' }]);
    expect(done.events.find(({ what }) => what === 'woken')).toMatchObject({
      command: 'waiting wake',
      why: 'the key is back',
      done: true,
      message: grades[3],
    });
    expect(done.events.filter(({ what }) => what === 'attempt')).toMatchObject([
      { outcome: 'waiting', kind: 'credentials', attempts: 1 },
      { outcome: 'done', attempts: 2, requests: 2, status: 200 },
    ]);
  });
});

test('of several refused credentials, those whose secret was changed since are told apart', async () => {
  const nowMs = Date.now();
  const waits = (user: number) =>
    ({
      message: `m-${user}`,
      state: 'waiting',
      function: 'submission-upload',
      kind: 'credentials',
      error: `The platform refuses the credential in the secret relay/users/${user}`,
      remedy: `Put a valid credential into the secret relay/users/${user}. It continues by itself.`,
      atMs: nowMs - 60_000,
      nextMs: nowMs + 60_000,
      attempts: 1,
      replays: 0,
      waits: [],
    }) as unknown as IndexRecord;
  const changed = new Set(['relay/users/302']);
  const asked = {
    send: async ({ input: { SecretId = '' } }) => ({
      LastChangedDate: new Date(changed.has(SecretId) ? nowMs : 0),
    }),
  };
  const target = { secretsManager: async () => asked } as unknown as Target;
  const mendedAmong = (users: number[]) =>
    withMended(target, waitingGroups(users.map(waits), nowMs), undefined);
  expect(await mendedAmong([301, 302, 302, 303])).toMatchObject([
    {
      messages: 2,
      error: expect.stringContaining('users/<id>'),
      bySecret: [{ secret: 'relay/users/301' }, { secret: 'relay/users/303' }],
    },
    { messages: 2, mendedMs: nowMs, remedy: expect.stringContaining('users/302.') },
  ]);
  // The one that is left is named.
  const [left] = await mendedAmong([301, 302]);
  expect(left).toMatchObject({ messages: 1, remedy: expect.stringContaining('users/301.') });
  expect(left?.mendedMs).toBeUndefined();
});
