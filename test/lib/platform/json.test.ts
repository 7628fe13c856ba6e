import { expect, test } from 'vitest';
import { parseJson } from '../../../lib/platform/json.ts';

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test.each([
  ['{"a":[1]}', { value: { a: [1] } }],
  ['\ufeff{}', { value: {} }],
  ['null', { value: null }],
  [`"${'['.repeat(500)}"`, { value: '['.repeat(500) }],
  [`{"a":"\\"${'[{'.repeat(300)}"}`, { value: { a: `"${'[{'.repeat(300)}` } }],
  ['', { flaw: 'no JSON' }],
  ['OK', { flaw: 'no JSON' }],
  ['{"a":1}}', { flaw: 'no JSON' }],
  ['{"a":', { flaw: 'cut off' }],
  ['{"a":"b', { flaw: 'cut off' }],
  ['[1,{"a":"\\"', { flaw: 'cut off' }],
  ['[1,2', { flaw: 'cut off' }],
  [nested(101), { flaw: 'too deep' }],
  [nested(1_000_000), { flaw: 'too deep' }],
  ['{"a":'.repeat(20_000), { flaw: 'too deep' }],
])('JSON is read, or what is wrong with it is told: %.40s', (text, read) => {
  expect(parseJson(text)).toEqual(read);
});

test('JSON of a hundred levels is read', () => {
  expect(parseJson(nested(100))).toHaveProperty('value');
});
