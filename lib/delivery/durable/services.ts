import type { BackoffLimits } from '../../message/backoff.ts';
import { createPlatformServices, type PlatformSettings } from '../../platform/auth/platform-services.ts';
import { timeouts } from '../../runtime/aws/clients.ts';
import { createDynamoDb } from '../../runtime/aws/dynamodb-sdk.ts';
import { createRunningExecutions } from './older-executions.ts';

/** A part of an upload takes longer than a call of Secrets Manager. */
export const jobClientOptions = { ...timeouts({ connectionMs: 2_000, requestMs: 30_000 }), maxAttempts: 3 };

/** A job asks again after this time, whatever the platform asks for: others wait behind it. */
const longestSeconds = 3_600;

/** The services of every job that reads the platform and writes to a bucket. */
export const createJobServices = async (
  name: string,
  { settings, bucket }: { settings: PlatformSettings; bucket: string },
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
  const backoff: BackoffLimits = { ...services.limits.backoff, longestSeconds };
  const limits = { ...services.limits, backoff };
  return { ...services, limits, running, store: createJobStore({ s3, bucket }) };
};

export type JobServices = Awaited<ReturnType<typeof createJobServices>>;
