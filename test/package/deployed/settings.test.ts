// @module-tag long
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';
import { packageProject, serverless } from '../packaged.ts';
import { startEmptyAccount } from './empty-account.ts';

const project = temporaryFolder();
const file = join(project, 'stages/prod.yml');
let account: Awaited<ReturnType<typeof startEmptyAccount>>;
let whole: string;

const deploying = (...more: string[]) =>
  serverless(project, ['deploy', '--stage', 'prod', ...more], account.environment);

beforeAll(async () => {
  account = await startEmptyAccount();
  await packageProject(project, { stage: 'prod', code: false });
  whole = await readFile(file, 'utf8');
  await deploying();
});
afterAll(() => account?.close());

test('a deployment that would lose settings of the one before is refused by their names, until they are accepted', async () => {
  const kept = whole.split('\n').filter((line) => /^(platformUrl|alarmEmail):/.test(line));
  await writeFile(file, kept.join('\n'));
  await expect(deploying()).rejects.toThrow(
    /deployed with settings that this deployment would set back to their defaults: changesSecret, changesUrl, kmsKeyArn, producerAccounts, .*, tracing\. /,
  );
  expect(account.output('Settings')).toContain('kmsKeyArn');
  expect(await deploying('--accept-settings')).toContain('deployed');
  expect(account.output('Settings')).not.toContain('kmsKeyArn');
  await writeFile(file, whole);
  expect(await deploying()).toContain('deployed');
  expect(account.output('Settings')).toContain('kmsKeyArn');
});

test('a protected stage is not packaged without its file', async () => {
  await rm(file);
  const given = ['platformUrl=https://platform.university.edu', 'alarmEmail=operations@university.edu'];
  const packaging = serverless(project, [
    ...['package', '--stage', 'prod'],
    ...given.map((each) => `--param=${each}`),
  ]);
  await expect(packaging).rejects.toThrow('The stage prod is protected, and there is no stages/prod.yml');
});
