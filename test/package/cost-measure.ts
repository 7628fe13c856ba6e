import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { localClient } from '../local/aws.ts';
import { controlsOf } from '../local/controls.ts';
import { eventOf } from '../local/examples.ts';
import type { MeasuredFunction } from './cost.ts';
import { type Deployed, deployLocally } from './deployed.ts';
import { packagedProject } from './packaged.ts';

export const latencyMs = 200;
const batches = 25;
const warmUps = 5;
const course = 2001;
const picture = readFileSync(join(resolve(import.meta.dirname, '../local/files'), 'portrait.png'));

/** What one message of each kind carries; each is about a user of its own. */
const dataOf: Record<string, (userId: number, bucket: string) => object> = {
  'grade-push': (userId) => ({
    ...{ orgUnitId: course, gradeObjectId: 5001, userId },
    ...{ grade: { type: 'numeric', points: 8.5 }, comments: 'A clear argument.' },
  }),
  'enrollment-create': (userId) => ({ orgUnitId: course, userId, roleId: 110 }),
  'submission-upload': (userId, bucket) => ({
    ...{ orgUnitId: course, folderId: 7001, userId },
    files: [
      {
        uri: `s3://${bucket}/uploads/submission-upload/essay.pdf`,
        name: 'essay.pdf',
        contentType: 'application/pdf',
      },
    ],
  }),
  'profile-image-update': (userId, bucket) => ({
    userId,
    file: { uri: `s3://${bucket}/uploads/profile-image-update/portrait.png`, contentType: 'image/png' },
  }),
};

/** Whole batches through the packaged functions in the local Lambda, at a platform that takes its time. */
export async function measure(): Promise<Record<string, MeasuredFunction>> {
  const deployed = await deployLocally(await packagedProject(), { change: { maximumConcurrency: 1 } });
  try {
    await prepare(deployed);
    const measured: Record<string, MeasuredFunction> = {};
    for (const name of Object.keys(dataOf)) measured[name] = await measureOne(deployed, name);
    return measured;
  } finally {
    await deployed.close();
  }
}

/** What the functions on schedule write while all is well, in so many metrics. */
export async function measureSchedules(): Promise<Record<string, number>> {
  const deployed = await deployLocally(await packagedProject());
  try {
    await createBucket(deployed);
    const counts: Record<string, number> = {};
    for (const name of ['token-refresh', 'connection-check', 'dead-letter-replay', 'course-export']) {
      const before = deployed.lines.length;
      const result = await deployed.lambda.invoke(name, await eventOf('dead-letter-replay'));
      if (!result.ok) throw new Error(`${name}: ${JSON.stringify(result)}`);
      counts[name] = new Set(deployed.lines.slice(before).flatMap(seriesIn)).size;
    }
    return counts;
  } finally {
    await deployed.close();
  }
}

async function measureOne(deployed: Deployed, name: string): Promise<MeasuredFunction> {
  const mapping = deployed.deployment
    .ofType('AWS::Lambda::EventSourceMapping')
    .find(({ EventSourceArn }) => EventSourceArn.endsWith(`-${name}`))!;
  const batchSize: number = mapping.BatchSize;
  const eventOf = (batch: number) => ({
    Records: Array.from({ length: batchSize }, (_, at) =>
      recordOf(deployed, { name, userId: firstUser + batch * batchSize + at }),
    ),
  });
  for (let batch = 0; batch < warmUps; batch += 1) await deployed.lambda.invoke(name, eventOf(batch));
  const pid = deployed.lambda.containers(name)[0]?.pid ?? 0;
  const controls = controlsOf(deployed.stack.description);
  const [linesBefore, requestsBefore] = [deployed.lines.length, (await controls.requests()).length];
  const callsBefore = deployed.callsOf(name).length;
  const cpuBefore = cpuMsOf(pid);
  const walls: number[] = [];
  for (let batch = warmUps; batch < warmUps + batches; batch += 1) {
    const startMs = performance.now();
    const result = await deployed.lambda.invoke(name, eventOf(batch));
    walls.push(performance.now() - startMs);
    if (!result.ok || JSON.stringify(result.payload) !== '{"batchItemFailures":[]}')
      throw new Error(`${name}: ${JSON.stringify(result)}\n${deployed.lines.slice(-5).join('\n')}`);
  }
  const messages = batches * batchSize;
  const lines = deployed.lines.slice(linesBefore);
  const calls: Record<string, number> = {};
  for (const { action } of deployed.callsOf(name).slice(callsBefore))
    calls[action] = (calls[action] ?? 0) + 1 / messages;
  return {
    batchSize,
    memoryMb: deployed.functions[name]?.memoryMb ?? 0,
    wallMs: Math.round(walls.toSorted((one, other) => one - other)[Math.floor(batches / 2)] ?? 0),
    cpuMs: Math.round((cpuMsOf(pid) - cpuBefore) / batches),
    requests: rounded(((await controls.requests()).length - requestsBefore) / messages),
    calls: Object.fromEntries(Object.entries(calls).map(([action, count]) => [action, rounded(count)])),
    logBytes: Math.round(lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) / messages),
    logLines: rounded(lines.length / messages),
    metrics: new Set(lines.flatMap(seriesIn)).size,
  };
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
const firstUser = 10_000;

/** The metrics of CloudWatch that a line makes. */
function seriesIn(line: string): string[] {
  if (!line.includes('_aws')) return [];
  type Directive = { Dimensions: string[][]; Metrics: { Name: string }[] };
  const { _aws, ...values } = JSON.parse(line) as { _aws: { CloudWatchMetrics: Directive[] } } & Record<
    string,
    unknown
  >;
  return _aws.CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) =>
    Metrics.flatMap(({ Name }) =>
      Dimensions.map((set) => [Name, ...set.map((each) => values[each])].join(' ')),
    ),
  );
}

/** Linux counts in hundredths of a second. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function recordOf(deployed: Deployed, { name, userId }: { name: string; userId: number }) {
  const body = JSON.stringify({
    ...{ specversion: '1.0', id: randomUUID(), source: 'https://sis.example.edu/outbox' },
    ...{ type: `sis.${name}.v1`, time: new Date().toISOString() },
    data: dataOf[name]?.(userId, bucketOf(deployed)),
  });
  return {
    ...{ messageId: randomUUID(), receiptHandle: 'none', body, messageAttributes: {}, md5OfBody: '' },
    attributes: { ApproximateReceiveCount: '1', SentTimestamp: `${Date.now()}` },
    ...{ eventSource: 'aws:sqs', awsRegion: 'us-east-1' },
    eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:sis-relay-local-${name}`,
  };
}

const bucketOf = ({ deployment }: Deployed): string => deployment.arnOf('Files').split(':').at(-1) ?? '';

async function createBucket(deployed: Deployed) {
  const s3 = new S3Client({ ...localClient(deployed.stack.description.s3), forcePathStyle: true });
  const Bucket = bucketOf(deployed);
  await s3.send(new CreateBucketCommand({ Bucket }));
  return { s3, Bucket };
}

async function prepare(deployed: Deployed): Promise<void> {
  const controls = controlsOf(deployed.stack.description);
  const users = Array.from({ length: 10 * (batches + warmUps) }, (_, at) => ({ userId: firstUser + at }));
  await controls.seed({
    users,
    enrollments: users.map(({ userId }) => ({ orgUnitId: course, userId, roleId: 110 })),
  });
  for (const { userId } of users.slice(0, 2 * (batches + warmUps)))
    await controls.secret(`sis-relay/local/users/${userId}`, {
      ...{ type: 'id-key', appId: 'local-app', appKey: 'local-app-key' },
      ...{ userId: `${userId}`, userKey: `local-key-${userId}` },
    });
  await controls.fault({ delayMs: latencyMs }, { path: '/svc/api/', times: 1_000_000 });
  const { s3, Bucket } = await createBucket(deployed);
  const files = {
    'submission-upload/essay.pdf': Buffer.alloc(1024 ** 2, 'essay'),
    'profile-image-update/portrait.png': picture,
  };
  for (const [name, Body] of Object.entries(files))
    await s3.send(new PutObjectCommand({ Bucket, Key: `uploads/${name}`, Body }));
  s3.destroy();
}
