import { readFileSync } from 'node:fs';
import { homedir, hostname, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import type { OperationOverride } from '../platform/client/operation.ts';
import type { ClientOptions } from '../runtime/aws/clients.ts';
import { memoize } from '../runtime/aws/memoize.ts';
import { readSettings } from '../runtime/aws/setting.ts';
import { hasOwnStore, platformSettings, storeSettings } from '../runtime/aws/settings.ts';
import { type AwsClients, awsClients } from './aws-clients.ts';
import type { ReadCaller } from './caller.ts';
import { RefusedError, UsageError } from './command-errors.ts';
import { localTarget } from './local-target.ts';
import type { ReadStack, Stack, StackOutputs } from './stack-outputs.ts';
import type { NotedVersion } from './version.ts';

/** The deployment that an operator works on, and the clients for it. */
export type Target = AwsClients & {
  /** The beginning of its queues' names, such as `sis-relay-prod-`. */
  prefix: string;
  /** Options for the Lambda client, which only a command loads; undefined: it cannot be reached. */
  lambdaOptions: ClientOptions | undefined;
  /** Name of the ledger's table; undefined: the functions have none. */
  ledgerTable: string | undefined;
  /** Name of the table of what operators see; undefined: the functions have none. */
  deskTable: string | undefined;
  /** Name of the crosswalk table; undefined: there is none. */
  crosswalkTable: string | undefined;
  deadLetterQueueUrl(): Promise<string>;
  /** Undefined if the function has no queue. */
  queueUrlOf(functionName: string): Promise<string | undefined>;
  /** The bucket of the audit log and of archives; undefined: unknown. */
  bucket(): Promise<string | undefined>;
  /** The platform's settings, named as for the functions; undefined: the platform is not known. */
  platform(): Promise<Record<string, string> | undefined>;
  /** How to read the functions' log: the options of a CloudWatch Logs client, or a file; undefined: no log is kept. */
  functionLog?: { client: ClientOptions } | { file: string } | undefined;
  /** What was deployed, as the deployment wrote it down; undefined: unknown. */
  deployed?: (() => Promise<NotedVersion | undefined>) | undefined;
  /** The namespace of the functions' metrics. */
  metricNamespace: string;
  /** Who acts, by the name that they gave, for the audit log. */
  who: string;
  /** Who acts, by their credentials; undefined: unknown. */
  caller?: (() => Promise<string>) | undefined;
  /** How long letters stay hidden from others if the process that leased them dies. */
  leaseSeconds: number;
  /** How long a receive call waits for letters. */
  pollSeconds: number;
};

export type TargetOptions = {
  stage?: string | undefined;
  /** URL of the dead-letter queue. */
  deadLetters?: string | undefined;
  bucket?: string | undefined;
  profile?: string | undefined;
  region?: string | undefined;
  /** Who acts; default: the user of this machine, or the function. */
  as?: string | undefined;
  /** A file of `npm run local`; true: that of the project which contains this folder. */
  local?: string | true | undefined;
  leaseSeconds?: number | undefined;
  /** Reads the stack of the stage for values that neither the options nor the environment give. Default: none is read. */
  readStack?: ReadStack | undefined;
  /** Reads the identity of the credentials. Default: none is read. */
  readCaller?: ReadCaller | undefined;
  /** Receives a sentence if the stack lacks a value, too. */
  warn?(sentence: string): void;
};

const environmentSchema = z.object({
  SIS_RELAY_STAGE: z.string().optional(),
  SIS_RELAY_STAGES: z.string().default(join(import.meta.dirname, '../../stages')),
  SIS_RELAY_BUCKET: z.string().optional(),
  DEAD_LETTER_QUEUE_URL: z.url('must be the address of a queue').optional(),
  SECRET_PREFIX: z.string().optional(),
  LEDGER_TABLE: z.string().optional(),
  DESK_TABLE: z.string().optional(),
  CROSSWALK_TABLE: z.string().optional(),
  PLATFORM_URL: z.string().optional(),
  AWS_REGION: z.string().optional(),
  METRIC_NAMESPACE: z.string().default('sis-relay'),
  AWS_LAMBDA_FUNCTION_NAME: z.string().optional(),
  AWS_ENDPOINT_URL_CLOUDFORMATION: z.string().optional(),
  AWS_ENDPOINT_URL_SQS: z.string().optional(),
  XDG_CONFIG_HOME: z.string().optional(),
  VISUAL: z.string().optional(),
  EDITOR: z.string().optional(),
});

/** An empty variable counts as not set, as with the AWS CLI. */
const given = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]));

const environment = () => {
  const parsed = environmentSchema.safeParse(given());
  if (parsed.success) return parsed.data;
  throw new UsageError(
    parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; '),
  );
};

/** Whether the options or the environment name a deployment. */
export const isNamed = ({ local, stage, deadLetters }: TargetOptions): boolean => {
  const { SIS_RELAY_STAGE, DEAD_LETTER_QUEUE_URL } = environment();
  return [local, stage, deadLetters, SIS_RELAY_STAGE, DEAD_LETTER_QUEUE_URL].some(
    (each) => each !== undefined,
  );
};

export const targetFrom = (options: TargetOptions): Target => {
  const common = {
    metricNamespace: environment().METRIC_NAMESPACE,
    who: options.as ?? environment().AWS_LAMBDA_FUNCTION_NAME ?? `${userInfo().username}@${hostname()}`,
    leaseSeconds: options.leaseSeconds ?? 60,
  };
  const target = options.local === undefined ? targetOnAws(options) : localTarget(options.local);
  // Queues on this machine answer at once and with exact counts.
  const isExact =
    options.local !== undefined || /^http:\/\/127\./.test(environment().AWS_ENDPOINT_URL_SQS ?? '');
  return { ...target, ...common, pollSeconds: isExact ? 0 : 1 };
};

/** The site's overrides of operations; no target is needed. */
export const operationOverrides = (): Record<string, OperationOverride> => {
  try {
    const { overrides } = platformSettings;
    return readSettings({ platform: { overrides } }, given()).platform.overrides;
  } catch (error) {
    throw new UsageError(settingsProblem(error));
  }
};

/** The problems that the functions' own check of their settings found, for a person. */
export const settingsProblem = (error: unknown): string =>
  error instanceof Error ? error.message.replace("The function's", 'The') : String(error);

const hostOfAws = /^https:\/\/[\w.-]+\.(?:amazonaws\.com(?:\.cn)?|api\.aws)(?:[:/]|$)/;

/** Whether the environment names another place than AWS for a service. */
export const hasOwnEndpoint = (): boolean =>
  Object.entries(given()).some(
    ([name, value]) => name.startsWith('AWS_ENDPOINT_URL') && !hostOfAws.test(value),
  );

/** What the command keeps for the user of this machine. */
export const configFolder = (): string =>
  join(environment().XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'sis-relay');

/** The operator's editor, if the environment names one. */
export const namedEditor = (): string | undefined => {
  const { VISUAL, EDITOR } = environment();
  return VISUAL ?? EDITOR;
};

const targetOnAws = (options: TargetOptions) => {
  const settings = environment();
  const isOwnStore = hasOwnStore(readSettings({ store: storeSettings }, given()).store);
  const stage = options.stage ?? settings.SIS_RELAY_STAGE;
  const region = options.region ?? settings.AWS_REGION ?? regionOf(stage);
  const clientOptions = {
    ...(options.profile === undefined ? {} : { profile: options.profile }),
    ...(region === undefined ? {} : { region }),
    maxAttempts: 5,
    forcePathStyle: isOwnStore,
  };
  const clients = awsClients(() => clientOptions);
  // --stage takes precedence over the environment, which may name the queue of another stage.
  const url =
    options.deadLetters ?? (options.stage === undefined ? settings.DEAD_LETTER_QUEUE_URL : undefined);
  const prefix = prefixOf(stage, url);
  const { readCaller, readStack } = options;
  const stack = readStack && memoize(() => readStack(prefix.slice(0, -1), clientOptions));
  const outputs = memoize(async () => outputsOf(await stack?.(), options));
  return {
    prefix,
    ...clients,
    ledgerTable: tableOf(options, settings.LEDGER_TABLE, `${prefix}ledger-by-resource`),
    deskTable: tableOf(options, settings.DESK_TABLE, `${prefix}desk`),
    crosswalkTable: tableOf(options, settings.CROSSWALK_TABLE, `${prefix}crosswalk`),
    lambdaOptions: clientOptions,
    // With a custom endpoint, the credentials belong to no identity on AWS.
    caller: readCaller && !isOwnStore ? memoize(() => readCaller(clientOptions)) : undefined,
    deadLetterQueueUrl: memoize(async () => {
      const found = url ?? (await queueUrl(clients, `${prefix}${suffix}`));
      if (found === undefined)
        throw new RefusedError(
          `There is no queue ${prefix}${suffix} in ${await placeOf(clients, options)}. Check the stage, the region and the profile.`,
        );
      return found;
    }),
    // With a custom endpoint, there is a stack only if CloudFormation has one as well.
    deployed:
      stack && (!isOwnStore || settings.AWS_ENDPOINT_URL_CLOUDFORMATION !== undefined)
        ? async () => {
            const { outputs, tags, changedMs, isDeployed, why } = await stack();
            // Version 1.0.0 wrote its commit into a tag.
            return why === undefined
              ? { version: tags.version, commit: outputs.Commit ?? tags.commit, changedMs, isDeployed }
              : undefined;
          }
        : undefined,
    functionLog: { client: clientOptions },
    queueUrlOf: (functionName: string) => queueUrl(clients, `${prefix}${functionName}`),
    bucket: async () => options.bucket ?? settings.SIS_RELAY_BUCKET ?? (await outputs()).FilesBucket,
    platform: async () => {
      const { PLATFORM_URL: url, SECRET_PREFIX: secrets } = settings;
      const stackOutputs = url === undefined ? await outputs() : {};
      const PLATFORM_URL = url ?? stackOutputs.PlatformUrl;
      if (PLATFORM_URL === undefined) return undefined;
      const SECRET_PREFIX = secrets ?? stackOutputs.SecretPrefix ?? pathOfStage(prefix);
      const { PlatformLpVersion: lp, PlatformLeVersion: le } = stackOutputs;
      // What another stage is called with may be in the environment.
      const versions = { ...(lp && { PLATFORM_LP_VERSION: lp }), ...(le && { PLATFORM_LE_VERSION: le }) };
      return { ...given(), ...versions, PLATFORM_URL, SECRET_PREFIX };
    },
  };
};

/** Where the files of the stages are: those that are packaged. */
export const stagesFolder = (): string => resolve(environment().SIS_RELAY_STAGES);

/** By the file of the stage; undefined: there is none, or it has no region. */
const regionOf = (stage: string | undefined): string | undefined => {
  try {
    const text = readFileSync(join(stagesFolder(), `${stage}.yml`), 'utf8');
    return /^region: *['"]?([\w-]+)/m.exec(text)?.[1];
  } catch {
    return undefined;
  }
};

/** `sis-relay/<stage>`, which names its secrets and its metrics, of `sis-relay-<stage>-`, which names the rest. */
export const pathOfStage = (prefix: string): string => prefix.replace(/^sis-relay-(.+)-$/, 'sis-relay/$1');

const outputsOf = (stack: Stack | undefined, { warn }: TargetOptions): StackOutputs => {
  if (stack === undefined) return {};
  const { outputs, why } = stack;
  if (why !== undefined)
    warn?.(
      `The bucket and the platform’s address are not known: ${why}. Pass --bucket or set SIS_RELAY_BUCKET, and set PLATFORM_URL.`,
    );
  return outputs;
};

/** As in `the region eu-west-1, in the account of the profile ops`. */
const placeOf = async ({ sqs }: AwsClients, { profile }: TargetOptions): Promise<string> => {
  const region = await (await sqs()).config.region();
  const used = profile ?? given().AWS_PROFILE;
  return `the region ${region}, in the account of ${used === undefined ? 'your credentials' : `the profile ${used}`}`;
};

/** A function reads it from its environment; for people it follows from the stage, as in serverless.yml. */
const tableOf = (
  { stage }: TargetOptions,
  named: string | undefined,
  byStage: string,
): string | undefined => {
  const isFunction = environment().AWS_LAMBDA_FUNCTION_NAME !== undefined;
  return stage === undefined && (named !== undefined || isFunction) ? named : byStage;
};

const suffix = 'dead-letters';

const prefixOf = (stage: string | undefined, url: string | undefined): string => {
  if (stage !== undefined) return `sis-relay-${stage}-`;
  const name = url?.split('/').at(-1);
  if (name === undefined)
    throw new UsageError(
      'Which deployment? Pass --stage, as in --stage prod, or set SIS_RELAY_STAGE. For the stack of `npm run local`, pass --local.',
    );
  if (!name.endsWith(suffix))
    throw new UsageError(
      `The queue ${name} is not named like sis-relay-prod-${suffix}, so the other queues cannot be found. Pass --stage, too.`,
    );
  return name.slice(0, -suffix.length);
};

const queueUrl = async ({ sqs }: AwsClients, name: string): Promise<string | undefined> => {
  const { GetQueueUrlCommand } = await import('@aws-sdk/client-sqs');
  const client = await sqs();
  try {
    return (await client.send(new GetQueueUrlCommand({ QueueName: name }))).QueueUrl;
  } catch (error) {
    if (error instanceof Error && /NonExistentQueue|QueueDoesNotExist/.test(error.name)) return undefined;
    throw error;
  }
};
