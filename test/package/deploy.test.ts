import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { functionNames } from '../../esbuild.config.ts';
import type { Template } from './cloudformation.ts';
import { startEmptyAccount } from './empty-account.ts';
import { copyOfProject, packagedProject, serverless, slowMs } from './packaged.ts';
import { unzip } from './zip.ts';

const zips = functionNames.map((name) => `${name}.zip`);

let packaged: Buffer[];
let refusal: string;
let refused: Buffer[];
let project: string;
let account: Awaited<ReturnType<typeof startEmptyAccount>>;

const zipsOf = (folder: string) => Promise.all(zips.map((zip) => readFile(join(folder, zip))));

/** A deployment where there are no credentials: what it ends with, and what it had packaged until then. */
async function refusedDeployment() {
  const folder = await copyOfProject();
  const end = await serverless(folder, ['deploy', '--stage', 'prod']).catch((error: Error) => error.message);
  const made = await zipsOf(join(folder, '.serverless'));
  await rm(folder, { recursive: true });
  return { end, made };
}

// Beside each other, as each leaves a core idle for half of its time.
beforeAll(async () => {
  [project, account] = await Promise.all([copyOfProject(), startEmptyAccount()]);
  // What a Mac leaves in each folder that somebody has looked at.
  await writeFile(join(project, 'functions/.DS_Store'), '');
  const [ready, { end, made }] = await Promise.all([
    packagedProject().then(({ folder }) => zipsOf(folder)),
    refusedDeployment(),
    serverless(project, ['deploy', '--stage', 'local'], account.environment),
  ]);
  packaged = ready;
  refusal = end;
  refused = made;
}, slowMs);
afterAll(async () => {
  await account?.close();
  await rm(project, { recursive: true });
});

describe('a deployment', () => {
  test('lacks nothing but credentials where there are none', () => {
    expect(refusal).toContain('AWS provider credentials not found');
  });

  test.each(zips)('packages %s with the same bytes again, elsewhere and for another stage', (zip) => {
    const at = zips.indexOf(zip);
    expect(packaged[at] && refused[at]?.equals(packaged[at])).toBe(true);
  });

  test('uploads each function’s own artefact, and a template that names them', async () => {
    const uploads = await account.uploads();
    expect(zips.map((zip) => uploads[zip])).toEqual(packaged);
    const template: Template = JSON.parse(`${uploads['compiled-cloudformation-template.json']}`);
    const code = Object.values(template.Resources)
      .filter(({ Type }) => Type === 'AWS::Lambda::Function')
      .map(({ Properties }) => [Properties.FunctionName, Properties.Code.S3Key.split('/').at(-1)]);
    expect(code.sort()).toEqual(
      functionNames.map((name) => [`sis-relay-local-${name}`, `${name}.zip`]).sort(),
    );
  });

  test('of one function brings what its source is now, whatever the others are', {
    timeout: slowMs,
  }, async () => {
    await appendFile(join(project, 'functions/grade-push.ts'), "\nexport const added = 'what was added';\n");
    await appendFile(join(project, 'functions/enrollment-create.ts'), '\nhalf a line of (\n');
    const options = ['deploy', 'function', '--function', 'grade-push', '--stage', 'local'];
    const output = await serverless(project, options, account.environment);
    expect(output).toContain('Function configuration updated');
    const { 'sis-relay-local-grade-push': zip = '', ...others } = account.updatedFunctions;
    expect(others).toEqual({});
    const files = unzip(Buffer.from(zip, 'base64'));
    expect(files.map(({ data }) => `${data}`).join('\n')).toContain('what was added');
  });
});
