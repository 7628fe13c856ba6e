// @module-tag long
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand, SendMessageBatchCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, expect, test } from 'vitest';
import { waitLimitMs } from '../limits.ts';
import { localClient } from './aws.ts';
import { controlsOf, type Effect } from './controls.ts';
import { createFollower } from './play.ts';
import { event } from './scenarios.ts';
import { type Stack, startStack } from './stack.ts';

let stack: Stack;
afterEach(() => stack.close());

const lengthOf = async (url: string | undefined): Promise<number> => {
  const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
  const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: [...AttributeNames] });
  const { Attributes = {} } = await stack.sqs.send(command);
  return AttributeNames.reduce((sum, name) => sum + Number(Attributes[name]), 0);
};

test('400 grades all arrive while a fifth of the requests fails', async () => {
  stack = await startStack({
    functions: ['grade-push'],
    containersPerFunction: 4,
    visibilitySeconds: 30,
    settings: { WAIT_MAXIMUM_SECONDS: '2' },
  });
  const controls = controlsOf(stack.description);
  const users = Array.from({ length: 400 }, (_, at) => 10_001 + at);
  await controls.seed({ users: users.map((userId) => ({ userId })) });
  const effects: Effect[] = [
    { status: 503 },
    { reset: 'before' },
    { reset: 'after' },
    { truncate: true },
    { delayMs: 2_000 },
  ];
  const probability = 1 - 0.8 ** (1 / effects.length);
  const times = 1_000_000;
  for (const [at, effect] of effects.entries())
    await controls.fault(effect, { path: '/values/', times, probability, seed: at + 1 });

  // Every third message leaves a comment out, so that it is read first; every seventh grade is 0.
  const grades = users.map((userId, at) => ({
    userId,
    points: at % 7 === 0 ? 0 : at / 8,
    comments: `comment ${at}`,
    ...(at % 3 === 0 ? {} : { privateComments: `private ${at}` }),
  }));
  const bodies = grades.map(({ points, ...rest }) =>
    event('grade-push', {
      orgUnitId: 2001,
      gradeObjectId: 5001,
      grade: { type: 'numeric', points },
      ...rest,
    }),
  );
  const QueueUrl = stack.description.queues['grade-push'];
  for (let from = 0; from < bodies.length; from += 10) {
    const Entries = bodies.slice(from, from + 10).map((MessageBody, at) => ({ Id: String(at), MessageBody }));
    await stack.sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  }
  await expect.poll(() => lengthOf(QueueUrl), { timeout: waitLimitMs, interval: 250 }).toBe(0);

  const held = (await controls.state()).gradeValues ?? [];
  const told = held.map(({ userId, pointsNumerator, comments, privateComments }) => ({
    ...{ userId, points: pointsNumerator, comments, privateComments },
  }));
  const text = (content = '') => ({ content, type: 'Text' });
  const sent = grades.map(({ comments, privateComments, ...grade }) => ({
    ...{ ...grade, comments: text(comments), privateComments: text(privateComments) },
  }));
  const byUser = (one: { userId: unknown }, other: { userId: unknown }) =>
    Number(one.userId) - Number(other.userId);
  expect(told.sort(byUser)).toEqual(sent);
  expect(await lengthOf(stack.description.deadLetters)).toBe(0);

  const requests = await controls.requests();
  const refused = requests.filter(
    ({ method, status }) =>
      status !== null && status >= 400 && status < 500 && !(method === 'GET' && status === 404),
  );
  expect(refused).toEqual([]);
  const faults = (await controls.faults()).map(({ left }) => times - left);
  const share = faults.reduce((sum, met) => sum + met, 0) / requests.length;
  expect(Math.min(...faults)).toBeGreaterThan(8);
  expect(share).toBeGreaterThan(0.15);
  expect(share).toBeLessThan(0.25);
});

const megabyte = 1_000_000;

test.skipIf(process.platform !== 'linux')(
  'a submission of 200 MB uploads with under 64 MB of memory growth',
  async () => {
    const follower = createFollower();
    stack = await startStack({
      functions: ['submission-upload'],
      containersPerFunction: 1,
      onLog: follower.onLog,
      settings: { ATTEMPT_TIMEOUT_MS: '60000', FILE_TIMEOUT_MS: '30000' },
      functionTimeoutMs: 90_000,
      visibilitySeconds: 100,
    });
    const s3 = new S3Client({ ...localClient(stack.description.s3), forcePathStyle: true });
    const submit = async (name: string, bytes: number) => {
      const { bucket: Bucket, queues } = stack.description;
      const Body = Buffer.alloc(bytes, `${name} `);
      await s3.send(new PutObjectCommand({ Bucket, Key: name, Body }));
      const files = [{ uri: `s3://${Bucket}/${name}`, name, contentType: 'video/mp4' }];
      const data = { orgUnitId: 2001, folderId: 7001, userId: 301, files };
      const { MessageId = '' } = await stack.sqs.send(
        new SendMessageCommand({
          QueueUrl: queues['submission-upload'],
          MessageBody: event('submission-upload', data),
        }),
      );
      expect((await follower.follow(MessageId, name).end.promise).outcome).toBe('done');
      return { name, contentType: 'video/mp4', bytes, sha256: sha256(Body) };
    };

    const warm = await submit('warm-up.mp4', 10 * megabyte);
    const [{ pid } = { pid: 0 }] = stack.lambda?.containers('submission-upload') ?? [];
    const before = await memoryOf(pid);
    // From now on its peak is that of the large upload.
    await writeFile(`/proc/${pid}/clear_refs`, '5');
    const large = await submit('large.mp4', 200 * megabyte);
    const after = await memoryOf(pid);
    s3.destroy();

    const { submissions } = await controlsOf(stack.description).state();
    expect(submissions).toMatchObject([{ files: [warm] }, { files: [large] }]);
    expect((after.peak - before.current) / megabyte).toBeLessThan(64);
  },
  120_000,
);

/** In bytes. */
async function memoryOf(pid: number): Promise<{ current: number; peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const [current = 0, peak = 0] = ['VmRSS', 'VmHWM'].map(
    (name) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024,
  );
  return { current, peak };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
