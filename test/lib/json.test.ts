import { expect, test } from 'vitest';
import { readJson, tooDeep } from '../../lib/json.ts';

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test.each([
  ['{"a":[1]}', { json: { a: [1] } }],
  ['null', { json: null }],
  [`"${'['.repeat(500)}"`, { json: '['.repeat(500) }],
  [`{"a":"\\"${'[{'.repeat(300)}"}`, { json: { a: `"${'[{'.repeat(300)}` } }],
  ['', { flaw: 'not JSON', problem: 'is not JSON' }],
  ['OK', { flaw: 'not JSON', problem: 'is not JSON' }],
  ['{"a":1}}', { flaw: 'not JSON', problem: 'is not JSON' }],
  ['{"a":', { flaw: 'cut off', problem: 'is not JSON' }],
  ['{"a":"b', { flaw: 'cut off', problem: 'is not JSON' }],
  ['[1,{"a":"\\"', { flaw: 'cut off', problem: 'is not JSON' }],
  ['[1,2', { flaw: 'cut off', problem: 'is not JSON' }],
  [nested(65), { flaw: 'too deep', problem: tooDeep }],
  [nested(1_000_000), { flaw: 'too deep', problem: tooDeep }],
  ['{"a":'.repeat(20_000), { flaw: 'too deep', problem: tooDeep }],
])('JSON is read, or what is wrong with it is told: %.40s', (text, read) => {
  expect(readJson(text)).toEqual(read);
});

test('JSON of 64 levels is read', () => {
  expect(readJson(nested(64))).toHaveProperty('json');
});
