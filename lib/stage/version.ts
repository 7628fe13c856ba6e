import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const project = join(import.meta.dirname, '../..');

/** `git archive` replaces it: a download has no repository. */
const archived = '$Format:%H$';

export type Version = {
  version: string;
  /** Ends with `-dirty` if what is checked out differs from it; undefined: neither a checkout nor an archive of one. */
  commit: string | undefined;
};

/** The version of this code. */
export const ownVersion = (): Version => ({
  version: JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')).version,
  commit: archived.startsWith('$')
    ? git('describe', '--always', '--dirty', '--abbrev=10', '--exclude=*')
    : archived.slice(0, 10),
});

/** `1.0.0 (e3105916b1)` */
export const versionText = ({ version, commit }: Version): string =>
  commit === undefined ? version : `${version} (${commit})`;

/** Undefined: it refused, or this is no checkout. A repository around the project has commits of something else. */
const git = (...args: string[]): string | undefined => {
  if (!existsSync(join(project, '.git'))) return undefined;
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { status, stdout } = spawnSync('git', args, { cwd: project, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
};

/** What a deployment wrote down. */
export type NotedVersion = {
  version: string | undefined;
  commit: string | undefined;
  /** When the last deployment changed the stack. */
  changedMs?: number | undefined;
  /** Whether that deployment has ended well; undefined: unknown. */
  isDeployed?: boolean | undefined;
};

export type DeployedVersion = {
  /** Undefined: it was deployed before versions were written down, or by `serverless rollback`, which knows none. */
  version: string | undefined;
  commit: string | undefined;
  /** What is deployed, compared with this code; `other`: the commits are not of one line, or not known here. */
  is: 'same' | 'older' | 'newer' | 'other';
  /** The version of this code. */
  command: Version;
};

/** Compares what was written down at deployment with this code. */
export const compareDeployed = ({ version, commit }: NotedVersion, own = ownVersion()): DeployedVersion => ({
  version,
  commit,
  is: relationOf({ version, commit }, own),
  command: own,
});

const relationOf = ({ version, commit }: NotedVersion, own: Version): DeployedVersion['is'] => {
  if (version === undefined) return 'older';
  const order = compareVersions(version, own.version);
  if (order !== 0) return order < 0 ? 'older' : 'newer';
  const [deployed, here] = [commit, own.commit].map((each) => each?.replace(/-dirty$/, ''));
  if (deployed === here || deployed === undefined || here === undefined) return 'same';
  // What a stack's tag holds is no option of git.
  if (!/^[0-9a-f]{7,40}$/.test(deployed)) return 'other';
  const isBefore = (one: string, two: string): boolean =>
    git('merge-base', '--is-ancestor', one, two) !== undefined;
  if (isBefore(deployed, here)) return 'older';
  return isBefore(here, deployed) ? 'newer' : 'other';
};

/** Negative if the first is older. */
export const compareVersions = (one: string, other: string): number => {
  const [a = [], b = []] = [one, other].map((each) => each.split('.').map(Number));
  return [0, 1, 2].map((at) => (a[at] ?? 0) - (b[at] ?? 0)).find((each) => each !== 0) ?? 0;
};
