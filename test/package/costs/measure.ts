import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { parseMessage } from '../../../lib/message/message.ts';
import { integrationNamed } from '../../../lib/stage/integrations.ts';
import { localClient } from '../../local/aws/aws.ts';
import { bytesOf } from '../../local/aws/tables.ts';
import { controlsOf } from '../../local/controls.ts';
import { recordOf } from '../../local/examples.ts';
import { keyOf } from '../../local/stack.ts';
import { useOf } from '../../peak-memory.ts';
import { type Deployed, deployLocally } from '../deployed/deployed.ts';
import type { Packaged } from '../packaged.ts';

const latencyMs = 200;
const batches = 25;
const warmUps = 5;
const course = 2001;
const firstUser = 10_000;

/** What batches of a packaged function took in the local Lambda: times by batch, all else by message. */
export type Measured = {
  title: string;
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
  /** Of the ledger. */
  writes: number;
  secretReads: number;
  fileReads: number;
  logBytes: number;
  logLines: number;
  /** Of the ledger's item, as DynamoDB counts it. */
  itemBytes: number;
};

/** `data` is what a message about this user carries. */
type Row = Pick<Measured, 'title' | 'function' | 'batchSize'> & {
  data(userId: number, bucket: string): object;
};

const gradeOf = (userId: number) => ({
  orgUnitId: course,
  gradeObjectId: 5001,
  userId,
  grade: { type: 'numeric', points: 8.5 },
  comments: 'A clear argument.',
});
const wholeGrade = {
  title: '`grade-push`, both comments given',
  function: 'grade-push',
  data: (userId: number) => ({ ...gradeOf(userId), privateComments: '' }),
};
const rows: Row[] = [
  { ...wholeGrade, batchSize: 50 },
  { ...wholeGrade, batchSize: 10 },
  { ...wholeGrade, batchSize: 1 },
  { title: '`grade-push`, a comment left out', function: 'grade-push', batchSize: 50, data: gradeOf },
  {
    title: '`enrollment-create`',
    function: 'enrollment-create',
    batchSize: 50,
    data: (userId) => ({ orgUnitId: course, userId, roleId: 110 }),
  },
  {
    title: '`submission-upload`',
    function: 'submission-upload',
    batchSize: 2,
    data: (userId, bucket) => ({
      orgUnitId: course,
      folderId: 7001,
      userId,
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
    batchSize: 2,
    data: (userId, bucket) => ({
      userId,
      file: { uri: `s3://${bucket}/uploads/profile-image-update/portrait.png`, contentType: 'image/png' },
    }),
  },
];
/** No two rows share a user, so that the ledger knows nothing of a message's resource. */
const users = rows.reduce((sum, { batchSize }) => sum + batchSize * (batches + warmUps), 0);

/** Batches through the packaged functions in the local Lambda, at a platform that takes its time. */
export async function measure(packaged: Packaged): Promise<Measured[]> {
  const deployed = await deployLocally(packaged, { change: { maximumConcurrency: 1 } });
  try {
    const bucket = await prepare(deployed);
    const measured: Measured[] = [];
    let from = firstUser;
    for (const row of rows) {
      measured.push(await measureRow(deployed, { row, from, bucket }));
      from += row.batchSize * (batches + warmUps);
    }
    return measured;
  } finally {
    await deployed.close();
  }
}

async function measureRow(
  deployed: Deployed,
  { row, from, bucket }: { row: Row; from: number; bucket: string },
): Promise<Measured> {
  const { title, function: name, batchSize, data } = row;
  let body = '';
  const bodyOf = (userId: number): string => {
    body = JSON.stringify({
      specversion: '1.0',
      id: randomUUID(),
      source: 'https://sis.example.edu/outbox',
      type: `sis.${name}.v1`,
      time: new Date().toISOString(),
      data: data(userId, bucket),
    });
    return body;
  };
  const deliver = async (batch: number): Promise<number> => {
    const first = from + batch * batchSize;
    const Records = Array.from({ length: batchSize }, (_, at) => recordOf(name, bodyOf(first + at)));
    const startMs = performance.now();
    const result = await deployed.lambda.invoke(name, { Records });
    if (!result.ok || JSON.stringify(result.payload) !== '{"batchItemFailures":[]}')
      throw new Error(`${name}: ${JSON.stringify(result)}\n${deployed.lines.slice(-5).join('\n')}`);
    return performance.now() - startMs;
  };
  for (let batch = 0; batch < warmUps; batch += 1) await deliver(batch);
  const controls = controlsOf(deployed.stack.description);
  const now = async () => ({
    lines: deployed.lines.length,
    requests: (await controls.requests()).length,
    calls: deployed.callsOf(name).length,
    use: useOf(deployed.lambda.containers(name)[0]?.pid ?? 0),
  });
  const before = await now();
  const walls: number[] = [];
  for (let batch = warmUps; batch < warmUps + batches; batch += 1) walls.push(await deliver(batch));
  const after = await now();
  const messages = batches * batchSize;
  const lines = deployed.lines.slice(before.lines);
  const callsOf = (...names: string[]): number =>
    deployed
      .callsOf(name)
      .slice(before.calls)
      // The pace is written by the minute, and not by the message.
      .filter(({ context }) => !context?.['dynamodb:LeadingKeys']?.startsWith('pace/'))
      .filter(({ action }) => names.includes(action)).length / messages;
  return {
    title,
    function: name,
    batchSize,
    messageBytes: Buffer.byteLength(body),
    memoryMb: deployed.functions[name]?.memoryMb ?? 0,
    wallMs: Math.round(walls.toSorted((one, other) => one - other)[Math.floor(batches / 2)] ?? 0),
    cpuMs: Math.round((after.use.cpuMs - before.use.cpuMs) / batches),
    peakMb: Math.round(after.use.peakBytes / 1024 ** 2),
    requests: rounded((after.requests - before.requests) / messages),
    writes: rounded(callsOf('dynamodb:UpdateItem', 'dynamodb:PutItem')),
    secretReads: rounded(callsOf('secretsmanager:GetSecretValue')),
    fileReads: rounded(callsOf('s3:GetObject')),
    logBytes: Math.round(lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) / messages),
    logLines: rounded(lines.length / messages),
    itemBytes: await itemBytesOf(deployed, { name, body }),
  };
}

const rounded = (count: number): number => Math.round(count * 1000) / 1000;

async function itemBytesOf({ stack }: Deployed, message: { name: string; body: string }): Promise<number> {
  const { dynamodb, table } = stack.description;
  const integration = await integrationNamed(message.name);
  if (integration === undefined) throw new Error(`There is no integration ${message.name}`);
  const parsed = parseMessage(message.body, integration, Date.now());
  const resource = { S: integration.resource(parsed.data, parsed) };
  const client = new DynamoDBClient(localClient(dynamodb));
  const { Item } = await client.send(new GetItemCommand({ TableName: table, Key: { resource } }));
  client.destroy();
  if (Item === undefined) throw new Error(`The ledger has no item of ${resource.S}`);
  return bytesOf(Item);
}

async function prepare({ stack, deployment }: Deployed): Promise<string> {
  const controls = controlsOf(stack.description);
  const ids = Array.from({ length: users }, (_, at) => firstUser + at);
  await controls.seed({
    users: ids.map((userId) => ({ userId })),
    enrollments: ids.map((userId) => ({ orgUnitId: course, userId, roleId: 110 })),
  });
  // Those of the rows behind the large batches, which sign themselves.
  for (const userId of ids.slice(-4 * (batches + warmUps)))
    await controls.secret(`sis-relay/local/users/${userId}`, keyOf(userId));
  await controls.fault({ delayMs: latencyMs }, { path: '/svc/api/', times: 1_000_000 });
  const s3 = new S3Client({ ...localClient(stack.description.s3), forcePathStyle: true });
  const Bucket = deployment.arnOf('Files').split(':').at(-1) ?? '';
  await s3.send(new CreateBucketCommand({ Bucket }));
  const files = {
    'submission-upload/essay.pdf': Buffer.alloc(1024 ** 2, 'essay'),
    'profile-image-update/portrait.png': readFileSync(
      join(import.meta.dirname, '../../local/files/portrait.png'),
    ),
  };
  for (const [name, Body] of Object.entries(files))
    await s3.send(new PutObjectCommand({ Bucket, Key: `uploads/${name}`, Body }));
  s3.destroy();
  return Bucket;
}
