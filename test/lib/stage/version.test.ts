import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compareDeployed, ownVersion, versionText } from '../../../lib/stage/version.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const root = resolve(import.meta.dirname, '../../..');
const here = { version: '1.2.0', commit: '1111111111' };

test.each([
  ['nothing', undefined, undefined, 'older'],
  ['the same', '1.2.0', '1111111111', 'same'],
  ['changes that are in no commit', '1.2.0', '1111111111-dirty', 'same'],
  ['no commit', '1.2.0', undefined, 'same'],
  ['a lower version', '1.1.9', '1111111111', 'older'],
  ['a higher version', '1.10.0', '1111111111', 'newer'],
  ['a commit that is not known here', '1.2.0', '2222222222', 'other'],
  ['what is no commit', '1.2.0', '--output=x', 'other'],
])('a deployment that wrote down %s is %s', (_, version, commit, is) => {
  expect(compareDeployed({ version, commit }, here)).toEqual({ version, commit, is, command: here });
});

const isRepository = spawnSync('git', ['rev-parse', 'HEAD~1'], { cwd: root }).status === 0;

describe.skipIf(!isRepository)('in a checkout', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const [commit, before] = ['HEAD', 'HEAD~1'].map((each) => git('rev-parse', '--short=10', each));

  test('the commit is known, and whether something differs from it', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(versionText(ownVersion()).replace('-dirty', '')).toBe(`${version} (${commit})`);
  });

  test('of two commits with the same version, the history tells which is older', () => {
    const is = (deployed: string | undefined, command: string | undefined) =>
      compareDeployed({ version: '1.2.0', commit: deployed }, { version: '1.2.0', commit: command }).is;
    expect([is(before, commit), is(commit, before)]).toEqual(['older', 'newer']);
  });
});

describe('without a repository', () => {
  const ownVersionIn = (folder: string) => {
    const program = `import('./lib/stage/version.ts').then((it) => console.log(JSON.stringify(it.ownVersion())))`;
    return JSON.parse(execFileSync(process.execPath, ['-e', program], { cwd: folder, encoding: 'utf8' }));
  };
  const copied = (): string => {
    const folder = temporaryFolder();
    for (const file of ['package.json', 'lib/stage/version.ts'])
      cpSync(join(root, file), join(folder, file), { recursive: true });
    return folder;
  };

  test('a copy has a version alone', () => {
    expect(ownVersionIn(copied())).toEqual({ version: ownVersion().version });
  });

  test('an archive has the commit that `git archive` wrote into it', () => {
    const folder = copied();
    const file = join(folder, 'lib/stage/version.ts');
    const commit = 'e3105916b17258b4bb3f5e366645670ff152fc80';
    // As .gitattributes asks for.
    expect(readFileSync(join(root, '.gitattributes'), 'utf8')).toContain('version.ts export-subst');
    writeFileSync(file, readFileSync(file, 'utf8').replace('$Format:%H$', commit));
    expect(ownVersionIn(folder)).toMatchObject({ commit: 'e3105916b1' });
  });
});
