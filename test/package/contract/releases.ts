import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compareVersions, type Version } from '../../../lib/operate/stage/version.ts';

/** A folder for each version, with what it promises. */
export const releases = join(import.meta.dirname, '../released');

/** The newest of which a description is kept. */
export const lastVersion = (): string =>
  readdirSync(releases)
    .filter((name) => /^\d+\.\d+\.\d+$/.test(name))
    .sort(compareVersions)
    .at(-1) ?? '';

const git = (root: string, words: string): string | undefined => {
  const { status, stdout } = spawnSync('git', words.split(' '), { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
};

/**
 * The commit of a release: that of its tag, or the one that froze it, as tags do not always travel with commits, or the one on which the
 * state was made; undefined: this repository has none of them.
 */
export const commitOfRelease = (root: string, { version, commit = '' }: Version): string | undefined => {
  const [froze, before] =
    git(root, `log -1 --diff-filter=A --format=%H,%P -- test/package/released/${version}`)?.split(',') ?? [];
  const candidates = [
    `v${version}`,
    // The oldest commit of a shallow clone adds every file, whichever commit did.
    before ? froze : undefined,
    commit.replace(/-dirty$/, ''),
  ];
  return candidates
    .filter((each) => each)
    .map((each) => git(root, `rev-parse --verify --quiet --end-of-options ${each}^{commit}`))
    .find((each) => each !== undefined);
};

/** What to do where a commit is not in the repository. */
export const howToFetch = (root: string): string => {
  const isShallow = git(root, 'rev-parse --is-shallow-repository');
  if (isShallow === undefined) return 'This is no repository of git: clone it.';
  return isShallow === 'true'
    ? 'This clone is shallow. Run git fetch --unshallow --tags'
    : 'Fetch it: git fetch --tags';
};
