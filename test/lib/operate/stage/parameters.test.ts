import { expect, test } from 'vitest';
import { parametersOf } from '../../../../lib/operate/stage/template/parameters.ts';

const file = 'lib/operate/stage/template/parameters.yml';
const yaml = {
  default: {
    ...{ platformUrl: 'https://platform-test.example.edu', alarmEmail: 'operations@example.edu' },
    ...{ logRetentionDays: 14, callsPerMinute: '', protected: false },
  },
  prod: { logRetentionDays: 90, protected: true },
};

/** As packaged for the stage prod, whose own file holds this. */
const packaged = (own: unknown, { given = [], folder }: { given?: string[]; folder?: string } = {}) => {
  const variables: Record<string, unknown> = {
    [`file(${file})`]: yaml,
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
  ['platformUrl', 'it must have a setting in each line'],
])('%j in the file of a stage is refused by name', async (own, problem) => {
  await expect(packaged(own)).rejects.toThrow(problem);
});

test('a misspelt --param is refused, which osls would ignore', async () => {
  await expect(packaged(null, { given: ['alarmMail=a@b.edu'] })).rejects.toThrow('did you mean alarmEmail?');
  await expect(packaged(null, { given: ['alarmEmail=a@b.edu'] })).resolves.toBeDefined();
});

test('a folder of stages that lacks this one is named', async () => {
  await expect(packaged(null, { folder: '../our-relay' })).rejects.toThrow(
    'There is no ../our-relay/prod.yml. Run npx sis-relay init --stage prod --stages ../our-relay',
  );
});
