import { describe, expect, test } from 'vitest';
import { jsonOf, platformForTests } from '../fixture.ts';

const platform = platformForTests();
const valuePath = (gradeObjectId: number, userId = 301, orgUnitId = 2001) =>
  `/svc/api/le/1.82/${orgUnitId}/grades/${gradeObjectId}/values/${userId}`;
const numeric = { GradeObjectType: 1, PointsNumerator: 8.5 };

test.each([
  [5001, numeric, { pointsNumerator: 8.5 }],
  [5001, { ...numeric, PointsNumerator: 0 }, { pointsNumerator: 0 }],
  [5002, { GradeObjectType: 2, Pass: false }, { pass: false }],
  [5003, { GradeObjectType: 3, Value: 'Good' }, { value: 'Good' }],
  [5004, { GradeObjectType: 4, Text: '' }, { text: '' }],
])('grade object %i takes %o', async (gradeObjectId, json, expected) => {
  const response = await platform.as(100)('PUT', valuePath(gradeObjectId), { json });
  expect([response.status, await response.text()]).toEqual([200, '']);
  expect(await platform.state('gradeValues')).toEqual([
    {
      ...{ orgUnitId: 2001, gradeObjectId, userId: 301, gradeObjectType: json.GradeObjectType, writes: 1 },
      ...expected,
      comments: { content: '', type: 'Text' },
      privateComments: { content: '', type: 'Text' },
      lastModified: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    },
  ]);
  const read = await (await platform.as(301)('GET', valuePath(gradeObjectId))).json();
  expect(read).toMatchObject({ GradeObjectType: json.GradeObjectType, Comments: { Text: '', Html: null } });
});

test('a value is replaced whole: comments that are left out become empty', async () => {
  const call = platform.as(200);
  const Comments = { Content: 'well <b>done</b>', Type: 'Html' };
  await call('PUT', valuePath(5001), { json: { ...numeric, Comments } });
  const before = await jsonOf(await call('GET', valuePath(5001)));
  expect(before.Comments).toEqual({ Text: 'well done', Html: 'well <b>done</b>' });
  await call('PUT', valuePath(5001), { json: numeric });
  const after = await (await call('GET', valuePath(5001))).json();
  expect(after).toMatchObject({
    PointsNumerator: 8.5,
    PointsDenominator: 10,
    Comments: { Text: '', Html: null },
  });
  expect(await platform.state('gradeValues')).toMatchObject([{ writes: 2 }]);
});

describe('a JSON Binding Error, and no effect', () => {
  const comment = (Content: unknown) => ({ Content, Type: 'Text' });
  test.each([
    ['a null grade', { ...numeric, PointsNumerator: null }],
    ['a missing grade', { GradeObjectType: 1 }],
    ['a grade as a string', { ...numeric, PointsNumerator: '8' }],
    ['another type than the grade object’s', { GradeObjectType: 4, Text: 'good' }],
    ['a missing type', { PointsNumerator: 8 }],
    ['a null comment', { ...numeric, Comments: null }],
    ['a comment as a string', { ...numeric, PrivateComments: 'well done' }],
    ['a comment in the form that is read', { ...numeric, Comments: { Text: 'well done', Html: null } }],
    ['a comment too long', { ...numeric, Comments: comment('x'.repeat(4001)) }],
    ['a null body', null],
    ['an array', [numeric]],
  ])('%s', async (_, json) => {
    const response = await platform.as(100)('PUT', valuePath(5001), { json });
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    const problem = await jsonOf(response);
    expect(problem).toMatchObject({ title: 'JSON Binding Error', status: 400 });
    expect(problem.type).toBe(`${platform.url()}/docs/res/apiprop.html#json-binding-error`);
    expect(problem.detail).toMatch(/^Provided JSON is invalid/);
    expect(await platform.state('gradeValues')).toEqual([]);
  });

  test.each([
    ['malformed JSON', '{"GradeObjectType":1,', 'application/json'],
    ['an empty body', '', 'application/json'],
    ['another content type', JSON.stringify(numeric), 'text/plain'],
  ])('%s', async (_, body, contentType) => {
    const call = platform.as(100);
    const response = await call('PUT', valuePath(5001), { body, headers: { 'Content-Type': contentType } });
    expect([response.status, (await jsonOf(response)).title]).toEqual([400, 'JSON Binding Error']);
  });

  test('a comment of 4,000 characters is taken', async () => {
    const json = { ...numeric, Comments: comment('x'.repeat(4000)) };
    expect((await platform.as(100)('PUT', valuePath(5001), { json })).status).toBe(200);
  });
});

describe('who may do it', () => {
  test.each([
    ['a learner', 301, 2001],
    ['someone without any course', 303, 2001],
    ['the service user where it is enrolled as a learner', 100, 2002],
    ['the instructor of another course', 200, 2002],
  ])('%s may not set a grade', async (_, userId, orgUnitId) => {
    const path = valuePath(orgUnitId === 2001 ? 5001 : 5101, 302, orgUnitId);
    const response = await platform.as(userId)('PUT', path, { json: numeric });
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({
      type: `${platform.url()}/docs/res/apiprop.html#forbidden`,
      title: 'Forbidden',
      status: 403,
      detail: `Not authorized for [ orgUnitId: ${orgUnitId}, securityVariableName: EditGradeValues ]`,
    });
    expect(await platform.state('gradeValues')).toEqual([]);
  });

  test('a learner reads the own grade and no other', async () => {
    await platform.as(200)('PUT', valuePath(5001), { json: numeric });
    expect((await platform.as(301)('GET', valuePath(5001))).status).toBe(200);
    expect((await platform.as(302)('GET', valuePath(5001))).status).toBe(403);
  });
});

describe('404 as a problem', () => {
  test.each([
    ['an unknown org unit', valuePath(5001, 301, 999)],
    ['an unknown grade object', valuePath(5999)],
    ['a grade object of another org unit', valuePath(5101)],
    ['an unknown user', valuePath(5001, 999)],
    ['a slash too many', `${valuePath(5001)}/`],
    ['an odd version', valuePath(5001).replace('1.82', 'unstable')],
    ['an odd component', valuePath(5001).replace('/le/', '/lp/')],
    ['an id with a sign', valuePath(5001).replace('301', '-301')],
  ])('%s', async (_, path) => {
    const response = await platform.as(100)('PUT', path, { json: numeric });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ status: 404, title: 'Resource Not Found' });
  });

  test('a value that was never set', async () => {
    expect((await platform.as(100)('GET', valuePath(5001))).status).toBe(404);
  });
});

test('a grade value cannot be deleted', async () => {
  const response = await platform.as(100)('DELETE', valuePath(5001));
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe('GET, PUT');
  expect(await response.json()).toMatchObject({ title: 'Method Not Allowed', status: 405 });
});
