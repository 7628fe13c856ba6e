import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

const root = resolve(import.meta.dirname, '..');
const isRepository = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root }).status === 0;

describe.skipIf(!isRepository)('a release is refused, with all that is missing,', { tags: ['long'] }, () => {
  const folder = join(temporaryFolder(), 'clone');
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
  const release = (...words: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, ['test/run.js', 'test/release.ts', ...words], {
      ...{ cwd: folder, encoding: 'utf8' },
    });
    return { status, told: stderr.split('\n').filter((line) => line !== '') };
  };
  beforeAll(() => {
    execFileSync('git', ['clone', '--quiet', '--shared', root, folder]);
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  });

  test('without a version', () => {
    expect(release()).toMatchObject({ status: 2, told: [expect.stringContaining('✗ Which version?')] });
  });

  test('while something is in no commit, a proof is not fresh, the version is no newer, or the changelog states nothing', () => {
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
        '✗ 9.9.8 is not newer than 9.9.9, the last release.',
        '✗ There is no proof luck.',
        '✗ The proof upgrade was never run: npm run proofs -- --only upgrade',
        '✗ The section ## [Unreleased] of CHANGELOG.md is empty.',
      ]),
    );
    expect(told.join()).not.toContain('proof fuzz');
  });
});
