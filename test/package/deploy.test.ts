import { appendFile, readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Template } from './cloudformation.ts';
import { startEmptyAccount } from './empty-account.ts';
import { copyOfProject, type Packaged, packagedProject, serverless, slowMs } from './packaged.ts';
import { unzip } from './zip.ts';

const root = resolve(import.meta.dirname, '../..');
const names = (await readdir(join(root, 'functions'))).map((file) => file.replace('.ts', ''));
const zips = names.map((name) => `${name}.zip`);

let packaged: Packaged;
let project: string;
let account: Awaited<ReturnType<typeof startEmptyAccount>>;
beforeAll(async () => {
  packaged = await packagedProject();
  project = await copyOfProject();
  account = await startEmptyAccount();
}, slowMs);
afterAll(async () => {
  await account?.close();
  await rm(project, { recursive: true });
});

const zipsOf = (folder: string) => Promise.all(zips.map((zip) => readFile(join(folder, zip))));

describe('a deployment', () => {
  test('lacks nothing but credentials where there are none', { timeout: slowMs }, async () => {
    await expect(serverless(project, ['deploy', '--stage', 'prod'])).rejects.toThrow(
      'AWS provider credentials not found',
    );
    expect(await zipsOf(join(project, '.serverless'))).toEqual(await zipsOf(packaged.folder));
  });

  test('uploads each function’s own artefact, and a template that names them', {
    timeout: slowMs,
  }, async () => {
    await serverless(project, ['deploy', '--stage', 'local'], account.environment);
    const uploads = await account.uploads();
    expect(zips.map((zip) => uploads[zip])).toEqual(await zipsOf(packaged.folder));
    const template: Template = JSON.parse(`${uploads['compiled-cloudformation-template.json']}`);
    const code = Object.values(template.Resources)
      .filter(({ Type }) => Type === 'AWS::Lambda::Function')
      .map(({ Properties }) => [Properties.FunctionName, Properties.Code.S3Key.split('/').at(-1)]);
    expect(code.sort()).toEqual(names.map((name) => [`sis-relay-local-${name}`, `${name}.zip`]).sort());
  });

  test('of one function brings what its source is now', { timeout: slowMs }, async () => {
    await appendFile(join(project, 'functions/grade-push.ts'), "\nexport const added = 'what was added';\n");
    const options = ['deploy', 'function', '--function', 'grade-push', '--stage', 'local'];
    const output = await serverless(project, options, account.environment);
    expect(output).toContain('Function configuration updated');
    const { 'sis-relay-local-grade-push': zip = '', ...others } = account.updatedFunctions;
    expect(others).toEqual({});
    const files = unzip(Buffer.from(zip, 'base64'));
    expect(files.map(({ data }) => `${data}`).join('\n')).toContain('what was added');
  });
});
