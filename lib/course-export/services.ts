import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClient, lazyAwsClient, timeouts } from '../aws/clients.ts';
import { createDynamoDb } from '../aws/dynamodb.ts';
import { type ExportSettings, hasOwnStore, platformOptionsOf } from '../config/settings.ts';
import { createCredentials } from '../credentials/cache.ts';
import { createRunningExecutions, type RunningExecutions } from '../durable/older-executions.ts';
import { createAuthenticator } from '../platform/auth/auth.ts';
import { createPlatformClient } from '../platform/client.ts';
import { createObserve } from '../telemetry/observe.ts';
import { createPaceUse } from '../telemetry/pace-use.ts';
import type { ExportServices } from './chunk.ts';

/** A part of an upload takes longer than a call of Secrets Manager. */
const clientOptions = { ...timeouts({ connectionMs: 2_000, requestMs: 30_000 }), maxAttempts: 3 };

/** The services of a container that exports. */
export const createExportServices = async (
  settings: ExportSettings,
): Promise<ExportServices & { running: RunningExecutions }> => {
  // Loaded for the first export: it would be a third of the function’s cold start.
  const [s3, { createJobStore }, running] = await Promise.all([
    lazyAwsClient(async () => (await import('@aws-sdk/client-s3')).S3Client, {
      ...clientOptions,
      forcePathStyle: hasOwnStore(settings),
    })(),
    import('../durable/store.ts'),
    createRunningExecutions(),
  ]);
  const observe = createObserve({
    function: 'course-export',
    level: settings.LOG_LEVEL,
    namespace: settings.METRIC_NAMESPACE,
  });
  const credentials = createCredentials({
    client: awsClient(SecretsManagerClient, clientOptions),
    prefix: settings.SECRET_PREFIX,
    timeToLiveMs: settings.SECRET_TTL_SECONDS * 1000,
    warn: observe.warn,
  });
  const platform = createPlatformClient(platformOptionsOf(settings), createAuthenticator(credentials));
  const dynamodb = createDynamoDb(clientOptions);
  const { LEDGER_TABLE: table } = settings;
  return {
    platform,
    paceUse: createPaceUse({
      access: table === undefined ? undefined : { dynamodb, table, nowMs: Date.now },
      function: 'course-export',
      budget: platform.pace.budget,
      ...{ observe, nowMs: Date.now },
    }),
    store: createJobStore({ s3, bucket: settings.EXPORT_BUCKET }),
    observe,
    running,
    limits: {
      prefix: settings.EXPORT_PREFIX,
      concurrency: settings.EXPORT_CONCURRENCY,
      reserveMs: settings.RESERVE_MS,
      backoff: {
        minimumSeconds: settings.WAIT_MINIMUM_SECONDS,
        maximumSeconds: settings.WAIT_MAXIMUM_SECONDS,
      },
      maxWaitMs: settings.WAIT_LONGEST_HOURS * 3_600_000,
    },
  };
};
