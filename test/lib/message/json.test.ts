import { expect, test } from 'vitest';
import { itemsIn, problemOf, readJson, tooDeep } from '../../../lib/message/json.ts';

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

test('JSON with more values than any list of the platform is not parsed', () => {
  const list = (count: number) => `[${'{},'.repeat(count - 1)}{}]`;
  expect(readJson(list(900_000))).toHaveProperty('json');
  expect(readJson(list(1_100_000))).toEqual({
    flaw: 'too many',
    problem: 'has more than 2,000,000 values',
  });
});

test.each([
  ['[]', 1],
  ['[1,2,3]', 3],
  [' [{"a":[1,2],"b":3},"x,y",[4,5]] ', 3],
  ['[1,2', 2],
  ['"a,b"', 1],
])('the items of a list are counted before it is parsed: %s', (text, count) => {
  expect(itemsIn(text)).toBe(count);
});

test('JSON of 64 levels is read', () => {
  expect(readJson(nested(64))).toHaveProperty('json');
  expect([problemOf(nested(64)), problemOf(nested(65))]).toEqual([undefined, tooDeep]);
});

test.each([
  ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3'],
  ['{"a": 1,}', 'line 1, column 9'],
  ['{\n  "a": [1, 2,]\n}', 'line 2, column 14'],
  ["{'a': 1}", 'line 1, column 2'],
  ['{"a": nul}', 'line 1, column 10'],
  ['{"a": "b\nc"}', 'line 1, column 9'],
  ['{"a":\n"b', 'line 2, column 3'],
  ['{} x', 'line 1, column 4'],
  ['', 'line 1, column 1'],
])('where a text ceases to be JSON is told by line and column: %j', (text, place) => {
  expect(problemOf(text)).toBe(`is not JSON (its first fault is in ${place})`);
});

test('whatever character is damaged, the place is its own; whatever is cut off, it is the end', () => {
  const sound = '{"a": [1.5e-3, true, {"b\\u00e9\\n": "c"}],\n "d": null, "e": {}, "f": [ ]}';
  for (let at = 0; at < sound.length; at += 1) {
    const before = sound.slice(0, at).split('\n');
    const place = `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`;
    for (const text of [sound.slice(0, at), `${sound.slice(0, at)}\u0001${sound.slice(at + 1)}`])
      expect(problemOf(text)).toBe(`is not JSON (its first fault is in ${place})`);
  }
});
