// @module-tag long
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownVersion } from '../../../lib/stage/version.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { packageProject, serverless } from '../packaged.ts';
import { startEmptyAccount } from './empty-account.ts';

const project = temporaryFolder();
const file = join(project, 'stages/prod.yml');
let account: Awaited<ReturnType<typeof startEmptyAccount>>;
let whole: string;
let small: string;

const deploying = (...more: string[]) =>
  serverless(project, ['deploy', '--stage', 'prod', ...more], account.environment);

/** As `git archive` writes it into the sources. */
const becomeCommit = async (commit: string) => {
  const source = join(project, 'lib/stage/version.ts');
  const text = await readFile(source, 'utf8');
  await writeFile(source, text.replace(/(?<=const archived = ').*(?=')/, commit));
};

beforeAll(async () => {
  account = await startEmptyAccount();
  await packageProject(project, { stage: 'prod', code: false });
  whole = await readFile(file, 'utf8');
  await becomeCommit('e3105916b17258b4bb3f5e366645670ff152fc80');
  account.limit(50);
  small = await deploying().catch(({ message }) => message);
  account.limit(1_000);
  await deploying();
});
afterAll(() => account?.close());

test('a first deployment into an account that has no room for it is refused before anything is made', () => {
  expect(small).toContain('Lambda runs at most 50 containers at once in this account and region');
  expect(small).toContain('a stage needs 110, as it reserves 10');
});

test('a deployment that would lose settings of the one before is refused by their names, until they are accepted', async () => {
  const kept = whole
    .split('\n')
    .filter((line) => /^(platformUrl|alarmEmail|alarmEmailLater|expected):/.test(line));
  await writeFile(file, kept.join('\n'));
  await expect(deploying()).rejects.toThrow(
    /deployed with settings that this deployment would set back to their defaults: changesSecret, changesUrl, kmsKeyArn, .*, subnetIds, tracing\. /,
  );
  expect(account.output('Settings')).toContain('kmsKeyArn');
  expect(await deploying('--accept-settings')).toContain('deployed');
  expect(account.output('Settings')).not.toContain('kmsKeyArn');
  await writeFile(file, whole);
  expect(await deploying()).toContain('deployed');
  expect(account.output('Settings')).toContain('kmsKeyArn');
});

test('a deployment of another commit changes no tag, by which it would update every resource', async () => {
  const before = { ...account.tags };
  expect(account.output('Commit')).toBe('e3105916b1');
  await becomeCommit('0123456789abcdef0123456789abcdef01234567');
  await deploying();
  expect(account.output('Commit')).toBe('0123456789');
  expect(account.tags).toEqual(before);
  expect(before).toMatchObject({ service: 'sis-relay', stage: 'prod', version: ownVersion().version });
});

test('a protected stage is not packaged without its file', async () => {
  await rm(file);
  const given = ['platformUrl=https://platform.university.edu', 'alarmEmail=operations@university.edu'];
  const packaging = serverless(project, [
    'package',
    '--stage',
    'prod',
    ...given.map((each) => `--param=${each}`),
  ]);
  await expect(packaging).rejects.toThrow('The stage prod is protected, and there is no stages/prod.yml');
});
