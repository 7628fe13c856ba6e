import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const { packages }: { packages: Record<string, { integrity?: string }> } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8'),
);

test('the lockfile has the integrity of each package', () => {
  const installed = Object.entries(packages).filter(([path]) => path !== '');
  expect(installed.length).toBeGreaterThan(500);
  expect(
    installed.filter(([, { integrity = '' }]) => !/^sha512-/.test(integrity)).map(([path]) => path),
  ).toEqual([]);
});
