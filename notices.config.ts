import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

/** What a package's licence demands of those who pass its code on. */
const notices = /^(licen[cs]e|notice|copying)\b/i;

type Bundled = { folder: string; title: string; licence: string };

/**
 * The licences and notices of all packages with code in a bundle. The text that several have in common is there once.
 * @throws Error naming a package without the text of its licence.
 */
export const noticesOf = async (project: string, metafile: Pick<Metafile, 'outputs'>): Promise<string> => {
  const bundled = await Promise.all(foldersIn(metafile).map((folder) => describe(project, folder)));
  const titles = new Map<string, string[]>();
  const textOf = new Map<string, string>();
  const without: Bundled[] = [];
  for (const each of bundled) {
    const text = await textsIn(join(project, each.folder));
    if (text === '') without.push(each);
    else {
      titles.set(text, [...(titles.get(text) ?? []), each.title]);
      if (!textOf.has(each.licence)) textOf.set(each.licence, text);
    }
  }
  for (const { title, licence } of without) {
    // Its text names nobody, and so is the same for everybody.
    const text = licence === 'Apache-2.0' ? textOf.get(licence) : undefined;
    if (text === undefined) throw new Error(`${title} has no text of its licence, ${licence}`);
    titles.set(text, [...(titles.get(text) ?? []), title]);
  }
  const parts = [...titles].map(([text, of]) => `${of.sort().join('\n')}\n\n${text}`);
  return ['This code contains the following packages.', ...parts].join(`\n\n${'='.repeat(80)}\n\n`);
};

/** The folders of the packages, by their names: the same text wherever it is made. */
const foldersIn = ({ outputs }: Pick<Metafile, 'outputs'>): string[] => {
  const folders = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
      bytesInOutput === 0 ? [] : (/^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
    ),
  );
  return [...new Set(folders)].sort();
};

const describe = async (project: string, folder: string): Promise<Bundled> => {
  const { name, version, license } = JSON.parse(
    await readFile(join(project, folder, 'package.json'), 'utf8'),
  );
  return { folder, title: `${name} ${version} (${license})`, licence: license };
};

const textsIn = async (folder: string): Promise<string> => {
  const files = (await readdir(folder)).filter((file) => notices.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return texts.map((text) => text.replaceAll('\r\n', '\n').trim()).join('\n\n');
};
