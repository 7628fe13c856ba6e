// @module-tag long
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { sectionOf } from './documents.ts';
import { commitOfRelease, howToFetch } from './package/contract/releases.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = resolve(import.meta.dirname, '..');
const isRepository = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root }).status === 0;

describe.skipIf(!isRepository)('a release', () => {
  const folder = join(temporaryFolder(), 'clone');
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
  const release = (...words: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, ['test/run.js', 'test/release.ts', ...words], {
      cwd: folder,
      encoding: 'utf8',
      // No name.
      env: { ...process.env, GIT_COMMITTER_NAME: '.' },
    });
    return { status, told: stderr.split('\n').filter((line) => line !== '') };
  };
  beforeAll(() => {
    execFileSync('git', ['clone', '--quiet', '--shared', root, folder]);
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  });

  test('without a version is refused', () => {
    expect(release()).toMatchObject({ status: 2, told: [expect.stringContaining('✗ Which version?')] });
  });

  test('is refused, with all that is missing: something is in no commit, a proof is not fresh, the version is no newer, the changelog states nothing', () => {
    git('tag', 'v9.9.9');
    const changelog = join(folder, 'CHANGELOG.md');
    const text = readFileSync(changelog, 'utf8');
    writeFileSync(changelog, text.replace(/(?<=## \[Unreleased\]\n)[\s\S]*/, '\n## [9.9.9]\n'));
    writeFileSync(join(folder, 'test/proofs.json'), '{}');
    const { status, told } = release('9.9.8', '--despite', 'luck,fuzz');
    expect(status).toBe(2);
    expect(told).toEqual(
      expect.arrayContaining([
        expect.stringContaining('✗ There are changes that are in no commit:'),
        ' M CHANGELOG.md',
        '✗ Git does not know who commits: git config user.name and user.email',
        '✗ 9.9.8 is not newer than 9.9.9, the last release.',
        '✗ There is no proof luck.',
        '✗ The proof upgrade was never run: npm run proofs -- --only upgrade',
        '✗ The section ## [Unreleased] of CHANGELOG.md is empty.',
      ]),
    );
    expect(told.join()).not.toContain('proof fuzz');
  });

  test('is found without its tag, by the commit that made it, and where the clone is shallow, it is told how to fetch it', () => {
    const commit = (message: string): string => {
      const as = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
      git(...as, 'commit', '--quiet', '--allow-empty', '--message', message);
      return git('rev-parse', 'HEAD').trim();
    };
    const frozen = join(folder, 'test/package/released/8.0.0');
    mkdirSync(frozen);
    const adds = (file: string): void => {
      writeFileSync(join(frozen, file), '{}');
      git('add', '--', frozen);
    };
    adds('contract.json');
    const released = commit('Release 8.0.0');
    adds('more.json');
    commit('Describe more\n\nRelease 8.0.0');
    commit('Release 8.0.01');
    commit('Release 8x0.0');
    const by = { version: '8.0.0', commit: undefined };
    expect(commitOfRelease(folder, by)).toBe(released);
    const guide = sectionOf('lib/stage/README.md', '## Update');
    const [, words = ''] = /`git (log [^`]*Release [^`]*)`/.exec(guide) ?? [];
    const shown = execFileSync('sh', ['-c', `git ${words.replace('1', '8')}`], { cwd: folder });
    expect(`${shown}`.split('\n')).toContain(`${git('rev-parse', '--short', released).trim()} Release 8.0.0`);
    const shallow = join(temporaryFolder(), 'shallow');
    execFileSync('git', ['clone', '--quiet', '--depth=1', pathToFileURL(folder).href, shallow]);
    expect(commitOfRelease(shallow, by)).toBeUndefined();
    expect(howToFetch(shallow)).toContain('git fetch --unshallow --tags');
    expect(howToFetch(folder)).toContain('git fetch --tags');
  });
});
