import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parametersOf } from '../../../../lib/operate/stage/template/parameters.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { localOffice } from './local-office.ts';
import { typed } from './typed.ts';

const office = localOffice({ inProcess: [] });

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
      ...['Prod', 'prod', 'Frankfurt', 'eu-central-1', 'http://platform.university.edu'],
      ...['https://platform.university.edu', 'operations@example.edu', 'ops@university.edu', '', '1.90'],
      ...['course-exports', 'course-export'],
      ...['', 'arn:aws:iam::1:role/desk', 'desk,help', 'heads'],
    ],
  });
  expect([status, asked.length]).toEqual([0, 16]);
  expect(err).toMatch(
    /at most 19 characters.*\nmust be a region.*\nmust use https.*\nalarmEmail: .* example address.*\nThere is no function course-exports: did you mean course-export\?.*\narn:aws:iam::1:role\/desk is not the name of an IAM role/s,
  );
  const file = join(stages, 'prod.yml');
  const own = settingsIn(file);
  expect(own).toEqual({
    ...{ region: 'eu-central-1', platformUrl: 'https://platform.university.edu', lpVersion: '1.49' },
    ...{ leVersion: '1.90', alarmEmail: 'ops@university.edu', off: 'course-export', protected: true },
    ...{ readers: '', operators: 'desk,help', leads: 'heads' },
  });
  expect(out.replace(/\s+/g, ' ')).toContain(`export SIS_RELAY_STAGES=${stages}`);
  const yaml = readFileSync('lib/operate/stage/template/parameters.yml', 'utf8');
  const names = [...yaml.matchAll(/^ {2}(\w+): /gm)].map(([, name = '']) => [name, own[name] ?? '']);
  const variables = { default: Object.fromEntries(names) };
  const resolve = async (variable: string) =>
    variable === 'sls:stage' ? 'prod' : variable.startsWith('file(lib/') ? variables : own;
  expect((await parametersOf(resolve, { given: [], folder: stages })).prod).toEqual(own);
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
  const { status, err } = await typed(`init --stage prod --stages ${stages}`, { answers: ['eu-west-1', ''] });
  expect(status).toBe(1);
  expect(err).toContain('Nothing was written.');
});

test('init --check asks the platform, and writes nothing that it refuses', async () => {
  const stages = temporaryFolder();
  const { platform } = office.stack().description;
  const init = (versions: string, url = platform) =>
    typed(
      `init --alarm-email ops@university.edu --off "" --platform-url ${url} ${versions} --stages ${stages} --stack ${office.file} --check`,
      { answers: ['local', 'us-east-1'] },
    );
  const lost = await init('--lp-version 1.49 --le-version 1.82', 'http://127.0.0.1:1');
  expect([lost.status, lost.out]).toEqual([1, expect.stringMatching(/^✗ .*\n✗ Nothing was written\.$/ms)]);
  const old = await init('--lp-version 1.1 --le-version 1.82');
  expect(old.status).toBe(1);
  expect(old.out).toContain('The platform does not list version 1.1 of lp');
  expect(existsSync(join(stages, 'local.yml'))).toBe(false);
  const fit = await init('--lp-version 1.49 --le-version 1.82');
  expect([fit.status, fit.out]).toEqual([0, expect.stringContaining('✓ The platform accepts the service’s')]);
  expect(settingsIn(join(stages, 'local.yml'))).toMatchObject({ platformUrl: platform, protected: false });
});
