import { describe, expect, test } from 'vitest';
import { credentialSchema } from '../../../../lib/platform/auth/auth.ts';
import { safeText } from '../../../../lib/runtime/privacy/log-text.ts';
import { redact } from '../../../../lib/runtime/privacy/request-secrets.ts';
import { fieldsTagged } from '../../../package/shown-ids.ts';

const secret = 'Zq3xYh0rT5uV';

test('what is secret in a credential is tagged', () => {
  const fields = ['accessToken', 'appKey', 'clientSecret', 'privateKey', 'refreshToken', 'userKey'];
  expect(fieldsTagged(credentialSchema, 'secret')).toEqual(fields);
});

describe.each([
  ['a log line', (text: string) => safeText(text)],
  ['an answer', (text: string) => redact(text, [], 500)],
])('%s', (_, hide) => {
  test.each([
    `GET /users/whoami?x_a=app&x_c=${secret}`,
    `x_c=${secret}&x_d=${secret}`,
    `x_c: ${secret}`,
    `call%3Fx_c%3D${secret}%26x_d%3D${secret}`,
    `https://b.s3.amazonaws.com/k?X-Amz-Signature=${secret}`,
    `Credential=${secret}/eu, Signature=${secret}`,
    `Authorization: Bearer ${secret}`,
    `BASIC%20${secret}`,
    `got eyJ${secret}.${secret}`,
    `{"appKey":"${secret}"}`,
    `"{\\"refresh_token\\":\\"${secret}\\"}"`,
    `client_secret=${secret}`,
    `private-key = '${secret}'`,
  ])('does not show the secret in %s', (text) => {
    expect(hide(text)).not.toContain(secret);
  });

  test.each(fieldsTagged(credentialSchema, 'secret'))('does not show %s of a credential', (field) => {
    for (const text of [JSON.stringify({ [field]: secret }), `${field}=${secret}`])
      expect(hide(text)).not.toContain(secret);
  });

  test.each([
    'basic authentication is not offered; the bearer token expired',
    'Invalid token: it is over',
    'userKey: missing',
  ])('shows an ordinary sentence: %s', (text) => {
    expect(hide(text)).toBe(text);
  });

  test('hides a secret that its length cuts through', () => {
    expect(hide(`${'a '.repeat(240)}Bearer ${secret.repeat(5)}`)).not.toContain(secret);
  });
});
