import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { BackoffLimits } from './backoff.ts';
import { createFiles, type Files } from './files.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { createLedgerTable } from './ledger-table.ts';
import { createObserve, type Observe } from './observe.ts';
import { createAuthenticator } from './platform/auth.ts';
import { createPlatformClient, type PlatformClient } from './platform/client.ts';
import { createQueues, type Queues } from './queues.ts';
import { createSecretReader, type ReadSecret } from './secret-value.ts';
import { createCredentials } from './secrets.ts';
import { platformOptionsOf, type Settings, settingsFrom } from './settings.ts';

/** The real world of one container. Tests hand in another. */
export type Services = {
  platform: PlatformClient;
  files: Files;
  readSecret: ReadSecret;
  queues: Queues;
  /** Undefined where no table is configured: then duplicates and stale writes are possible. */
  ledger: Ledger | undefined;
  observe: Observe;
  limits: Limits;
  nowMs(): number;
};

export type Limits = {
  backoff: BackoffLimits;
  /** How long one message may take, in milliseconds; none is started with less time left. */
  attemptTimeoutMs: number;
  /** Kept at the end of an invocation for letters and visibilities. */
  reserveMs: number;
  /** A message that has waited so long is parked. */
  longestWaitMs: number;
  fileBytes: number;
  profileImageBytes: number;
};

/** Calls of AWS are short: one that hangs must not use up the time of a batch. */
const awsClient = {
  maxAttempts: 2,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
};

export const createServices = (functionName: string, settings: Settings): Services => {
  const observe = createObserve({
    function: functionName,
    level: settings.LOG_LEVEL,
    namespace: settings.METRIC_NAMESPACE,
  });
  const secrets = { client: new SecretsManagerClient(awsClient), prefix: settings.SECRET_PREFIX };
  const credentials = createCredentials({
    ...secrets,
    timeToLiveMs: settings.SECRET_TTL_SECONDS * 1000,
    warn: observe.warn,
  });
  return {
    platform: createPlatformClient(platformOptionsOf(settings), createAuthenticator(credentials)),
    files: createFiles({
      s3: once(async () => {
        const { S3Client } = await import('@aws-sdk/client-s3');
        // A store at an address of its own has no DNS name for each bucket.
        return new S3Client({ ...awsClient, forcePathStyle: settings.AWS_ENDPOINT_URL_S3 !== undefined });
      }),
      hosts: settings.FILE_HOSTS,
      allowLoopback: settings.FILE_LOOPBACK,
      timeoutMs: settings.FILE_TIMEOUT_MS,
    }),
    readSecret: createSecretReader(secrets),
    queues: createQueues({
      sqs: once(async () => {
        const { SQSClient } = await import('@aws-sdk/client-sqs');
        return new SQSClient(awsClient);
      }),
      queueUrl: settings.QUEUE_URL,
      deadLetterQueueUrl: settings.DEAD_LETTER_QUEUE_URL,
      warn: observe.warn,
    }),
    ledger: ledgerOf(settings, observe),
    observe,
    limits: {
      backoff: {
        minimumSeconds: settings.WAIT_MINIMUM_SECONDS,
        maximumSeconds: settings.WAIT_MAXIMUM_SECONDS,
      },
      attemptTimeoutMs: settings.ATTEMPT_TIMEOUT_MS,
      reserveMs: settings.RESERVE_MS,
      longestWaitMs: settings.WAIT_LONGEST_HOURS * 3_600_000,
      fileBytes: settings.FILE_MAXIMUM_BYTES,
      profileImageBytes: settings.PROFILE_IMAGE_MAXIMUM_BYTES,
    },
    nowMs: Date.now,
  };
};

const ledgerOf = (settings: Settings, observe: Observe): Ledger | undefined => {
  if (settings.LEDGER_TABLE === undefined) {
    observe.warn(
      'no LEDGER_TABLE: the ledger is off, so duplicates are sent again and old messages over newer ones',
    );
    return undefined;
  }
  const table = createLedgerTable({
    dynamodb: once(async () => {
      const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb');
      return new DynamoDBClient(awsClient);
    }),
    table: settings.LEDGER_TABLE,
    nowMs: Date.now,
  });
  const settlingMs = settings.LEDGER_SETTLING_SECONDS * 1000;
  return createLedger({ table, settlingMs, warn: observe.warn, nowMs: Date.now });
};

/** Built with the first message of a container, kept for its life. */
export const servicesFromEnvironment = (functionName: string): (() => Services) =>
  onceFromEnvironment((environment) => createServices(functionName, settingsFrom(environment)));

/** Makes something of the environment when it is first needed, and once per container. */
export const onceFromEnvironment = <Value>(
  make: (environment: Record<string, string | undefined>) => Value,
): (() => Value) => once(() => make(process.env));

const once = <Value>(make: () => Value): (() => Value) => {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};
