import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClient, type ClientOptions } from '../../runtime/aws/clients.ts';
import type { DynamoDb } from '../../runtime/aws/dynamodb.ts';
import { s3Client } from '../../runtime/aws/s3.ts';
import { backoffOf, hasOwnStore, observeOptionsOf, type Settings } from '../../runtime/aws/settings.ts';
import { createObserve } from '../../runtime/telemetry/observe.ts';
import { createPaceUse } from '../../runtime/telemetry/pace-use.ts';
import { createPlatformClient } from '../client/client.ts';
import { platformOptionsOf } from '../client/platform-options.ts';
import { createAuthenticator } from './auth.ts';
import { createCredentials } from './cache.ts';

export type PlatformSettings = Omit<Settings, 'QUEUE_URL' | 'DEAD_LETTER_QUEUE_URL'>;

/** The services of every function that calls the platform, of a queue or a job. `options`: for all its clients of AWS. */
export const createPlatformServices = <Db extends DynamoDb>(
  name: string,
  settings: PlatformSettings,
  { options, dynamodb }: { options: ClientOptions; dynamodb: Db },
) => {
  const observe = createObserve(observeOptionsOf(name, settings));
  const secrets = { client: awsClient(SecretsManagerClient, options), prefix: settings.SECRET_PREFIX };
  const credentials = createCredentials({
    ...secrets,
    timeToLiveMs: settings.SECRET_TTL_SECONDS * 1000,
    warn: observe.warn,
  });
  const authenticator = createAuthenticator(credentials, Date.now, observe.warn);
  const platform = createPlatformClient(platformOptionsOf(settings), authenticator);
  const { LEDGER_TABLE: table } = settings;
  const ledgerAccess = table === undefined ? undefined : { dynamodb, table, nowMs: Date.now };
  return {
    ...{ observe, secrets, platform, dynamodb, ledgerAccess },
    s3: s3Client({ ...options, forcePathStyle: hasOwnStore(settings) }),
    paceUse: createPaceUse({
      ...{ access: ledgerAccess, function: name, budget: platform.pace.budget, observe, nowMs: Date.now },
    }),
    limits: {
      backoff: backoffOf(settings),
      /** Kept at the end of an invocation for what must be written then. */
      reserveMs: settings.RESERVE_MS,
      maxWaitMs: settings.WAIT_LONGEST_HOURS * 3_600_000,
    },
  };
};
