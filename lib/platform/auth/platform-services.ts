import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { awsClient, type ClientOptions } from '../../runtime/aws/clients.ts';
import type { DynamoDb } from '../../runtime/aws/dynamodb.ts';
import { s3Client } from '../../runtime/aws/s3.ts';
import { hasOwnStore, type MessageSettings } from '../../runtime/aws/settings.ts';
import { createCallUsageRecorder } from '../../runtime/telemetry/call-usage.ts';
import { createObserve } from '../../runtime/telemetry/observe.ts';
import { createPlatformClient } from '../client/client.ts';
import { platformOptionsOf } from '../client/platform-options.ts';
import { createAuthenticator } from './auth.ts';
import { SecretCredentials } from './credentials.ts';

type PlatformSettings = Pick<MessageSettings, 'platform' | 'secrets' | 'tables' | 'telemetry' | 'store'>;

/** The services of every function that calls the platform, of a queue or a job. `options`: for all its clients of AWS. */
export const createPlatformServices = <Db extends DynamoDb>(
  name: string,
  settings: PlatformSettings,
  { options, dynamodb }: { options: ClientOptions; dynamodb: Db },
) => {
  const observe = createObserve({ function: name, ...settings.telemetry });
  const secrets = { client: awsClient(SecretsManagerClient, options), prefix: settings.secrets.prefix };
  const credentials = new SecretCredentials({
    ...secrets,
    timeToLiveMs: settings.secrets.timeToLiveMs,
    warn: observe.warn,
  });
  const authenticator = createAuthenticator(credentials, Date.now, observe.warn);
  const platform = createPlatformClient(platformOptionsOf(settings.platform), authenticator);
  const { ledger: table } = settings.tables;
  const ledgerAccess = table === undefined ? undefined : { dynamodb, table, nowMs: Date.now };
  return {
    observe,
    secrets,
    platform,
    dynamodb,
    ledgerAccess,
    s3: s3Client({ ...options, forcePathStyle: hasOwnStore(settings.store) }),
    callUsage: createCallUsageRecorder({
      access: ledgerAccess,
      function: name,
      budget: platform.rateLimiter.budget,
      observe,
      nowMs: Date.now,
    }),
  };
};
