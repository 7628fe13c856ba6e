import { expect, test } from 'vitest';
import { ageOf, countOf, durationOf } from '../../../../lib/desk/views/format.ts';

test.each([
  [10_000, '<1 min'],
  [60_000, '1 min'],
  [59 * 60_000, '59 min'],
  [3 * 3_600_000, '3 h'],
  [47 * 3_600_000, '47 h'],
  [49 * 3_600_000, '2 d'],
  [-5_000, '<1 min'],
])('%d ms ago is %s', (ms, text) => {
  expect(ageOf(1_000_000_000_000 - ms, 1_000_000_000_000)).toBe(text);
});

test.each([
  [12.2, '13 s'],
  [90, '2 min'],
  [5_400, '1.5 h'],
])('%d s are told as %s', (seconds, text) => {
  expect(durationOf(seconds)).toBe(text);
});

test('numbers have their thousands apart, and their nouns in number', () => {
  expect([countOf(1, 'letter'), countOf(1204, 'letter')]).toEqual(['1 letter', '1,204 letters']);
});
