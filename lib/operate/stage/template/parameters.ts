import * as z from 'zod';
import { unknownName } from '../nearest.ts';
import { itemsOf } from './cloudformation.ts';

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
 * The parameters of the stage that is packaged: the defaults, and what its own file sets. `resolve` reads what a variable of osls
 * stands for.
 * @throws Error naming a setting that does not exist, or has a wrong value, and the remedy.
 */
export const parametersOf = async (
  resolve: (variable: string) => Promise<unknown>,
  { given, folder }: Given,
): Promise<Record<string, Parameters>> => {
  const all = await resolve('file(lib/operate/stage/template/parameters.yml)');
  const { default: defaults = {}, ...others } = all as Record<string, Parameters>;
  const stage = String(await resolve('sls:stage'));
  const file = `${folder ?? 'stages'}/${stage}.yml`;
  const own = await resolve(`file(${file}), null`);
  if (own === null && folder !== undefined)
    throw new Error(
      `There is no ${file}. Run npx sis-relay init --stage ${stage} --stages ${folder}, or unset SIS_RELAY_STAGES`,
    );
  const problems = [
    ...problemsIn(own ?? {}, defaults).map((problem) => `${file}: ${problem}`),
    ...given.flatMap((each) => nameProblem(each.split('=')[0] ?? '', defaults) ?? []),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return { default: defaults, [stage]: { ...others[stage], ...(own as Parameters | null) } };
};

const problemsIn = (own: unknown, defaults: Parameters): string[] => {
  if (typeof own !== 'object' || own === null || Array.isArray(own))
    return ['it must have a setting in each line, as in platformUrl: https://platform.university.edu'];
  return Object.entries(own).flatMap(
    ([name, value]) => nameProblem(name, defaults) ?? valueProblem(name, value, defaults[name]) ?? [],
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

/**
 * What is wrong with the name of a stage. Names of queues are allowed by what they begin with, so that `prod` would reach into a
 * stage `prod-2`; and a bucket's name has room for no more.
 */
export const stageProblem = (stage: string): string | undefined =>
  /^[a-z0-9]{1,19}$/.test(stage)
    ? undefined
    : `The name of the stage, ${stage}, must have at most 19 characters, all lower-case letters or digits`;

/** What keeps letters and the connection in order belongs to every stage. */
const alwaysOn = ['dead-letter-replay', 'connection-check'];

/** Names what is no function, or cannot be off. */
export const offProblem = (off: string, functions: readonly string[]): string | undefined => {
  const names = functions.filter((name) => !alwaysOn.includes(name));
  const unknown = itemsOf(off).find((name) => !names.includes(name));
  return unknown === undefined ? undefined : unknownName('function', unknown, names);
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
