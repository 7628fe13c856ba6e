import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compareVersions, type Version } from '../../../lib/stage/version.ts';

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

/** By which the commit of a release is found where its tag is not: tags do not always travel with commits. */
export const subjectOf = (version: string): string => `Release ${version}`;

/**
 * The commit of a release: that of its tag, or the last one with its subject, or the one on which the state was made; undefined: this
 * repository has none of them.
 */
export const commitOfRelease = (root: string, { version, commit = '' }: Version): string | undefined => {
  // By the whole subject: one pattern of git also matches lines below it.
  const commits = git(root, 'log --format=%H,%s --grep=^Release')?.split('\n') ?? [];
  const [made] = commits.flatMap((line) => {
    const [hash, ...subject] = line.split(',');
    return subject.join() === subjectOf(version) ? [hash] : [];
  });
  return [`v${version}`, made, commit.replace(/-dirty$/, '')]
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
