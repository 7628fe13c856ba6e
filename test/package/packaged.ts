import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { lambdaBinding } from '../../bindings.config.ts';
import { bundling, functionNames } from '../../esbuild.config.ts';
import { parameters } from '../../lib/stage/template/all-settings.ts';
import { linkBinding } from '../local/lambda/bundles.ts';
import type { Template } from './cloudformation.ts';

const root = resolve(import.meta.dirname, '../..');
/** All that packaging reads. */
const sources = [
  'serverless.yml',
  'package.config.ts',
  'esbuild.config.ts',
  'bindings.config.ts',
  'notices.config.ts',
  'package.json',
  'package-lock.json',
  'functions',
  'lib',
];

export type Packaged = {
  /** What osls wrote: the zips, the template, and the code and source maps of each function. */
  folder: string;
  template: Template;
  /** What `serverless package` printed. */
  output: string;
};

/** The file of a stage that people depend on, with all that can be switched on; without what belongs to an option that is deleted. */
const fileOfProd = `
platformUrl: https://platform.university.edu
alarmEmail: operations@university.edu
alarmEmailLater: team@university.edu
repositoryUrl: https://git.university.edu/sis-relay/blob/main
expected: grade-push 24h mon-fri 07-19
tracing: Active
kmsKeyArn: arn:aws:kms:us-east-1:000000000000:key/0f6c1a52-58e1-4a0c-9d55-6a3d0b7e21c4
kmsKeyForLogs: true
subnetIds: subnet-0a1b2c3d,subnet-4e5f6a7b
securityGroupIds: sg-0a1b2c3d
producerTopics: arn:aws:sns:us-east-1:000000000000:sis,arn:aws:sns:us-east-1:000000000000:grades
producerRules: arn:aws:events:us-east-1:000000000000:rule/sis
producerAccounts: '111111111111,222222222222'
changesUrl: https://sis.university.edu/changes
permissionsBoundary: arn:aws:iam::000000000000:policy/boundary-sis-relay-prod
changesSecret: changes
`
  .split('\n')
  .filter((line) => Object.hasOwn(parameters, line.split(':', 1)[0] ?? ''))
  .join('\n');

/** What the stage `local` expects, so that its template has the alarm. */
const expectedOfLocal = 'grade-push 4h mon-fri 07-19';

/** `prod` is deployed, which ends when it is packaged, as there are no credentials. */
const commands = {
  local: ['package', '--stage', 'local', `--param=expected=${expectedOfLocal}`],
  prod: ['deploy', '--stage', 'prod'],
};

const outputFile = 'output.txt';

/**
 * Packages the project for a stage, in a folder that is empty. Without code, which takes most of the time, it gives the same
 * template.
 */
export async function packageProject(
  project: string,
  { stage = 'local', code = true }: { stage?: keyof typeof commands; code?: boolean } = {},
): Promise<Packaged> {
  await copyProject(project);
  if (!code) await writeFile(join(project, 'esbuild.config.ts'), withoutCode);
  if (!code && stage === 'local') await leaveOutChecks(project);
  const output = await serverless(project, commands[stage]).catch((error: Error) => {
    if (stage === 'local') throw error;
    return error.message;
  });
  await writeFile(join(project, outputFile), output);
  return readPackaged(project);
}

const withoutCode = `
  import { mkdir, writeFile } from 'node:fs/promises';
  export const bundle = async (name, { codeDir }) => {
    await mkdir(codeDir, { recursive: true });
    await writeFile(codeDir + '/none.mjs', '');
    return [codeDir + '/none.mjs'];
  };`;

/**
 * What osls does with most of its time, and the template does not need: it compiles the schema of serverless.yml, by which it also makes
 * texts of numbers, and writes down all that it knows of the project.
 */
async function leaveOutChecks(project: string): Promise<void> {
  const plugin = `
    const asTexts = ({ environment = {} }) => {
      for (const [name, value] of Object.entries(environment))
        if (typeof value === 'number') environment[name] = String(value);
    };
    export default class {
      constructor({ configSchemaHandler, pluginManager }) {
        configSchemaHandler.validateConfig = async ({ provider, functions }) =>
          [provider, ...Object.values(functions)].forEach(asTexts);
        for (const each of pluginManager.plugins)
          if (each.saveServiceState) each.saveServiceState = async () => {};
      }
    }`;
  await writeFile(join(project, 'quick.mjs'), plugin);
  const file = join(project, 'serverless.yml');
  const [own, both] = ['plugins: [./package.config.ts]', 'plugins: [./package.config.ts, ./quick.mjs]'];
  await writeFile(file, (await readFile(file, 'utf8')).replace(own, both));
}

/**
 * The code of all functions, bundled at once: in a tenth of the time, as what they share is read once, but for chunks that hold
 * more than one of them needs.
 */
export async function bundleTogether(folder: string): Promise<void> {
  await build({ ...bundling(functionNames), outdir: folder, minify: false, sourcemap: false, write: true });
  await linkBinding(folder);
}

/** All that packaging reads, in a folder that it may write into. */
export async function copyProject(project: string): Promise<string> {
  // As npm knows its registry in this environment, and not in that of `serverless`.
  await lambdaBinding();
  for (const name of sources) await cp(join(root, name), join(project, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'), 'junction');
  await mkdir(join(project, 'stages'), { recursive: true });
  await writeFile(join(project, 'stages/prod.yml'), fileOfProd);
  return project;
}

/**
 * What a command of osls prints. There is no AWS account to ask: the environment holds no credentials but those that are
 * given, and nobody looks for some elsewhere.
 */
export async function serverless(
  project: string,
  options: string[],
  environment: Record<string, string> = {},
): Promise<string> {
  const { PATH, TMPDIR, SystemRoot, NODE_COMPILE_CACHE } = process.env;
  const run = promisify(execFile)(
    process.execPath,
    [join(project, 'node_modules/serverless/bin/serverless.js'), ...options],
    {
      cwd: project,
      env: {
        PATH,
        HOME: project,
        AWS_EC2_METADATA_DISABLED: 'true',
        ...(TMPDIR && { TMPDIR }),
        ...(SystemRoot && { SystemRoot }),
        ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
        ...environment,
      },
    },
  );
  const { stdout, stderr } = await run.catch(({ stdout, stderr }) => {
    throw new Error(`serverless ${options.join(' ')} failed:\n${stdout}${stderr}`);
  });
  return `${stdout}${stderr}`;
}

export async function readPackaged(project: string): Promise<Packaged> {
  const folder = join(project, '.serverless');
  const template = await readFile(join(folder, 'cloudformation-template-update-stack.json'), 'utf8');
  return {
    folder,
    template: JSON.parse(template),
    output: await readFile(join(project, outputFile), 'utf8'),
  };
}
