import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { breakages } from './breakages.ts';

test('each breakage has its one place in the code', () => {
  const root = resolve(import.meta.dirname, '..');
  const lost = breakages.filter(
    ({ file, code }) => readFileSync(join(root, file), 'utf8').split(code).length !== 2,
  );
  expect(lost.map(({ title }) => title)).toEqual([]);
});
