import type { BackoffLimits } from '../../message/backoff.ts';
import { createPlatformServices } from '../../platform/auth/platform-services.ts';
import { timeouts } from '../aws/clients.ts';
import { createDynamoDb } from '../aws/dynamodb-sdk.ts';
import type { ValuesOf } from '../aws/setting.ts';
import type { jobSettings } from '../aws/settings.ts';
import { createRunningExecutions } from './older-executions.ts';

/** A part of an upload takes longer than a call of Secrets Manager. */
export const jobClientOptions = { ...timeouts({ connectionMs: 2_000, requestMs: 30_000 }), maxAttempts: 3 };

/** A job asks again after this time, whatever the platform asks for: others wait behind it. */
const longestSeconds = 3_600;

type JobSettings = ValuesOf<typeof jobSettings>;

/** The services of every job that reads the platform and writes to a bucket. */
export const createJobServices = async <Limits extends JobSettings['limits']>(
  name: string,
  { settings, bucket }: { settings: JobSettings & { limits: Limits }; bucket: string },
) => {
  const services = createPlatformServices(name, settings, {
    options: jobClientOptions,
    dynamodb: createDynamoDb(jobClientOptions),
  });
  // Loaded with the first event: it would be a third of the function’s cold start.
  const [s3, { createJobStore }, running] = await Promise.all([
    services.s3(),
    import('./store.ts'),
    createRunningExecutions(),
  ]);
  const backoff: BackoffLimits = { ...settings.backoff, longestSeconds };
  const limits = { ...settings.limits, backoff };
  return { ...services, limits, running, store: createJobStore({ s3, bucket }) };
};

export type JobServices = Awaited<ReturnType<typeof createJobServices>>;
