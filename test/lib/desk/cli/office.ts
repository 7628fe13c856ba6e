import { randomUUID } from 'node:crypto';
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import {
  DeleteMessageBatchCommand,
  type Message,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll } from 'vitest';
import {
  type DeadLetter,
  type LetterFailure,
  sqsMessageOf,
} from '../../../../lib/delivery/letters/dead-letter.ts';
import {
  createLetterIndexWriter,
  type ReceiptOutcome,
} from '../../../../lib/delivery/letters/letter-index-writer.ts';
import { createLetterReader } from '../../../../lib/desk/messages/letters/letter.ts';
import { listLetter, reindexLetters } from '../../../../lib/desk/messages/letters/reindex.ts';
import { createQuickDynamoDb } from '../../../../lib/runtime/aws/dynamodb-quick.ts';
import type { Audit } from '../../../../lib/stage/audit.ts';
import type { Target } from '../../../../lib/stage/target.ts';
import { localClient, startQueuesAndFiles } from '../../../local/aws/aws.ts';
import { addDeskTable, startTables } from '../../../local/aws/tables.ts';

/** A dead-letter queue with the queues around it, and what tests do to them behind the command's back. */
export type Office = Awaited<ReturnType<typeof openOffice>>;

type Server = Omit<Awaited<ReturnType<typeof startServer>>, 'close'>;

/** Queues and files for a test file; each office has queues of its own on them. */
export function officesForTests() {
  let server: Awaited<ReturnType<typeof startServer>>;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.close());
  return { open: () => openOffice(server), url: () => server.url, tables: () => server.tables };
}

/** One for all offices of a server. */
const crosswalkTable = 'sis-relay-crosswalk';

export async function startServer() {
  const [aws, tables] = await Promise.all([
    startQueuesAndFiles(),
    startTables('sis-relay-no-ledger', undefined, crosswalkTable),
  ]);
  const sqs = new SQSClient(localClient(aws.url));
  const s3 = new S3Client({ ...localClient(aws.url), forcePathStyle: true });
  const bucket = 'sis-relay-operators';
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    url: aws.url,
    newQueue: aws.newQueue,
    tables: tables.url,
    sqs,
    s3,
    bucket,
    close: async () => {
      sqs.destroy();
      s3.destroy();
      await Promise.all([aws.close(), tables.close()]);
    },
  };
}

export const functionNames = ['grade-push', 'grade-object-create', 'enrollment-create', 'submission-upload'];

export async function openOffice(
  { url, newQueue, tables, sqs, s3, bucket }: Server,
  settings: Partial<Target> = {},
) {
  const prefix = `sis-relay-${randomUUID().slice(0, 8)}-`;
  const deskTable = `${prefix}desk`;
  await addDeskTable(tables, deskTable);
  const dynamodb = createQuickDynamoDb(localClient(tables));
  const desk = { dynamodb, table: deskTable, nowMs: Date.now };
  const deadLetters = newQueue(`${prefix}dead-letters`);
  const queues = new Map(functionNames.map((name) => [name, newQueue(`${prefix}${name}`)]));
  const queueOf = (name: string) => queues.get(name) ?? { url: '', arn: '' };

  const target: Target = {
    prefix,
    bucket: async () => bucket,
    sqs: async () => sqs,
    s3: async () => s3,
    secretsManager: async () => {
      throw new Error('no secrets here');
    },
    dynamodb,
    deskTable,
    crosswalkTable,
    lambdaOptions: undefined,
    ledgerTable: undefined,
    deadLetterQueueUrl: async () => deadLetters.url,
    queueUrlOf: async (name) => queues.get(name)?.url,
    platform: async () => undefined,
    metricNamespace: 'sis-relay',
    who: 'a test',
    leaseSeconds: 60,
    pollSeconds: 0,
    ...settings,
  };
  const readLetter = createLetterReader(target);
  const audited: Record<string, unknown>[] = [];
  const audit: Audit = {
    begin: async (entry) => {
      audited.push({ audit: 'begin', ...entry });
      return {
        id: randomUUID().slice(0, 8),
        end: async (counts, letters = entry.letters) =>
          void audited.push({ audit: 'end', ...entry, counts, ...(letters && { letters }) }),
      };
    },
  };

  const send = async (queueUrl: string, messages: Sendable[]): Promise<string[]> => {
    const ids: string[] = [];
    for (let from = 0; from < messages.length; from += 10) {
      const Entries = messages.slice(from, from + 10).map((message, at) => ({ Id: String(at), ...message }));
      const { Successful = [] } = await sqs.send(
        new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }),
      );
      ids.push(...Successful.map(({ MessageId = '' }) => MessageId));
    }
    return ids;
  };

  return {
    target,
    audit,
    audited,
    bucket,
    queueOf,
    deadLetters,
    /** Everything about this office as `npm run local` would write it down, for the command in a process of its own. */
    description: (server = url) => ({
      platform: 'http://127.0.0.1:9',
      sqs: server,
      s3: server,
      secretsManager: 'http://127.0.0.1:9',
      region: 'us-east-1',
      bucket,
      queues: Object.fromEntries([...queues].map(([name, each]) => [name, each.url.replace(url, server)])),
      deadLetters: deadLetters.url.replace(url, server),
      dynamodb: server === url ? tables : server,
      deskTable,
      crosswalkTable,
      secrets: { service: 'sis-relay/test/service', userPrefix: 'sis-relay/test/users/' },
    }),
    desk,
    /** Lists what lies in the dead-letter queue. */
    list: () => reindexLetters(target, { signal: never, settleMs: 0 }),
    /** Parks letters, as the functions do, and lists them; answers their ids. */
    park: async (
      letters: (Partial<Omit<DeadLetter, 'failure'>> & {
        function?: string;
        failure?: Partial<LetterFailure> | null;
      })[],
      { list = true } = {},
    ) => {
      const messages = letters.map(({ function: name = 'grade-push', failure, ...letter }) =>
        sqsMessageOf({
          body: eventBody(name),
          source: queueOf(name).arn,
          replays: 0,
          attributes: {},
          ...letter,
          failure: failure === null ? null : { ...failureOf(name, failure?.kind), ...failure },
        }),
      );
      const ids = await send(deadLetters.url, messages);
      if (!list) return ids;
      // Reading the queue costs as much as listing so many by themselves.
      if (ids.length > 20) await reindexLetters(target, { signal: never, settleMs: 0 });
      else
        await Promise.all(
          ids.map(async (MessageId, at) => {
            const { MessageBody: Body, MessageAttributes } = messages[at]!;
            const Attributes = { SentTimestamp: String(Date.now()) };
            await listLetter(desk, await readLetter({ MessageId, Body, MessageAttributes, Attributes }));
          }),
        );
      return ids;
    },
    send,
    /** Takes all messages of a queue away. */
    take: async (queueUrl: string): Promise<Message[]> => {
      const all: Message[] = [];
      for (;;) {
        const { Messages = [] } = await sqs.send(
          new ReceiveMessageCommand({
            QueueUrl: queueUrl,
            MaxNumberOfMessages: 10,
            MessageAttributeNames: ['All'],
            MessageSystemAttributeNames: ['All'],
          }),
        );
        if (Messages.length === 0) return all;
        all.push(...Messages);
        const Entries = Messages.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle }));
        await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
      }
    },
    /** The objects under a prefix, by their keys. */
    objects: async (under: string): Promise<Map<string, string>> => {
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: under }));
      const objects = new Map<string, string>();
      for (const { Key = '' } of Contents) {
        const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key }));
        objects.set(Key, (await Body?.transformToString()) ?? '');
      }
      return objects;
    },
    /** Handles a function's messages: each is done, or parked again with what `fate` answers. */
    work: (
      name: string,
      fate: (message: Message) => Partial<LetterFailure> | undefined = () => undefined,
    ) => {
      const { url, arn } = queueOf(name);
      const notes = createLetterIndexWriter({
        ...desk,
        function: name,
        warn: (text) => Promise.reject(new Error(text)),
      });
      const handled: Message[] = [];
      const ending = new AbortController();
      const working = (async () => {
        while (!ending.signal.aborted) {
          const receive = new ReceiveMessageCommand({
            QueueUrl: url,
            MaxNumberOfMessages: 10,
            MessageAttributeNames: ['All'],
            WaitTimeSeconds: 20,
          });
          const { Messages = [] } = await sqs
            .send(receive, { abortSignal: ending.signal })
            .catch((error) => (ending.signal.aborted ? { Messages: [] } : Promise.reject(error)));
          for (const message of Messages) {
            const failure = fate(message);
            const { replays, receipt, ...attributes } = message.MessageAttributes ?? {};
            const { MessageId: id = '', Body: body = '' } = message;
            if (failure) {
              const letter: DeadLetter = {
                body,
                source: arn,
                attributes,
                letterId: id,
                replays: Number(replays?.StringValue ?? 0),
                failure: { ...failureOf(name, failure.kind), ...failure },
              };
              await notes.recordLetter(id, letter, { resource: undefined });
              await send(deadLetters.url, [sqsMessageOf(letter)]);
            } else if (receipt) {
              notes.record({ ...doneNote, message: id, body });
              await notes.write();
            }
            await sqs.send(
              new DeleteMessageBatchCommand({
                QueueUrl: url,
                Entries: [{ Id: '0', ReceiptHandle: message.ReceiptHandle }],
              }),
            );
            handled.push(message);
          }
        }
      })();
      return {
        handled,
        stop: async () => {
          ending.abort();
          await working;
        },
      };
    },
    fault: async (fault: object) => {
      const answer = await fetch(`${url}/_local/faults`, { method: 'POST', body: JSON.stringify(fault) });
      if (!answer.ok) throw new Error(await answer.text());
    },
    clearFaults: () => fetch(`${url}/_local/faults`, { method: 'DELETE' }),
  };
}

const doneNote: Omit<ReceiptOutcome, 'message' | 'body'> = {
  outcome: 'done',
  kind: undefined,
  reason: '',
  remedy: undefined,
  status: 200,
  operation: undefined,
  attempts: 1,
  replays: 1,
  firstMs: 0,
  waits: undefined,
  eventId: undefined,
  resource: () => undefined,
  history: undefined,
  copyOf: undefined,
  ids: undefined,
  isAsked: true,
};

type Sendable = {
  MessageBody: string;
  MessageAttributes?: Record<string, MessageAttributeValue>;
  DelaySeconds?: number;
};

const failedMs = Date.now() - 48 * 3_600_000;

/** A failure as the functions write it; of kinds that no answer of the platform makes, without one. */
export const failureOf = (name = 'grade-push', kind: LetterFailure['kind'] = 'rejected'): LetterFailure => ({
  kind,
  message: 'The platform answered PUT /svc/api/le/1.82/2001/grades/5999/values/301 with 404 Not Found',
  remedy: 'Correct what the platform names, then replay.',
  ...(/^(rejected|missing-scope|missing-permission|throttled)$/.test(kind)
    ? { status: 404, title: 'Not Found', operation: 'PUT /svc/api/le/1.82/2001/grades/5999/values/301' }
    : {}),
  function: name,
  attempts: 1,
  firstAt: new Date(failedMs).toISOString(),
  lastAt: new Date(failedMs + 1_000).toISOString(),
});

const dataOf: Record<string, object> = {
  'grade-push': {
    orgUnitId: 2001,
    gradeObjectId: 5001,
    userId: 301,
    grade: { type: 'numeric', points: 8.5 },
    comments: 'Well argued, Jane',
  },
  'enrollment-create': { orgUnitId: 2001, userId: 303, roleId: 110 },
  'submission-upload': {
    orgUnitId: 2001,
    folderId: 7001,
    userId: 301,
    files: [
      { uri: 's3://sis-relay-uploads/events/essay.pdf', name: 'Essay.pdf', contentType: 'application/pdf' },
    ],
  },
};

/** What was said too long ago is not sent, and of two messages the ledger takes the later one for the newer. */
let saidMs = Date.now() - 3_600_000;
const nextTime = (): string => {
  saidMs += 1;
  return new Date(saidMs).toISOString();
};

/** The body of a message that its function takes. */
export const eventBody = (name = 'grade-push', data: object = {}, event: object = {}): string =>
  JSON.stringify({
    specversion: '1.0',
    id: randomUUID(),
    source: '/sis/test',
    type: `sis.${name}.v1`,
    time: nextTime(),
    data: { ...dataOf[name], ...data },
    ...event,
  });

export const never = new AbortController().signal;
