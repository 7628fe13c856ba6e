import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { askedIn } from '../../lib/course-export/request.ts';
import * as grades from '../../lib/platform/resources/grades.ts';
import { refusedOperations } from '../../lib/platform/resources/operations.ts';
import { partOfReadme } from '../documents.ts';
import { operationsTable } from './operations.ts';

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
const chapter = (title: string): string => readme.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
const examplesIn = (text: string): unknown[] =>
  [...text.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = '']) => JSON.parse(json));

test('the README’s table of operations is what the code says: else npm run generate', async () => {
  expect(partOfReadme('operations')).toBe(await operationsTable());
});

test('what it says to throw does', () => {
  const refusing = { 'delete-grade-value': grades.deleteGradeValue };
  expect(Object.keys(refusing)).toEqual(refusedOperations.map(({ name }) => name));
  for (const refuse of Object.values(refusing)) expect(refuse).toThrow(/405 Method Not Allowed/);
});

test('the README’s example of an export is asked for so', () => {
  const [request] = examplesIn(chapter('Export courses'));
  expect(askedIn(request).request).toMatchObject({ orgUnitIds: [2001, 2002], orgUnitType: 3 });
});
