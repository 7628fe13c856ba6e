import { describe, expect, test } from 'vitest';
import { errorFactsOf, safeText } from '../../../../lib/runtime/privacy/log-text.ts';

describe('safeText', () => {
  test.each([
    [
      'a signed path',
      'GET /svc/api/lp/1.49/users/whoami?x_a=app&x_c=sig-na_ture failed',
      'GET /svc/api/lp/1.49/users/whoami?… failed',
    ],
    [
      'a presigned address',
      '<https://b.s3.amazonaws.com/k?X-Amz-Signature=abc&a=b>',
      '<https://b.s3.amazonaws.com/k?…>',
    ],
    ['a signature alone', 'x_c=8MWnO0rB4dhv&x_d=fkpwBDGO', 'x_c=…&x_d=…'],
    ['a bearer token', 'authorization: Bearer abcdefghijklmnop.qrst~uv', 'authorization: Bearer …'],
    ['a bearer token in capitals', 'BEARER\tabcdefghijklmnop', 'BEARER …'],
    ['basic credentials', 'Basic Y2xpZW50OnNlY3JldA==', 'Basic …'],
    ['a JSON web token', 'got eyJhbGciOi.eyJzdWIi.c2ln here', 'got … here'],
    ['a credential as JSON', '{"appKey":"abcdefghijkl","userId":"7"}', '{"appKey":"…","userId":"7"}'],
    ['a refresh token in a form', 'refresh_token=abcdefghijkl&scope=a:b:c', 'refresh_token=…&scope=a:b:c'],
    ['an AWS signature', 'Credential=AKIA/eu, Signature=abc123', 'Credential=…, Signature=…'],
  ])('masks %s', (_, text, masked) => {
    expect(safeText(text)).toBe(masked);
  });

  test.each([
    'The platform answered PUT /svc/api/le/1.82/1/grades/2/values/3 with 403 Not Authorized: it requires grades:gradevalues:write',
    'The secret sis-relay/service is not a credential: userKey, appId',
    'Not authorized for [ orgUnitId: 6606, securityVariableName: GradeWrite ]',
    'Was it done? Look on the platform, then replay.',
    'basic authentication is not offered; the bearer token expired',
  ])('leaves a sentence as it is: %s', (text) => {
    expect(safeText(text)).toBe(text);
  });

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

  test('bounds a text, and hides a token that the bound cuts through', () => {
    expect(safeText('a'.repeat(600))).toBe(`${'a'.repeat(499)}…`);
    expect(safeText(`${'a'.repeat(470)} Bearer ${'secret'.repeat(2_000)}`)).not.toContain('secret');
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
