import * as z from 'zod';
import { readJson } from '../../message/json.ts';
import { checkFileHosts } from './file-hosts.ts';
import { isPrivate } from './loopback.ts';
import {
  count,
  flag,
  hoursAsMs,
  type Setting,
  secondsAsMs,
  type ValuesIn,
  type ValuesOf,
} from './setting.ts';

type Group = Record<string, Setting>;

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
const platformUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address such as https://platform.example.edu' })
  .transform((url) => new URL(url))
  .refine(isPrivate, 'must use https: only a platform on this machine can be called without TLS')
  .refine(
    ({ origin, href }) => href === `${origin}/`,
    'must have only a scheme, host and port. Put a path into PLATFORM_API_ROOT',
  )
  .transform(({ origin }) => origin);

const version = z.string().regex(/^\d+\.\d+$/, 'must be a version such as 1.49');

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

const files = { Ref: 'Files' };

export const telemetrySettings = {
  namespace: {
    variable: 'METRIC_NAMESPACE',
    schema: z
      .string()
      .regex(/^(?!AWS\/)[\w./-]+$/, 'must have only letters, digits and _./-, and not begin with AWS/'),
    usual: 'sis-relay',
    deployed: `sis-relay/\${sls:stage}`,
    description: 'The namespace of the metrics.',
  },
  level: {
    variable: 'LOG_LEVEL',
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    usual: 'info',
    parameter: 'logLevel',
    description: 'How much is logged: `debug`, `info`, `warn`, `error` or `silent`.',
  },
} satisfies Group;

/** Of another store than S3: its buckets are paths of this address. */
export const storeSettings = {
  endpoint: {
    variable: 'AWS_ENDPOINT_URL',
    schema: z.string().optional(),
    description: 'The address of a stand-in for AWS.',
  },
  s3Endpoint: {
    variable: 'AWS_ENDPOINT_URL_S3',
    schema: z.string().optional(),
    description: 'The address of a stand-in for S3.',
  },
} satisfies Group;

export const secretSettings = {
  prefix: {
    variable: 'SECRET_PREFIX',
    schema: z
      .string()
      .regex(/^[\w/+=.@-]*[\w+=.@-]$/, 'must have only letters, digits and /_+=.@-, and not end in /'),
    deployed: `sis-relay/\${sls:stage}`,
    description: 'The names of the secrets begin with it.',
  },
  timeToLiveMs: {
    variable: 'SECRET_TTL_SECONDS',
    schema: secondsAsMs,
    usual: 300,
    description: 'A container reads a credential again after this time, in seconds.',
  },
} satisfies Group;

export const platformSettings = {
  baseUrl: {
    variable: 'PLATFORM_URL',
    schema: platformUrl,
    parameter: 'platformUrl',
    example: 'https://platform-test.example.edu',
    prod: 'https://platform.example.edu',
    description: 'The scheme, host and port of the learning platform.',
  },
  apiRoot: {
    variable: 'PLATFORM_API_ROOT',
    schema: z.string().regex(/^(\/[a-z0-9-]+)*$/, 'must be a path such as /svc/api'),
    usual: '/svc/api',
    description: 'The path before all paths of the API.',
  },
  lpVersion: {
    variable: 'PLATFORM_LP_VERSION',
    schema: version,
    usual: '1.49',
    parameter: 'lpVersion',
    description: 'The version of the API `lp` that is called, in quotation marks.',
  },
  leVersion: {
    variable: 'PLATFORM_LE_VERSION',
    schema: version,
    usual: '1.82',
    parameter: 'leVersion',
    description: 'The version of the API `le` that is called, in quotation marks.',
  },
  overrides: {
    variable: 'PLATFORM_OPERATIONS',
    schema: overrides,
    usual: '{}',
    description:
      'Versions and paths of single operations, as JSON ([versions and paths](../platform/README.md#versions-and-paths)).',
  },
  connectTimeoutMs: {
    variable: 'PLATFORM_CONNECT_TIMEOUT_MS',
    schema: count,
    usual: 5_000,
    description: 'Time limit of a connection to the platform, in milliseconds.',
  },
  headersTimeoutMs: {
    variable: 'PLATFORM_HEADERS_TIMEOUT_MS',
    schema: count,
    usual: 15_000,
    description: 'Time limit until the platform begins its answer, in milliseconds.',
  },
  bodyTimeoutMs: {
    variable: 'PLATFORM_BODY_TIMEOUT_MS',
    schema: count,
    usual: 15_000,
    description: 'Longest pause within an answer of the platform, in milliseconds.',
  },
  callsPerMinute: {
    variable: 'PLATFORM_CALLS_PER_MINUTE',
    schema: count.optional(),
    parameter: 'callsPerMinute',
    description:
      'The maximum number of calls of the platform per minute, by all its clients together, yours and others’. If the platform states no ' +
      "budget, each container takes at most an equal share. `''`: as many as the platform allows.",
  },
  containers: {
    variable: 'PACE_CONTAINERS',
    schema: count,
    usual: 34,
    description:
      'The number of containers that share `callsPerMinute`. Packaging counts those of `serverless.yml`.',
  },
} satisfies Group;

export const tableSettings = {
  ledger: {
    variable: 'LEDGER_TABLE',
    schema: z.string().optional(),
    deployed: { Ref: 'Ledger' },
    description:
      'The table of the ledger. Without it, duplicates are sent again, and old messages overwrite newer ones.',
  },
  letterIndex: {
    variable: 'DESK_TABLE',
    schema: z.string().optional(),
    deployed: { Ref: 'Desk' },
    description: 'The letter index: operators’ records of letters and of waiting messages.',
  },
  crosswalk: {
    variable: 'CROSSWALK_TABLE',
    schema: z.string().optional(),
    deployed: { Ref: 'Crosswalk' },
    description: 'The table of what the SIS’ ids stand for.',
  },
} satisfies Group;

export const ledgerSettings = {
  lateEffectMs: {
    variable: 'LEDGER_GRACE_SECONDS',
    schema: secondsAsMs,
    usual: 60,
    description:
      'How long an unanswered call may still take effect, in seconds. Meanwhile, no other message changes its resource.',
  },
  keySecret: {
    variable: 'LEDGER_KEY_SECRET',
    schema: z.string().optional(),
    description: 'The name or ARN of the secret that keys the ledger’s digests.',
  },
} satisfies Group;

export const letterSettings = {
  deadLetterQueueUrl: {
    variable: 'DEAD_LETTER_QUEUE_URL',
    schema: z.url(),
    deployed: { Ref: 'DeadLetters' },
    description: 'The address of the queue of dead letters.',
  },
} satisfies Group;

const queueSettings = {
  url: {
    variable: 'QUEUE_URL',
    schema: z.url(),
    description: 'The address of the function’s queue.',
  },
  lettersBucket: {
    variable: 'LETTERS_BUCKET',
    schema: z.string().optional(),
    deployed: files,
    description: 'The bucket that keeps whole messages that SQS does not accept as letters.',
  },
} satisfies Group;

/** Files of events, which S3 notifies the queue of. */
const eventFileSettings = {
  bucket: {
    variable: 'EVENTS_BUCKET',
    schema: z.string().optional(),
    deployed: files,
    description: 'The bucket of files of events, under `events/<function>/`.',
  },
  maximumBytes: {
    variable: 'EVENTS_FILE_MAXIMUM_BYTES',
    schema: count,
    usual: 256 * 1024 ** 2,
    description: 'Maximum size of a file of events, in bytes.',
  },
  maximumEvents: {
    variable: 'EVENTS_FILE_MAXIMUM',
    schema: count,
    usual: 500_000,
    description: 'Maximum number of events in a file.',
  },
} satisfies Group;

/** Files that messages name. */
export const fileSettings = {
  hosts: {
    variable: 'FILE_HOSTS',
    schema: fileHosts,
    usual: '',
    parameter: 'fileHosts',
    description: "Hosts from which messages may name `https://` files, separated by commas. `''`: none.",
  },
  allowLoopback: {
    variable: 'FILE_LOOPBACK',
    schema: flag,
    usual: 'false',
    description: '`true`: messages may name files on the machine that runs the function.',
  },
  timeoutMs: {
    variable: 'FILE_TIMEOUT_MS',
    schema: count,
    usual: 10_000,
    description: 'Time limit of each step of reading a file, in milliseconds.',
  },
} satisfies Group;

export const backoffSettings = {
  minimumSeconds: {
    variable: 'WAIT_MINIMUM_SECONDS',
    schema: count,
    usual: 5,
    description: 'Shortest wait after a temporary failure, in seconds.',
  },
  maximumSeconds: {
    variable: 'WAIT_MAXIMUM_SECONDS',
    schema: count,
    usual: 1_800,
    description: 'Longest wait after a temporary failure, in seconds, unless the platform asks for more.',
  },
} satisfies Group;

/** What an integration asks for when it opens a file. */
export const fileSizeSettings = {
  fileBytes: {
    variable: 'FILE_MAXIMUM_BYTES',
    schema: count,
    usual: 1024 ** 3,
    description: 'Maximum size of a file that a message names, in bytes.',
  },
  profileImageBytes: {
    variable: 'PROFILE_IMAGE_MAXIMUM_BYTES',
    schema: count,
    usual: 5 * 1024 ** 2,
    description: 'Maximum size of a profile image, in bytes.',
  },
} satisfies Group;

export type FileSizeLimits = ValuesIn<typeof fileSizeSettings>;

/** Six times the functions' timeout: a message at work is never handed out a second time. */
const visibilitySeconds = 720;

export const limitSettings = {
  attemptTimeoutMs: {
    variable: 'ATTEMPT_TIMEOUT_MS',
    schema: count,
    usual: 40_000,
    description:
      'Time limit of one message, in milliseconds. A function starts no message if less time is left.',
  },
  reserveMs: {
    variable: 'RESERVE_MS',
    schema: count,
    usual: 10_000,
    description:
      'Time reserved at the end of an invocation, in milliseconds, to write letters and to set when messages come back.',
  },
  maxWaitMs: {
    variable: 'WAIT_LONGEST_HOURS',
    schema: hoursAsMs,
    usual: 24,
    description: 'How long a message waits at most before it is parked, in hours.',
  },
  maxUnknownIdWaitMs: {
    variable: 'WAIT_UNKNOWN_ID_HOURS',
    schema: hoursAsMs,
    usual: 3,
    description: 'How long a message waits for the crosswalk to know its ids, in hours.',
  },
  visibilityMs: {
    variable: 'QUEUE_VISIBILITY_SECONDS',
    schema: secondsAsMs,
    usual: visibilitySeconds,
    deployed: visibilitySeconds,
    description: 'The queues’ visibility timeout, in seconds.',
  },
  ...fileSizeSettings,
} satisfies Group;

/** Of a function that a queue triggers. */
export const messageSettings = {
  platform: platformSettings,
  secrets: secretSettings,
  queue: queueSettings,
  letters: letterSettings,
  events: eventFileSettings,
  tables: tableSettings,
  ledger: ledgerSettings,
  files: fileSettings,
  limits: limitSettings,
  backoff: backoffSettings,
  telemetry: telemetrySettings,
  store: storeSettings,
};

export type MessageSettings = ValuesOf<typeof messageSettings>;

/** Of a job that calls the platform. It has no queue. */
export const jobSettings = {
  platform: platformSettings,
  secrets: secretSettings,
  tables: tableSettings,
  limits: {
    reserveMs: limitSettings.reserveMs,
    maxWaitMs: {
      ...limitSettings.maxWaitMs,
      usual: 3,
      description: 'A job that has waited this long for the platform ends, in hours.',
    },
  },
  backoff: backoffSettings,
  telemetry: telemetrySettings,
  store: storeSettings,
};

/** The queues of a stage have addresses that differ only in the function's name. */
export const queueUrlOf = (
  functionName: string,
  { deadLetterQueueUrl }: ValuesIn<typeof letterSettings>,
): string => deadLetterQueueUrl.replace(/dead-letters$/, functionName);

/** A store with its own address has no DNS name for each bucket. */
export const hasOwnStore = ({ s3Endpoint, endpoint }: ValuesIn<typeof storeSettings>): boolean =>
  (s3Endpoint ?? endpoint) !== undefined;
