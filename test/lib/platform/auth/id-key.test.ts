import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { idKeyCredential, signature, signedQuery } from '../../../../lib/platform/auth/id-key.ts';

const credential = { type: 'id-key', appId: 'foo', appKey: 'bar', userId: 'baz', userKey: 'quux' } as const;
// The vectors' product segment, which is no word of this project: its escapes must be decoded, and its capitals made small.
const whoami = '/%44%32%4C/api/lp/1.0/users/whoami';
const published = {
  x_a: 'foo',
  x_b: 'baz',
  x_c: 'eInA7Qr4HYQn8b8x6RoMPioxftBYbRsa3oiIFCZFTgU',
  x_d: 'fkpwBDGOppT6DrsjJNxcsxFIaGo-RS3q3kmeJBwemc0',
  x_t: '1397958932',
};

describe('a signature', () => {
  test('is the published one', () => {
    expect(signature('bar', 'foobar')).toBe('8MWnO0rB4dhvQbYdde_vEx3dbLS3RgumO-9WT90kQnQ');
  });

  test('takes key and data as UTF-8', () => {
    const bytes = (text: string) => Buffer.from(text, 'utf8');
    const expected = createHmac('sha256', bytes('clé')).update(bytes('/łódź')).digest('base64url');
    expect(signature('clé', '/łódź')).toBe(expected);
  });
});

describe('the query of a signed call', () => {
  test.each([
    ['as published', 'GET', whoami],
    ['with the method in small letters', 'get', whoami],
    ['with the path in capitals', 'GET', whoami.toUpperCase()],
  ])('is the published one: %s', (_, method, path) => {
    expect(signedQuery({ method, path }, credential, 1397958932)).toEqual(published);
  });
});

describe('an ID/key credential', () => {
  test.each(['appId', 'appKey', 'userId', 'userKey'])('needs %s, and not empty', (field) => {
    const { [field as 'appId']: _, ...without } = credential;
    for (const broken of [without, { ...credential, [field]: '' }, { ...credential, [field]: 7 }]) {
      const { error } = idKeyCredential.safeParse(broken);
      expect(error?.issues.map(({ path }) => path)).toEqual([[field]]);
    }
  });

  test('takes no field that it does not know, as that may be a known one misspelt', () => {
    expect(idKeyCredential.safeParse({ ...credential, appkey: 'x' }).success).toBe(false);
    expect(idKeyCredential.parse(credential)).toEqual(credential);
  });
});
