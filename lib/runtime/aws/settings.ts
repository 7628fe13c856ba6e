import * as z from 'zod';
import { readJson } from '../../message/json.ts';
import { checkFileHosts } from './file-hosts.ts';
import { isPrivate } from './loopback.ts';

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

/** A path here would be dropped silently, and every message would be parked for its 404. */
export const platformUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address such as https://platform.example.edu' })
  .transform((url) => new URL(url))
  .refine(isPrivate, 'must use https: only a platform on this machine can be called without TLS')
  .refine(
    ({ origin, href }) => href === `${origin}/`,
    'must have only a scheme, host and port. Put a path into PLATFORM_API_ROOT',
  )
  .transform(({ origin }) => origin);

const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
const count = z.coerce.number().int().positive();
/** For which sis-relay was written. */
export const usualVersions = { lp: '1.49', le: '1.82' };
export const version = z.string().regex(/^\d+\.\d+$/, 'must be a version such as 1.49');
const overrides = z
  .string()
  .transform((text, context) => {
    const read = readJson(text);
    if ('json' in read) return read.json;
    context.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
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
    .regex(/^(\/[a-z0-9-]+)*$/, 'must be a path such as /svc/api')
    .default('/svc/api'),
  PLATFORM_LP_VERSION: version.default(usualVersions.lp),
  PLATFORM_LE_VERSION: version.default(usualVersions.le),
  PLATFORM_OPERATIONS: overrides.default({}),
  PLATFORM_CONNECT_TIMEOUT_MS: count.default(5_000),
  PLATFORM_HEADERS_TIMEOUT_MS: count.default(15_000),
  PLATFORM_BODY_TIMEOUT_MS: count.default(15_000),
  /** Caps the calls of all clients together; without the platform's headers, those of all containers together. */
  PLATFORM_CALLS_PER_MINUTE: count.optional(),
  /**
   * Number of containers that share that cap evenly if the platform reports no budget: package.config.ts counts those of
   * serverless.yml.
   */
  PACE_CONTAINERS: count.default(34),
  SECRET_PREFIX: z
    .string()
    .regex(/^[\w/+=.@-]*[\w+=.@-]$/, 'must have only letters, digits and /_+=.@-, and not end in /'),
  SECRET_TTL_SECONDS: count.default(300),
  QUEUE_URL: z.url(),
  DEAD_LETTER_QUEUE_URL: z.url(),
  /** Keeps whole messages that SQS does not accept as letters. */
  LETTERS_BUCKET: z.string().optional(),
  /** Holds files of events under events/<function>/. */
  EVENTS_BUCKET: z.string().optional(),
  EVENTS_FILE_MAXIMUM_BYTES: count.default(256 * 1024 ** 2),
  EVENTS_FILE_MAXIMUM: count.default(500_000),
  LEDGER_TABLE: z.string().optional(),
  /** What the SIS' ids stand for. */
  CROSSWALK_TABLE: z.string().optional(),
  /** The operators' records of letters and of waiting messages. */
  DESK_TABLE: z.string().optional(),
  LEDGER_GRACE_SECONDS: count.default(60),
  /** Name or ARN of the secret that keys the ledger's digests. */
  LEDGER_KEY_SECRET: z.string().optional(),
  /** The queue's visibility timeout. */
  QUEUE_VISIBILITY_SECONDS: count.default(720),
  /** A message that its queue delivers again is received within this time, even if its first receipts fail. */
  QUEUE_BACKLOG_SECONDS: count.default(2_700),
  FILE_HOSTS: fileHosts.default([]),
  FILE_LOOPBACK: flag.default(false),
  FILE_TIMEOUT_MS: count.default(10_000),
  FILE_MAXIMUM_BYTES: count.default(1024 ** 3),
  PROFILE_IMAGE_MAXIMUM_BYTES: count.default(5 * 1024 ** 2),
  ATTEMPT_TIMEOUT_MS: count.default(40_000),
  RESERVE_MS: count.default(10_000),
  WAIT_MINIMUM_SECONDS: count.default(5),
  WAIT_MAXIMUM_SECONDS: count.default(1_800),
  WAIT_LONGEST_HOURS: z.coerce.number().positive().default(24),
  /** How long a message waits for the crosswalk to know its ids. */
  WAIT_UNKNOWN_ID_HOURS: z.coerce.number().positive().default(3),
  METRIC_NAMESPACE: z
    .string()
    .regex(/^(?!AWS\/)[\w./-]+$/, 'must have only letters, digits and _./-, and not begin with AWS/')
    .default('sis-relay'),
  REFRESH_TOKEN_DAYS: z.coerce.number().positive().optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  AWS_ENDPOINT_URL: z.string().optional(),
  AWS_ENDPOINT_URL_S3: z.string().optional(),
});

export type Settings = z.infer<typeof settingsSchema>;

/** Without a queue. */
const refreshSettingsSchema = settingsSchema
  .pick({ SECRET_PREFIX: true, METRIC_NAMESPACE: true, LOG_LEVEL: true })
  .extend({ TOKEN_TIMEOUT_MS: count.default(30_000) });

export type RefreshSettings = z.infer<typeof refreshSettingsSchema>;

/** Without a queue. */
const exportSettingsSchema = settingsSchema.omit({ QUEUE_URL: true, DEAD_LETTER_QUEUE_URL: true }).extend({
  EXPORT_BUCKET: z.string(),
  EXPORT_PREFIX: z
    .string()
    .regex(/^([\w.-]+\/)*$/, 'must be empty, or a folder such as course-exports/')
    .default('course-exports/'),
  EXPORT_CONCURRENCY: count.default(4),
  WAIT_LONGEST_HOURS: z.coerce.number().positive().default(3),
});

export type ExportSettings = z.infer<typeof exportSettingsSchema>;

const changesUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address such as https://sis.example.edu/changes' })
  .refine((text) => {
    const { username, password, hash } = new URL(text);
    return username + password + hash === '';
  }, 'must have no user, password or fragment. Put a key into the secret');

/** Without CHANGES_URL, change-poll does nothing. */
const pollSettingsSchema = settingsSchema
  .pick({
    ...{ SECRET_PREFIX: true, METRIC_NAMESPACE: true, LOG_LEVEL: true, DEAD_LETTER_QUEUE_URL: true },
    ...{ AWS_ENDPOINT_URL: true, AWS_ENDPOINT_URL_S3: true },
  })
  .extend({
    LEDGER_TABLE: z.string(),
    CHANGES_BUCKET: z.string(),
    CHANGES_URL: changesUrl.optional(),
    /** The key of the last id: another source of changes needs another name. */
    CHANGES_NAME: z
      .string()
      .regex(/^[\w.-]{1,60}$/, 'must be at most 60 letters, digits and _.-')
      .default('changes'),
    /** Name of the secret below SECRET_PREFIX. '': requests are not signed. */
    CHANGES_SECRET: z.string().optional(),
    CHANGES_ACCEPT: z.string().default('application/json'),
    CHANGES_AFTER_PARAMETER: z.string().default('lastProcessedID'),
    CHANGES_LIMIT_PARAMETER: z.string().default('limit'),
    CHANGES_LIMIT: count.default(500),
    /** The id after which the first page begins. */
    CHANGES_FROM: z.string().optional(),
    CHANGES_MAXIMUM_BYTES: count.default(16 * 1024 ** 2),
    CHANGES_TIMEOUT_MS: count.default(15_000),
    /** Allows addresses that are not public, and plain http. */
    CHANGES_PRIVATE: flag.default(false),
  })
  .refine(({ CHANGES_URL, CHANGES_PRIVATE }) => CHANGES_PRIVATE || !CHANGES_URL?.startsWith('http:'), {
    error: 'must be https, unless CHANGES_PRIVATE is true',
    path: ['CHANGES_URL'],
  });

export type PollSettings = z.infer<typeof pollSettingsSchema>;
/** Without a queue. */
const crosswalkSettingsSchema = settingsSchema.omit({ QUEUE_URL: true, DEAD_LETTER_QUEUE_URL: true }).extend({
  CROSSWALK_TABLE: z.string(),
  CROSSWALK_BUCKET: z.string(),
  CROSSWALK_MAXIMUM_REMOVALS_PERCENT: z.coerce.number().min(0).max(100).default(5),
  /** In UTC. */
  CROSSWALK_CLASSLISTS_HOUR: z.coerce.number().int().min(0).max(23).default(3),
  WAIT_LONGEST_HOURS: z.coerce.number().positive().default(3),
});

export type CrosswalkSettings = z.infer<typeof crosswalkSettingsSchema>;
/** snapshot-import calls no platform, and has no queue. */
const snapshotSettingsSchema = settingsSchema
  .pick({
    ...{ DEAD_LETTER_QUEUE_URL: true, METRIC_NAMESPACE: true, LOG_LEVEL: true },
    ...{ WAIT_MINIMUM_SECONDS: true, WAIT_MAXIMUM_SECONDS: true },
    ...{ AWS_ENDPOINT_URL: true, AWS_ENDPOINT_URL_S3: true },
  })
  .extend({
    SNAPSHOT_BUCKET: z.string(),
    /** How long a snapshot that removes too much waits for a person; then it is rejected. */
    APPROVAL_LONGEST_HOURS: z.coerce.number().positive().default(168),
    EVENTS_PER_PART: count.default(5_000),
    RESERVE_MS: count.default(60_000),
  });

export type SnapshotSettings = z.infer<typeof snapshotSettingsSchema>;

/** reconcile has no queue; it sends to the queues of other functions. */
const reconcileSettingsSchema = settingsSchema.omit({ QUEUE_URL: true }).extend({
  LEDGER_TABLE: z.string(),
  LEDGER_KEY_SECRET: z.string(),
  RECONCILE_BUCKET: z.string(),
  /** Every write of the last hours, this many, is compared. */
  RECONCILE_RECENT_HOURS: z.coerce.number().positive().default(25),
  /** Approximate number of older writes that are compared, chosen at random. */
  RECONCILE_SAMPLE: count.default(30_000),
  /** Each write is compared once in this many nights. */
  RECONCILE_NIGHTS: count.default(28),
  RECONCILE_LONGEST_HOURS: z.coerce.number().positive().default(8),
  RECONCILE_CONCURRENCY: count.default(16),
});

export type ReconcileSettings = z.infer<typeof reconcileSettingsSchema>;

export const observeOptionsOf = (
  name: string,
  settings: Pick<Settings, 'LOG_LEVEL' | 'METRIC_NAMESPACE'>,
) => ({ function: name, level: settings.LOG_LEVEL, namespace: settings.METRIC_NAMESPACE });

/** How long a message or a step waits after a failure that passes. */
export const backoffOf = (settings: Pick<Settings, 'WAIT_MINIMUM_SECONDS' | 'WAIT_MAXIMUM_SECONDS'>) => ({
  minimumSeconds: settings.WAIT_MINIMUM_SECONDS,
  maximumSeconds: settings.WAIT_MAXIMUM_SECONDS,
});

/** The queues of a stage have addresses that differ only in the function's name. */
export const queueUrlOf = (
  functionName: string,
  { DEAD_LETTER_QUEUE_URL }: Pick<Settings, 'DEAD_LETTER_QUEUE_URL'>,
): string => DEAD_LETTER_QUEUE_URL.replace(/dead-letters$/, functionName);

/** A store with its own address has no DNS name for each bucket. */
export const hasOwnStore = (settings: Pick<Settings, 'AWS_ENDPOINT_URL' | 'AWS_ENDPOINT_URL_S3'>): boolean =>
  (settings.AWS_ENDPOINT_URL_S3 ?? settings.AWS_ENDPOINT_URL) !== undefined;

type Environment = Record<string, string | undefined>;

export const settingsFrom = (environment: Environment) => checked(settingsSchema, environment);
export const refreshSettingsFrom = (environment: Environment) => checked(refreshSettingsSchema, environment);
export const exportSettingsFrom = (environment: Environment) => checked(exportSettingsSchema, environment);
export const snapshotSettingsFrom = (environment: Environment) =>
  checked(snapshotSettingsSchema, environment);

export const pollSettingsFrom = (environment: Environment) => checked(pollSettingsSchema, environment);
export const crosswalkSettingsFrom = (environment: Environment) =>
  checked(crosswalkSettingsSchema, environment);

export const reconcileSettingsFrom = (environment: Environment) =>
  checked(reconcileSettingsSchema, environment);

export const operationOverridesFrom = (environment: Environment) =>
  checked(settingsSchema.pick({ PLATFORM_OPERATIONS: true }), environment).PLATFORM_OPERATIONS;

/** @throws Error naming each setting that is missing or wrong. */
const checked = <Checked>(schema: z.ZodType<Checked>, environment: Environment): Checked => {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) =>
    given[String(issue.path[0])] === undefined
      ? `${issue.path.join('.')} is missing`
      : `${issue.path.join('.')}: ${issue.message}`,
  );
  throw new Error(`The function's settings are not valid: ${problems.join('; ')}`);
};
