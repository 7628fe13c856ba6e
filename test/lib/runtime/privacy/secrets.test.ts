import { describe, expect, test } from 'vitest';
import { credentialSchema } from '../../../../lib/platform/auth/auth.ts';
import { logText } from '../../../../lib/runtime/privacy/log-text.ts';
import { redact } from '../../../../lib/runtime/privacy/request-secrets.ts';
import { withoutQuery } from '../../../../lib/runtime/privacy/secrets.ts';
import { fieldsTagged } from '../../../package/shown-ids.ts';

const secret = 'Zq3xYh0rT5uV';

test('what is secret in a credential is tagged', () => {
  const fields = ['accessToken', 'appKey', 'clientSecret', 'privateKey', 'refreshToken', 'userKey'];
  expect(fieldsTagged(credentialSchema, 'secret')).toEqual(fields);
});

test.each([
  ['https://a.example/b?c=d\ne#f', 'https://a.example/b'],
  ['/b#c?d', '/b'],
  ['/b/c', '/b/c'],
])('an address without its query and fragment: %j', (address, path) => {
  expect(withoutQuery(address)).toBe(path);
});

describe.each([
  ['a log line', (text: string) => logText(text)],
  ['an answer', (text: string) => redact(text, [], 500)],
])('%s', (_, hide) => {
  test.each([
    [`GET /users/whoami?x_a=app&x_c=${secret} failed`, 'GET /users/whoami?… failed'],
    [`<https://b.s3.amazonaws.com/k?X-Amz-Signature=${secret}&a=b>`, '<https://b.s3.amazonaws.com/k?…>'],
    [`x_c=${secret}&x_d=${secret}`, 'x_c=…&x_d=…'],
    [`x_c: ${secret}`, 'x_c: …'],
    [`call%3Fx_c%3D${secret}%26x_d%3D${secret}`, 'call%3Fx_c%3D…%26x_d%3D…'],
    [`Credential=${secret}/eu, Signature=${secret}`, 'Credential=…, Signature=…'],
    [`authorization: Bearer ${secret}.qrst~uv`, 'authorization: Bearer …'],
    [`BEARER\t${secret}`, 'BEARER …'],
    [`BASIC%20${secret}==`, 'BASIC …'],
    [`got eyJ${secret}.${secret} here`, 'got … here'],
    [`{"appKey":"${secret}","userId":"7"}`, '{"appKey":"…","userId":"7"}'],
    [`"{\\"refresh_token\\":\\"${secret}\\"}"`, '"{\\"refresh_token\\":\\"…\\"}"'],
    [`refresh_token=${secret}&scope=a:b:c`, 'refresh_token=…&scope=a:b:c'],
    [`client_secret=${secret}`, 'client_secret=…'],
    [`private-key = '${secret}'`, "private-key = '…'"],
  ])('does not show the secret in %s', (text, masked) => {
    expect(hide(text)).toBe(masked);
  });

  test.each(fieldsTagged(credentialSchema, 'secret'))('does not show %s of a credential', (field) => {
    for (const text of [JSON.stringify({ [field]: secret }), `${field}=${secret}`])
      expect(hide(text)).not.toContain(secret);
  });

  test.each([
    'The platform answered PUT /svc/api/le/1.82/1/grades/2/values/3 with 403 Not Authorized: it requires grades:gradevalues:write',
    'The secret sis-relay/service is not a credential: userKey, appId',
    'Not authorized for [ orgUnitId: 6606, securityVariableName: GradeWrite ]',
    'Was it done? Look on the platform, then replay.',
    'basic authentication is not offered; the bearer token expired',
    'Invalid token: it is over',
    'userKey: missing',
  ])('shows an ordinary sentence: %s', (text) => {
    expect(hide(text)).toBe(text);
  });

  test('bounds a text, and hides a secret that the bound cuts through', () => {
    expect(hide('a'.repeat(500))).toBe('a'.repeat(500));
    expect(hide('a'.repeat(600))).toBe(`${'a'.repeat(499)}…`);
    expect(hide(`${'a '.repeat(240)}Bearer ${secret.repeat(500)}`)).not.toContain(secret);
  });
});
