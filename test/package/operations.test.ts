import { expect, test } from 'vitest';
import * as grades from '../../lib/platform/resources/grades.ts';
import { operations, refusedOperations } from '../../lib/platform/resources/operations.ts';
import { readSettings } from '../../lib/runtime/aws/setting.ts';
import { platformSettings } from '../../lib/runtime/aws/settings.ts';
import { examplesIn, sectionOf, writtenPart } from '../documents.ts';
import { operationsTable } from './operations.ts';

test('the table of operations in lib/platform/README.md is what the code says: else npm run generate', async () => {
  expect(writtenPart('operations')).toBe(await operationsTable());
});

test('what it says to throw does', () => {
  const refusing = { 'delete-grade-value': grades.deleteGradeValue };
  expect(Object.keys(refusing)).toEqual(refusedOperations.map(({ name }) => name));
  for (const refuse of Object.values(refusing)) expect(refuse).toThrow(/405 Method Not Allowed/);
});

test('the example of overrides is one that the functions take, of operations that there are', () => {
  const [overrides] = examplesIn(sectionOf('lib/platform/README.md', '## Versions and paths'));
  const group = { overrides: platformSettings.overrides };
  const environment = { PLATFORM_OPERATIONS: JSON.stringify(overrides) };
  const { overrides: read } = readSettings({ platform: group }, environment).platform;
  const names = operations.map(({ name }) => name);
  expect(Object.keys(read ?? {}).filter((name) => !names.includes(name))).toEqual([]);
  expect(read).toEqual(overrides);
});
