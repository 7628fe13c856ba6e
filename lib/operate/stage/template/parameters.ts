import { existsSync } from 'node:fs';
import * as z from 'zod';
import {
  crosswalkSettingsFrom,
  pollSettingsFrom,
  reconcileSettingsFrom,
  settingsFrom,
} from '../../../runtime/aws/settings.ts';
import { functionNames } from '../function-names.ts';
import { unknownName } from '../nearest.ts';
import { itemsOf } from './cloudformation.ts';
import { recordOf } from './deployed-settings.ts';

type Value = string | number | boolean;
type Parameters = Record<string, Value>;

/** Settings of earlier versions, and what to write instead. */
const retired: Record<string, string> = {
  classlistsRate: 'Write classlistsHour, an hour of UTC, as in classlistsHour: 3',
};

type Given = {
  /** As in `--param=platformUrl=https://…`. */
  given: readonly string[];
  /** Where the files of the stages are; default: stages/ in the project. */
  folder: string | undefined;
};

/**
 * The parameters of the stage that is packaged: the defaults, and what its own file sets. `settings` is the record of those that differ
 * from the defaults. `resolve` reads what a variable of osls stands for.
 * @throws Error naming a setting that does not exist, or has a wrong value, and the remedy.
 */
export const parametersOf = async (
  resolve: (variable: string) => Promise<unknown>,
  { given, folder }: Given,
): Promise<Record<string, Parameters>> => {
  const all = await resolve('file(lib/operate/stage/template/parameters.yml)');
  const { default: defaults = {}, ...others } = all as Record<string, Parameters>;
  const stage = String(await resolve('sls:stage'));
  const file = fileOf(stage, folder);
  const empty = new Error(
    `${file} has no setting. Write one in each line, as in platformUrl: https://platform.university.edu, or delete the file`,
  );
  const own = await resolve(`file(${file}), null`).catch((error) => {
    // osls names no file that holds nothing.
    throw /not supported result: "undefined"/.test(error.message) ? empty : error;
  });
  // Comments alone are read as null, like a file that is missing.
  if (own === null && existsSync(file)) throw empty;
  if (own === null && folder !== undefined)
    throw new Error(
      `There is no ${file}. Run npx sis-relay init --stage ${stage} --stages ${folder}, or unset SIS_RELAY_STAGES`,
    );
  const options = optionsOf(given);
  const problems = [
    ...problemsIn(own ?? {}, defaults).map((problem) => `${file}: ${problem}`),
    ...Object.entries(options).flatMap(
      ([name, value]) => nameProblem(name, defaults) ?? formProblem(name, value) ?? [],
    ),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const usual = { ...defaults, ...others[stage] };
  const set = { ...others[stage], ...(own as Parameters | null) };
  const settings = recordOf({ ...usual, ...set, ...options }, usual);
  return { default: { ...defaults, settings }, [stage]: set };
};

/** Where a stage has its settings. */
export const fileOf = (stage: string, folder: string | undefined): string =>
  `${folder ?? 'stages'}/${stage}.yml`;

/** What `--param` gives, by its name. */
const optionsOf = (given: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    given.map((each) => {
      const [name = '', ...rest] = each.split('=');
      return [name, rest.join('=')];
    }),
  );

const problemsIn = (own: unknown, defaults: Parameters): string[] => {
  if (typeof own !== 'object' || own === null || Array.isArray(own))
    return ['it must have a setting in each line, as in platformUrl: https://platform.university.edu'];
  return Object.entries(own).flatMap(
    ([name, value]) =>
      nameProblem(name, defaults) ??
      valueProblem(name, value, defaults[name]) ??
      formProblem(name, String(value)) ??
      [],
  );
};

const nameProblem = (name: string, defaults: Parameters): string | undefined => {
  if (name in defaults) return undefined;
  const instead = retired[name];
  if (instead !== undefined) return `the setting ${name} was retired. ${instead}`;
  return unknownName('setting', name, Object.keys(defaults));
};

const kinds: Record<string, string> = {
  string: 'a text, or empty quotation marks',
  number: 'a number',
  boolean: 'true or false',
};

const valueProblem = (name: string, value: unknown, usual: Value | undefined): string | undefined => {
  // What is off by default is an empty text, and may be a number such as 5000.
  const isFitting = typeof value === typeof usual || (usual === '' && typeof value === 'number');
  return isFitting ? undefined : `${name} must be ${kinds[typeof usual]}, and is ${JSON.stringify(value)}`;
};

type Form = (value: string) => string | undefined;

/** What each item of a list must be; a space behind a comma would let in nobody, and say nothing. */
const each =
  (form: RegExp, what: string): Form =>
  (value) => {
    const wrong = itemsOf(value).filter((item) => !form.test(item));
    return wrong.length === 0
      ? undefined
      : `must be ${what}, and is not: ${wrong.join('; ')}. Separate several by commas without spaces`;
  };

const one =
  (form: RegExp, what: string): Form =>
  (value) =>
    value === '' || form.test(value) ? undefined : `must be ${what}, and is ${value}`;

/** What the functions would refuse at their first start, by the name that they read. */
const asRead =
  (read: (environment: Record<string, string>) => unknown, variable: string): Form =>
  (value) => {
    try {
      read({ ...anyStage, [variable]: value });
      return undefined;
    } catch (error) {
      const [, ...all] = String(error).split(`${variable}: `);
      const why = all.map((each) => each.replace(/; $/, '')).join('; ') || 'must be given';
      return value === '' ? why : `${why} (it is ${value})`;
    }
  };

const [url, name] = ['https://any', 'any'];
/** What the functions need, besides. */
const anyStage = {
  ...{ PLATFORM_URL: url, SECRET_PREFIX: name, QUEUE_URL: url, DEAD_LETTER_QUEUE_URL: url },
  ...{ CROSSWALK_TABLE: name, CROSSWALK_BUCKET: name, CHANGES_BUCKET: name },
  ...{ LEDGER_TABLE: name, LEDGER_KEY_SECRET: name, RECONCILE_BUCKET: name },
};

const rate = one(/^(rate|cron)\(.+\)$/, 'as in rate(1 hour) or cron(17 1 * * ? *)');
const roles: Form = (value) => rolesProblem(value);
const logDays = /^([1357]|14|30|60|90|120|150|180|365|400|545|731|1096|1827|2192|2557|2922|3288|3653)$/;

const forms: Record<string, Form> = {
  region: one(/^[a-z]{2}(-[a-z]+)+-\d$/, 'a region such as eu-west-1'),
  platformUrl: asRead(settingsFrom, 'PLATFORM_URL'),
  lpVersion: asRead(settingsFrom, 'PLATFORM_LP_VERSION'),
  leVersion: asRead(settingsFrom, 'PLATFORM_LE_VERSION'),
  alarmEmail: (value) => addressProblem('alarmEmail', value, { examples: true })?.replace('alarmEmail: ', ''),
  off: (value) => offProblem(value, functionNames()),
  fileHosts: asRead(settingsFrom, 'FILE_HOSTS'),
  refreshTokenDays: asRead(settingsFrom, 'REFRESH_TOKEN_DAYS'),
  callsPerMinute: asRead(settingsFrom, 'PLATFORM_CALLS_PER_MINUTE'),
  crosswalkRate: rate,
  classlistsHour: asRead(crosswalkSettingsFrom, 'CROSSWALK_CLASSLISTS_HOUR'),
  crosswalkMaximumRemovalsPercent: asRead(crosswalkSettingsFrom, 'CROSSWALK_MAXIMUM_REMOVALS_PERCENT'),
  reconcileRate: rate,
  reconcileNights: asRead(reconcileSettingsFrom, 'RECONCILE_NIGHTS'),
  reconcileSample: asRead(reconcileSettingsFrom, 'RECONCILE_SAMPLE'),
  reconcileLongestHours: asRead(reconcileSettingsFrom, 'RECONCILE_LONGEST_HOURS'),
  logLevel: asRead(settingsFrom, 'LOG_LEVEL'),
  logRetentionDays: one(logDays, 'a number that CloudWatch knows, as in 14, 30, 90 or 365'),
  tracing: one(/^(Active|PassThrough)$/, 'Active or PassThrough'),
  kmsKeyArn: one(/^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/, 'the ARN of a key'),
  subnetIds: each(/^subnet-\w+$/, 'as in subnet-0a1b2c3d'),
  securityGroupIds: each(/^sg-\w+$/, 'as in sg-0a1b2c3d'),
  producerTopics: each(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w.-]+$/, 'the ARN of an SNS topic'),
  producerRules: each(/^arn:[\w-]+:events:[\w-]+:\d{12}:rule\/[\w./-]+$/, 'the ARN of an EventBridge rule'),
  producerAccounts: each(/^\d{12}$/, 'the number of an AWS account, in quotation marks'),
  readers: roles,
  operators: roles,
  leads: roles,
  permissionsBoundary: one(
    /^arn:[\w-]+:iam::(\d{12}|aws):policy\/[\w+=,.@/-]+$/,
    'the ARN of a policy of IAM',
  ),
  changesUrl: asRead(pollSettingsFrom, 'CHANGES_URL'),
};

const formProblem = (name: string, value: string): string | undefined => {
  // What a variable stands for is known later: osls, and the functions' own check, look at that.
  const problem = value.includes('${') ? undefined : forms[name]?.(value);
  return problem === undefined ? undefined : `${name}: ${problem}`;
};

/**
 * What is wrong with the name of a stage. Names of queues are allowed by what they begin with, so that `prod` would reach into a
 * stage `prod-2`; and a bucket's name has room for no more.
 */
export const stageProblem = (stage: string): string | undefined => {
  // They are sis-relay-deploy-<stage> in the guide: what is named by this stage would be theirs.
  if (stage === 'deploy')
    return 'The name of the stage, deploy, is also that of the roles that deploy other stages: choose another';
  return /^[a-z0-9]{1,19}$/.test(stage)
    ? undefined
    : `The name of the stage, ${stage}, must have at most 19 characters, all lower-case letters or digits`;
};

/** What keeps letters and the connection in order belongs to every stage. */
const alwaysOn = ['dead-letter-replay', 'connection-check'];

/** Names what is no function, or cannot be off. */
export const offProblem = (off: string, functions: readonly string[]): string | undefined => {
  const names = functions.filter((name) => !alwaysOn.includes(name));
  const unknown = itemsOf(off).find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  // A space would be all that differs from the name that is meant.
  if (/\s/.test(unknown)) return `“${unknown}” is no function. Separate several by commas without spaces`;
  if (alwaysOn.includes(unknown)) return `${unknown} cannot be off: every stage needs it`;
  return unknownName('function', unknown, names);
};

/** What is wrong with the names of people's IAM roles. */
export const rolesProblem = (roles: string): string | undefined => {
  const wrong = itemsOf(roles).find((name) => !/^[\w+=.@-]{1,64}$/.test(name));
  return wrong === undefined
    ? undefined
    : `${wrong} is not the name of an IAM role, as in sis-operators. Write names without their ARN, separated by commas without spaces`;
};

/** Names that belong to nobody. */
const isExample = (name: string): boolean => /(^|[.@])example(\.(com|edu|net|org))?$/.test(name);

/** What is wrong with the platform's address or the alarms' mail address. `examples`: may it belong to nobody? */
export const addressProblem = (
  name: 'platformUrl' | 'alarmEmail',
  value: string,
  { examples }: { examples: boolean },
): string | undefined => {
  if (name === 'alarmEmail' && !z.email().safeParse(value).success)
    return `alarmEmail: ${value} is not a mail address`;
  const host = name === 'alarmEmail' ? value : (URL.parse(value)?.hostname ?? '');
  return examples || !isExample(host) ? undefined : `${name}: ${value} is an example address`;
};
