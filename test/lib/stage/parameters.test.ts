import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { functionNames } from '../../../lib/stage/function-names.ts';
import {
  declaredSettingsOf,
  functionSettings,
  parameters,
} from '../../../lib/stage/template/all-settings.ts';
import { lostSettings } from '../../../lib/stage/template/deployed-settings.ts';
import { parametersOf } from '../../../lib/stage/template/parameters.ts';
import { stageSettings } from '../../../lib/stage/template/stage-settings.ts';

/** As packaged for the stage prod, whose own file holds this. */
const packaged = (own: unknown, { given = [], folder }: { given?: string[]; folder?: string } = {}) => {
  const variables: Record<string, unknown> = {
    'sls:stage': 'prod',
    [`file(${folder ?? 'stages'}/prod.yml), null`]: own,
  };
  return parametersOf(async (variable) => variables[variable], { given, folder });
};

test('a stage has what its own file sets, then what its name says, then the defaults', async () => {
  const { default: defaults, prod } = await packaged({ logRetentionDays: 30, callsPerMinute: 5000 });
  expect(prod).toMatchObject({ logRetentionDays: 30, callsPerMinute: 5000, protected: true });
  expect(defaults).toMatchObject({ logRetentionDays: 14, callsPerMinute: '', protected: false });
  expect((await packaged(null)).prod).toMatchObject({ logRetentionDays: 90 });
});

test.each<[object | string, string]>([
  [{ platformURL: 'x' }, 'stages/prod.yml: There is no setting platformURL: did you mean platformUrl?'],
  [{ classlistsRate: 'x' }, 'the setting classlistsRate was retired. Write classlistsHour'],
  [{ protected: 'yes' }, 'protected must be true or false, and is "yes"'],
  [{ logRetentionDays: 'long' }, 'logRetentionDays must be a number, and is "long"'],
  [{ alarmEmail: null }, 'alarmEmail must be a text, or empty quotation marks, and is null'],
  [{ platformUrl: '' }, 'stages/prod.yml: platformUrl: must be given'],
  ['platformUrl', 'it must have a setting in each line'],
  [{ off: 'grade-push, course-export' }, '“ course-export” is no function. Separate several by commas'],
  [{ off: 'connection-check' }, 'off: connection-check cannot be off: every stage needs it'],
  [
    { platformUrl: 'http://x.edu/path' },
    'called without TLS; must have only a scheme, host and port. Put a path into PLATFORM_API_ROOT (it is',
  ],
])('%j in the file of a stage is refused by name', async (own, problem) => {
  await expect(packaged(own)).rejects.toThrow(problem);
});

test('all wrong values are named at once, each with what it must be, those of options as well', async () => {
  const wrong = {
    region: 'Ireland',
    platformUrl: 'https://x.edu/path',
    lpVersion: '1.x',
    alarmEmail: 'nobody',
    off: 'grade-psh',
    refreshTokenDays: -1,
    callsPerMinute: 0.5,
    crosswalkRate: 'sometimes',
    classlistsHour: 25,
    crosswalkMaximumRemovalsPercent: 101,
    reconcileNights: 0,
    logLevel: 'loud',
    logRetentionDays: 13,
    tracing: 'Passive',
    kmsKeyArn: 'key',
    subnetIds: 'subnet-1, subnet-2',
    producerTopics: 'sis',
    producerAccounts: 1,
    readers: 'arn:aws:iam::1:role/x',
    changesUrl: 'http://x',
    permissionsBoundary: 'arn:aws:iam::1:role/x',
  };
  const refused = await packaged(wrong, { given: ['securityGroupIds=group', 'fileHosts=https://x'] }).catch(
    ({ message }) => message,
  );
  for (const name of Object.keys(wrong)) expect(refused).toContain(`stages/prod.yml: ${name}: `);
  expect(refused).toMatch(/^securityGroupIds: must be as in sg-.*\nfileHosts: /m);
  expect(refused).toContain('lpVersion: must be a version such as 1.49 (it is 1.x)');
  expect(refused).toContain('off: There is no function grade-psh: did you mean grade-push?');
  expect(refused).not.toMatch(/undefined|false/);
});

const settingsOf = async (own: unknown, given: string[] = []) =>
  `${(await packaged(own, { given })).default?.settings}`;
const { default: usual, prod: usualOfProd } = await packaged(null);
const ofNow = { ...usual, ...usualOfProd };

test('settings that a deployment would set back to their defaults are named', async () => {
  const deployed = await settingsOf({ callsPerMinute: 5000, logLevel: 'warn', protected: true }, [
    'readers=sis-readers',
  ]);
  expect(deployed).toMatch(/^callsPerMinute=\w{8} logLevel=\w{8} readers=\w{8}$/);
  expect(lostSettings(deployed, await settingsOf(null), ofNow)).toEqual([
    'callsPerMinute',
    'logLevel',
    'readers',
  ]);
  const others = { callsPerMinute: 6000, logLevel: 'warn', readers: 'sis-others' };
  expect(lostSettings(deployed, await settingsOf(others), ofNow)).toEqual([]);
  expect(lostSettings('none', await settingsOf(others), ofNow)).toEqual([]);
});

test('a setting is not lost if it has become the default, or is no more', async () => {
  const deployed = await settingsOf({ callsPerMinute: 5000, logLevel: 'warn' });
  const { callsPerMinute, ...without } = ofNow;
  const now = { ...without, logLevel: 'warn' };
  expect(lostSettings(deployed, await settingsOf(null), now)).toEqual([]);
});

test('what a variable stands for is not judged', async () => {
  await expect(packaged({ alarmEmail: `\${ssm:/sis/mail}` })).resolves.toBeDefined();
});

test('what is off by default may be empty, and the defaults are right', async () => {
  const given = Object.entries(parameters).map(([name, { usual }]) => `${name}=${usual}`);
  await expect(packaged(null, { given })).resolves.toBeDefined();
  const empty = Object.entries(parameters).filter(([, { usual }]) => usual === '');
  await expect(packaged(Object.fromEntries(empty.map(([name]) => [name, ''])))).resolves.toBeDefined();
});

test('a parameter sets one variable, and a function reads a variable once', () => {
  const twice = (names: readonly string[]) => names.filter((name, at) => names.indexOf(name) !== at);
  const set = functionSettings().flatMap(({ setting }) => setting.parameter ?? []);
  expect(twice([...Object.keys(stageSettings), ...set])).toEqual([]);
  for (const name of functionNames()) {
    const settings = Object.values(declaredSettingsOf(name)).flatMap((group) => Object.values(group));
    expect(twice(settings.map(({ variable }) => variable))).toEqual([]);
  }
});

test('what is on or off is refused as anything else, also by --param', async () => {
  await expect(packaged(null, { given: ['protected=yes'] })).rejects.toThrow(
    'protected: must be true or false (it is yes)',
  );
  await expect(packaged(null, { given: ['protected=0', 'kmsKeyForLogs=TRUE'] })).resolves.toBeDefined();
});

test('a misspelt --param is refused, which osls would ignore', async () => {
  await expect(packaged(null, { given: ['alarmMail=a@b.edu'] })).rejects.toThrow('did you mean alarmEmail?');
  await expect(packaged(null, { given: ['alarmEmail=a@b.edu'] })).resolves.toBeDefined();
});

test('a file of a stage that holds nothing is named, with what to write', async () => {
  const resolve = async (variable: string) => {
    if (variable.startsWith('file(stages/'))
      throw new Error(
        'Cannot resolve variable at "params": Source "file" returned not supported result: "undefined"',
      );
    return 'prod';
  };
  await expect(parametersOf(resolve, { given: [], folder: undefined })).rejects.toThrow(
    'stages/prod.yml has no setting. Write one in each line, as in platformUrl: https://',
  );
});

test('so is a file of comments alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stages-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'prod.yml'), '# platformUrl: https://x.example.edu\n');
  await expect(packaged(null, { folder })).rejects.toThrow(`${folder}/prod.yml has no setting`);
});

test('a folder of stages that lacks this one is named', async () => {
  await expect(packaged(null, { folder: '../our-relay' })).rejects.toThrow(
    'There is no ../our-relay/prod.yml. Run npx sis-relay init --stage prod --stages ../our-relay',
  );
});
