import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  CreateBucketCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { ownVersion } from '../../lib/stage/version.ts';
import { createQueue, localClient, localRegion, startQueuesAndFiles } from './aws/aws.ts';
import { startSecretsManager } from './aws/secrets-manager.ts';
import { startTables } from './aws/tables.ts';
import { type DurableExecutions, startDurableExecutions } from './lambda/durable-executions.ts';
import { mapQueue } from './lambda/event-source-mapping.ts';
import { type Lambda, startLambda } from './lambda/lambda.ts';
import { startPlatform } from './platform/server.ts';

/** Where everything is: what `npm run local` prints and writes down. */
export type StackDescription = {
  platform: string;
  sqs: string;
  s3: string;
  secretsManager: string;
  dynamodb: string;
  /** Where functions are invoked, their queues are switched off and on, and durable ones keep what they have done. */
  lambda: string;
  region: string;
  queues: Record<string, string>;
  deadLetters: string;
  bucket: string;
  table: string;
  /** What operators see of letters and of messages that wait. */
  deskTable: string;
  /** Which names of the SIS stand for which ids of the platform. */
  crosswalkTable: string;
  /** The service's secret, what a user's id is put behind, and the one that keys the ledger's digests. */
  secrets: { service: string; userPrefix: string; ledgerKey: string };
  /** Those of the code that the functions run. */
  version: string;
  commit: string | undefined;
  /** After so long, a message whose function died is handed out again. */
  visibilitySeconds: number;
};

export type Stack = {
  description: StackDescription;
  sqs: SQSClient;
  /** Without HTTP, for who is in this process; S3 tells no function of what is put by it. */
  s3: S3Client;
  /** What is on the queues, with its ids and times. */
  queues: Awaited<ReturnType<typeof startQueuesAndFiles>>['queues'];
  /** Undefined without functions. */
  lambda: Lambda | undefined;
  executions: DurableExecutions;
  close(): Promise<void>;
};

export type StackOptions = {
  /** Which of them have processes that poll their queues; default: all. */
  functions?: boolean | readonly string[];
  /** What runs them; default: Lambda, with a process for each concurrent invocation. */
  lambda?(description: StackDescription, settings?: Record<string, string>): Lambda;
  /** Over the local settings, for every function. */
  settings?: Record<string, string>;
  /** The key of the ledger's digests; default: one of its own. */
  ledgerKey?: string | undefined;
  /** Where the code lies, sources or bundles. */
  taskRoot?: string;
  functionTimeoutMs?: number;
  visibilitySeconds?: number;
  containersPerFunction?: number;
  durable?: Parameters<typeof startDurableExecutions>[0];
  /** Whether S3 tells of new objects: snapshot-import, and the queues; default: yes. */
  notices?: boolean;
  onLog?(functionName: string, line: string): void;
  onError?(error: Error): void;
};

const prefix = 'sis-relay/local';
const bucket = 'sis-relay-uploads';
const table = 'sis-relay-local-ledger-by-resource';
const deskTable = 'sis-relay-local-desk';
const crosswalkTable = 'sis-relay-local-crosswalk';
// Named as CloudFormation names one that is given no name.
const ledgerKey = 'LedgerKey';
const root = resolve(import.meta.dirname, '../..');
const day = 24 * 3600;

/** A user's credential, as a secret holds it. */
export const keyOf = (userId: number, userKey = `local-key-${userId}`) => ({
  type: 'id-key',
  appId: 'local-app',
  appKey: 'local-app-key',
  userId: String(userId),
  userKey,
});

/** The whole of sis-relay on this machine: AWS by emulators, the local platform, and each function in its own processes. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const [platform, aws, secretsManager, dynamodb, executions] = await Promise.all([
    startPlatform(),
    startQueuesAndFiles(),
    startSecretsManager({
      [`${prefix}/service`]: keyOf(100),
      // User 302 has none, so that a submission of hers cannot be sent.
      [`${prefix}/users/301`]: keyOf(301),
      [`${prefix}/users/303`]: keyOf(303),
      [`${prefix}/lti-links/9001`]: { key: 'local-key', plainSecret: 'local-secret' },
      [ledgerKey]: options.ledgerKey ?? randomBytes(32).toString('hex'),
    }),
    startTables(table, deskTable, crosswalkTable),
    startDurableExecutions(options.durable),
  ]);
  const sqs = new SQSClient(localClient(aws.url));
  await putFiles(aws.files);
  const { visibilitySeconds = 60 } = options;
  const deadLetters = await createQueue(sqs, 'sis-relay-local-dead-letters', {
    MessageRetentionPeriod: String(14 * day),
  });
  const queueOf = async (name: string) => {
    const queue = await createQueue(sqs, `sis-relay-local-${name}`, {
      VisibilityTimeout: String(visibilitySeconds),
      MessageRetentionPeriod: String(14 * day),
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: deadLetters.arn, maxReceiveCount: 500 }),
    });
    return { name, ...queue };
  };
  const queues = await Promise.all((await integrationNames()).map(queueOf));

  const description: StackDescription = {
    platform: platform.url,
    sqs: aws.url,
    s3: aws.url,
    secretsManager: secretsManager.url,
    dynamodb: dynamodb.url,
    lambda: executions.url,
    region: localRegion,
    queues: Object.fromEntries(queues.map(({ name, url }) => [name, url])),
    deadLetters: deadLetters.url,
    bucket,
    table,
    deskTable,
    crosswalkTable,
    secrets: { service: `${prefix}/service`, userPrefix: `${prefix}/users/`, ledgerKey },
    visibilitySeconds,
    ...ownVersion(),
  };

  const { functions = true, onError = () => {}, containersPerFunction = 2 } = options;
  const lambda =
    functions === false
      ? undefined
      : (options.lambda?.(description, options.settings) ??
        (await startFunctions(description, { ...options, executions })));
  if (lambda) executions.serve(lambda.invoke);
  // As the template has it, though snapshots by EventBridge: the function ignores what is neither a zip nor a table.
  if (lambda && options.notices !== false)
    aws.onObject((notice) => {
      const { bucket: told, object } = notice.s3;
      if (told.name !== bucket) return;
      const notices = { Records: [notice] };
      if (object.key.startsWith('snapshots/')) lambda.invoke('snapshot-import', notices).catch(onError);
      const queue = queues.find(({ name }) => object.key.startsWith(`events/${name}/`));
      if (queue)
        sqs
          .send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: JSON.stringify(notices) }))
          .catch(onError);
    });
  const polled = typeof functions === 'boolean' ? queues.map(({ name }) => name) : functions;
  // Each of them holds a connection all the time: with those of a shared client they would keep it from all others.
  const polling = new SQSClient({
    ...localClient(aws.url),
    requestHandler: { httpAgent: { maxSockets: 1_000 } },
  });
  for (const { name, url, arn } of queues)
    if (lambda !== undefined && polled.includes(name))
      executions.mappings.add({
        functionName: `sis-relay-local-${name}`,
        queueArn: arn,
        batchSize: 50,
        start: () =>
          mapQueue({
            sqs: polling,
            queueUrl: url,
            queueArn: arn,
            batchSize: 50,
            pollers: containersPerFunction,
            invoke: (event) => lambda.invoke(name, event),
            onError,
          }),
      });
  return {
    description,
    sqs,
    s3: aws.files,
    queues: aws.queues,
    lambda,
    executions,
    close: async () => {
      // What is being handled is finished first: else it would lie hidden until its visibility ends.
      await executions.mappings.stop();
      await Promise.all([lambda?.close(), executions.close()]);
      sqs.destroy();
      polling.destroy();
      await Promise.all([platform, aws, secretsManager, dynamodb].map((server) => server.close()));
    },
  };
}

/** The environment of a function, as a deployment would give it, with short waits. */
export const settingsOf = (description: StackDescription, name: string): Record<string, string> => ({
  ...settingsAsDeployed(description, name),
  LEDGER_GRACE_SECONDS: '2',
  QUEUE_BACKLOG_SECONDS: '5',
  PLATFORM_HEADERS_TIMEOUT_MS: '2000',
  PLATFORM_BODY_TIMEOUT_MS: '2000',
  ATTEMPT_TIMEOUT_MS: '6000',
  RESERVE_MS: '2000',
  WAIT_MINIMUM_SECONDS: '1',
  WAIT_MAXIMUM_SECONDS: '4',
});

/** With the waits that a function has where it is deployed: for those who let time pass without waiting. */
export const settingsAsDeployed = (description: StackDescription, name: string): Record<string, string> => ({
  AWS_REGION: description.region,
  AWS_ACCESS_KEY_ID: 'local',
  AWS_SECRET_ACCESS_KEY: 'local',
  AWS_ENDPOINT_URL_SECRETS_MANAGER: description.secretsManager,
  AWS_ENDPOINT_URL_S3: description.s3,
  AWS_ENDPOINT_URL_SQS: description.sqs,
  AWS_ENDPOINT_URL_DYNAMODB: description.dynamodb,
  AWS_ENDPOINT_URL_LAMBDA: description.lambda,
  PLATFORM_URL: description.platform,
  SECRET_PREFIX: prefix,
  QUEUE_URL: description.queues[name] ?? '',
  DEAD_LETTER_QUEUE_URL: description.deadLetters,
  LEDGER_TABLE: description.table,
  DESK_TABLE: description.deskTable,
  CROSSWALK_TABLE: description.crosswalkTable,
  LETTERS_BUCKET: description.bucket,
  EVENTS_BUCKET: description.bucket,
  CHANGES_BUCKET: description.bucket,
  LEDGER_KEY_SECRET: description.secrets.ledgerKey,
  QUEUE_VISIBILITY_SECONDS: String(description.visibilitySeconds),
  EXPORT_BUCKET: description.bucket,
  CROSSWALK_BUCKET: description.bucket,
  SNAPSHOT_BUCKET: description.bucket,
  RECONCILE_BUCKET: description.bucket,
  RECONCILE_SAMPLE: '100',
  RECONCILE_NIGHTS: '2',
  // Before the local engine ends the execution.
  RECONCILE_LONGEST_HOURS: '0.15',
  SIS_RELAY_BUCKET: description.bucket,
});

type FunctionsOptions = StackOptions & { executions: DurableExecutions };

/** As the function is deployed. */
function memoryMbIn(template: string, name: string): number {
  const own = new RegExp(`^  ${name}:\\n(?:    .*\\n)*?    memorySize: (\\d+)`, 'm').exec(template);
  return Number((own ?? /^ {2}memorySize: (\d+)/m.exec(template))?.[1]);
}

async function startFunctions(description: StackDescription, options: FunctionsOptions): Promise<Lambda> {
  const {
    taskRoot = root,
    functionTimeoutMs = 20_000,
    containersPerFunction = 2,
    onLog,
    executions,
  } = options;
  const durable = await durableNames();
  const template = await readFile(join(root, 'serverless.yml'), 'utf8');
  // Also those that no queue triggers: they wait to be invoked.
  const functions = (await eventNames()).map((name) => [
    name,
    {
      handler: `functions/${name}.handler`,
      taskRoot,
      env: { ...settingsOf(description, name), ...options.settings },
      // Those that no queue triggers have longer work to do.
      timeoutMs: name in description.queues ? functionTimeoutMs : 6 * functionTimeoutMs,
      memoryMb: memoryMbIn(template, name),
      maximumConcurrency: containersPerFunction,
      ...(durable.includes(name) && { durable: durableOptionsOf(name) }),
    },
  ]);
  return startLambda({
    functions: Object.fromEntries(functions),
    executions,
    ...(onLog && { onLog }),
  });
}

/** The functions that a queue triggers: those whose example event comes from one. */
export async function integrationNames(): Promise<string[]> {
  const names = await eventNames();
  const triggered = await Promise.all(
    names.map(async (name) => {
      const event = JSON.parse(await readFile(join(root, 'events', `${name}.json`), 'utf8'));
      return event.Records?.[0]?.eventSource === 'aws:sqs';
    }),
  );
  return names.filter((_, at) => triggered[at]);
}

/** A whole execution, its waits included, ends within this time: as deployed, the longest wait is that for a person's approval. */
export const durableOptionsOf = (name: string) => ({
  functionArn: `arn:aws:lambda:${localRegion}:000000000000:function:${name}`,
  executionTimeoutMs: 14 * 24 * 3_600_000,
});

/** The functions that are deployed as durable ones. */
async function durableNames(): Promise<string[]> {
  const stanzas = (await readFile(join(root, 'serverless.yml'), 'utf8')).split(/^ {2}(?=[\w-]+:$)/m);
  return stanzas.filter((each) => /^ {4}durableConfig:/m.test(each)).map((each) => each.split(':')[0] ?? '');
}

/** Of every function there is an example event. */
async function eventNames(): Promise<string[]> {
  const files = await readdir(join(root, 'events'));
  return files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -5));
}

/** The files that the example events name. */
async function putFiles(s3: S3Client): Promise<void> {
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  const VersioningConfiguration = { Status: 'Enabled' } as const;
  await s3.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration }));
  const folder = join(import.meta.dirname, 'files');
  for (const name of await readdir(folder))
    await s3.send(
      new PutObjectCommand({
        Bucket: bucket,
        Key: `events/${name}`,
        Body: await readFile(join(folder, name)),
      }),
    );
}
