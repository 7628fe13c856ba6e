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

/** The project, packaged for the stage `local`: once for all tests that run on the same sources. */
export async function packagedProject(): Promise<Packaged> {
  const project = join(tmpdir(), `sis-relay-packaged-${await fingerprint()}`);
  const lock = `${project}.lock`;
  while (!existsSync(project)) {
    const isMine = await mkdir(lock).then(
      () => true,
      () => false,
    );
    if (isMine) await packageInto(project).finally(() => rm(lock, { recursive: true, force: true }));
    else if (await isOlderThan(lock, 5 * minute)) await rm(lock, { recursive: true, force: true });
    else await sleep(50);
  }
  return read(project);
}

/** The project, packaged now, in a folder of its own; the folder is the caller's to remove. */
export async function packagedAgain(): Promise<Packaged & { project: string }> {
  const project = await packageAnew();
  return { project, ...(await read(project)) };
}

async function packageInto(project: string): Promise<void> {
  await removeOld();
  await rename(await packageAnew(), project);
}

const minute = 60_000;
const outputFile = 'output.txt';

/** In a copy, as packaging writes into its folder. There is no AWS account to ask: the environment holds no credentials. */
async function packageAnew(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'sis-relay-packaging-'));
  for (const name of sources) await cp(join(root, name), join(project, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'), 'junction');
  const serverless = join(project, 'node_modules/serverless/bin/serverless.js');
  const { PATH, SystemRoot } = process.env;
  const packaging = promisify(execFile)(process.execPath, [serverless, 'package', '--stage', 'local'], {
    cwd: project,
    env: { PATH, HOME: project, ...(SystemRoot && { SystemRoot }) },
  });
  const { stdout } = await packaging.catch(({ stdout, stderr }) => {
    throw new Error(`serverless package failed:\n${stdout}${stderr}`);
  });
  await writeFile(join(project, outputFile), stdout);
  return project;
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

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
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
