import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ownVersion, versionText } from '../lib/stage/version.ts';
import { optionsOf } from './options.ts';
import { commitOfRelease, howToFetch } from './package/contract/releases.ts';
import { carryOn } from './upgrade/carry.ts';
import { makeState } from './upgrade/make.ts';
import { lastState } from './upgrade/state.ts';

// What the last release left is carried on by the working tree, then by the released code, then by the working tree again.

const root = resolve(import.meta.dirname, '..');

/** What it needs of the registry, apart from its own version. */
const lockedIn = (folder: string): unknown => {
  const {
    version: _,
    packages,
    ...rest
  } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const { '': own, ...others } = packages;
  return { ...rest, others, own: { ...own, version: undefined } };
};

/** The code of a commit, with its packages. */
const checkOut = (ref: string, folder: string): string => {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', ref], { cwd: root, maxBuffer: 1024 ** 3 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  if (isDeepStrictEqual(lockedIn(folder), lockedIn(root)))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  else execFileSync('npm', ['ci'], { cwd: folder, stdio: 'ignore' });
  return folder;
};

/** `npm run proofs -- --only upgrade`; `--from` names another commit to step back to, `--resources` makes a smaller state. */
export const command = async (): Promise<void> => {
  const options = { from: { type: 'string' }, resources: { type: 'string', default: '10000' } } as const;
  const { from, resources } = optionsOf(options, {
    usage: 'npm run proofs -- --only upgrade -- --from COMMIT --resources N',
  });
  const here = ownVersion();
  let state = from === undefined ? lastState() : undefined;
  if (state === undefined) {
    console.log(`No version is released: ${versionText(here)} makes the state and is the version before.`);
    state = await makeState({ resources: Number(resources) });
  }
  const before = state.by;
  const ref = from ?? commitOfRelease(root, before);
  const folder = join(root, '.proofs/released');
  rmSync(folder, { recursive: true, force: true });
  const ways = [{ way: 'on', by: here, root }];
  if (ref === undefined) {
    console.log(
      `The step back is not proved: the commit of ${before.version} is not in this repository, and neither is the tag v${before.version}. ${howToFetch(root)}`,
    );
    process.exitCode = 1;
  } else
    ways.push(
      { way: 'back', by: { ...before, commit: from ?? ref.slice(0, 10) }, root: checkOut(ref, folder) },
      { way: 'on', by: here, root },
    );
  for (const { way, by, root } of ways) {
    const { problems, figures, state: next } = await carryOn(state, { root, by });
    console.log(`${way}, ${versionText(state.by)} → ${versionText(by)}: ${figures}`);
    for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`);
    if (problems.length > 0) {
      console.log(`${problems.length} problems.`);
      process.exitCode = 1;
      break;
    }
    state = next;
  }
  rmSync(folder, { recursive: true, force: true });
};
