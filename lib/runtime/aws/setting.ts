import * as z from 'zod';

export type SettingValue = string | number | boolean;

/** What a stage can set in stages/<stage>.yml. */
export type StageSetting = {
  /** Reads the value as text; what it refuses, packaging refuses. */
  schema: z.ZodType;
  /** The default, as it is written into a stage's file. */
  usual: SettingValue;
  /** The default of the stage `prod`, if it differs. */
  prod?: SettingValue;
  /** What it does, with its unit: a row of the deployment guide. */
  description: string;
};

/** What a function reads from its environment. It is declared once, beside the code that uses it. */
export type Setting<Schema extends z.ZodType = z.ZodType> = {
  /** The name in the environment. */
  variable: string;
  /** Makes of the text what the code uses, in the unit of the code. Optional: the function can do without. */
  schema: Schema;
  /** The default, as it is written into the environment. Without it, the function needs a value, unless the schema is optional. */
  usual?: string | number;
  /** What is wrong with it beside other variables. */
  problem?(environment: Environment): string | undefined;
  /** The name of the parameter by which a stage sets it in stages/<stage>.yml. */
  parameter?: string;
  /** What new stages have instead of a default, and what `prod` has. */
  example?: string;
  prod?: string;
  /** Its value in every stage, if no parameter sets it; as in serverless.yml. */
  deployed?: string | number | { Ref: string };
  /** What it does, with its unit: a row of the deployment guide. */
  description: string;
};

/** Settings by the name of their group, and then by their name in the code. */
export type SettingGroups = Record<string, Record<string, Setting>>;

export type ValuesOf<Groups extends SettingGroups> = {
  [Group in keyof Groups]: ValuesIn<Groups[Group]>;
};

export type ValuesIn<Group extends Record<string, Setting>> = {
  [Name in keyof Group]: z.output<Group[Name]['schema']>;
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** @throws Error naming each setting that is missing or wrong. */
export const readSettings = <Groups extends SettingGroups>(
  groups: Groups,
  environment: Environment,
): ValuesOf<Groups> => {
  const problems: string[] = [];
  const read = (setting: Setting): unknown => {
    const result = readSetting(setting, environment);
    if ('value' in result) return result.value;
    const texts = result.problems.map(({ name, what }) => `${name}${what === missing ? ' ' : ': '}${what}`);
    problems.push(...texts);
    return undefined;
  };
  const values = mapped(groups, (group) => mapped(group, read));
  if (problems.length === 0) return values as ValuesOf<Groups>;
  throw new Error(`The function's settings are not valid: ${problems.join('; ')}`);
};

export const missing = 'is missing';

/** An empty variable counts as not set. */
export const readSetting = (
  { variable, schema, usual, problem }: Setting,
  environment: Environment,
): { value: unknown } | { problems: { name: string; what: string }[] } => {
  const set = environment[variable] === '' ? undefined : environment[variable];
  const text = set ?? (usual === undefined ? undefined : String(usual));
  const { success, data, error } = schema.safeParse(text);
  if (!success && text === undefined) return { problems: [{ name: variable, what: missing }] };
  if (!success)
    return {
      problems: error.issues.map(({ path, message }) => ({
        name: [variable, ...path].join('.'),
        what: message,
      })),
    };
  const what = problem?.(environment);
  return what === undefined ? { value: data } : { problems: [{ name: variable, what }] };
};

const mapped = <Value, Result>(
  record: Record<string, Value>,
  make: (value: Value) => Result,
): Record<string, Result> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value)]));

export const count = z.coerce.number().int().positive();
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
export const percent = z.coerce.number().min(0).max(100);
export const hourOfDay = z.coerce.number().int().min(0).max(23);

const positive = z.coerce.number().positive();
export const days = positive;
export const hoursAsMs = positive.transform((hours) => hours * 3_600_000);
export const hoursAsSeconds = positive.transform((hours) => Math.round(hours * 3_600));
export const secondsAsMs = count.transform((seconds) => seconds * 1_000);

/** When EventBridge starts a function. */
export const schedule = z
  .string()
  .regex(/^(rate|cron)\(.+\)$/, 'must be as in rate(1 hour) or cron(17 1 * * ? *)');
