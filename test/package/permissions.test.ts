import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sqsMessageOf } from '../../lib/dead-letter.ts';
import { localClient } from '../local/aws.ts';
import { controlsOf } from '../local/controls.ts';
import { type Deployed, deployLocally } from './deployed.ts';
import { packagedProject } from './packaged.ts';
import { type AwsCall, allGrants, coverOf, roleStatements } from './policies.ts';

const root = resolve(import.meta.dirname, '../..');
const names = (await readdir(join(root, 'functions'))).map((file) => file.replace('.ts', ''));

let deployed: Deployed;

beforeAll(async () => {
  deployed = await deployLocally(await packagedProject());
  await putFiles();
  await controlsOf(deployed.stack.description).secret('sis-relay/local/lti-links/9001', {
    key: 'link-key',
    plainSecret: 'link-secret',
  });
  await sendEverything();
  for (const [name, run] of Object.entries(scheduled)) if (names.includes(name)) await run();
}, 120_000);
afterAll(() => deployed?.close());

describe('the packaged function', () => {
  test.each(names)('%s is allowed what it does, and nothing that it does not', (name) => {
    const { FunctionName, Role } = deployed.deployment
      .ofType('AWS::Lambda::Function')
      .find((each) => each.FunctionName.endsWith(`-${name}`))!;
    const statements = roleStatements(deployed.deployment, Role.split('/').at(-1));
    const calls = [...deployed.callsOf(name), ...lambdasOwn(FunctionName, deployed.stack.description.queues[name])];
    const used = new Set(calls.flatMap((call) => coverOf(call, statements)));
    const forbidden = calls.filter((call) => coverOf(call, statements).length === 0);
    expect(forbidden, 'calls that its role does not allow').toEqual([]);
    expect(allGrants(statements).filter((grant) => !used.has(grant)), 'what its role allows in vain').toEqual([]);
  });
});

/** What Lambda does in the function's name: it polls the queue, and writes the log. */
function lambdasOwn(functionName: string, queueUrl: string | undefined): AwsCall[] {
  const at = 'us-east-1:000000000000';
  const queue = `arn:aws:sqs:${at}:${queueUrl?.split('/').at(-1)}`;
  const log = `arn:aws:logs:${at}:log-group:/aws/lambda/${functionName}:log-stream:2026/11/20/[$LATEST]0f6c1a52`;
  return [
    ...['logs:CreateLogStream', 'logs:PutLogEvents'].map((action) => ({ action, resource: log })),
    ...(queueUrl === undefined
      ? []
      : ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'].map((action) => ({ action, resource: queue }))),
  ];
}

/** Leads every function down each of its ways: done, refused for now, parked, done before. */
async function sendEverything(): Promise<void> {
  const queued = Object.keys(deployed.stack.description.queues);
  const outcomes = async (bodyOf: (name: string) => Promise<string>) => {
    const messages = await Promise.all(queued.map(async (name) => deployed.send(name, await bodyOf(name))));
    const ends = await Promise.all(messages.map((message) => message.ends()));
    return Object.fromEntries(ends.map(({ outcome, reason = '' }, at) => [queued[at], `${outcome} ${reason}`.trim()]));
  };
  const all = (outcome: string) => Object.fromEntries(queued.map((name) => [name, expect.stringMatching(`^${outcome}`)]));
  expect(await outcomes(example)).toEqual(all('done'));
  const faults = `${deployed.stack.description.platform}/_local/faults`;
  await fetch(faults, {
    method: 'POST',
    body: JSON.stringify({ match: {}, times: 1000, then: { status: 503 } }),
  });
  const messages = await Promise.all(queued.map(async (name) => deployed.send(name, await laterThan(await example(name)))));
  await Promise.all(messages.map((message) => message.waits()));
  await fetch(faults, { method: 'DELETE' });
  await Promise.all(messages.map((message) => message.ends()));

  expect(await outcomes(async () => 'not JSON')).toEqual(all('parked'));

  // A container remembers what it did itself: the next one must ask the ledger, and may wait for a lease to end.
  await Promise.all(queued.map((name) => deployed.lambda.recycle(name)));
  const again = await Promise.all(queued.map(async (name) => deployed.send(name, await example(name))));
  await Promise.all(again.map((message) => Promise.race([message.waits(), message.ends()])));
}

const invoke = async (name: string, event?: object): Promise<unknown> => {
  const result = await deployed.lambda.invoke(name, event ?? (await eventOf(name)));
  expect(result, name).toMatchObject({ ok: true });
  return result.ok ? result.payload : undefined;
};

/** What makes each of them do all that it can. */
const scheduled: Record<string, () => Promise<void>> = {
  'token-refresh': async () => {
    const { platform } = deployed.stack.description;
    const { tokenUrl } = (await (await fetch(`${platform}/_local/oauth`)).json()) as { tokenUrl: string };
    await controlsOf(deployed.stack.description).secret('sis-relay/local/users/303', {
      ...{ type: 'oauth', grant: 'client_credentials', tokenUrl },
      ...{ clientId: 'local-client', clientSecret: 'local-client-secret' },
    });
    expect(await invoke('token-refresh')).toMatchObject({ refreshed: 1 });
  },

  'connection-check': async () => {
    expect(await invoke('connection-check')).toMatchObject({ reachable: true, problems: [] });
  },

  'dead-letter-replay': async () => {
    const { body, ...letter } = { body: await example('grade-push'), replays: 0, attributes: {} };
    const at = new Date().toISOString();
    const source = deployed.deployment.arnOf('gradepushQueue');
    const failure = { kind: 'unavailable', message: 'no answer', remedy: 'none', function: 'grade-push' } as const;
    await deployed.stack.sqs.send(
      new SendMessageCommand({
        QueueUrl: deployed.stack.description.deadLetters,
        ...sqsMessageOf({ ...letter, body, source, failure: { ...failure, attempts: 9, firstAt: at, lastAt: at } }),
      }),
    );
    await invoke('dead-letter-replay');
    const withoutCredential = (await example('submission-upload')).replace(/"userId":\d+/, '"userId":302');
    await (await deployed.send('submission-upload', laterThan(withoutCredential))).ends();
    await invoke('dead-letter-replay', { filter: { kind: ['missing-credential'] }, dryRun: true });
  },
};

/** The message of a function's example event, with its files where the deployed function may read them. */
async function example(name: string): Promise<string> {
  const event = await eventOf(name);
  return event.Records[0].body.replaceAll('s3://sis-relay-uploads/events/', `s3://${bucket()}/uploads/${name}/`);
}

async function eventOf(name: string) {
  return JSON.parse(await readFile(join(root, 'events', `${name}.json`), 'utf8'));
}

function laterThan(body: string): string {
  const message = JSON.parse(body);
  const time = new Date(Date.parse(message.time) + 1000).toISOString();
  return JSON.stringify({ ...message, id: randomUUID(), time });
}

const bucket = (): string => deployed.deployment.arnOf('Files').split(':').at(-1) ?? '';

async function putFiles(): Promise<void> {
  const s3 = new S3Client({ ...localClient(deployed.stack.description.s3), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: bucket() }));
  const folder = join(root, 'test/local/files');
  for (const file of await readdir(folder))
    for (const name of names)
      await s3.send(
        new PutObjectCommand({
          Bucket: bucket(),
          Key: `uploads/${name}/${file}`,
          Body: await readFile(join(folder, file)),
        }),
      );
  s3.destroy();
}
