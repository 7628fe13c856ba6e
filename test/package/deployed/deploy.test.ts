// @module-tag long
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lambdaBinding } from '../../../bindings.config.ts';
import { functionNames } from '../../../esbuild.config.ts';
import { sectionOf } from '../../documents.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import type { Template } from '../cloudformation.ts';
import { copyProject, packageProject, serverless } from '../packaged.ts';
import { packagedProject } from '../packages.ts';
import { startEmptyAccount } from './empty-account.ts';
import { unzip } from './zip.ts';

/** Those that compare by the SQL engine. */
const withSets = ['crosswalk-fill', 'snapshot-import', 'reconcile'];
const binding = ['LICENSE', 'duckdb.node', 'libduckdb.so'].map(
  (file) => `node_modules/@duckdb/node-bindings-linux-arm64/${file}`,
);
const zips = functionNames.map((name) => `${name}.zip`);

let packaged: Buffer[];
let refusal: string;
let uploads: Record<string, Buffer>;
const project = temporaryFolder();
let account: Awaited<ReturnType<typeof startEmptyAccount>>;

const zipsOf = (folder: string) => Promise.all(zips.map((zip) => readFile(join(folder, zip))));

/** But for what the code of functions, and the time at which they were packaged, give their names. */
const withoutCode = (template: Template): unknown =>
  JSON.parse(
    JSON.stringify(template)
      .replace(/(?<=LambdaVersion)\w{30,}/g, '')
      .replace(/(?<="CodeSha256":")[^"]+|(?<=serverless\/sis-relay\/local\/)[^/]+/g, ''),
  );

// Beside each other, as each leaves a core idle for half of its time.
beforeAll(async () => {
  account = await startEmptyAccount();
  await copyProject(project);
  // What a Mac leaves in each folder that somebody has looked at.
  await writeFile(join(project, 'functions/.DS_Store'), '');
  const [ready, prod] = await Promise.all([
    packagedProject(),
    packagedProject('prod'),
    serverless(project, ['deploy', '--stage', 'prod'], account.environment),
  ]);
  packaged = await zipsOf(ready.folder);
  refusal = prod.output;
  uploads = await account.uploads();
});
afterAll(() => account?.close());

describe('a deployment', () => {
  test('lacks nothing but credentials where there are none', () => {
    expect(refusal).toContain('AWS provider credentials not found');
  });

  test.each(zips)(
    'uploads %s with the same bytes as it is packaged with elsewhere and for another stage',
    (zip) => {
      expect(packaged[zips.indexOf(zip)]?.equals(uploads[zip]!)).toBe(true);
    },
  );

  test('is of the template that a stage has without its code', async () => {
    const { template } = await packageProject(temporaryFolder(), { code: false });
    expect(withoutCode(template)).toEqual(withoutCode((await packagedProject()).template));
  });

  test.each(functionNames)(
    'of %s holds code and the notices of its packages alone, and its source maps lie aside',
    async (name) => {
      const { folder } = await packagedProject();
      const files = unzip(packaged[functionNames.indexOf(name)]!).map((file) => file.name);
      expect(files).toContain(`functions/${name}.mjs`);
      const code = files.filter((file) => file.endsWith('.mjs'));
      expect(files.filter((file) => !file.endsWith('.mjs')).sort()).toEqual([
        'THIRD-PARTY-NOTICES.txt',
        ...(withSets.includes(name) ? binding : []),
      ]);
      const maps = await readdir(join(folder, 'maps', name), { recursive: true });
      expect(maps.filter((file) => file.endsWith('.map')).sort()).toEqual(
        code.map((file) => `${file}.map`).sort(),
      );
    },
  );

  test.each(withSets)(
    'of %s has the SQL engine for Lambda’s processors, as the lockfile names it',
    async (name) => {
      const files = unzip(packaged[functionNames.indexOf(name)]!);
      // Lambda takes no more.
      expect(files.reduce((sum, { data }) => sum + data.length, 0)).toBeLessThan(250 * 1024 ** 2);
      const kept = await lambdaBinding();
      for (const file of binding) {
        const data = files.find((each) => each.name === file)!.data;
        expect(data.equals(await readFile(join(kept, basename(file)))), file).toBe(true);
        // In the head of an ELF file: for 64 bits, and AArch64.
        if (file.endsWith('LICENSE')) continue;
        expect([data.toString('latin1', 1, 4), data[4], data.readUInt16LE(18)]).toEqual(['ELF', 2, 183]);
      }
    },
  );

  test('uploads a template that names each function’s own artefact', () => {
    const template: Template = JSON.parse(`${uploads['compiled-cloudformation-template.json']}`);
    const code = Object.values(template.Resources)
      .filter(({ Type }) => Type === 'AWS::Lambda::Function')
      .map(({ Properties }) => [Properties.FunctionName, Properties.Code.S3Key.split('/').at(-1)]);
    expect(code.sort()).toEqual(
      functionNames.map((name) => [`sis-relay-prod-${name}`, `${name}.zip`]).sort(),
    );
  });

  test('of one function brings what its source is now, whatever the others are', async () => {
    await appendFile(join(project, 'functions/grade-push.ts'), "\nexport const added = 'what was added';\n");
    await appendFile(join(project, 'functions/enrollment-create.ts'), '\nhalf a line of (\n');
    const options = ['deploy', 'function', '--function', 'grade-push', '--stage', 'prod'];
    const output = await serverless(project, options, account.environment);
    expect(output).toContain('Function configuration updated');
    const { 'sis-relay-prod-grade-push': zip = '', ...others } = account.updatedFunctions;
    expect(others).toEqual({});
    const files = unzip(Buffer.from(zip, 'base64'));
    expect(files.map(({ data }) => `${data}`).join('\n')).toContain('what was added');
  });

  test('for prod is removed by what the deployment guide says and by no less, and no message, letter or file goes with it', async () => {
    const section = sectionOf('lib/stage/README.md', '## Remove a stage');
    const commands = /^```sh\n(.*?)^```/ms.exec(section)?.[1] ?? '';
    const [unprotect = '', remove = ''] = commands.trim().split('\n').slice(-2);
    const removal = remove.replace('npx serverless ', '').split(' ');
    const early = serverless(project, removal, account.environment);
    await expect(early).rejects.toThrow('deletion protection is enabled');
    expect(await account.resources()).toHaveProperty('gradepushQueue');

    await account.aws(unprotect.split(' ').slice(1));
    const before = await account.resources();
    await serverless(project, removal, account.environment);
    const after = await account.resources();
    const kept = Object.keys(before).filter((id) =>
      /^AWS::(SQS::Queue|DynamoDB::Table|S3::Bucket)$/.test(before[id]?.Type ?? ''),
    );
    // Of a durable function, the code of executions that are under way.
    const left = Object.keys(after).filter((id) => after[id]?.Type !== 'AWS::Lambda::Version');
    // The letter index can be made anew from the queues, the crosswalk's from its sources.
    const gone = ['ServerlessDeploymentBucket', 'Desk', 'Crosswalk'];
    expect(left.sort()).toEqual(kept.filter((id) => !gone.includes(id)).sort());
    expect(after.Ledger?.Properties.DeletionProtectionEnabled).toBe(true);
  });
});
