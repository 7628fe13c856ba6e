import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/** Of all code and all helpers of the tests: what a proof found before it was ended holds for the same ones alone. 12 hexadecimal digits. */
export const digestOfCode = (): string => {
  const hash = createHash('sha256');
  const given = ['lib', 'functions', 'events', 'test'].map((each) => `${each}/**/*.*`);
  const exclude = ['test/**/*.{md,test.ts}', 'test/mutate*', 'test/proofs*', 'test/{bench,proofs}/**'];
  const names = globSync([...given, 'package-lock.json'], { cwd: root, exclude });
  for (const name of names.sort())
    if (statSync(join(root, name)).isFile()) hash.update(`${name}\n`).update(readFileSync(join(root, name)));
  return hash.digest('hex').slice(0, 12);
};
