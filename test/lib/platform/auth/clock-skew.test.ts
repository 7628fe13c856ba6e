import { describe, expect, test } from 'vitest';
import { clockSkewIn } from '../../../../lib/platform/auth/auth.ts';

describe('the skew', () => {
  const nowMs = 1397500200_000;
  test.each([
    ['as published', 'Timestamp out of range 1397500300', 100],
    ['on a line of its own', 'Timestamp out of range\r\n1397500300', 100],
    ['with more whitespace', 'Timestamp \t out \n of \r\n range  1397500300', 100],
    ['followed by a line end', 'Timestamp out of range\r\n1397500300\r\n', 100],
    ['without whitespace', 'Timestamp out of range1397500300', 100],
    ['after a tab, in a sentence', 'Sorry: Timestamp out of range\t1397500300.', 100],
    ['cut off within it', 'Timestamp out of range\r\n13975…', undefined],
    ['in small letters', 'timestamp out of range\n1397500300', 100],
    ['behind', 'Timestamp out of range\r\n1397500100', -100],
    ['days behind', `Timestamp out of range\r\n${1397500200 - 3 * 86_400}`, -3 * 86_400],
    ['years ahead', 'Timestamp out of range\r\n4102444800', 4102444800 - 1397500200],
    ['none', 'Timestamp out of range\r\n1397500200', 0],
    ['not told', 'Timestamp out of range', undefined],
    ['not a number', 'Timestamp out of range\r\nsoon', undefined],
    ['negative', 'Timestamp out of range\r\n-1397500300', undefined],
    ['too long a number', `Timestamp out of range\r\n${'1'.repeat(400)}`, undefined],
    ['a number beside it', 'Timestamp out of range (code 12)', undefined],
    ['another text', 'Invalid token 1397500300', undefined],
    ['nothing', '', undefined],
  ])('is told by the refusal: %s', (_, text, skew) => {
    expect(clockSkewIn({ status: 403, detail: text }, nowMs)).toBe(skew);
  });

  test('counts whole seconds of our clock', () => {
    expect(clockSkewIn({ status: 403, detail: 'Timestamp out of range\r\n1397500300' }, nowMs + 999)).toBe(
      100,
    );
  });
});
