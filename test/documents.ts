import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/** Where each part of a document lies that a program writes: between two comments with its name. */
const files = {
  operations: 'lib/platform/README.md',
  roles: 'lib/desk/cli/README.md',
  parameters: 'lib/stage/README.md',
  variables: 'lib/stage/README.md',
  'deploy-rights': 'lib/stage/README.md',
  costs: 'lib/stage/README.md',
};
type Part = keyof typeof files;

const placeOf = (part: Part): RegExp =>
  new RegExp(`(?<=<!-- ${part}: [^\\n]* -->\\n).*?(?=<!-- ${part}: end -->)`, 's');

/** A document of the project, by its path from the root. */
export const documentOf = (path: string): string =>
  readFileSync(join(root, path), 'utf8').replaceAll('\r', '');

/** A document without its blocks of code, in which nothing is a link or a heading. */
export const textOf = (path: string): string => documentOf(path).replace(/^ *```.*?^ *```$/gms, '');

/** The anchors of a document: its own, and those that GitHub gives to its headings. */
export const anchorsIn = (path: string): string[] => {
  const seen = new Map<string, number>();
  return [...textOf(path).matchAll(/^#+ (.*)$|<a id="([^"]+)">/gm)].map(([, heading = '', id]) => {
    if (id !== undefined) return id;
    const anchor = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
};

export const writtenPart = (part: Part): string => {
  const [text] = placeOf(part).exec(documentOf(files[part])) ?? [];
  if (text === undefined) throw new Error(`${files[part]} has no place for ${part}`);
  return text;
};

export const writePart = (part: Part, text: string): void =>
  writeFileSync(
    join(root, files[part]),
    documentOf(files[part]).replace(placeOf(part), () => text),
  );

/** A table of Markdown; numbers stand on the right. */
export const tableOf = (
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  { numbersFrom = head.length }: { numbersFrom?: number } = {},
): string =>
  [head, head.map((_, at) => (at < numbersFrom ? '---' : '---:')), ...rows]
    .map((cells) => `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|\n`)
    .join('');

/** A chapter or a section of a document, without its heading. */
export const sectionOf = (path: string, heading: string): string => {
  const [marks = ''] = heading.split(' ');
  const [, ...after] = documentOf(path).split(`\n${heading}\n`);
  if (after.length !== 1) throw new Error(`${path} has ${after.length} sections ${heading}`);
  return after[0]?.split(new RegExp(`^#{1,${marks.length}} `, 'm'))[0] ?? '';
};

export const examplesIn = (text: string): unknown[] =>
  [...text.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = '']) => JSON.parse(json));
