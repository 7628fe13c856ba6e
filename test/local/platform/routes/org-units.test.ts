import { describe, expect, test } from 'vitest';
import { jsonOf, platformForTests } from '../fixture.ts';

const platform = platformForTests();
const root = '/svc/api/lp/1.52/orgstructure/';
const parentsOf = async (id: number) =>
  (await platform.state('orgUnits')).find(({ orgUnitId }) => orgUnitId === id)?.parents;

test('an org unit is read', async () => {
  expect(await jsonOf(await platform.as(301)('GET', `${root}2001`))).toMatchObject({
    ...{ Identifier: '2001', Name: 'Introduction to Biology', Code: 'BIO-101' },
    Type: { Id: 3, Code: 'course_offering', Name: 'Course Offering' },
  });
});

test('all courses are the org units of type 3', async () => {
  const page = await jsonOf(await platform.as(100)('GET', root, { query: { orgUnitType: '3' } }));
  expect(page).toMatchObject({
    ...{ PagingInfo: { HasMoreItems: false }, Items: [{ Identifier: '2001' }, { Identifier: '2002' }] },
  });
});

test('listing the whole is not for those who only belong to a course', async () => {
  const response = await platform.as(200)('GET', root);
  expect((await jsonOf(response)).detail).toBe(
    'Not authorized for [ orgUnitId: 6606, securityVariableName: SeeOrgUnits ]',
  );
});

describe('parents', () => {
  test('are attached, once, and detached', async () => {
    const call = platform.as(100);
    for (const _ of [1, 2]) {
      expect((await call('POST', `${root}2001/parents/`, { json: 1102 })).status).toBe(200);
    }
    expect(await parentsOf(2001)).toEqual([1101, 1102]);
    expect((await call('DELETE', `${root}2001/parents/1101`)).status).toBe(200);
    expect(await parentsOf(2001)).toEqual([1102]);
    expect((await call('DELETE', `${root}2001/parents/1101`)).status).toBe(404);
  });

  test.each([
    [400, 'an object', { OrgUnitId: 1102 }],
    [400, 'a string', '1102'],
    [400, 'itself', 2001],
    [400, 'its own child', 3001],
    [404, 'an unknown one', 999],
  ])('%i for %s', async (status, _, json) => {
    expect((await platform.as(100)('POST', `${root}2001/parents/`, { json })).status).toBe(status);
    expect(await parentsOf(2001)).toEqual([1101]);
  });
});

describe('a course image', () => {
  test('is bytes with their type', async () => {
    const response = await platform.as(301)('GET', '/svc/api/lp/1.52/courses/2001/image');
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await response.arrayBuffer()).toString('latin1')).toMatch(/^\x89PNG/);
  });

  test('404 where there is none', async () => {
    expect((await platform.as(100)('GET', '/svc/api/lp/1.52/courses/1101/image')).status).toBe(404);
  });
});
