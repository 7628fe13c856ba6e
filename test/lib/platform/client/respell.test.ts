import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { listOf } from '../../../../lib/platform/client/list-of.ts';
import { respelled } from '../../../../lib/platform/client/respell.ts';
import { identifier, pageOf } from '../../../../lib/platform/resources/paging.ts';

/** One field of each sort: required or not, nullable or not, nested and listed. */
const link = z.looseObject({
  Id: z.number(),
  Name: z.string().nullable(),
  Points: z.number().nullish(),
  IsOpen: z.boolean().optional(),
  Type: z.looseObject({ Id: z.number() }).optional(),
  Files: listOf(z.looseObject({ Size: z.number() })).nullish(),
});

describe('a success that is written otherwise', () => {
  test.each<[string, unknown, unknown]>([
    ['an id as text', { Id: '7', Name: 'x' }, { Id: 7, Name: 'x' }],
    ['a name in small letters', { id: 7, name: 'x' }, { Id: 7, Name: 'x' }],
    [
      'a name in capitals that may be missing',
      { Id: 7, Name: 'x', POINTS: 8.5 },
      { Id: 7, Name: 'x', Points: 8.5 },
    ],
    ['a number where there is text', { Id: 7, Name: 12 }, { Id: 7, Name: '12' }],
    ['points as text', { Id: 7, Name: null, Points: '8.5' }, { Id: 7, Name: null, Points: 8.5 }],
    ['a truth as text', { Id: 7, Name: null, IsOpen: 'True' }, { Id: 7, Name: null, IsOpen: true }],
    ['what lies deeper', { Id: 7, Name: '', type: { id: '3' } }, { Id: 7, Name: '', Type: { Id: 3 } }],
    [
      'each of a list',
      { Id: 7, Name: '', Files: [{ Size: 1 }, { size: '2' }] },
      { Id: 7, Name: '', Files: [{ Size: 1 }, { Size: 2 }] },
    ],
    ['unknown fields', { Id: '7', Name: 'x', new: { id: '1' } }, { Id: 7, Name: 'x', new: { id: '1' } }],
    [
      'a name of JavaScript’s own',
      JSON.parse('{"Id":"7","Name":"x","__proto__":{"a":1}}'),
      { Id: 7, Name: 'x' },
    ],
  ])('is read where its meaning is certain: %s', (_, came, read) => {
    expect(link.parse(respelled(link, came))).toEqual(read);
  });

  test.each<[string, unknown]>([
    ['an id with more digits than a number holds', { Id: '9007199254740993', Name: 'x' }],
    ['an id that is no number', { Id: '7a', Name: 'x' }],
    ['an id with a sign of its own', { Id: '+7', Name: 'x' }],
    ['an empty id', { Id: '', Name: 'x' }],
    ['an id in a list', { Id: [7], Name: 'x' }],
    ['two names that differ in their case alone', { id: 7, ID: 8, Name: 'x' }],
    ['a fraction where there is text', { Id: 7, Name: 1.5 }],
    ['a list of one', [{ Id: 7, Name: 'x' }]],
    ['an object within an object', { Link: { Id: 7, Name: 'x' } }],
  ])('is left alone where it is not: %s', (_, came) => {
    expect(link.safeParse(respelled(link, came)).success).toBe(false);
  });

  test('is the same object where nothing is to be changed', () => {
    const came = { Id: 7, Name: 'x', Files: [{ Size: 1 }] };
    expect(respelled(link, came)).toBe(came);
  });

  test('may be one of two shapes', () => {
    const either = z.union([z.looseObject({ Submissions: listOf(link) }), link]);
    expect(respelled(either, { submissions: [{ id: '1', name: '' }] })).toEqual({
      Submissions: [{ Id: 1, Name: '' }],
    });
    expect(respelled(either, { id: '1', name: '' })).toEqual({ Id: 1, Name: '' });
    expect(respelled(either, { x: 1 })).toEqual({ x: 1 });
  });
});

describe('an id that the platform gives', () => {
  const answered = (Identifier: unknown) =>
    pageOf(z.object({ Id: identifier })).safeParse([{ Id: Identifier }]);
  test.each([
    ['301', '301'],
    ['9007199254740993', '9007199254740993'],
    [301, '301'],
  ])('is text: %j', (given, expected) => {
    expect(answered(given).data).toEqual({ items: [{ Id: expected }] });
  });

  test.each([null, {}, [], true, 2 ** 53, 1.5])('is none as %j', (given) => {
    expect(answered(given).success).toBe(false);
  });

  test('is none as a bookmark that lost digits: items would be left out or come twice', () => {
    const page = { PagingInfo: { Bookmark: 2 ** 53, HasMoreItems: true }, Items: [] };
    expect(pageOf(link).safeParse(page).error?.issues[0]?.path).toEqual(['bookmark']);
  });
});
