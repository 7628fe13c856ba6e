import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import type { BackoffLimits } from './backoff.ts';
import { checkFileHosts } from './file-uri.ts';
import { createFiles, type Files } from './files.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { createObserve, type Observe } from './observe.ts';
import { createAuthenticator } from './platform/auth.ts';
import { createPlatformClient, type PlatformClient } from './platform/client.ts';
import { createQueues, type Queues } from './queues.ts';
import { createCredentials } from './secrets.ts';

/** The real world of one container. Tests hand in another. */
export type Services = {
  platform: PlatformClient;
  files: Files;
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

const fileHosts = z
  .string()
  .transform((text) => text.split(',').flatMap((each) => each.trim() || []))
  .superRefine((hosts, context) => {
    try {
      checkFileHosts(hosts);
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : String(error));
    }
  });
/** A path here would be lost without a word, and every message parked for the 404 that it meets. */
const platformUrl = z
  .url({ protocol: /^https?$/, error: 'must be as in https://platform.example.edu' })
  .transform((url) => new URL(url))
  .refine(
    ({ origin, href }) => href === `${origin}/`,
    'must be scheme, host and port alone; a path belongs into PLATFORM_API_ROOT',
  )
  .transform(({ origin }) => origin);

const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
const count = z.coerce.number().int().positive();
const version = z.string().regex(/^\d+\.\d+$/, 'must be as in 1.49');
const overrides = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'is not JSON' });
      return z.NEVER;
    }
  })
  .pipe(
    z.record(
      z.string(),
      z.strictObject({
        version: version.optional(),
        path: z.string().startsWith('/').optional(),
        scope: z.string().optional(),
      }),
    ),
  );

/** Every name that the functions read from their environment, with its default. */
const settingsSchema = z.object({
  PLATFORM_URL: platformUrl,
  PLATFORM_API_ROOT: z
    .string()
    .regex(/^(\/[a-z0-9-]+)*$/, 'must be as in /svc/api')
    .default('/svc/api'),
  PLATFORM_LP_VERSION: version.default('1.49'),
  PLATFORM_LE_VERSION: version.default('1.82'),
  PLATFORM_OPERATIONS: overrides.default({}),
  PLATFORM_CONNECT_TIMEOUT_MS: count.default(5_000),
  PLATFORM_HEADERS_TIMEOUT_MS: count.default(15_000),
  PLATFORM_BODY_TIMEOUT_MS: count.default(15_000),
  SECRET_PREFIX: z
    .string()
    .regex(/^[\w/+=.@-]*[\w+=.@-]$/, 'must be letters, digits and /_+=.@- alone, and not end in /'),
  SECRET_TTL_SECONDS: count.default(300),
  QUEUE_URL: z.url(),
  DEAD_LETTER_QUEUE_URL: z.url(),
  LEDGER_TABLE: z.string().optional(),
  LEDGER_SETTLING_SECONDS: count.default(60),
  FILE_HOSTS: fileHosts.default([]),
  FILE_LOOPBACK: flag.default(false),
  FILE_TIMEOUT_MS: count.default(10_000),
  FILE_MAXIMUM_BYTES: count.default(1024 ** 3),
  PROFILE_IMAGE_MAXIMUM_BYTES: count.default(5 * 1024 ** 2),
  ATTEMPT_TIMEOUT_MS: count.default(40_000),
  RESERVE_MS: count.default(5_000),
  WAIT_MINIMUM_SECONDS: count.default(5),
  WAIT_MAXIMUM_SECONDS: count.default(1_800),
  WAIT_LONGEST_HOURS: z.coerce.number().positive().default(24),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  AWS_ENDPOINT_URL_S3: z.string().optional(),
});

export type Settings = z.infer<typeof settingsSchema>;

/** @throws Error naming each setting that is missing or wrong. */
export const settingsFrom = (environment: Record<string, string | undefined>): Settings => {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = settingsSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) =>
    given[String(issue.path[0])] === undefined
      ? `${issue.path.join('.')} is missing`
      : `${issue.path.join('.')}: ${issue.message}`,
  );
  throw new Error(`The function's environment is not usable: ${problems.join('; ')}`);
};

/** Calls of AWS are short: one that hangs must not use up the time of a batch. */
const awsClient = { maxAttempts: 3, requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000 } };

export const createServices = (functionName: string, settings: Settings): Services => {
  const observe = createObserve({ function: functionName, level: settings.LOG_LEVEL });
  const credentials = createCredentials({
    client: new SecretsManagerClient(awsClient),
    prefix: settings.SECRET_PREFIX,
    timeToLiveMs: settings.SECRET_TTL_SECONDS * 1000,
    warn: observe.warn,
  });
  return {
    platform: createPlatformClient(
      {
        baseUrl: settings.PLATFORM_URL,
        apiRoot: settings.PLATFORM_API_ROOT,
        versions: { lp: settings.PLATFORM_LP_VERSION, le: settings.PLATFORM_LE_VERSION },
        overrides: settings.PLATFORM_OPERATIONS,
        connectTimeoutMs: settings.PLATFORM_CONNECT_TIMEOUT_MS,
        headersTimeoutMs: settings.PLATFORM_HEADERS_TIMEOUT_MS,
        bodyTimeoutMs: settings.PLATFORM_BODY_TIMEOUT_MS,
      },
      createAuthenticator(credentials),
    ),
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
  return createLedger({
    dynamodb: once(async () => {
      const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb');
      return new DynamoDBClient(awsClient);
    }),
    table: settings.LEDGER_TABLE,
    settlingMs: settings.LEDGER_SETTLING_SECONDS * 1000,
    warn: observe.warn,
    nowMs: Date.now,
  });
};

/** Built with the first message of a container, kept for its life. */
export const servicesFromEnvironment = (functionName: string): (() => Services) =>
  once(() => createServices(functionName, settingsFrom(process.env)));

const once = <Value>(make: () => Value): (() => Value) => {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};
