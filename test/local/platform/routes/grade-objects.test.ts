import { describe, expect, test } from 'vitest';
import { jsonOf, platformForTests } from '../fixture.ts';

const platform = platformForTests();
const path = '/svc/api/le/1.82/2001/grades/';
const numeric = {
  Name: 'Final',
  ShortName: 'fin',
  GradeType: 'Numeric',
  MaxPoints: 50,
  CanExceedMaxPoints: true,
};

test.each([
  ['Numeric', { MaxPoints: 50 }, 1],
  ['PassFail', {}, 2],
  ['SelectBox', { GradeSchemeId: 4 }, 3],
  ['Text', { MaxPoints: null, Description: { Content: 'free text', Type: 'Text' } }, 4],
])('a %s item is created, read and listed', async (GradeType, more, gradeObjectType) => {
  const call = platform.as(200);
  const created = await jsonOf(await call('POST', path, { json: { Name: 'Final', GradeType, ...more } }));
  expect(created).toMatchObject({ Id: expect.any(Number), Name: 'Final', GradeType });
  expect(await jsonOf(await call('GET', `${path}${created.Id}`))).toEqual(created);
  const all = await jsonOf<unknown[]>(await call('GET', path));
  expect(all).toHaveLength(5);
  expect(all).toContainEqual(created);
  expect((await platform.state('gradeObjects')).at(-1)).toMatchObject({ gradeObjectType, orgUnitId: 2001 });
});

test('the other fields come back as they were given', async () => {
  const response = await platform.as(100)('POST', path, { json: { ...numeric, ScoreDenominator: 5 } });
  expect(await jsonOf(response)).toMatchObject({ ...numeric, ScoreDenominator: 5, AssociatedTool: null });
});

test('whatever its body leaves out is shown: no category, and flags that are not set', async () => {
  const { CanExceedMaxPoints: _, ...less } = numeric;
  expect(await jsonOf(await platform.as(100)('POST', path, { json: less }))).toMatchObject({
    ...{ CategoryId: null, GradeSchemeId: null, CanExceedMaxPoints: false, IsBonus: false },
    ExcludeFromFinalGradeCalculation: false,
  });
});

describe('an update', () => {
  const put = (json: object, id = 5001) => platform.as(200)('PUT', `${path}${id}`, { json });
  const whole = { ...numeric, CategoryId: 31, IsBonus: true, Description: { Content: 'a', Type: 'Text' } };

  test('replaces the whole object, and answers as a GET', async () => {
    const answer = await jsonOf(await put(whole));
    expect(answer).toEqual(await jsonOf(await platform.as(200)('GET', `${path}5001`)));
    expect(answer).toMatchObject({ Id: 5001, ...numeric, CategoryId: 31, IsBonus: true });
    expect(await jsonOf(await put({ Name: 'Final', GradeType: 'Numeric', MaxPoints: 5 }))).toMatchObject({
      ...{ Id: 5001, ShortName: '', MaxPoints: 5, CategoryId: null, IsBonus: false },
      ...{ CanExceedMaxPoints: false, Description: { Text: '' } },
    });
    expect(await platform.state('gradeObjects')).toHaveLength(5);
  });

  test.each<[number, string, object, number]>([
    [400, 'another type', { ...numeric, GradeType: 'PassFail', CanExceedMaxPoints: undefined }, 5001],
    [400, 'a body that creates nothing', { ...numeric, Name: '' }, 5001],
    [404, 'an item of another course', numeric, 5101],
    [404, 'an unknown item', numeric, 5999],
  ])('is answered with %i for %s', async (status, _, json, id) => {
    const before = await platform.state('gradeObjects');
    expect((await put(json, id)).status).toBe(status);
    expect(await platform.state('gradeObjects')).toEqual(before);
  });
});

test('AssociatedTool is answered with a 500, and no item is there', async () => {
  const json = { ...numeric, AssociatedTool: { ToolId: 2000, ToolItemId: 7001 } };
  const response = await platform.as(100)('POST', path, { json });
  expect(response.status).toBe(500);
  expect(await jsonOf(response)).toMatchObject({ title: 'Internal Server Error', status: 500 });
  expect(await platform.state('gradeObjects')).toHaveLength(5);
});

describe('a JSON Binding Error', () => {
  test.each<[string, object]>([
    ['no name', { GradeType: 'Text' }],
    ['an empty name', { ...numeric, Name: ' ' }],
    ['a name too long', { ...numeric, Name: 'x'.repeat(129) }],
    ...[...'/"*<>+=|,%'].map(
      (character) => [character, { ...numeric, Name: `a${character}b` }] as [string, object],
    ),
    ['an unknown type', { ...numeric, GradeType: 'Formula' }],
    ['a number as type', { ...numeric, GradeType: 1 }],
    ['no maximum', { ...numeric, MaxPoints: null }],
    ['a description as text', { ...numeric, Description: 'hard' }],
    ['a flag as text', { ...numeric, IsBonus: 'yes' }],
    ['points beyond those of another type', { ...numeric, GradeType: 'PassFail' }],
    ['a SelectBox without a scheme', { Name: 'Final', GradeType: 'SelectBox' }],
  ])('%s', async (_, json) => {
    const response = await platform.as(100)('POST', path, { json });
    expect([response.status, (await jsonOf(response)).title]).toEqual([400, 'JSON Binding Error']);
    expect(await platform.state('gradeObjects')).toHaveLength(5);
  });
});

test('a learner may look and not create', async () => {
  expect((await platform.as(301)('GET', path)).status).toBe(200);
  expect((await platform.as(301)('POST', path, { json: numeric })).status).toBe(403);
});

test('404 for an item of another course', async () => {
  expect((await platform.as(100)('GET', `${path}5101`)).status).toBe(404);
});
