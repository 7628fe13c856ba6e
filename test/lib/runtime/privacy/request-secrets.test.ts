import { describe, expect, test } from 'vitest';
import { redact, sensitiveValues, withoutEchoes } from '../../../../lib/runtime/privacy/request-secrets.ts';

test('of a request, every word that may be secret must not be repeated, in three spellings', () => {
  const request = {
    query: { x_c: 'a/b=45678901234567890', x_t: '1700000000' },
    headers: { authorization: 'Bearer abcdefghijklmnopqrs "bcdefghijklmnopqrst' },
  };
  const values = [
    'a/b=45678901234567890',
    'a%2Fb%3D45678901234567890',
    'a/b=45678901234567890',
    '"bcdefghijklmnopqrst',
    '%22bcdefghijklmnopqrst',
    '\\"bcdefghijklmnopqrst',
  ];
  expect(sensitiveValues(request)).toEqual(values);
  expect(sensitiveValues(request, ['', 'a"b'])).toEqual([...values, 'a"b', 'a%22b', 'a\\"b']);
});

test('an answer is without the request’s own values, without what looks secret, and then cut', () => {
  const text = 'of a"b, a"b and A"B: x_c=abc, and Correct-Horse-Battery here';
  expect(redact(text, ['a"b', 'correct-horse-battery'], 38)).toBe('of …, … and A"B: x_c=… and … here');
  expect(redact(text, ['a"b', 'correct-horse-battery'], 20)).toBe('of …, … and A"B: x_…');
});

describe('a text is without the words of a request', () => {
  const secret = 'Zq3/xYh0+rT5uVw9';
  test.each([
    ['a whole word', `of ${secret}, x`, 'of …, x'],
    ['nothing but the word', secret, '…'],
    ['twelve of its characters', 'x Zq3/xYh0+rT5uV y', 'x … y'],
    ['twelve at the end', 'x 0+rT5uVw9, q3/xYh0+rT5uVw', 'x 0+rT5uVw9, …'],
    ['eleven of them', 'x Zq3/xYh0+rT5u y', 'x Zq3/xYh0+rT5u y'],
    ['in other letters and with breaks', 'x ZQ3/\nXYH0+ RT5uvW9 y', 'x … y'],
    ['with escapes', 'x Zq3%2FxYh0&#43;rT5uV\\u00779 y', 'x … y'],
    ['twice', `(${secret}) or (${secret})`, '(…) or (…)'],
    ['within another word', `abc${secret}def`, 'abc…def'],
    ['in hexadecimal digits', `x 5a71332f7859 y`, 'x … y'],
    ['in base64', 'x WnEzL3hZaDArclQ1dVZ3OQ== y', 'x …== y'],
    ['in base64 after a character', 'x LlpxMy94WWgwK3JUNXVWdzk= y', 'x Ll…= y'],
    ['in base64 after two characters', 'x Li5acTMveFloMCtyVDV1Vnc5 y', 'x Li5… y'],
    ['the end of one spelling and the beginning of another', 'rT5uVw9 5a7133', 'rT5uVw9 5a7133'],
    ['a short word', 'of ab-cd12 and abcd1', 'of … and abcd1'],
    ['nothing but a short word', 'abcd12', '…'],
    ['a short word that overlaps itself', 'x ababababa y', 'x …a y'],
    ['a part of a short one', 'eleven char', 'eleven char'],
    ['one that is too short', 'of abcde', 'of abcde'],
  ])('%s', (_, text, rest) => {
    expect(withoutEchoes(text, [secret, 'abCD12_', 'ab%41bab', 'abcde', 'eleven-chars'])).toBe(rest);
  });

  test('and not longer than anybody is shown of it', () => {
    const text = 'x'.repeat(4_001);
    expect(withoutEchoes(text, [secret])).toBe('x'.repeat(4_000));
    expect(withoutEchoes(text, [])).toBe(text);
  });
});
