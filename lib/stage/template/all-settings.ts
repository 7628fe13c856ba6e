import {
  missing,
  readSetting,
  type Setting,
  type SettingGroups,
  type SettingValue,
  type StageSetting,
} from '../../runtime/aws/setting.ts';
import { messageSettings } from '../../runtime/aws/settings.ts';
import { functionParts } from './all-function-parts.ts';
import { stageSettings } from './stage-settings.ts';

// The settings lie beside the code that reads them. This list is the only place that knows all of them.

const withoutQueue: Record<string, SettingGroups> = Object.fromEntries(
  functionParts.map(({ function: name, settings }) => [name, settings]),
);

const withoutVariable: Record<string, StageSetting> = Object.assign(
  { ...stageSettings },
  ...functionParts.map((parts) => parts.stageSettings),
);

/** What a function reads from its environment. */
export const declaredSettingsOf = (functionName: string): SettingGroups =>
  withoutQueue[functionName] ?? messageSettings;

/** Each setting of functions once, with the functions that read it; `undefined`: all that a queue triggers. */
export const functionSettings = (): { setting: Setting; functions: (string | undefined)[] }[] => {
  const found = new Map<string, { setting: Setting; functions: (string | undefined)[] }>();
  const lists: [string | undefined, SettingGroups][] = [
    [undefined, messageSettings],
    ...Object.entries(withoutQueue),
  ];
  for (const [name, groups] of lists)
    for (const setting of listOf(groups)) {
      const key = `${setting.variable} ${setting.usual}`;
      const { functions } = found.get(key) ?? {};
      if (functions === undefined) found.set(key, { setting, functions: [name] });
      else functions.push(name);
    }
  return [...found.values()];
};

const listOf = (groups: SettingGroups): Setting[] => Object.values(groups).flatMap(Object.values<Setting>);

/** What a stage can set in its file. */
export type Parameter = Pick<StageSetting, 'usual' | 'prod' | 'description'> & {
  problemsOf(value: string): string[];
};

const ofStage = ({ schema, ...more }: StageSetting): Parameter => ({
  ...more,
  problemsOf: (value) => (schema.safeParse(value).error?.issues ?? []).map(({ message }) => message),
});

/** Its value is checked as the functions check it at their first start. */
const ofFunctions = (setting: Setting): Parameter => {
  const { variable, usual = '', example, prod, description } = setting;
  return {
    usual: example ?? usual,
    ...(prod !== undefined && { prod }),
    description,
    problemsOf: (value) => {
      const read = readSetting(setting, { [variable]: value });
      return 'problems' in read
        ? read.problems.map(({ what }) => (what === missing ? 'must be given' : what))
        : [];
    },
  };
};

/** All parameters of a stage, by their names. */
export const parameters: Readonly<Record<string, Parameter>> = Object.fromEntries([
  ...Object.entries(withoutVariable).map(([name, setting]) => [name, ofStage(setting)]),
  ...functionSettings().flatMap(({ setting }) =>
    setting.parameter === undefined ? [] : [[setting.parameter, ofFunctions(setting)]],
  ),
]);

const environmentOf = (groups: SettingGroups): Record<string, Setting['deployed']> =>
  Object.fromEntries(
    listOf(groups).flatMap(({ variable, parameter, deployed }) => {
      const value = parameter === undefined ? deployed : `\${param:${parameter}}`;
      return value === undefined ? [] : [[variable, value]];
    }),
  );

/** As serverless.yml would give it to all functions, and what single ones have besides. osls resolves its variables. */
export const environments = () => {
  const all = environmentOf(messageSettings);
  const own = Object.entries(withoutQueue).map(([name, groups]) => [
    name,
    Object.fromEntries(Object.entries(environmentOf(groups)).filter(([variable]) => !(variable in all))),
  ]);
  return { all, own: Object.fromEntries(own) };
};

/** As serverless.yml would pass the stage's settings to the template. */
export const templateOptions = (): Record<string, string> => ({
  stage: `\${sls:stage}`,
  ...Object.fromEntries(
    Object.entries(stageSettings).map(([name, { usual }]) => [name, optionOf(name, usual)]),
  ),
});

/** `--param` gives texts alone. */
const optionOf = (name: string, usual: SettingValue): string =>
  typeof usual === 'boolean' ? `\${strToBool(\${param:${name}})}` : `\${param:${name}}`;
