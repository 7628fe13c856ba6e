import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

type Locked = {
  integrity?: string;
  dev?: true;
  optional?: true;
  os?: string[];
  cpu?: string[];
  libc?: string[];
};
const { packages }: { packages: Record<string, Locked> } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8'),
);

/** Lambda's systems, CI's, and most people's. */
const isLinux = ({ os = [], cpu = [], libc = ['glibc'] }: Locked): boolean =>
  os.includes('linux') && libc.includes('glibc') && cpu.some((each) => ['x64', 'arm64'].includes(each));

test('only tools for other systems than Linux on x64 and arm64 lack their integrity in the lockfile', () => {
  const lacking = Object.entries(packages).filter(([path, { integrity }]) => path !== '' && !integrity);
  const inUse = lacking.filter(([, locked]) => !locked.dev || !locked.optional || isLinux(locked));
  expect(inUse.map(([path]) => path)).toEqual([]);
  // Their publisher's registry entry could not be read when the lockfile was made. There must not be more of them.
  expect(lacking.every(([path]) => /node_modules\/@(biomejs\/cli|oxc-parser\/binding)-/.test(path))).toBe(
    true,
  );
});
