import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Template } from './cloudformation.ts';

const root = resolve(import.meta.dirname, '../..');
/** All that packaging reads. */
const sources = [
  ...['serverless.yml', 'package.config.ts', 'esbuild.config.ts', 'package.json', 'package-lock.json'],
  ...['functions', 'lib'],
];

/** What packages, or waits for it, may take so long on a machine that is at much else. */
export const slowMs = 180_000;

export type Packaged = {
  /** What osls wrote: the zips, the template, and the code and source maps of each function. */
  folder: string;
  template: Template;
  /** What `serverless package` printed. */
  output: string;
};

/** What a stage that people depend on is given, with all that can be switched on. */
export const ofProd = [
  '--stage=prod',
  '--param=platformUrl=https://platform.university.edu',
  '--param=alarmEmail=operations@university.edu',
  '--param=tracing=Active',
  '--param=kmsKeyArn=arn:aws:kms:us-east-1:000000000000:key/0f6c1a52-58e1-4a0c-9d55-6a3d0b7e21c4',
  '--param=subnetIds=subnet-0a1b2c3d,subnet-4e5f6a7b',
  '--param=securityGroupIds=sg-0a1b2c3d',
  '--param=producerTopics=arn:aws:sns:us-east-1:000000000000:sis,arn:aws:sns:us-east-1:000000000000:grades',
  '--param=producerRules=arn:aws:events:us-east-1:000000000000:rule/sis',
  '--param=producerAccounts=111111111111,222222222222',
  '--param=changesUrl=https://sis.university.edu/changes',
  '--param=changesSecret=changes',
];

/** `prod` is deployed, which ends when it is packaged, as there are no credentials. */
const commands = {
  local: ['package', '--stage', 'local'],
  prod: ['deploy', ...ofProd],
};

/** The project, packaged for a stage: once for all tests that run on the same sources. */
export async function packagedProject(stage: keyof typeof commands = 'local'): Promise<Packaged> {
  const project = join(tmpdir(), `sis-relay-packaged-${stage}-${await fingerprint(commands[stage])}`);
  const lock = `${project}.lock`;
  while (!existsSync(project)) {
    const isMine = await mkdir(lock).then(
      () => true,
      () => false,
    );
    if (isMine)
      await packageInto(project, commands[stage]).finally(() => rm(lock, { recursive: true, force: true }));
    else if (await isOlderThan(lock, 5 * minute)) await rm(lock, { recursive: true, force: true });
    else await sleep(50);
  }
  return read(project);
}

async function packageInto(project: string, command: string[]): Promise<void> {
  await removeOld();
  await rename(await packageAnew(command), project);
}

const minute = 60_000;
const outputFile = 'output.txt';

async function packageAnew(command: string[]): Promise<string> {
  const project = await copyOfProject();
  const output = await serverless(project, command).catch((error: Error) => {
    if (command[0] === 'package') throw error;
    return error.message;
  });
  await writeFile(join(project, outputFile), output);
  return project;
}

/** A folder with all that packaging reads, as it writes into its folder; it is the caller's to remove. */
export async function copyOfProject(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'sis-relay-packaging-'));
  for (const name of sources) await cp(join(root, name), join(project, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'), 'junction');
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
  const { PATH, SystemRoot, NODE_COMPILE_CACHE } = process.env;
  const run = promisify(execFile)(
    process.execPath,
    [join(project, 'node_modules/serverless/bin/serverless.js'), ...options],
    {
      cwd: project,
      env: {
        PATH,
        HOME: project,
        AWS_EC2_METADATA_DISABLED: 'true',
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

async function read(project: string): Promise<Packaged> {
  const folder = join(project, '.serverless');
  const template = await readFile(join(folder, 'cloudformation-template-update-stack.json'), 'utf8');
  return {
    folder,
    template: JSON.parse(template),
    output: await readFile(join(project, outputFile), 'utf8'),
  };
}

async function fingerprint(command: string[]): Promise<string> {
  const hash = createHash('sha256').update(command.join('\n'));
  for (const name of sources) {
    const isFolder = (await stat(join(root, name))).isDirectory();
    const files = isFolder ? (await readdir(join(root, name), { recursive: true })).sort() : [''];
    for (const file of files) {
      const path = join(root, name, file);
      if ((await stat(path)).isFile()) hash.update(`${join(name, file)}\n`).update(await readFile(path));
    }
  }
  return hash.digest('hex').slice(0, 16);
}

/** Of sources that are no more. */
async function removeOld(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const path = join(tmpdir(), name);
    if (/^sis-relay-packag(ed|ing)-/.test(name) && (await isOlderThan(path, 60 * minute)))
      await rm(path, { recursive: true, force: true });
  }
}

const isOlderThan = (path: string, ms: number): Promise<boolean> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs > ms,
    () => false,
  );
