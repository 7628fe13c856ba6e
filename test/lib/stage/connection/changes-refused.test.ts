// @module-tag long
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { PurgeQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { handler as check } from '../../../../functions/connection-check.ts';
import { handler as replay } from '../../../../functions/dead-letter-replay.ts';
import { sqsMessageOf } from '../../../../lib/delivery/letters/dead-letter.ts';
import { statusOf } from '../../../../lib/desk/stage-state/status.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { type Attempt, attemptsIn } from '../../../local/scenarios/play.ts';
import { settingsOf } from '../../../local/stack.ts';
import { localOffice } from '../../desk/cli/local-office.ts';
import { eventBody, failureOf, never } from '../../desk/cli/office.ts';
import { typed } from '../../desk/cli/typed.ts';

/** Where the platform refuses a key for changes and answers what it is asked: the functions meet it, and no probe does. */
const attempts: Attempt[] = [];
const metrics: Record<string, unknown>[] = [];
const office = localOffice({
  functions: ['grade-push', 'submission-upload'],
  settings: { WAIT_MINIMUM_SECONDS: '1', WAIT_MAXIMUM_SECONDS: '1' },
  onLog: (_, line) => {
    if (!line.startsWith('{')) return;
    const entry = JSON.parse(line);
    if ('_aws' in entry) metrics.push(entry);
    else attempts.push(...attemptsIn(line));
  },
});
const schedule = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../../../events/dead-letter-replay.json'), 'utf8'),
);
const context = { getRemainingTimeInMillis: () => 120_000 } as Context;
const serviceKey = (userKey: string) => ({
  type: 'id-key',
  appId: 'local-app',
  appKey: 'local-app-key',
  userId: '100',
  userKey,
});

let written: string[] = [];
let users = 900;

beforeEach(async () => {
  await office.controls().reset();
  await office.controls().settings({ invalidTokenReads: 'answer' });
  await office.controls().secret('sis-relay/local/service', serviceKey('local-key-100'));
  attempts.splice(0);
  metrics.splice(0);
  written = [];
  const environment = {
    ...settingsOf(office.stack().description, 'dead-letter-replay'),
    AWS_LAMBDA_FUNCTION_NAME: 'sis-relay-local-a-schedule',
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  vi.spyOn(process.stdout, 'write').mockImplementation(
    (text) => written.push(...String(text).trim().split('\n')) > 0,
  );
});
afterEach(async () => {
  await office.controls().clearAwsFaults();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const status = () =>
  statusOf(office.target(), { functions: ['grade-push', 'submission-upload'], signal: never });
const printed = async () => (await typed(`status --stack ${office.file}`)).out.replace(/\s+/g, ' ');
/** What connection-check answers, and its metrics. */
const checked = async () => {
  const report = await check();
  const metric = written.map((line) => JSON.parse(line)).findLast((line) => '_aws' in line);
  return { report, accepted: metric?.CredentialAccepted?.[0] };
};

/** The next messages are about another user. */
const enroll = async (): Promise<void> => {
  users += 1;
  await office.controls().seed({
    users: [{ userId: users, firstName: 'L', lastName: 'L' }],
    enrollments: [{ orgUnitId: 2001, userId: users, roleId: 110 }],
  });
};
/** Sends a grade of a user of its own. */
const send = async (name = 'grade-push', data: object = {}): Promise<string> => {
  await enroll();
  const body = eventBody(name, { ...(name === 'grade-push' ? { userId: users } : {}), ...data });
  const { sqs, description } = office.stack();
  await sqs.send(new SendMessageCommand({ QueueUrl: description.queues[name], MessageBody: body }));
  return JSON.parse(body).id;
};
const until = async (is: () => unknown) => {
  while (!(await is())) await new Promise((go) => setTimeout(go, 20));
};
const met = (eventId: string, outcome: string) =>
  until(() => attempts.some((each) => each.eventId === eventId && each.outcome === outcome));
const parkLetter = async () => {
  const { sqs, description } = office.stack();
  await sqs.send(new PurgeQueueCommand({ QueueUrl: description.deadLetters }));
  const letter = sqsMessageOf({
    body: eventBody('grade-push', { userId: users }),
    replays: 0,
    attributes: {},
    source: 'arn:aws:sqs:us-east-1:000000000000:sis-relay-local-grade-push',
    failure: failureOf('grade-push', 'credentials'),
  });
  await sqs.send(new SendMessageCommand({ QueueUrl: description.deadLetters, ...letter }));
};

describe('a key of the service that is refused for changes, and answered when it reads', () => {
  test('is nowhere green until a change is taken again', async () => {
    const startMs = Date.now();
    await office.controls().key(100, 'another');
    const eventId = await send();
    await met(eventId, 'waiting');
    await until(async () => (await status()).connection?.changes?.refused === 'yes');

    const { connection } = await status();
    expect(connection).toMatchObject({
      reachable: true,
      credentialAccepted: true,
      changes: { refused: 'yes', function: 'grade-push' },
      waitingFor: {
        kind: 'credentials',
        why: expect.stringMatching(/^Since \d{4}-.* refuses the service's credential for changes/),
      },
      problems: [
        {
          what: expect.stringMatching(
            /^Since .* UTC, the platform refuses the service's credential for changes, last at .* UTC in grade-push; it accepts the credential for reading$/,
          ),
          remedy: expect.stringContaining('Put a valid credential into the secret sis-relay/local/service'),
        },
      ],
    });
    const changes = connection?.changes;
    if (changes?.refused !== 'yes') throw new Error('unreachable');
    expect(Date.parse(changes.since)).toBeGreaterThanOrEqual(startMs);
    expect(await printed()).toMatch(
      /✗ It accepts the service’s credential for reading, but has refused it for changes since/,
    );

    expect(await checked()).toMatchObject({ report: { changes: { refused: 'yes' } }, accepted: 0 });
    await parkLetter();
    expect(await replay(schedule, context)).toMatchObject({ ended: 'declined' });
    // The metric on which the alarm rings, of whoever meets it.
    const [refusals] = metrics.filter(({ Refusals }) => Refusals);
    expect(refusals).toMatchObject({ function: 'grade-push', kind: 'credentials' });

    await office.controls().secret('sis-relay/local/service', serviceKey('another'));
    await met(eventId, 'done');
    await until(async () => (await status()).connection?.changes?.refused === 'no');
    expect(await printed()).toMatch(
      /✓ It accepts the service’s credential, and has not refused it for a change lately/,
    );
    expect(await checked()).toMatchObject({ report: { problems: [] }, accepted: 1 });
    expect(await replay(schedule, context)).toMatchObject({ ended: 'done', counts: { sent: 1 } });
  });

  test('is not known to be well when its secret was changed and nothing was sent since: the schedule tries a canary', async () => {
    const now = Date.now();
    await putIncident({ sinceMs: now - 3_600_000, lastMs: now - 1_800_000, expires: now / 1000 + 1_800 });
    await office.controls().secret('sis-relay/local/service', serviceKey('local-key-100'));
    expect(await printed()).toMatch(
      /\? It accepts .* for reading\. For changes, it refused the one that .* not tried yet.* What to do first \? Nothing, as far as is known/,
    );
    expect(await checked()).toMatchObject({
      report: { changes: { refused: 'untried' }, problems: [] },
      accepted: undefined,
    });
    await enroll();
    await parkLetter();
    expect(await replay(schedule, context)).toMatchObject({ ended: 'done', counts: { sent: 1 } });
    await putIncident({ sinceMs: now, lastMs: now, expires: now / 1000 - 1 });
    expect((await status()).connection?.changes).toEqual({ refused: 'no' });
  });

  test('is not known where the ledger’s table may not be read: then nothing is green, and the schedule sends nothing', async () => {
    await office
      .controls()
      .awsFault('dynamodb', { action: 'GetItem', type: 'AccessDeniedException', forMs: 60_000 });
    const refused = expect.stringMatching(
      /AWS refuses dynamodb:GetItem on the table sis-relay-local-ledger-by-resource/,
    );
    expect(await printed()).toMatch(
      /\? It accepts the service’s credential for reading. For changes, this is not known/,
    );
    expect(await checked()).toMatchObject({
      report: { changes: { refused: 'unknown' }, problems: [{ what: refused }] },
      accepted: undefined,
    });
    users += 1;
    await parkLetter();
    // What people on call are told cannot be read, either, and that counts as an error.
    await expect(replay(schedule, context)).rejects.toThrow('a local fault');
    expect(JSON.parse((await typed(`letters list --json --stack ${office.file}`)).out).letters).toHaveLength(
      1,
    );
  });

  test('is as well as reading tells where the functions have no ledger', async () => {
    vi.stubEnv('LEDGER_TABLE', '');
    expect(await checked()).toMatchObject({ report: { changes: undefined, problems: [] }, accepted: 1 });
  });
});

test('a learner’s own key that is refused is told with its secret and function, is nothing against the service’s, and is gone once it is put right', async () => {
  await office.controls().key(301, 'another');
  const eventId = await send('submission-upload', { userId: 301 });
  await met(eventId, 'waiting');
  await until(async () => (await status()).waiting.some(({ kind }) => kind === 'credentials'));
  expect((await status()).connection?.changes).toEqual({ refused: 'no' });
  expect(await printed()).toMatch(
    /✗ The platform refuses the credential in the secret sis-relay\/local\/users\/301\. 1 message of submission-upload waits for it \(credentials\), .* → Put a valid credential into the secret sis-relay\/local\/users\/301\./,
  );
  await office.controls().secret('sis-relay/local/users/301', { ...serviceKey('another'), userId: '301' });
  await met(eventId, 'done');
  await until(async () => (await status()).waiting.length === 0);
  expect(await printed()).not.toMatch(/users\/301/);
});

test('what AWS refuses a function is told in status, with the action, the resource and who must act', async () => {
  await office.controls().awsFault('sqs', {
    action: 'SendMessage',
    name: 'sis-relay-local-dead-letters',
    type: 'AccessDenied',
    status: 403,
    times: 1_000,
  });
  const eventId = await send('grade-push', { grade: null });
  await met(eventId, 'waiting');
  // While it is tried again, it is listed as a letter already.
  const refusedText =
    /AWS refuses sqs:SendMessage on the queue sis-relay-local-dead-letters \(AccessDenied\): an administrator .* 1 message of grade-push waits for it \(aws-refused\), .*→ Have an administrator/;
  await until(async () => refusedText.test(await printed()));
  await office.controls().clearAwsFaults();
  await met(eventId, 'parked');
});

async function putIncident(times: { sinceMs: number; lastMs: number; expires: number }) {
  const { description } = office.stack();
  const client = new DynamoDBClient(localClient(description.dynamodb));
  const texts = { kind: 'credentials', function: 'grade-push', message: 'refused', remedy: 'Rotate it.' };
  const Item = {
    resource: { S: 'incident/service-credential' },
    ...Object.fromEntries(Object.entries(texts).map(([name, S]) => [name, { S }])),
    ...Object.fromEntries(Object.entries(times).map(([name, value]) => [name, { N: `${Math.ceil(value)}` }])),
  };
  await client.send(new PutItemCommand({ TableName: description.table, Item }));
  client.destroy();
}
