import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { compareVersions } from '../lib/stage/version.ts';
import { optionsOf } from './options.ts';
import { lastVersion, releases, subjectOf } from './package/contract/releases.ts';
import { proofs } from './proofs/list.ts';
import { readResults, repeatOf, stateOf } from './proofs/results.ts';

const root = resolve(import.meta.dirname, '..');
const usage = 'npm run release -- 1.2.0 [--despite PROOF,PROOF]';
const changelogFile = join(root, 'CHANGELOG.md');
/** What a release changes. */
const written = [
  'package.json',
  'package-lock.json',
  'CHANGELOG.md',
  'events/contract',
  'test/package/released',
];

const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
/** Shows what it prints. */
const succeeds = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { cwd: root, stdio: 'inherit' }).status === 0;
const must = (done: boolean, problem: string): void => {
  if (!done) throw new Error(problem);
};
const refuse = (problems: string[]): void => {
  for (const problem of problems) console.error(`✗ ${problem}`);
  process.exitCode = 2;
};

/**
 * Makes a release of what is checked out: looks whether it may be one, freezes what it promises, sets the version, dates the section of
 * the changelog, runs all tests, commits, and tags with the notes. It pushes nothing. If anything fails, all is as it was.
 */
export const command = async ([version = '', ...args]: string[]): Promise<void> => {
  const { despite } = optionsOf({ despite: { type: 'string', default: '' } }, { usage, args });
  if (!/^\d+\.\d+\.\d+$/.test(version)) return refuse([`Which version? ${usage}`]);
  const excused = despite.split(',').filter(Boolean);
  const section = unreleased.exec(readFileSync(changelogFile, 'utf8'))?.[0] ?? '';
  const problems = [
    ...repositoryProblems(version),
    ...proofProblems(excused),
    ...(/^(### |- )/m.test(section) ? [] : ['The section ## [Unreleased] of CHANGELOG.md is empty.']),
  ];
  if (problems.length > 0) return refuse(problems);
  // The runbook's, and those of options.
  const contractTests = ['test/package/contract/released.test.ts', 'runbook.test.ts'];
  const vitest = ['test/run.js', `RELEASE=${version}`, 'node_modules/vitest/vitest.mjs', 'run'];
  if (!succeeds(process.execPath, ...vitest, ...contractTests, '-t', 'last release'))
    return refuse([
      `What others depend on does not allow ${version}: see above. Declare each break, or choose another version.`,
    ]);
  const head = git('rev-parse', 'HEAD').stdout.trim();
  // Ctrl-C ends what runs, and then all is put back.
  process.on('SIGINT', () => {});
  try {
    change(version);
    // The producers' contract states the version.
    must(succeeds('npm', 'run', '-s', 'generate'), 'It could not be generated.');
    must(succeeds('npm', 'run', '-s', 'freeze'), 'It could not be frozen.');
    must(succeeds('npm', 'test'), 'Not all tests pass.');
    const unproved = excused.length === 0 ? '' : `\n\nNot proved for this release: ${excused.join(', ')}.`;
    const notes = `${version}\n\n${section.trim()}${unproved}\n`;
    for (const words of [
      ['add', '--all', '--', ...written],
      ['commit', '--quiet', '--message', subjectOf(version)],
      ['tag', '--annotate', '--cleanup=verbatim', `v${version}`, '--message', notes],
    ])
      must(git(...words).status === 0, 'It could not be committed and tagged.');
  } catch (error) {
    git('reset', '--hard', '--quiet', head);
    git('clean', '--force', '-d', '--quiet', '--', ...written);
    return refuse([`${error instanceof Error ? error.message : error} Nothing was changed.`]);
  }
  console.log(`${version} is committed and tagged. Publish it: git push --follow-tags`);
};

const repositoryProblems = (version: string): string[] => {
  const status = git('status', '--porcelain');
  if (status.status !== 0) return ['This is no repository of git.'];
  const tags = git('tag', '--list', 'v*.*.*').stdout.split('\n').filter(Boolean);
  const [last] = tags.map((tag) => tag.slice(1)).sort((one, other) => compareVersions(other, one));
  const problems: [boolean, string][] = [
    [
      git('var', 'GIT_COMMITTER_IDENT').status !== 0,
      'Git does not know who commits: git config user.name and user.email',
    ],
    [status.stdout !== '', `There are changes that are in no commit:\n${status.stdout.trimEnd()}`],
    [
      last !== undefined && compareVersions(version, last) <= 0,
      `${version} is not newer than ${last}, the last release.`,
    ],
    [compareVersions(version, lastVersion()) <= 0, `${version} is frozen already, in test/package/released.`],
  ];
  return problems.flatMap(([is, problem]) => (is ? [problem] : []));
};

const proofProblems = (excused: readonly string[]): string[] => {
  const results = readResults();
  const unknown = excused.filter((name) => !proofs.some((proof) => proof.name === name));
  const unproved = proofs.flatMap((proof) => {
    const state = stateOf(proof, results[proof.name]);
    if (state === 'passed' || excused.includes(proof.name)) return [];
    const is = state === 'never run' ? 'was never run' : `is ${state}`;
    return [`The proof ${proof.name} ${is}: ${repeatOf(proof, results[proof.name])}`];
  });
  return [...unknown.map((name) => `There is no proof ${name}.`), ...unproved];
};

/** What stands below a heading of the changelog. */
const unreleased = /(?<=^## \[Unreleased\]\n)[\s\S]*?(?=^## \[|(?![\s\S]))/m;

const change = (version: string): void => {
  const today = new Date().toISOString().slice(0, 10);
  const dated = (section: string): string => `\n## [${version}] - ${today}\n\n${section.trim()}\n\n`;
  const changelog = readFileSync(changelogFile, 'utf8').replace(unreleased, dated);
  writeFileSync(changelogFile, `${changelog.trimEnd()}\n`);
  must(
    succeeds('npm', 'version', version, '--no-git-tag-version', '--allow-same-version', '--silent'),
    'The version could not be set.',
  );
  // What was declared is part of this version. Those of another major version are for nobody to go on from.
  writeFileSync(join(releases, 'breaking.json'), '{}\n');
  for (const name of readdirSync(releases))
    if (/^\d/.test(name) && name.split('.')[0] !== version.split('.')[0])
      rmSync(join(releases, name), { recursive: true });
};
