import { hash } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { sendToFunctions } from '../../delivery/handle/send-to-functions.ts';
import { createSecretReader } from '../../platform/auth/secret-reader.ts';
import { awsClient, timeouts } from '../../runtime/aws/clients.ts';
import { createDynamoDb } from '../../runtime/aws/dynamodb-sdk.ts';
import { unlessError } from '../../runtime/aws/error.ts';
import { s3Client } from '../../runtime/aws/s3.ts';
import { hasOwnStore, queueUrlOf } from '../../runtime/aws/settings.ts';
import { sqsClient } from '../../runtime/aws/sqs.ts';
import { createObserve, type Observe } from '../../runtime/telemetry/observe.ts';
import { keptRemovals } from './events.ts';
import { mappingFile, type PollParts } from './poll.ts';
import type { PollSettings } from './poll-settings.ts';
import { createPositionStore } from './position-store.ts';
import { Source } from './source.ts';

const clientOptions = { ...timeouts({ connectionMs: 1_000, requestMs: 5_000 }), maxAttempts: 3 };

export type PollServices = {
  observe: Observe;
  /** Undefined if no source is set. */
  parts: PollParts | undefined;
};

export const createPollServices = (
  settings: PollSettings,
  integrations: PollParts['integrations'],
): PollServices => {
  const observe = createObserve({ function: 'change-poll', ...settings.telemetry });
  const { changes } = settings;
  const { url, bucket: Bucket } = changes;
  if (url === undefined) return { observe, parts: undefined };
  const s3 = s3Client({ ...clientOptions, forcePathStyle: hasOwnStore(settings.store) });
  const sqs = sqsClient(clientOptions);
  const client = awsClient(SecretsManagerClient, clientOptions);
  const read = async (Key: string, abortSignal: AbortSignal): Promise<string | undefined> => {
    const { GetObjectCommand } = await import('@aws-sdk/client-s3');
    // S3 answers AccessDenied for a missing object if the caller may not list the bucket.
    const answer = await unlessError(/^(NoSuchKey|NotFound|AccessDenied)$/, async () =>
      (await s3()).send(new GetObjectCommand({ Bucket, Key }), { abortSignal }),
    );
    return answer?.Body?.transformToString();
  };
  const write = async (Key: string, Body: string, abortSignal: AbortSignal): Promise<void> => {
    const { PutObjectCommand } = await import('@aws-sdk/client-s3');
    const put = new PutObjectCommand({ Bucket, Key, Body, ContentType: 'application/json' });
    await (await s3()).send(put, { abortSignal });
  };
  const parts: PollParts = {
    source: new Source(
      { ...changes, url },
      { readSecret: createSecretReader({ client, prefix: settings.secrets.prefix }) },
    ),
    place: createPositionStore({
      dynamodb: createDynamoDb(clientOptions),
      table: settings.tables.ledger,
      name: changes.name,
      nowMs: Date.now,
    }),
    readMappingFile: (abortSignal) => read(mappingFile, abortSignal),
    keepRefused: (id, text, abortSignal) => write(refusedKeyOf(id), text, abortSignal),
    removals: {
      read: async (subject, abortSignal) => {
        const text = await read(removalsKeyOf(subject), abortSignal);
        return text === undefined ? undefined : keptRemovals.parse(JSON.parse(text));
      },
      keep: (subject, removals, abortSignal) =>
        write(removalsKeyOf(subject), JSON.stringify(removals), abortSignal),
    },
    send: (messages, signal) =>
      sendToFunctions(messages, { sqs, queueUrlOf: (name) => queueUrlOf(name, settings.letters), signal }),
    integrations,
    observe,
    from: changes.from,
    limit: changes.limit,
    nowMs: Date.now,
  };
  return { observe, parts };
};

const removalsKeyOf = (subject: string): string => `change-poll/removals/${hash('sha256', subject)}.json`;

/** S3 takes no key over 1,024 bytes, and an escaped character has up to twelve: a long id is replaced by its digest. */
export const refusedKeyOf = (id: string): string => {
  const name = encodeURIComponent(id.toWellFormed());
  return `change-poll/refused/${name.length <= 256 && id.isWellFormed() ? name : hash('sha256', id)}.json`;
};
