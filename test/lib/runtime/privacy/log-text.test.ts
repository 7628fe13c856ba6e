import { describe, expect, test } from 'vitest';
import { errorCode, errorFactsOf, logText } from '../../../../lib/runtime/privacy/log-text.ts';

describe('logText', () => {
  test('masks what JSON.parse quotes from a text that it cannot read', () => {
    const bodies = [
      '{"points": 87.25',
      'Ada got 87.25',
      '{"name": "Ada", "points": 87.25, "comment": oh}',
      '87.25A',
      '"',
      '\n87.25\n"Ada"',
    ];
    for (const body of bodies) {
      const message = logText(parseError(body).message);
      expect(message).not.toMatch(/Ada|87|oh|comment/);
      expect(message).toMatch(/JSON/);
    }
  });

  const quoted = (length: number) => `"${'x'.repeat(length)}"`;
  test.each([
    [`Unexpected token '\n', "\nAda got" is not valid JSON`, 'not valid JSON'],
    [`no: Unexpected token '\u{1F600}', ..."\nAda"... is not valid JSON.`, 'no: not valid JSON.'],
    [`${quoted(60)} is not valid JSON, "" is not valid JSON`, 'not valid JSON, not valid JSON'],
    [`${quoted(61)} is not valid JSON`, `${quoted(61)} is not valid JSON`],
    ['the "a" and "b" are valid JSON', 'the "a" and "b" are valid JSON'],
  ])('says only that a text is no JSON: %s', (text, told) => {
    expect(logText(text)).toBe(told);
  });

  test('reads no more than the beginning of a text, and says no more than its limit', () => {
    expect(logText(`x_c=${'a'.repeat(7_991)} tail`)).toBe('x_c=… tail');
    expect(logText(`x_c=${'a'.repeat(7_996)} tail`)).toBe('x_c=…');
    expect(logText('a'.repeat(12), 10)).toBe('aaaaaaaaa…');
    expect(logText('a'.repeat(12), 12)).toBe('aaaaaaaaaaaa');
  });
});

const parseError = (text: string): Error => {
  try {
    JSON.parse(text);
  } catch (error) {
    return error as Error;
  }
  throw new Error(`${text} is JSON`);
};

describe('errorFactsOf', () => {
  test('says the type of what is thrown and is no error', () => {
    expect(errorFactsOf('Bearer abc')).toEqual({ name: 'a thrown string' });
    expect(errorFactsOf({ grade: 1 })).toEqual({ name: 'a thrown object' });
    expect(errorFactsOf(null)).toEqual({ name: 'a thrown object' });
  });

  test('does without a stack, or one without places', () => {
    expect(errorFactsOf(Object.assign(new Error('x'), { stack: undefined }))).toEqual({
      name: 'Error',
      message: 'x',
    });
    expect(errorFactsOf(Object.assign(new Error('x'), { stack: 'x' }))).toEqual({
      name: 'Error',
      message: 'x',
    });
  });

  test('does not repeat the message in the stack, however many lines it has', () => {
    const { message, stack } = errorFactsOf(new RangeError('first\nsecond'));
    expect(message).toBe('first\nsecond');
    expect(stack).toMatch(/^ {4}at /);
    expect(stack).not.toContain('second');
  });

  test('keeps of an error and its cause only what is said, without secrets', () => {
    const cause = Object.assign(new TypeError('from x_c=abc'), {
      stack: 'x\n    at cause (file.ts:1:1)',
      code: 'ECONN.RESET-1$',
      request: 'Jane',
    });
    const error = Object.assign(new Error('of ‹jane.pdf› to x_c=abc', { cause }), {
      name: 'Dear Jane',
      code: 'a b',
      input: 'Jane',
      stack: `to\n    at one (x_c=abc)\n    at ${'a'.repeat(5_000)}`,
    });
    expect(errorFactsOf(error)).toEqual({
      name: 'Error',
      message: 'of a file to x_c=…',
      stack: `    at one (x_c=…\n    at ${'a'.repeat(3_974)}…`,
      cause: { name: 'TypeError', message: 'from x_c=…', code: 'ECONN.RESET-1$' },
    });
  });

  test.each([
    ['', undefined],
    ['E'.repeat(80), 'E'.repeat(80)],
    ['E'.repeat(81), undefined],
    ['Dear Jane', undefined],
    ['E\n', undefined],
    [7, undefined],
  ])('tells a code only if it is a word: %j', (code, told) => {
    const error = Object.assign(new Error('x'), { code, stack: 'x', cause: 'Jane' });
    expect(errorFactsOf(error)).toEqual({ name: 'Error', message: 'x', ...(told && { code: told }) });
  });
});

test.each<[unknown, string]>([
  [Object.assign(new Error('Jane'), { code: 'ENOENT' }), 'ENOENT'],
  [Object.assign(new RangeError('Jane'), { code: 7 }), 'RangeError'],
  [new TypeError('Jane'), 'TypeError'],
  ['Jane', 'string'],
  [null, 'object'],
  [Object.assign(new Error('x'), { name: 'Dear Jane' }), 'Error'],
  [Object.assign(new Error('x'), { code: 'of Jane' }), 'Error'],
])('one word stands for the error %s', (error, word) => {
  expect(errorCode(error)).toBe(word);
});
