import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { parseMessage } from '../../../lib/message/message.ts';
import { integrationNamed } from '../../../lib/operate/stage/integrations.ts';
import { localClient } from '../../local/aws/aws.ts';
import { bytesOf } from '../../local/aws/tables.ts';
import { controlsOf } from '../../local/controls.ts';
import { recordOf } from '../../local/examples.ts';
import { keyOf } from '../../local/stack.ts';
import { useOf } from '../../peak-memory.ts';
import { type Deployed, deployLocally } from '../deployed/deployed.ts';
import type { Packaged } from '../packaged.ts';

export const latencyMs = 200;
const batches = 25;
const warmUps = 5;
/** About as many users. */
const mostMessages = (50 + 50 + 10 + 1) * (batches + warmUps);
const course = 2001;
const picture = readFileSync(join(resolve(import.meta.dirname, '../../local/files'), 'portrait.png'));

/** What whole batches of a packaged function took in the local Lambda: times by batch, all else by message. */
export type MeasuredFunction = {
  function: string;
  batchSize: number;
  /** As SQS counts them. */
  messageBytes: number;
  memoryMb: number;
  wallMs: number;
  cpuMs: number;
  /** The most memory that the container's process took. */
  peakMb: number;
  /** Of the platform. */
  requests: number;
  /** Of AWS, by the action that each takes. */
  calls: Record<string, number>;
  logBytes: number;
  logLines: number;
  /** Of the ledger's item, as DynamoDB counts it. */
  itemBytes: number;
};

type Kind = {
  title: string;
  function: string;
  /** What a message about this user carries. */
  data(userId: number, bucket: string): object;
};

const grade = (userId: number) => ({
  ...{ orgUnitId: course, gradeObjectId: 5001, userId },
  ...{ grade: { type: 'numeric', points: 8.5 }, comments: 'A clear argument.' },
});
const wholeGrade: Kind = {
  title: '`grade-push`, both comments given',
  function: 'grade-push',
  data: (userId) => ({ ...grade(userId), privateComments: '' }),
};
const kinds: Kind[] = [
  wholeGrade,
  { title: '`grade-push`, a comment left out', function: 'grade-push', data: grade },
  {
    title: '`enrollment-create`',
    function: 'enrollment-create',
    data: (userId) => ({ orgUnitId: course, userId, roleId: 110 }),
  },
  {
    title: '`submission-upload`',
    function: 'submission-upload',
    data: (userId, bucket) => ({
      ...{ orgUnitId: course, folderId: 7001, userId },
      files: [
        {
          uri: `s3://${bucket}/uploads/submission-upload/essay.pdf`,
          name: 'essay.pdf',
          contentType: 'application/pdf',
        },
      ],
    }),
  },
  {
    title: '`profile-image-update`',
    function: 'profile-image-update',
    data: (userId, bucket) => ({
      userId,
      file: { uri: `s3://${bucket}/uploads/profile-image-update/portrait.png`, contentType: 'image/png' },
    }),
  },
];
const partialBatches = [10, 1];

/** Batches through the packaged functions in the local Lambda, at a platform that takes its time. */
export async function measure(packaged: Packaged) {
  const deployed = await deployLocally(packaged, { change: { maximumConcurrency: 1 } });
  try {
    await prepare(deployed);
    const functions: Record<string, MeasuredFunction> = {};
    for (const kind of kinds)
      functions[kind.title] = await measureOne(deployed, { ...kind, batchSize: fullBatch(deployed, kind) });
    const partial: MeasuredFunction[] = [];
    for (const batchSize of partialBatches)
      partial.push(await measureOne(deployed, { ...wholeGrade, batchSize }));
    return { functions, partial };
  } finally {
    await deployed.close();
  }
}

const fullBatch = ({ deployment }: Deployed, kind: Kind): number =>
  deployment
    .ofType('AWS::Lambda::EventSourceMapping')
    .find(({ EventSourceArn }) => EventSourceArn.endsWith(`-${kind.function}`))?.BatchSize;

async function measureOne(
  deployed: Deployed,
  { function: name, data, batchSize }: Kind & { batchSize: number },
): Promise<MeasuredFunction> {
  // The ledger knows nothing of them yet.
  const from = nextUser.get(name) ?? firstUser;
  nextUser.set(name, from + (warmUps + batches) * batchSize);
  let body = '';
  const bodyOf = (userId: number): string => {
    body = JSON.stringify({
      ...{ specversion: '1.0', id: randomUUID(), source: 'https://sis.example.edu/outbox' },
      ...{ type: `sis.${name}.v1`, time: new Date().toISOString() },
      data: data(userId, bucketOf(deployed)),
    });
    return body;
  };
  const eventOf = (batch: number) => ({
    Records: Array.from({ length: batchSize }, (_, at) =>
      recordOf(name, bodyOf(from + batch * batchSize + at)),
    ),
  });
  for (let batch = 0; batch < warmUps; batch += 1) await deployed.lambda.invoke(name, eventOf(batch));
  const pid = deployed.lambda.containers(name)[0]?.pid ?? 0;
  const controls = controlsOf(deployed.stack.description);
  const [linesBefore, requestsBefore] = [deployed.lines.length, (await controls.requests()).length];
  const callsBefore = deployed.callsOf(name).length;
  const before = useOf(pid);
  const walls: number[] = [];
  for (let batch = warmUps; batch < warmUps + batches; batch += 1) {
    const startMs = performance.now();
    const result = await deployed.lambda.invoke(name, eventOf(batch));
    walls.push(performance.now() - startMs);
    if (!result.ok || JSON.stringify(result.payload) !== '{"batchItemFailures":[]}')
      throw new Error(`${name}: ${JSON.stringify(result)}\n${deployed.lines.slice(-5).join('\n')}`);
  }
  const used = useOf(pid);
  const messages = batches * batchSize;
  const lines = deployed.lines.slice(linesBefore);
  const calls: Record<string, number> = {};
  for (const { action, context } of deployed.callsOf(name).slice(callsBefore)) {
    // It is written by the minute, and not by the message.
    if (context?.['dynamodb:LeadingKeys']?.startsWith('pace/')) continue;
    calls[action] = (calls[action] ?? 0) + 1 / messages;
  }
  return {
    function: name,
    batchSize,
    messageBytes: Buffer.byteLength(body),
    memoryMb: deployed.functions[name]?.memoryMb ?? 0,
    wallMs: Math.round(walls.toSorted((one, other) => one - other)[Math.floor(batches / 2)] ?? 0),
    cpuMs: Math.round((used.cpuMs - before.cpuMs) / batches),
    peakMb: Math.round(used.peakBytes / 1024 ** 2),
    requests: rounded(((await controls.requests()).length - requestsBefore) / messages),
    calls: Object.fromEntries(Object.entries(calls).map(([action, count]) => [action, rounded(count)])),
    logBytes: Math.round(lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) / messages),
    logLines: rounded(lines.length / messages),
    itemBytes: await itemBytesOf(deployed, { name, body }),
  };
}

async function itemBytesOf({ stack }: Deployed, message: { name: string; body: string }): Promise<number> {
  const { dynamodb, table } = stack.description;
  const integration = await integrationNamed(message.name);
  if (integration === undefined) throw new Error(`There is no integration ${message.name}`);
  const parsed = parseMessage(message.body, integration, Date.now());
  const client = new DynamoDBClient(localClient(dynamodb));
  const resource = { S: integration.resource(parsed.data, parsed) };
  const { Item } = await client.send(new GetItemCommand({ TableName: table, Key: { resource } }));
  client.destroy();
  if (Item === undefined) throw new Error(`The ledger has no item of ${resource.S}`);
  return bytesOf(Item);
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
const firstUser = 10_000;
const nextUser = new Map<string, number>();

const bucketOf = ({ deployment }: Deployed): string => deployment.arnOf('Files').split(':').at(-1) ?? '';

async function createBucket(deployed: Deployed) {
  const s3 = new S3Client({ ...localClient(deployed.stack.description.s3), forcePathStyle: true });
  const Bucket = bucketOf(deployed);
  await s3.send(new CreateBucketCommand({ Bucket }));
  return { s3, Bucket };
}

async function prepare(deployed: Deployed): Promise<void> {
  const controls = controlsOf(deployed.stack.description);
  const users = Array.from({ length: mostMessages }, (_, at) => ({ userId: firstUser + at }));
  await controls.seed({
    users,
    enrollments: users.map(({ userId }) => ({ orgUnitId: course, userId, roleId: 110 })),
  });
  for (const { userId } of users.slice(0, 2 * (batches + warmUps)))
    await controls.secret(`sis-relay/local/users/${userId}`, keyOf(userId));
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
