import { describe, expect, test } from 'vitest';
import { listOrgUnits, readOrgUnit } from '../../../../lib/platform/resources/org-units.ts';
import { whoAmI } from '../../../../lib/platform/resources/users.ts';
import { collected } from '../local-client.ts';
import { answering, clientAt, errorOf } from '../servers.ts';

/** A platform that answers each request with this text. */
const saying = async (body: string) => {
  const { url } = await answering(() => ({ body }));
  return clientAt(url).platform;
};
const isNone = { message: 'the answer lacks required fields: Identifier', unexpected: true };

describe('an id that the platform gives', () => {
  test.each([
    ['as numeric text', '"301"', '301'],
    ['as text beyond 2^53', '"9007199254740993"', '9007199254740993'],
    ['as a number', '301', '301'],
  ])('%s is text', async (_, given, expected) => {
    const platform = await saying(`{"Identifier":${given}}`);
    expect(await whoAmI(platform)).toEqual({ Identifier: expected });
  });

  test.each(['null', '{}', '[]', 'true', '9007199254740993', '1.5'])('is none as %s', async (given) => {
    const platform = await saying(`{"Identifier":${given},"Name":"Biology","Type":{"Id":3}}`);
    expect(await errorOf(whoAmI(platform))).toMatchObject(isNone);
    // A number is another one than was asked for.
    expect(await errorOf(readOrgUnit(platform, 2001))).toMatchObject({ unexpected: true });
  });
});

test('a bookmark that lost digits is not followed: items would be left out or come twice', async () => {
  const platform = await saying(
    '{"PagingInfo":{"Bookmark":9007199254740993,"HasMoreItems":true},"Items":[]}',
  );
  const error = await errorOf(collected(listOrgUnits(platform)));
  expect(error.message).toBe('the answer lacks required fields: bookmark');
});
