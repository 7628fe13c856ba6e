import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '../README.md');

/** Parts of the README are written by programs, each between two comments with its name. */
const placeOf = (name: string): RegExp =>
  new RegExp(`(?<=<!-- ${name}: [^\\n]* -->\\n).*?(?=<!-- ${name}: end -->)`, 's');

export const partOfReadme = (name: string): string => {
  const [part] = placeOf(name).exec(readFileSync(file, 'utf8')) ?? [];
  if (part === undefined) throw new Error(`README.md has no place for ${name}`);
  return part;
};

export const writeIntoReadme = (name: string, part: string): void =>
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(placeOf(name), () => part),
  );
