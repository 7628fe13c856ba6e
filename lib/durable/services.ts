import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClient, lazyAwsClient, timeouts } from '../aws/clients.ts';
import { createDynamoDb } from '../aws/dynamodb.ts';
import { hasOwnStore, platformOptionsOf, type Settings } from '../config/settings.ts';
import { createCredentials } from '../credentials/cache.ts';
import { createAuthenticator } from '../platform/auth/auth.ts';
import { createPlatformClient } from '../platform/client.ts';
import { createObserve } from '../telemetry/observe.ts';
import { createPaceUse } from '../telemetry/pace-use.ts';
import { createRunningExecutions } from './older-executions.ts';

type JobSettings = Omit<Settings, 'QUEUE_URL' | 'DEAD_LETTER_QUEUE_URL'>;

/** A part of an upload takes longer than a call of Secrets Manager. */
const clientOptions = { ...timeouts({ connectionMs: 2_000, requestMs: 30_000 }), maxAttempts: 3 };

/** What every job needs that reads the platform and writes to a bucket. */
export const createJobServices = async (
  name: string,
  { settings, bucket }: { settings: JobSettings; bucket: string },
) => {
  // Loaded with the first event: it would be a third of the function’s cold start.
  const [s3, { createJobStore }, running] = await Promise.all([
    lazyAwsClient(async () => (await import('@aws-sdk/client-s3')).S3Client, {
      ...clientOptions,
      forcePathStyle: hasOwnStore(settings),
    })(),
    import('./store.ts'),
    createRunningExecutions(),
  ]);
  const observe = createObserve({
    function: name,
    level: settings.LOG_LEVEL,
    namespace: settings.METRIC_NAMESPACE,
  });
  const secrets = awsClient(SecretsManagerClient, clientOptions);
  const credentials = createCredentials({
    client: secrets,
    prefix: settings.SECRET_PREFIX,
    timeToLiveMs: settings.SECRET_TTL_SECONDS * 1000,
    warn: observe.warn,
  });
  const platform = createPlatformClient(platformOptionsOf(settings), createAuthenticator(credentials));
  const dynamodb = createDynamoDb(clientOptions);
  const { LEDGER_TABLE: table } = settings;
  return {
    ...{ secrets, dynamodb, platform, observe, running },
    paceUse: createPaceUse({
      access: table === undefined ? undefined : { dynamodb, table, nowMs: Date.now },
      function: name,
      budget: platform.pace.budget,
      ...{ observe, nowMs: Date.now },
    }),
    store: createJobStore({ s3, bucket }),
    limits: {
      /** Reserved at the end of an invocation, for what is in progress. */
      reserveMs: settings.RESERVE_MS,
      backoff: {
        minimumSeconds: settings.WAIT_MINIMUM_SECONDS,
        maximumSeconds: settings.WAIT_MAXIMUM_SECONDS,
      },
      maxWaitMs: settings.WAIT_LONGEST_HOURS * 3_600_000,
    },
  };
};
