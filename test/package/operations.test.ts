import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as grades from '../../lib/platform/grades.ts';
import { refusedOperations } from '../../lib/platform/operations.ts';
import { readmeWithOperations } from './operations.ts';

test('the README’s table of operations is what the code says: else run node test/package/operations.ts', async () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  expect(readme).toBe(await readmeWithOperations());
});

test('what it says to throw does', () => {
  const refusing = { 'delete-grade-value': grades.deleteGradeValue };
  expect(Object.keys(refusing)).toEqual(refusedOperations.map(({ name }) => name));
  for (const refuse of Object.values(refusing)) expect(refuse).toThrow(/405 Method Not Allowed/);
});
