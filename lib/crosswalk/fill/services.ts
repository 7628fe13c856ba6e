import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClient, lazyAwsClient, timeouts } from '../../aws/clients.ts';
import { createDynamoDb } from '../../aws/dynamodb.ts';
import { type CrosswalkSettings, hasOwnStore, platformOptionsOf } from '../../config/settings.ts';
import { createCredentials } from '../../credentials/cache.ts';
import { createRunningExecutions } from '../../durable/older-executions.ts';
import { createAuthenticator } from '../../platform/auth/auth.ts';
import { createPlatformClient } from '../../platform/client.ts';
import { createObserve } from '../../telemetry/observe.ts';
import { createPaceUse } from '../../telemetry/pace-use.ts';
import { createCrosswalkTable } from '../table.ts';
import type { FillServices } from './fill.ts';
import { createFillStore } from './store.ts';

const name = 'crosswalk-fill';
/** A part of an upload takes longer than a call of Secrets Manager. */
const clientOptions = { ...timeouts({ connectionMs: 2_000, requestMs: 30_000 }), maxAttempts: 3 };

/** The services of a container that fills the crosswalk. */
export const createFillServices = async (settings: CrosswalkSettings): Promise<FillServices> => {
  // Loaded for the first fill, as for course-export.
  const [s3, running] = await Promise.all([
    lazyAwsClient(async () => (await import('@aws-sdk/client-s3')).S3Client, {
      ...clientOptions,
      forcePathStyle: hasOwnStore(settings),
    })(),
    createRunningExecutions(),
  ]);
  const observe = createObserve({
    function: name,
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
  const { LEDGER_TABLE: ledger, CROSSWALK_TABLE: table } = settings;
  return {
    platform,
    paceUse: createPaceUse({
      access: ledger === undefined ? undefined : { dynamodb, table: ledger, nowMs: Date.now },
      function: name,
      budget: platform.pace.budget,
      ...{ observe, nowMs: Date.now },
    }),
    store: createFillStore({ s3, bucket: settings.CROSSWALK_BUCKET }),
    table: createCrosswalkTable({ dynamodb, table, nowMs: Date.now }),
    observe,
    running,
    maxRemovalsPercent: settings.CROSSWALK_MAXIMUM_REMOVALS_PERCENT,
    limits: {
      reserveMs: settings.RESERVE_MS,
      backoff: {
        minimumSeconds: settings.WAIT_MINIMUM_SECONDS,
        maximumSeconds: settings.WAIT_MAXIMUM_SECONDS,
      },
      classlistsHour: settings.CROSSWALK_CLASSLISTS_HOUR,
      maxWaitMs: settings.WAIT_LONGEST_HOURS * 3_600_000,
    },
  };
};
