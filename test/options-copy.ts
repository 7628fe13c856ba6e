import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { Option } from '../lib/option.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = resolve(import.meta.dirname, '..');

/** What a file imports from the project, as paths from its root. */
const importsOf = (folder: string, file: string): string[] =>
  [...readFileSync(join(folder, file), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(
    ([, path = '']) => relative(folder, resolve(folder, file, '..', path)).replaceAll('\\', '/'),
  );

/** Without a function's stanza, and the comment before it. @throws if there is none. */
const withoutStanza = (yaml: string, name: string): string => {
  const lines = yaml.split('\n');
  const at = lines.indexOf(`  ${name}:`);
  if (at < 0) throw new Error(`serverless.yml has no function ${name}`);
  const beforeComment = lines.slice(0, at).findLastIndex((line) => !line.startsWith('  #'));
  const after = lines.findIndex((line, index) => index > at && line !== '' && !line.startsWith('   '));
  return [...lines.slice(0, beforeComment + 1), ...lines.slice(after)].join('\n');
};

/** Without the import of an option, and its entry. */
const withoutEntry = (list: string, { name }: Pick<Option, 'name'>): string => {
  const entry = name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return list
    .replace(new RegExp(`^import .*/options/${name}/.*\\n`, 'm'), '')
    .replace(/^const everyOption = .*$/m, (line) => line.replace(new RegExp(`\\b${entry}\\b(?:, )?`), ''));
};

const changeFile = (file: string, change: (text: string) => string): void =>
  writeFileSync(file, change(readFileSync(file, 'utf8')));

/**
 * Copies the project without these options, by the steps of the deployment guide. Returns the folder, and the tests that went because they
 * also try what is gone.
 */
export const copyWithout = (gone: readonly Option[]): { folder: string; triedBy: string[] } => {
  const folder = temporaryFolder();
  const functions = gone.flatMap((option) => option.functions);
  const deleted = [
    ...gone.flatMap(({ name }) => [`lib/options/${name}/`, `test/options/${name}/`]),
    ...functions.flatMap((name) => [
      `functions/${name}.ts`,
      `events/${name}.json`,
      `test/functions/${name}.test.ts`,
    ]),
  ];
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
  });
  const all = listed.split('\0').filter(Boolean);
  const files = new Set(all.filter((file) => !deleted.some((path) => file.startsWith(path))));
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  changeFile(join(folder, 'lib/options.ts'), (list) => gone.reduce(withoutEntry, list));
  changeFile(join(folder, 'serverless.yml'), (yaml) => functions.reduce(withoutStanza, yaml));
  return { folder, triedBy: removeTestsOfWhatIsGone(folder, { all, files }) };
};

/** Removes the tests that import what is gone, then those that import them. */
const removeTestsOfWhatIsGone = (
  folder: string,
  { all, files }: { all: readonly string[]; files: Set<string> },
): string[] => {
  const were = new Set(all);
  const removed: string[] = [];
  const isBroken = (file: string): boolean =>
    /^test\/.*\.ts$/.test(file) && importsOf(folder, file).some((path) => were.has(path) && !files.has(path));
  for (let broken = [...files].filter(isBroken); broken.length > 0; broken = [...files].filter(isBroken))
    for (const file of broken) {
      rmSync(join(folder, file));
      files.delete(file);
      removed.push(file);
    }
  return removed.sort();
};
