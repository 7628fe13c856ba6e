import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { createSecretVersions } from '../../../../lib/platform/auth/versions.ts';
import { targetFrom } from '../../../../lib/stage/target.ts';
import { parametersOf } from '../../../../lib/stage/template/parameters.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { localOffice } from './local-office.ts';
import { typed } from './typed.ts';

const office = localOffice({ inProcess: [] });
afterEach(() => vi.unstubAllEnvs());

/** What a file of single settings holds, as osls reads it. */
const settingsIn = (file: string): Record<string, unknown> =>
  Object.fromEntries(
    [...readFileSync(file, 'utf8').matchAll(/^(\w+): (?:'(.*)'|(true|false))$/gm)].map(
      ([, name, words, isTrue]) => [name, words ?? isTrue === 'true'],
    ),
  );

const answers = [
  'eu-central-1',
  'https://platform.university.edu',
  'ops@university.edu',
  '',
  '',
  '',
  '',
  '',
  '',
];

test('init asks for each setting until the answer can be taken, and writes a file that packaging reads', async () => {
  const stages = join(temporaryFolder(), 'our-relay');
  const { status, asked, err, out } = await typed(`init --stages ${stages}`, {
    answers: [
      'Prod',
      'local',
      'prod',
      'Frankfurt',
      'eu-central-1',
      'http://platform.university.edu',
      'https://platform.university.edu',
      '',
      'operations@example.edu',
      'ops@university.edu',
      '',
      '1.90',
      'course-exports',
      'course-export',
      '',
      'arn:aws:iam::1:role/desk',
      'desk,help',
      'heads',
    ],
  });
  expect([status, asked.length]).toEqual([0, 18]);
  // A question has the hint that its error has, and the functions by name.
  expect(asked).toContain('AWS region, as in eu-west-1: ');
  expect(asked.find((each) => each.startsWith('Functions'))).toMatch(/: course-export, |, course-export, /);
  expect(err).toMatch(
    /at most 19 characters.*\nlocal is the stack on this machine.*\nmust be a region, as in eu-west-1\.\nmust use https.*, as in https:.*\nIt has no default: type an answer, as in .*\nalarmEmail: .* example address.*\nThere is no function course-exports: did you mean course-export\?.*\narn:aws:iam::1:role\/desk is not the name of an IAM role/s,
  );
  const file = join(stages, 'prod.yml');
  const own = settingsIn(file);
  expect(own).toEqual({
    region: 'eu-central-1',
    platformUrl: 'https://platform.university.edu',
    lpVersion: '1.49',
    leVersion: '1.90',
    alarmEmail: 'ops@university.edu',
    off: 'course-export',
    protected: true,
    readers: '',
    operators: 'desk,help',
    leads: 'heads',
  });
  expect(out.replace(/\s+/g, ' ')).toContain(`export SIS_RELAY_STAGES=${stages}`);
  const resolve = async (variable: string) => (variable === 'sls:stage' ? 'prod' : own);
  const { prod } = await parametersOf(resolve, { given: [], folder: stages });
  expect(prod).toEqual({ logRetentionDays: 90, ...own });
});

test('init changes no file that is there', async () => {
  const stages = temporaryFolder();
  writeFileSync(join(stages, 'prod.yml'), 'region: eu-west-1\n');
  const { status, err, asked } = await typed(`init --stage prod --stages ${stages}`, { answers });
  expect([status, asked]).toEqual([1, []]);
  expect(err.replace(/\s+/g, ' ')).toContain('prod.yml exists. Change it by hand, or name another stage.');
  expect(readFileSync(join(stages, 'prod.yml'), 'utf8')).toBe('region: eu-west-1\n');
});

test.each([
  ['a missing option is named where nobody can be asked', '--region eu-west-1', '--platform-url is missing'],
  [
    'a region without durable functions is refused',
    '--region us-west-1',
    'us-west-1 is not known to have Lambda’s durable functions',
  ],
  ['the name of the local stack is refused', '--stage local', '--stage: local is the stack on this machine'],
  ['a file is no folder of stages', `--stages ${import.meta.filename}`, 'is a file. Name a folder.'],
  [
    'a list of what there is ends with one full stop',
    '--region eu-west-1 --platform-url https://platform.university.edu --alarm-email ops@university.edu --lp-version 1.49 --le-version 1.82 --off grade-psh',
    'user-attributes-update.\n',
  ],
  ['a wrong option is refused, and nobody is asked', '--region Ireland', '--region: must be a region'],
])('%s', async (_, options, problem) => {
  const stages = temporaryFolder();
  const { status, err } = await typed(`init --stage prod --stages ${stages} ${options}`);
  expect(status).toBe(2);
  expect(err).toContain(problem);
  expect(existsSync(join(stages, 'prod.yml'))).toBe(false);
});

test('init writes nothing if the input ends', async () => {
  const stages = temporaryFolder();
  const { status, err } = await typed(`init --stage prod --stages ${stages}`, {
    answers: ['eu-west-1', '', ''],
  });
  expect(status).toBe(1);
  expect(err).toContain('Nothing was written.');
});

test('init writes into a folder of the home folder that the shell has left as ~, or into that of packaging', async () => {
  const folder = temporaryFolder();
  vi.stubEnv('HOME', folder)
    .stubEnv('USERPROFILE', folder)
    .stubEnv('SIS_RELAY_STAGES', join(folder, 'packaged'));
  const home = await typed('init --stage prod --stages=~/ours', { answers: [...answers] });
  expect([home.status, existsSync(join(folder, 'ours/prod.yml'))]).toEqual([0, true]);
  // On one line, however long, so that it can be copied.
  expect(home.out).toContain(`  export SIS_RELAY_STAGES=${join(folder, 'ours')}\n`);
  const packaged = await typed('init --stage prod', { answers: [...answers] });
  expect([packaged.status, existsSync(join(folder, 'packaged/prod.yml'))]).toEqual([0, true]);
  expect(packaged.out).not.toContain('export');
});

test('init --check asks the platform, and writes nothing that it refuses', async () => {
  const stages = temporaryFolder();
  const { platform } = office.stack().description;
  const secrets = createSecretVersions(await targetFrom({ local: office.file }).secretsManager());
  const { text = '' } = (await secrets.current('sis-relay/local/service')) ?? {};
  await office.controls().secret('sis-relay/prod/service', JSON.parse(text));
  const init = (stage: string, versions: string, url = platform) =>
    typed(
      `init --alarm-email ops@university.edu --off "" --platform-url ${url} ${versions} --stages ${stages} --stack ${office.file} --check`,
      { answers: [stage, 'us-east-1'] },
    );
  const lost = await init('prod', '--lp-version 1.49 --le-version 1.82', 'http://127.0.0.1:1');
  expect([lost.status, lost.out]).toEqual([1, expect.stringMatching(/^✗ .*\n✗ Nothing was written\.$/ms)]);
  expect(lost.out).toContain('Check --platform-url');
  const old = await init('prod', '--lp-version 1.1 --le-version 1.82');
  expect(old.status).toBe(1);
  expect(old.out.replace(/\s+/g, ' ')).toContain(
    'The platform does not list version 1.1 of lp. Set lpVersion of the stage to a version that the platform lists.',
  );
  expect(existsSync(join(stages, 'prod.yml'))).toBe(false);
  const { executions } = office.stack();
  executions.limitAccount(50);
  const small = await init('prod', '--lp-version 1.49 --le-version 1.82');
  executions.limitAccount(1_000);
  expect(small.status).toBe(1);
  expect(small.out.replace(/\s+/g, ' ')).toMatch(
    /✗ Lambda runs at most 50 containers at once .* a stage needs 110, .*Service Quotas.*✗ Nothing was written\./,
  );
  expect(existsSync(join(stages, 'prod.yml'))).toBe(false);
  const fit = await init('prod', '--lp-version 1.49 --le-version 1.82');
  expect([fit.status, fit.out]).toEqual([0, expect.stringContaining('✓ The platform accepts the service’s')]);
  expect(settingsIn(join(stages, 'prod.yml'))).toMatchObject({ platformUrl: platform, protected: true });
  const early = await init('test', '--lp-version 1.49 --le-version 1.82');
  expect([early.status, early.out]).toEqual([
    0,
    expect.stringContaining('There is no secret sis-relay/test/service yet'),
  ]);
  expect(early.out).not.toMatch(/✗|replay/);
  await office.controls().secret('sis-relay/dev/service', { ...JSON.parse(text), userKey: 'another' });
  const refused = await init('dev', '--lp-version 1.49 --le-version 1.82');
  expect([refused.status, refused.out]).toEqual([1, expect.stringMatching(/^✗ .*\bcredential.*is written/s)]);
});

test('init --check says that credentials of AWS are missing, and how to give them', async () => {
  const stages = temporaryFolder();
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE', 'AWS_SESSION_TOKEN'])
    vi.stubEnv(name, undefined);
  vi.stubEnv('HOME', stages).stubEnv('USERPROFILE', stages).stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  const { status, out, err } = await typed(`init --stage prod --stages ${stages} --check`, {
    answers: [...answers],
  });
  expect([status, out]).toEqual([1, '']);
  expect(err).toMatch(/^There are no AWS credentials here: .*aws sso login.*AWS_ACCESS_KEY_ID/s);
  expect(existsSync(join(stages, 'prod.yml'))).toBe(false);
});
