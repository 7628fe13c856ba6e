import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { traced } from '../aws/error.ts';
import { hasOwnStore, platformOptionsOf, type Settings, settingsFrom } from '../config/settings.ts';
import { createCredentials } from '../credentials/cache.ts';
import { createSecretReader, type ReadSecret } from '../credentials/reader.ts';
import { createFiles, type Files } from '../files/files.ts';
import type { FileLimits } from '../integration.ts';
import { createDigest, type Digest } from '../ledger/digest.ts';
import { createLedger, type Ledger } from '../ledger/ledger.ts';
import { createLedgerTable } from '../ledger/table.ts';
import { createAuthenticator } from '../platform/auth/auth.ts';
import { createPlatformClient, type PlatformClient } from '../platform/client.ts';
import { createIncidents, type Incidents } from '../telemetry/incidents.ts';
import { createObserve, type Observe } from '../telemetry/observe.ts';
import type { BackoffLimits } from './backoff.ts';
import { createLetterStore } from './letter-store.ts';
import { createQueues, type Queues } from './queues.ts';

/** The real world of one container. Tests hand in another. */
export type Services = {
  platform: PlatformClient;
  files: Files;
  readSecret: ReadSecret;
  queues: Queues;
  /** Undefined where no table is configured: then duplicates and stale writes are possible. */
  ledger: Ledger | undefined;
  /** Undefined where no key is configured: then nobody sees what another container has done, and waits instead. */
  digest: Digest | undefined;
  /** Undefined where no table is configured, too. */
  incidents?: Incidents | undefined;
  observe: Observe;
  limits: Limits;
  nowMs(): number;
};

export type Limits = FileLimits & {
  backoff: BackoffLimits;
  /** How long one message may take, in milliseconds; none is started with less time left. */
  attemptTimeoutMs: number;
  /** Kept at the end of an invocation for letters and visibilities. */
  reserveMs: number;
  /** A message that has waited so long is parked. */
  maxWaitMs: number;
  /** For how long its queue hides a message that was received, unless it is told otherwise. */
  visibilityMs: number;
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
  const secrets = { client: traced(new SecretsManagerClient(awsClient)), prefix: settings.SECRET_PREFIX };
  const credentials = createCredentials({
    ...secrets,
    timeToLiveMs: settings.SECRET_TTL_SECONDS * 1000,
    warn: observe.warn,
  });
  const s3 = once(async () => {
    const { S3Client } = await import('@aws-sdk/client-s3');
    return traced(new S3Client({ ...awsClient, forcePathStyle: hasOwnStore(settings) }));
  });
  const bucket = settings.LETTERS_BUCKET;
  return {
    platform: createPlatformClient(platformOptionsOf(settings), createAuthenticator(credentials)),
    files: createFiles({
      s3,
      hosts: settings.FILE_HOSTS,
      allowLoopback: settings.FILE_LOOPBACK,
      timeoutMs: settings.FILE_TIMEOUT_MS,
    }),
    readSecret: createSecretReader(secrets),
    queues: createQueues({
      sqs: once(async () => {
        const { SQSClient } = await import('@aws-sdk/client-sqs');
        return traced(new SQSClient(awsClient));
      }),
      queueUrl: settings.QUEUE_URL,
      deadLetterQueueUrl: settings.DEAD_LETTER_QUEUE_URL,
      keepWhole: bucket === undefined ? undefined : createLetterStore({ s3, bucket }),
      warn: observe.warn,
      failed: ({ kind, message }) => {
        observe.warn('the visibilities of waiting messages could not be set', { reason: message });
        observe.failed(kind);
      },
    }),
    ...tableServicesOf({ functionName, settings, observe, secretsManager: secrets.client }),
    observe,
    limits: {
      backoff: {
        minimumSeconds: settings.WAIT_MINIMUM_SECONDS,
        maximumSeconds: settings.WAIT_MAXIMUM_SECONDS,
      },
      attemptTimeoutMs: settings.ATTEMPT_TIMEOUT_MS,
      reserveMs: settings.RESERVE_MS,
      maxWaitMs: settings.WAIT_LONGEST_HOURS * 3_600_000,
      visibilityMs: settings.QUEUE_VISIBILITY_SECONDS * 1000,
      fileBytes: settings.FILE_MAXIMUM_BYTES,
      profileImageBytes: settings.PROFILE_IMAGE_MAXIMUM_BYTES,
    },
    nowMs: Date.now,
  };
};

type TableOptions = {
  functionName: string;
  settings: Settings;
  observe: Observe;
  secretsManager: SecretsManagerClient;
};

/** What needs the table. */
const tableServicesOf = ({
  functionName,
  settings,
  observe,
  secretsManager,
}: TableOptions): Pick<Services, 'ledger' | 'digest' | 'incidents'> => {
  const { LEDGER_TABLE: table, LEDGER_KEY_SECRET: secret } = settings;
  if (table === undefined) {
    observe.warn(
      'no LEDGER_TABLE: the ledger is off, so duplicates are sent again and old messages over newer ones',
    );
    return { ledger: undefined, digest: undefined };
  }
  const access = { dynamodb: once(tracedDynamoDb), table, nowMs: Date.now };
  const { warn } = observe;
  return {
    ledger: createLedger({
      table: createLedgerTable(access),
      graceMs: settings.LEDGER_GRACE_SECONDS * 1000,
      hiddenMs: (settings.QUEUE_VISIBILITY_SECONDS + settings.QUEUE_BACKLOG_SECONDS) * 1000,
      warn,
      nowMs: Date.now,
    }),
    digest: secret === undefined ? undefined : createDigest({ client: secretsManager, secret, warn }),
    incidents: createIncidents({
      ...access,
      function: functionName,
      maximumWaitSeconds: settings.WAIT_MAXIMUM_SECONDS,
      warn,
    }),
  };
};

const tracedDynamoDb = async (): Promise<DynamoDBClient> => {
  const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb');
  return traced(new DynamoDBClient(awsClient));
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
