import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { compareVersions } from '../lib/operate/stage/version.ts';
import { optionsOf } from './options.ts';
import { lastVersion, releases, subjectOf } from './package/contract/releases.ts';
import { proofs } from './proofs/list.ts';
import { readResults, repeatOf, stateOf } from './proofs/results.ts';

const root = resolve(import.meta.dirname, '..');
const usage = 'npm run release -- 1.2.0 [--despite PROOF,PROOF]';
/** What a release changes. */
const written = [
  'package.json',
  'package-lock.json',
  'CHANGELOG.md',
  'events/contract',
  'test/package/released',
];
const changelogFile = join(root, 'CHANGELOG.md');

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
/** Shows what it prints. */
const succeeds = (program: string, args: string[], environment: Record<string, string> = {}): boolean =>
  spawnSync(program, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...environment } })
    .status === 0;

/**
 * Makes a release of what is checked out: looks whether it may be one, freezes what it promises, sets the version, dates the section of
 * the changelog, runs all tests, commits, and tags with the notes. It pushes nothing. If anything fails, all is as it was.
 */
export const command = async ([version = '', ...args]: string[]): Promise<void> => {
  const { despite } = optionsOf({ despite: { type: 'string', default: '' } }, { usage, args });
  if (!/^\d+\.\d+\.\d+$/.test(version)) return refuse([`Which version? ${usage}`]);
  const excused = despite.split(',').filter(Boolean);
  const problems = [...repositoryProblems(version), ...proofProblems(excused), ...changelogProblems()];
  if (problems.length > 0) return refuse(problems);
  const vitest = ['test/run.js', `RELEASE=${version}`, 'node_modules/vitest/vitest.mjs', 'run'];
  if (
    !succeeds(process.execPath, [
      ...vitest,
      'test/package/contract/released.test.ts',
      // The runbook's, and those of options.
      'runbook.test.ts',
      '-t',
      'last release',
    ])
  )
    return refuse([
      `What others depend on does not allow ${version}: see above. Declare each break, or choose another version.`,
    ]);
  const head = git('rev-parse', 'HEAD').stdout.trim();
  // Ctrl-C ends what runs, and then all is put back.
  process.on('SIGINT', () => {});
  try {
    const notes = notesOf(readFileSync(changelogFile, 'utf8'), excused);
    change(version);
    // The producers' contract states the version.
    if (!succeeds('npm', ['run', '-s', 'generate'])) throw new Error('It could not be generated.');
    if (!succeeds('npm', ['run', '-s', 'freeze'])) throw new Error('It could not be frozen.');
    if (!succeeds('npm', ['test'])) throw new Error('Not all tests pass.');
    const done =
      git('add', '--all', '--', ...written).status === 0 &&
      git('commit', '--quiet', '--message', subjectOf(version)).status === 0 &&
      git('tag', '--annotate', '--cleanup=verbatim', `v${version}`, '--message', `${version}\n\n${notes}`)
        .status === 0;
    if (!done) throw new Error('It could not be committed and tagged.');
  } catch (error) {
    git('reset', '--hard', '--quiet', head);
    git('clean', '--force', '-d', '--quiet', '--', ...written);
    return refuse([`${error instanceof Error ? error.message : error} Nothing was changed.`]);
  }
  console.log(`${version} is committed and tagged. Publish it: git push --follow-tags`);
};

const refuse = (problems: string[]): void => {
  for (const problem of problems) console.error(`✗ ${problem}`);
  process.exitCode = 2;
};

const repositoryProblems = (version: string): string[] => {
  const status = git('status', '--porcelain');
  if (status.status !== 0) return ['This is no repository of git.'];
  const tags = git('tag', '--list', 'v*.*.*').stdout.split('\n').filter(Boolean);
  const last = tags
    .map((tag) => tag.slice(1))
    .sort(compareVersions)
    .at(-1);
  return [
    ...(git('var', 'GIT_COMMITTER_IDENT').status === 0
      ? []
      : ['Git does not know who commits: git config user.name and user.email']),
    ...(status.stdout === '' ? [] : [`There are changes that are in no commit:\n${status.stdout.trimEnd()}`]),
    ...(last !== undefined && compareVersions(version, last) <= 0
      ? [`${version} is not newer than ${last}, the last release.`]
      : []),
    ...(compareVersions(version, lastVersion()) <= 0
      ? [`${version} is frozen already, in test/package/released.`]
      : []),
  ];
};

const proofProblems = (excused: readonly string[]): string[] => {
  const results = readResults();
  const unknown = excused.filter((name) => !proofs.some((proof) => proof.name === name));
  return [
    ...unknown.map((name) => `There is no proof ${name}.`),
    ...proofs.flatMap((proof) => {
      const state = stateOf(proof, results[proof.name]);
      if (state === 'passed' || excused.includes(proof.name)) return [];
      return [
        `The proof ${proof.name} ${state === 'never run' ? 'was never run' : `is ${state}`}: ${repeatOf(proof, results[proof.name]?.seed)}`,
      ];
    }),
  ];
};

/** What stands below a heading of the changelog; undefined: there is no such heading. */
const unreleased = /(?<=^## \[Unreleased\]\n)[\s\S]*?(?=^## \[|(?![\s\S]))/m;

const changelogProblems = (): string[] => {
  const [section] = unreleased.exec(readFileSync(changelogFile, 'utf8')) ?? [];
  if (section === undefined) return ['CHANGELOG.md has no section ## [Unreleased].'];
  return /^(### |- )/m.test(section) ? [] : ['The section ## [Unreleased] of CHANGELOG.md is empty.'];
};

const withoutPlaceholder = (section: string): string =>
  section.replace('No version has been released yet.\n\n', '').trim();

/** What changed, and what is not proved. */
const notesOf = (changelog: string, excused: readonly string[]): string => {
  const [section = ''] = unreleased.exec(changelog) ?? [];
  const unproved = excused.length === 0 ? '' : `\n\nNot proved for this release: ${excused.join(', ')}.`;
  return `${withoutPlaceholder(section)}${unproved}\n`;
};

const change = (version: string): void => {
  const changelog = readFileSync(changelogFile, 'utf8');
  const today = new Date().toISOString().slice(0, 10);
  const dated = (section: string): string =>
    `\n## [${version}] - ${today}\n\n${withoutPlaceholder(section)}\n\n`;
  writeFileSync(changelogFile, `${changelog.replace(unreleased, dated).trimEnd()}\n`);
  // In the lockfile it stands twice.
  for (const [file, times] of [
    ['package.json', 1],
    ['package-lock.json', 2],
  ] as const) {
    let left: number = times;
    const text = read(file).replace(/"version": "[^"]*"/g, (found) => {
      left -= 1;
      return left < 0 ? found : `"version": "${version}"`;
    });
    writeFileSync(join(root, file), text);
  }
  // What was declared is part of this version. Those of another major version are for nobody to go on from.
  writeFileSync(join(releases, 'breaking.json'), '{}\n');
  for (const name of readdirSync(releases))
    if (/^\d/.test(name) && name.split('.')[0] !== version.split('.')[0])
      rmSync(join(releases, name), { recursive: true });
};
