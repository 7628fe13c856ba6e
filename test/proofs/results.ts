import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { arch, cpus, platform } from 'node:os';
import { join, resolve } from 'node:path';
import { type Proof, programOf, proofs, type Size } from './list.ts';

/** The last run of a proof. */
export type Result = {
  passed: boolean;
  /** The lines of its output that have its figures. */
  figures: string[];
  /** In which size it ran. */
  size: string;
  seed?: number | undefined;
  minutes: number;
  /** ISO time of its end. */
  at: string;
  /** Undefined: what was proved is in no commit. */
  commit?: string | undefined;
  machine: string;
};
/** By the name of the proof. */
export type Results = Readonly<Record<string, Result>>;
export type State = 'passed' | 'failed' | 'stale' | 'never run';

const root = resolve(import.meta.dirname, '../..');
const file = join(root, 'test/proofs.json');

export const readResults = (): Results => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`${file} cannot be read. Restore it with git, or delete it: then nothing is proved.`, {
      cause: error,
    });
  }
};

/** Writes the results and their page, each in one step: whoever ends the process loses nothing that was proved. */
export const writeResults = (results: Results): void => {
  const sorted = Object.fromEntries(
    proofs.flatMap(({ name }) => (results[name] ? [[name, results[name]]] : [])),
  );
  for (const [path, text] of [
    [file, `${JSON.stringify(sorted, null, 2)}\n`],
    [join(root, 'test/proofs.md'), pageOf(sorted)],
  ] as const) {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
};

export const writeResult = ({ name }: Proof, result: Result): void =>
  writeResults({ ...readResults(), [name]: result });

const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });

/** A proof's files for git. That results were written changes nothing that is proved. */
const pathsOf = ({ files, program }: Proof): string[] => [
  '--',
  ...files,
  ...program.filter((word) => word.startsWith('test/')),
  'package-lock.json',
  ...['proofs.json', 'proofs.md'].map((name) => `:(exclude)test/${name}`),
];

/** The commit that is checked out; undefined if the proof's files differ from it, or there is none. */
export const commitOf = (proof: Proof): string | undefined => {
  const head = git('rev-parse', '--short=10', 'HEAD');
  const changed = git('status', '--porcelain', ...pathsOf(proof));
  return head.status === 0 && changed.status === 0 && changed.stdout === '' ? head.stdout.trim() : undefined;
};

export const machine = `${platform()} ${arch()}, ${cpus().length} × ${cpus()[0]?.model.replace(/ Processor$/, '') ?? 'unknown'}`;

/** Compares its files with those of the commit. */
export const isUnchangedSince = (proof: Proof, commit: string): boolean =>
  git('diff', '--quiet', commit, ...pathsOf(proof)).status === 0;

/** A result counts as long as no file of its proof has changed since its commit. */
export const stateOf = (proof: Proof, result: Result | undefined): State => {
  if (result === undefined) return 'never run';
  const { commit, passed } = result;
  if (commit === undefined || !isUnchangedSince(proof, commit)) return 'stale';
  return passed ? 'passed' : 'failed';
};

/** A result of the hour's size is not one of the week's. */
export const isDue = (proof: Proof, result: Result | undefined, size: Size): boolean =>
  stateOf(proof, result) !== 'passed' || (size === 'weekly' && result?.size !== sizeOf(proof, 'weekly'));

export const repeatOf = (
  { name, seed: option }: Proof,
  { seed, size }: { seed?: number | undefined; size?: string } = {},
): string => {
  const weekly = size === 'weekly' ? ' --weekly' : '';
  return `npm run proofs -- --only ${name}${weekly}${option && seed !== undefined ? ` --seed ${seed}` : ''}`;
};

/** The settings and options of its program that have a number. */
export const sizeOf = (proof: Proof, size: Size): string =>
  programOf(proof, size)
    .filter((word) => /^[A-Z_]+=/.test(word) || /^(?:--\w+|\d+)$/.test(word))
    .join(' ');

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** `state`: as of now, unless the page is compared with one that was written before. */
export const pageOf = (results: Results, state: typeof stateOf = stateOf): string => {
  const rows = proofs.map((proof) => {
    const result = results[proof.name];
    const marks = [
      result === undefined ? '**never run**' : '',
      result && state(proof, result) === 'stale' ? '**stale**' : '',
      result?.passed === false ? '**failed**' : '',
    ];
    const seed = proof.seed && result?.seed !== undefined ? `seed ${result.seed}` : '';
    const cells = [
      `<a id="${proof.name}"></a>\`${proof.name}\``,
      proof.claim,
      [...marks, result?.figures.join('<br>') ?? ''].filter(Boolean).join(' '),
      [result?.size, seed].filter(Boolean).join(', '),
      result ? `${result.at.slice(0, 10)}, ${result.minutes} min` : '',
      result ? `${result.commit ?? 'not committed'}, ${result.machine}` : '',
    ];
    return `| ${cells.map(cell).join(' | ')} |`;
  });
  return `# What was proved last

Written by \`npm run proofs\`. A stale result is older than code that it proves. It is marked if it was stale when this page was written;
\`npm run proofs -- --list\` shows which results are stale now. The proofs run on emulators; \`npx sis-relay doctor --stage test\` tries on a
deployed stage what they take for granted.

| proof | claim | result | size and seed | when, how long | commit, machine |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
};
