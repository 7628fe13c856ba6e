import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClient, lazyAwsClient, timeouts } from '../aws/clients.ts';
import { createDynamoDb, type DynamoDb } from '../aws/dynamodb.ts';
import { onceFromEnvironment, whileInitialising } from '../config/environment.ts';
import { hasOwnStore, platformOptionsOf, type Settings, settingsFrom } from '../config/settings.ts';
import { createCredentials } from '../credentials/cache.ts';
import { createSecretReader, type ReadSecret } from '../credentials/reader.ts';
import { type Crosswalk, createCrosswalk } from '../crosswalk/look-up.ts';
import { createCrosswalkTable } from '../crosswalk/table.ts';
import { createDeskNotes, type DeskNotes } from '../desk/notes.ts';
import { createFiles, type Files } from '../files/files.ts';
import type { FileSizeLimits } from '../integration.ts';
import { createDigest, type Digest } from '../ledger/digest.ts';
import { createLedger, type Ledger } from '../ledger/ledger.ts';
import { createLedgerTable } from '../ledger/table.ts';
import { createAuthenticator } from '../platform/auth/auth.ts';
import { createPlatformClient, type PlatformClient } from '../platform/client.ts';
import { createIncidents, type Incidents } from '../telemetry/incidents.ts';
import { createObserve, type Observe } from '../telemetry/observe.ts';
import { createPaceUse, type PaceUseRecord } from '../telemetry/pace-use.ts';
import type { BackoffLimits } from './backoff.ts';
import { createDeaths, type Deaths } from './deaths.ts';
import { createFanOut, type FanOut } from './fan-out.ts';
import { createLetterStore } from './oversized-letters.ts';
import { createQueues, type Queues } from './queues.ts';

/** What one container works with. Tests hand in their own. */
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
  /** Undefined where no table is configured, too: then what kills its function takes others with it. */
  deaths?: Deaths | undefined;
  /** Tells operators of letters and of what waits; undefined where no table is configured. */
  desk?: DeskNotes | undefined;
  /** Tells how much the function calls of what the platform grants. */
  paceUse?: PaceUseRecord | undefined;
  crosswalk: Crosswalk;
  /** Undefined where nobody reads notices of files. */
  fanOut?: FanOut | undefined;
  observe: Observe;
  limits: Limits;
  nowMs(): number;
  /** Opens the connection that the first message needs first. */
  warm?: (() => void) | undefined;
};

export type Limits = FileSizeLimits & {
  backoff: BackoffLimits;
  /** How long one message may take, in milliseconds; none is started with less time left. */
  attemptTimeoutMs: number;
  /** Kept at the end of an invocation for letters and visibilities. */
  reserveMs: number;
  /** A message that has waited so long is parked; one whose ids nobody knows, earlier. */
  maxWaitMs: number;
  maxUnknownIdWaitMs: number;
  /** For how long its queue hides a message that was received, unless it is told otherwise. */
  visibilityMs: number;
};

/** Calls of AWS are short: one that hangs must not use up the time of a batch. */
const clientOptions = { ...timeouts({ connectionMs: 1_000, requestMs: 3_000 }), maxAttempts: 2 };

export const createServices = (functionName: string, settings: Settings): Services => {
  const observe = createObserve({
    function: functionName,
    level: settings.LOG_LEVEL,
    namespace: settings.METRIC_NAMESPACE,
  });
  const secrets = { client: awsClient(SecretsManagerClient, clientOptions), prefix: settings.SECRET_PREFIX };
  const credentials = createCredentials({
    ...secrets,
    timeToLiveMs: settings.SECRET_TTL_SECONDS * 1000,
    warn: observe.warn,
  });
  const s3 = lazyAwsClient(async () => (await import('@aws-sdk/client-s3')).S3Client, {
    ...clientOptions,
    forcePathStyle: hasOwnStore(settings),
  });
  const bucket = settings.LETTERS_BUCKET;
  const dynamodb = createDynamoDb(clientOptions);
  const platform = createPlatformClient(platformOptionsOf(settings), createAuthenticator(credentials));
  const queues = createQueues({
    sqs: lazyAwsClient(async () => (await import('@aws-sdk/client-sqs')).SQSClient, clientOptions),
    queueUrl: settings.QUEUE_URL,
    deadLetterQueueUrl: settings.DEAD_LETTER_QUEUE_URL,
    keepWhole: bucket === undefined ? undefined : createLetterStore({ s3, bucket }),
    warn: observe.warn,
    failed: ({ kind, message }) => {
      observe.warn('the visibilities of waiting messages could not be set', { reason: message });
      observe.failed(kind);
    },
  });
  return {
    platform,
    files: createFiles({
      s3,
      hosts: settings.FILE_HOSTS,
      allowLoopback: settings.FILE_LOOPBACK,
      timeoutMs: settings.FILE_TIMEOUT_MS,
    }),
    readSecret: createSecretReader(secrets),
    queues,
    fanOut: createFanOut({
      ...{ functionName, s3, nowMs: Date.now },
      bucket: settings.EVENTS_BUCKET,
      send: queues.send,
      timeoutMs: settings.FILE_TIMEOUT_MS,
      maximumBytes: settings.EVENTS_FILE_MAXIMUM_BYTES,
      maximumEvents: settings.EVENTS_FILE_MAXIMUM,
    }),
    ...tableServicesOf({
      functionName,
      settings,
      dynamodb,
      observe,
      platform,
      secretsManager: secrets.client,
    }),
    crosswalk: createCrosswalk({ table: crosswalkTableOf(settings, dynamodb), nowMs: Date.now }),
    observe,
    limits: {
      backoff: {
        minimumSeconds: settings.WAIT_MINIMUM_SECONDS,
        maximumSeconds: settings.WAIT_MAXIMUM_SECONDS,
      },
      attemptTimeoutMs: settings.ATTEMPT_TIMEOUT_MS,
      reserveMs: settings.RESERVE_MS,
      maxWaitMs: settings.WAIT_LONGEST_HOURS * 3_600_000,
      maxUnknownIdWaitMs: settings.WAIT_UNKNOWN_ID_HOURS * 3_600_000,
      visibilityMs: settings.QUEUE_VISIBILITY_SECONDS * 1000,
      fileBytes: settings.FILE_MAXIMUM_BYTES,
      profileImageBytes: settings.PROFILE_IMAGE_MAXIMUM_BYTES,
    },
    nowMs: Date.now,
  };
};

const crosswalkTableOf = ({ CROSSWALK_TABLE: table }: Settings, dynamodb: DynamoDb) =>
  table === undefined ? undefined : createCrosswalkTable({ dynamodb, table, nowMs: Date.now });

type TableOptions = {
  functionName: string;
  settings: Settings;
  dynamodb: DynamoDb;
  observe: Observe;
  platform: PlatformClient;
  secretsManager: SecretsManagerClient;
};

/** What needs the table. */
const tableServicesOf = ({
  functionName,
  settings,
  dynamodb,
  observe,
  platform,
  secretsManager,
}: TableOptions): Pick<
  Services,
  'ledger' | 'digest' | 'deaths' | 'incidents' | 'paceUse' | 'desk' | 'warm'
> => {
  const { LEDGER_TABLE: table, LEDGER_KEY_SECRET: secret } = settings;
  const desk =
    settings.DESK_TABLE === undefined
      ? undefined
      : createDeskNotes({
          ...{ dynamodb, table: settings.DESK_TABLE, nowMs: Date.now },
          ...{ function: functionName, warn: observe.warn },
        });
  const use = { function: functionName, budget: platform.pace.budget, observe, nowMs: Date.now };
  if (table === undefined) {
    observe.warn(
      'LEDGER_TABLE is not set, so the ledger is off: duplicates are sent again, and old messages overwrite newer ones',
    );
    return {
      ledger: undefined,
      digest: undefined,
      desk,
      paceUse: createPaceUse({ ...use, access: undefined }),
    };
  }
  const access = { dynamodb, table, nowMs: Date.now };
  const { warn } = observe;
  return {
    ledger: createLedger({
      table: createLedgerTable(access),
      graceMs: settings.LEDGER_GRACE_SECONDS * 1000,
      hiddenMs: (settings.QUEUE_VISIBILITY_SECONDS + settings.QUEUE_BACKLOG_SECONDS) * 1000,
      warn,
      nowMs: Date.now,
    }),
    deaths: createDeaths({ ...access, function: functionName, warn }),
    digest: secret === undefined ? undefined : createDigest({ client: secretsManager, secret, warn }),
    incidents: createIncidents({
      ...access,
      function: functionName,
      maximumWaitSeconds: settings.WAIT_MAXIMUM_SECONDS,
      warn,
    }),
    desk,
    warm: access.dynamodb.warm,
    paceUse: createPaceUse({ ...use, access }),
  };
};

/** Built before the first message of a container or with it, kept for its life. */
export const servicesFromEnvironment = (functionName: string): (() => Services) => {
  const services = onceFromEnvironment((environment) =>
    createServices(functionName, settingsFrom(environment)),
  );
  whileInitialising(functionName, () => services().warm?.());
  return services;
};
