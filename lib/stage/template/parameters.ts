import { existsSync } from 'node:fs';
import type { SettingValue } from '../../runtime/aws/setting.ts';
import { unknownName } from '../nearest.ts';
import { parameters } from './all-settings.ts';
import { recordOf } from './deployed-settings.ts';
import { fileOf } from './stage-name.ts';

type Values = Record<string, SettingValue>;

const defaults: Values = Object.fromEntries(
  Object.entries(parameters).map(([name, { usual }]) => [name, usual]),
);
/** The defaults that the name of a stage changes. */
const byStage: Record<string, Values> = {
  prod: Object.fromEntries(
    Object.entries(parameters).flatMap(([name, { prod }]) => (prod === undefined ? [] : [[name, prod]])),
  ),
};

/** Settings of earlier versions, and what to write instead. */
const retired: Record<string, string> = {
  classlistsRate: 'Write classlistsHour, an hour of UTC, as in classlistsHour: 3',
};

type PackagingOptions = {
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
  { given, folder }: PackagingOptions,
): Promise<Record<string, Values>> => {
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
    ...problemsIn(own ?? {}).map((problem) => `${file}: ${problem}`),
    ...Object.entries(options).flatMap(
      ([name, value]) => nameProblem(name) ?? formProblem(name, value) ?? [],
    ),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const usual = { ...defaults, ...byStage[stage] };
  const set = { ...byStage[stage], ...(own as Values | null) };
  const settings = recordOf({ ...usual, ...set, ...options }, usual);
  return { default: { ...defaults, settings }, [stage]: set };
};

/** What `--param` gives, by its name. */
const optionsOf = (given: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    given.map((each) => {
      const [name = '', ...rest] = each.split('=');
      return [name, rest.join('=')];
    }),
  );

const problemsIn = (own: unknown): string[] => {
  if (typeof own !== 'object' || own === null || Array.isArray(own))
    return ['it must have a setting in each line, as in platformUrl: https://platform.university.edu'];
  return Object.entries(own).flatMap(
    ([name, value]) =>
      nameProblem(name) ?? valueProblem(name, value) ?? formProblem(name, String(value)) ?? [],
  );
};

const nameProblem = (name: string): string | undefined => {
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

const valueProblem = (name: string, value: unknown): string | undefined => {
  const usual = defaults[name];
  // What is off by default is an empty text, and may be a number such as 5000.
  const isFitting = typeof value === typeof usual || (usual === '' && typeof value === 'number');
  return isFitting ? undefined : `${name} must be ${kinds[typeof usual]}, and is ${JSON.stringify(value)}`;
};

const formProblem = (name: string, value: string): string | undefined => {
  // What a variable stands for is known later: osls, and the functions' own check, look at that.
  const problems = value.includes('${') ? [] : (parameters[name]?.problemsOf(value) ?? []);
  const why = problems.join('; ');
  if (why === '') return undefined;
  return `${name}: ${why}${value === '' ? '' : ` (it is ${value})`}`;
};
