import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const packages = join(import.meta.dirname, 'node_modules');

/** The set engine for the processors of Lambda. npm installs that of this machine alone, which is often another one. */
const name = '@duckdb/node-bindings-linux-arm64';
const files = ['duckdb.node', 'libduckdb.so', 'LICENSE'];

type Locked = { version: string; integrity: string };

/**
 * The folder of the binding for Lambda, of the version and with the integrity that the lockfile names. Where npm has not installed it,
 * npm fetches it once, from the registry that it is configured for, and it is kept beside the installed packages.
 */
export const lambdaBinding = async (): Promise<string> => {
  const lockfile = join(import.meta.dirname, 'package-lock.json');
  const { packages: locked }: { packages: Record<string, Locked> } = JSON.parse(
    await readFile(lockfile, 'utf8'),
  );
  const { version, integrity } = locked[`node_modules/${name}`] ?? {};
  if (version === undefined || !integrity?.startsWith('sha512-'))
    throw new Error(`package-lock.json names no version of ${name} with its integrity`);
  const installed = join(packages, name);
  if (existsSync(join(installed, 'package.json'))) {
    const found = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    if (found.version === version) return installed;
  }
  const mark = createHash('sha256').update(integrity).digest('hex').slice(0, 16);
  const kept = join(packages, '.cache', `lambda-binding-${version}-${mark}`);
  if (!existsSync(kept)) await fetchTo(kept, { version, integrity });
  return kept;
};

const fetchTo = async (kept: string, { version, integrity }: Locked): Promise<void> => {
  const cache = join(packages, '.cache');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'fetching-'));
  try {
    const isWindows = process.platform === 'win32';
    const { stdout } = await run(
      isWindows ? 'npm.cmd' : 'npm',
      ['pack', `${name}@${version}`, '--pack-destination', folder, '--silent'],
      { shell: isWindows },
    );
    const archive = join(folder, stdout.trim().split('\n').at(-1) ?? '');
    const digest = createHash('sha512')
      .update(await readFile(archive))
      .digest('base64');
    if (`sha512-${digest}` !== integrity)
      throw new Error(
        `${name}@${version} is not what package-lock.json says: its integrity is sha512-${digest}`,
      );
    await run('tar', ['-xzf', archive, '-C', folder]);
    // Another process may have been faster.
    await rename(join(folder, 'package'), kept).catch((error: NodeJS.ErrnoException) => {
      if (!existsSync(kept)) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Puts it where a function's code looks for it. Answers the files. */
export const addLambdaBinding = async (codeDir: string): Promise<string[]> => {
  const from = await lambdaBinding();
  const to = join(codeDir, 'node_modules', name);
  await mkdir(to, { recursive: true });
  return Promise.all(
    files.map(async (file) => {
      await cp(join(from, file), join(to, file));
      return join(to, file);
    }),
  );
};
