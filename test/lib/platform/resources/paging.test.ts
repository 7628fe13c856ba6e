import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { reading } from '../../../../lib/platform/client/operation.ts';
import { itemsOf, pageOf } from '../../../../lib/platform/resources/paging.ts';
import { collected } from '../local-client.ts';
import { type Arrived, answering, clientAt, errorOf, handling } from '../servers.ts';

const listThings = reading({
  name: 'list-things',
  method: 'GET',
  component: 'le',
  path: '/{orgUnitId}/things/',
  scope: undefined,
  repeatable: true,
  answer: pageOf(z.looseObject({ Id: z.number() })),
});
const path = { orgUnitId: 7 };
const own = '/svc/api/le/1.82/7/things/';

/** A platform that answers each page in turn; a page is made once its own address is known. */
const pages = async (...bodies: (unknown | ((url: string) => unknown))[]) => {
  const server = await answering((_, index) => {
    const body = bodies[Math.min(index, bodies.length - 1)];
    return { body: JSON.stringify(typeof body === 'function' ? body(server.url) : body) };
  });
  const { platform } = clientAt(server.url);
  const things = (query = {}) => itemsOf(platform, listThings, { path, query });
  return { ...server, things, ids: async () => (await collected(things())).map(({ Id }) => Id) };
};

const bookmarked = (ids: number[], Bookmark: unknown, HasMoreItems = true) => ({
  PagingInfo: { Bookmark, HasMoreItems },
  Items: ids.map((Id) => ({ Id })),
});
const linked = (ids: number[], next: ((url: string) => string) | null) => (url: string) => ({
  Objects: ids.map((Id) => ({ Id })),
  Next: next?.(url) ?? null,
});

const asked = ({ path: at, query: { x_a, x_b, x_c, x_d, x_t, ...query } }: Arrived) => ({ at, query });

test('where the platform leads to is not told where it refuses to go on', async () => {
  const { url } = await handling((request, response) => {
    const signature = new URL(request.url!, 'http://any').searchParams.get('x_c');
    if (request.url?.startsWith(own))
      return response.end(JSON.stringify({ Objects: [], Next: `/svc/api/le/1.82/${signature}/things/` }));
    response.writeHead(400).end();
  });
  const { platform, reports } = clientAt(url);
  const error = await errorOf(collected(itemsOf(platform, listThings, { path })));
  expect([error.call, ...reports.map(({ call }) => call)]).toEqual(Array(3).fill(`GET ${own}`));
});

test.each([
  [
    'with a bookmark',
    [
      { pagingInfo: { hasMoreItems: 'true', bookmark: 9 }, items: [{ id: '1' }] },
      { pagingInfo: { hasMoreItems: false }, items: [{ id: 2 }] },
    ],
  ],
  [
    'with an address',
    [
      { objects: [{ ID: 1 }], next: '/svc/api/le/1.82/7/things/?page=2' },
      { objects: [{ id: '2' }], next: '' },
    ],
  ],
])('a page in another spelling does not end a list in silence: %s', async (_, bodies) => {
  const { ids, requests } = await pages(...bodies);
  expect(await ids()).toEqual([1, 2]);
  expect(requests).toHaveLength(2);
});

describe('a list', () => {
  test('that comes as a bare array is one page', async () => {
    const { ids, requests } = await pages([{ Id: 1 }, { Id: 2 }]);
    expect(await ids()).toEqual([1, 2]);
    expect(requests).toHaveLength(1);
  });

  test('with bookmarks is followed from one to the next, with the query that it was asked with', async () => {
    const { things, requests } = await pages(
      bookmarked([1, 2], 'after 2&é'),
      bookmarked([], 17),
      bookmarked([3], 'ignored', false),
    );
    expect(await collected(things({ kind: 'x' }))).toHaveLength(3);
    expect(requests.map(asked)).toEqual([
      { at: own, query: { kind: 'x' } },
      { at: own, query: { kind: 'x', bookmark: 'after 2&é' } },
      { at: own, query: { kind: 'x', bookmark: '17' } },
    ]);
  });

  test('with addresses is followed to each, which is signed anew and keeps its own query', async () => {
    const { ids, requests } = await pages(
      linked(
        [1],
        (url) => `${url}/svc/api/le/1.90/7/things/?bookmark=a%2Fb&pageSize=20&x_a=old&x_c=old&x_t=1`,
      ),
      linked([2], () => `/svc/api/le/1.82/7/things/?bookmark=c`),
      linked([3], null),
    );
    expect(await ids()).toEqual([1, 2, 3]);
    expect(requests.map(asked)).toEqual([
      { at: own, query: {} },
      { at: '/svc/api/le/1.90/7/things/', query: { bookmark: 'a/b', pageSize: '20' } },
      { at: own, query: { bookmark: 'c' } },
    ]);
    expect(requests[1]!.query).toMatchObject({ x_a: 'the-app', x_c: expect.stringMatching(/^[\w-]{43}$/) });
  });

  test('with an address of another scheme is followed by our own, as a platform may not know of its proxy', async () => {
    const { ids, requests } = await pages(
      linked([1], (url) => `${url.replace('http:', 'https:')}${own}?bookmark=b`),
      linked([2], null),
    );
    expect(await ids()).toEqual([1, 2]);
    expect(requests.map(asked)).toEqual([
      { at: own, query: {} },
      { at: own, query: { bookmark: 'b' } },
    ]);
  });

  test('is asked for no further than it is used', async () => {
    const { things, requests } = await pages(bookmarked([1, 2], 'b'), bookmarked([3], 'c', false));
    for await (const { Id } of things()) if (Id === 2) break;
    expect(requests).toHaveLength(1);
  });
});

describe('a list that would not end', () => {
  test.each([
    ['a bookmark that was there before', [bookmarked([1], 'a'), bookmarked([2], 'b'), bookmarked([1], 'a')]],
    ['no bookmark though there is more', [bookmarked([1], null)]],
    [
      'an address that was there before',
      [linked([1], () => `${own}?bookmark=1`), linked([2], () => `${own}?bookmark=1`)],
    ],
    [
      'an address that was there before with another proof',
      [
        linked([1], () => `${own}?x_a=app&x_t=1760000000&bookmark=1`),
        linked([2], () => `${own}?x_a=app&x_t=1760000001&bookmark=1`),
      ],
    ],
  ])('is given up at %s', async (_, bodies) => {
    const { things, requests } = await pages(...bodies);
    expect((await errorOf(collected(things()))).message).toBe('its pages repeat');
    expect(requests).toHaveLength(bodies.length);
  });

  test('is whole where the page that leads back is empty', async () => {
    const { ids, requests } = await pages(bookmarked([1], 'a'), bookmarked([], 'a'));
    expect(await ids()).toEqual([1]);
    expect(requests).toHaveLength(2);
  });
});

describe('an address of the next page', () => {
  const evil = 'https://evil.example.com';
  test.each<[string, (url: string) => string]>([
    ['on another host', () => `${evil}${own}`],
    ['on another host, without a scheme', () => `//evil.example.com${own}`],
    ['with backslashes for another host', () => `\\\\evil.example.com${own}`],
    ['on another port', (url) => `${url.replace(/\d+$/, '1')}${own}`],
    ['by a scheme that is not of the web', (url) => `${url.replace('http:', 'ftp:')}${own}`],
    ['that only begins like ours', (url) => `${url}.evil.example.com${own}`],
    ['with a user name', (url) => `${url.replace('//', '//user@')}${own}`],
    [
      'that hides another host behind ours',
      (url) => `${url.replace('http://', 'http://127.0.0.1@')}.evil.example.com${own}`,
    ],
    ['outside the API', (url) => `${url}/svc/apix/le/1.82/7/things/`],
    ['that climbs out of the API', (url) => `${url}/svc/api/../../logout`],
    ['that climbs out of the API in disguise', (url) => `${url}/svc/api/%2e%2e/logout`],
    ['with escapes in its path', (url) => `${url}${own}%41/`],
    ['that is none', () => 'http://'],
    ['that is no address of the web', () => 'javascript:alert(1)'],
  ])('%s is not followed, and no proof goes there', async (_, next) => {
    const { things, requests } = await pages(linked([1], next), []);
    const error = await errorOf(collected(things()));
    expect(error).toMatchObject({
      message: 'the address of its next page is outside the API, so that page was not read',
      sent: false,
    });
    expect(error.message + error.call).not.toContain('evil');
    expect(requests).toHaveLength(1);
  });
});

describe('a page that is none', () => {
  test.each([
    ['no list', { Items: 'none' }, 'items'],
    ['an item without what it must carry', [{ Id: 1 }, { Name: 'x' }], 'items.1.Id'],
    ['nothing', null, 'items'],
    ['another shape', { Users: [] }, 'items'],
    ['a bookmark’s form that leads on by an address', { Items: [], Next: `${own}?page=2` }, 'items'],
    [
      'an address’ form that leads on by a bookmark',
      { Objects: [], PagingInfo: { HasMoreItems: true } },
      'items',
    ],
    ['both forms', { Objects: [], Items: [] }, 'items'],
    ['a way on that nobody knows', { Items: [], nextLink: '/x' }, 'items'],
    [
      'whether there is more, in a word of its own',
      { PagingInfo: { Bookmark: '9', HasMoreItems: 'perhaps' }, Items: [] },
      'HasMoreItems',
    ],
  ])('%s: names the field', async (_, body, field) => {
    const { things } = await pages(body);
    expect((await errorOf(collected(things()))).message).toBe(`the answer lacks required fields: ${field}`);
  });
});
