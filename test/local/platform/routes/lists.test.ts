import { beforeEach, describe, expect, test } from 'vitest';
import { jsonOf, platformForTests, type Row } from '../fixture.ts';

const platform = platformForTests();
const classlist = '/svc/api/le/1.22/2001/classlist/';

test('a classlist is a bare array, with nulls where someone hides', async () => {
  expect(await jsonOf(await platform.as(301)('GET', classlist))).toEqual([
    expect.objectContaining({ Identifier: '200', DisplayName: 'Structor, Ines' }),
    {
      ...{ Identifier: '301', ProfileIdentifier: 'profile-301', DisplayName: 'Learner, Lena' },
      ...{ Username: 'lena.learner', Email: 'lena.learner@example.edu' },
      ...{ FirstName: 'Lena', LastName: 'Learner', OrgDefinedId: null, RoleId: 110 },
    },
    expect.objectContaining({ Identifier: '302', Username: null, Email: null }),
  ]);
});

test('groups of a category list who is in them', async () => {
  const path = '/svc/api/lp/1.52/2001/groupcategories/9101/groups/';
  expect(await jsonOf(await platform.as(301)('GET', path))).toMatchObject([
    { GroupId: 9111, Name: 'Bench 1', Enrollments: [301, 302] },
    { GroupId: 9112, Enrollments: [] },
  ]);
  expect((await platform.as(100)('GET', path.replace('9101', '9999'))).status).toBe(404);
});

describe('in small pages', () => {
  beforeEach(() => platform.control('POST settings', { pageSize: 2 }));

  async function followNext(path: string) {
    const pages: Row[][] = [];
    for (let next: string | null = `${platform.url()}${path}`; next !== null; ) {
      const { pathname, origin, searchParams } = new URL(next);
      expect(origin).toBe(platform.url());
      expect([...searchParams.keys()].filter((name) => name.startsWith('x_'))).toEqual([]);
      const response = await platform.as(100)('GET', pathname, { query: Object.fromEntries(searchParams) });
      const page = await jsonOf<{ Objects: Row[]; Next: string | null }>(response);
      pages.push(page.Objects);
      next = page.Next;
    }
    return pages;
  }

  async function followBookmarks(path: string, query = {}) {
    const pages: Row[][] = [];
    let bookmark: string | undefined;
    for (let more = true; more; ) {
      const given = bookmark === undefined ? query : { ...query, bookmark };
      const response = await platform.as(100)('GET', path, { query: given });
      const { PagingInfo, Items } = await jsonOf<{
        PagingInfo: { Bookmark: string; HasMoreItems: boolean };
        Items: Row[];
      }>(response);
      pages.push(Items);
      bookmark = PagingInfo.Bookmark;
      more = PagingInfo.HasMoreItems;
    }
    return pages;
  }

  test('a classlist', async () => {
    expect(await followNext(`${classlist}paged/`)).toMatchObject([
      [{ Identifier: '200' }, { Identifier: '301' }],
      [{ Identifier: '302' }],
    ]);
  });

  test('quiz attempts', async () => {
    const path = '/svc/api/le/1.82/2001/quizzes/9201/attempts/';
    expect(await followNext(path)).toMatchObject([
      [
        { AttemptId: 9211, QuizId: 9201, UserId: 301, AttemptNumber: 1, Score: 7 },
        { AttemptId: 9212, Score: null },
      ],
      [{ AttemptId: 9213, Score: 0 }],
    ]);
    expect((await platform.as(100)('GET', path.replace('9201', '9999'))).status).toBe(404);
    expect((await platform.as(301)('GET', path)).status).toBe(403);
  });

  test('org units', async () => {
    const pages = await followBookmarks('/svc/api/lp/1.52/orgstructure/');
    expect(pages.map((page) => page.map(({ Identifier }) => Identifier))).toEqual([
      ['1101', '1102'],
      ['2001', '2002'],
      ['3001', '6606'],
    ]);
  });

  test('the caller’s enrollments', async () => {
    const pages = await followBookmarks('/svc/api/lp/1.52/enrollments/myenrollments/');
    expect(pages).toMatchObject([
      [
        { OrgUnit: { Id: 2002, Code: 'HIS-210', Type: { Id: 3 } }, Access: { ClasslistRoleName: 'Learner' } },
        { OrgUnit: { Id: 6606 }, Access: { ClasslistRoleName: 'Administrator' } },
      ],
    ]);
  });

  test('a page that is exactly full has no successor, and an empty list has one page', async () => {
    await platform.control('POST settings', { pageSize: 3 });
    expect(await followNext(`${classlist}paged/`)).toHaveLength(1);
    expect(await followNext(`${classlist.replace('2001', '3001')}paged/`)).toEqual([[]]);
  });

  test('a bookmark from elsewhere is an invalid parameter', async () => {
    const response = await platform.as(100)('GET', '/svc/api/lp/1.52/orgstructure/', {
      query: { bookmark: 'x' },
    });
    expect([response.status, (await jsonOf(response)).title]).toEqual([400, 'Invalid Parameters']);
  });
});
