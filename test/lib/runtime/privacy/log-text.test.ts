import { describe, expect, test } from 'vitest';
import { errorFactsOf, safeText } from '../../../../lib/runtime/privacy/log-text.ts';

describe('safeText', () => {
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
      const message = safeText(parseError(body).message);
      expect(message).not.toMatch(/Ada|87|oh|comment/);
      expect(message).toMatch(/JSON/);
    }
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
});
