import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { bundle } from '../../esbuild.config.ts';
import { noticesOf } from '../../notices.config.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const root = resolve(import.meta.dirname, '../..');

test.each(['grade-push', 'snapshot-import', 'course-export'])(
  '%s is packaged with the licence of each package that has code in it',
  async (name) => {
    const folder = temporaryFolder();
    const [codeDir, mapDir] = [join(folder, 'code'), join(folder, 'maps')];
    const files = await bundle(name, { codeDir, mapDir });
    const notices = join(codeDir, 'THIRD-PARTY-NOTICES.txt');
    expect(files).toContain(notices);
    const text = await readFile(notices, 'utf8');
    const packages = new Set<string>();
    for (const file of await readdir(mapDir, { recursive: true })) {
      if (!file.endsWith('.map')) continue;
      const { sources } = JSON.parse(await readFile(join(mapDir, file), 'utf8'));
      for (const source of sources)
        packages.add(/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? '');
    }
    packages.delete('');
    expect(packages.size).toBeGreaterThan(5);
    for (const each of packages) {
      const folderOf = join(root, 'node_modules', each);
      const { version } = JSON.parse(await readFile(join(folderOf, 'package.json'), 'utf8'));
      expect(text).toContain(`\n${each} ${version} (`);
      for (const file of await readdir(folderOf))
        if (/^licen[cs]e/i.test(file))
          expect(text).toContain((await readFile(join(folderOf, file), 'utf8')).trim());
    }
    // None whose code was left out.
    expect(text.match(/^\S+ \d+\.\d+\.\S+ \(\S+\)$/gm)).toHaveLength(packages.size);
  },
);

const projectWith = async (packages: Record<string, { license: string; files?: Record<string, string> }>) => {
  const project = temporaryFolder();
  for (const [name, { license, files = {} }] of Object.entries(packages))
    for (const [file, text] of Object.entries({
      'package.json': JSON.stringify({ name, version: '1.0.0', license }),
      ...files,
    })) {
      const path = join(project, 'node_modules', name, file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
  const inputs = Object.fromEntries(
    Object.keys(packages).map((name) => [`node_modules/${name}/index.js`, { bytesInOutput: 1 }]),
  );
  return noticesOf(project, { outputs: { 'x.mjs': { bytes: 1, imports: [], exports: [], inputs } } });
};

test('a package without a licence of its own is under the text of others if that names nobody, and is refused otherwise', async () => {
  const [mit, apache] = [{ license: 'MIT' }, { license: 'Apache-2.0' }];
  const others = {
    '@a/one': { ...apache, files: { LICENSE: 'Apache License', NOTICE: 'of one' } },
    two: { ...mit, files: { 'license.md': 'by two' } },
  };
  const text = await projectWith({ ...others, three: apache });
  expect(text).toContain('@a/one 1.0.0 (Apache-2.0)\nthree 1.0.0 (Apache-2.0)\n\nApache License\n\nof one\n');
  expect(text).toContain('two 1.0.0 (MIT)\n\nby two');
  await expect(projectWith({ ...others, three: mit })).rejects.toThrow('three 1.0.0 (MIT) has no text');
  await expect(projectWith({ three: apache })).rejects.toThrow('three 1.0.0 (Apache-2.0) has no text');
});
