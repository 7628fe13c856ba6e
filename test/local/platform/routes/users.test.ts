import { describe, expect, test } from 'vitest';
import { jsonOf, platformForTests } from '../fixture.ts';

const platform = platformForTests();

describe('extended attributes', () => {
  const path = '/svc/api/lp/1.52/attributes/users/301';
  const json = { UserId: 301, Attributes: [{ AttributeId: 'house', Value: ['red'] }] };

  test('are replaced whole', async () => {
    const before = await jsonOf(await platform.as(301)('GET', path));
    expect(before).toEqual({ UserId: 301, Attributes: [{ AttributeId: 'pronouns', Value: ['she', 'her'] }] });
    expect((await platform.as(100)('PUT', path, { json })).status).toBe(200);
    expect(await jsonOf(await platform.as(100)('GET', path))).toEqual(json);
  });

  test.each([
    [400, 'a value that is no list', { UserId: 301, Attributes: [{ AttributeId: 'house', Value: 'red' }] }],
    [400, 'another user', { ...json, UserId: 302 }],
    [400, 'no attributes', { UserId: 301 }],
  ])('%i for %s', async (status, _, body) => {
    expect((await platform.as(100)('PUT', path, { json: body })).status).toBe(status);
  });

  test('a learner reads the own ones only, and changes none', async () => {
    expect((await platform.as(302)('GET', path)).status).toBe(403);
    expect((await platform.as(301)('PUT', path, { json })).status).toBe(403);
  });
});

describe('a demographics field', () => {
  const path = '/svc/api/lp/1.52/demographics/fields/';
  const json = { Name: 'Language', Description: '', DataTypeId: '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01' };

  test('is answered with a 500', async () => {
    const response = await platform.as(100)('POST', path, { json });
    expect([response.status, (await jsonOf(response)).title]).toEqual([500, 'Internal Server Error']);
    expect(await platform.state('demographicsFields')).toEqual([]);
  });

  test('is created by a deployment that can', async () => {
    await platform.control('POST settings', { demographicsFields: 'create' });
    const types = await jsonOf<unknown[]>(
      await platform.as(100)('GET', '/svc/api/lp/1.52/demographics/dataTypes/'),
    );
    expect(types).toContainEqual({ DataTypeId: json.DataTypeId, Name: 'Text' });
    const created = await jsonOf(await platform.as(100)('POST', path, { json }));
    expect(created).toEqual({ FieldId: expect.any(Number), ...json });
    expect(await platform.state('demographicsFields')).toHaveLength(1);
  });

  test('400 where the data type is no GUID', async () => {
    expect((await platform.as(100)('POST', path, { json: { ...json, DataTypeId: 'Text' } })).status).toBe(
      400,
    );
  });
});

describe('a configuration variable', () => {
  const path = '/svc/api/lp/1.52/configVariables/grades.decimals';

  test('is defined, read and set', async () => {
    const call = platform.as(100);
    expect(await jsonOf(await call('GET', `${path}/definition`))).toEqual({
      ...{ ConfigId: 'grades.decimals', Name: 'Decimals', Scope: 'Org', Description: 'Decimals shown' },
      ...{ DataType: 'Integer', DefaultValue: '2', CanEditSystemValue: false },
    });
    expect((await call('PUT', `${path}/values/org`, { json: { OrgValue: '3' } })).status).toBe(200);
    expect(await jsonOf(await call('GET', `${path}/values`))).toEqual({ OrgValue: '3' });
    expect((await call('PUT', `${path}/values/org`, { json: {} })).status).toBe(400);
    expect((await call('GET', `${path}x/values`)).status).toBe(404);
  });
});

describe('an ePortfolio object', () => {
  const path = '/svc/api/eP/2.5/object/9501';

  test('passes through untouched, geotag and all', async () => {
    const call = platform.as(301);
    const object = await jsonOf(await call('GET', path));
    expect(object).toMatchObject({ Geotag: { Latitude: 43.47 } });
    const json = { ...object, Geotag: { Latitude: 0, Longitude: null, Odd: [] } };
    expect((await call('PUT', path, { json })).status).toBe(200);
    expect(await jsonOf(await platform.as(100)('GET', path))).toEqual(json);
    expect((await platform.as(302)('GET', path)).status).toBe(403);
  });

  test('is created for its caller, geotag and all', async () => {
    const object = { Name: 'Pond', Geotag: { Latitude: 43.47, Longitude: null } };
    const made = await jsonOf(await platform.as(100)('POST', '/svc/api/eP/2.5/object/', { json: object }));
    expect(made).toEqual({ ObjectId: expect.any(Number), ...object });
    expect((await platform.state('ePortfolioObjects')).at(-1)).toMatchObject({
      ...{ objectId: made.ObjectId, userId: 100, object, writes: 1 },
    });
    expect((await platform.as(302)('POST', '/svc/api/eP/2.5/object/', { json: object })).status).toBe(403);
  });
});

describe('an assessment', () => {
  const path = '/svc/api/le/1.82/2001/assessment';
  const query: Record<string, string> = {
    ...{ assessmentType: 'Rubric', objectType: 'Dropbox', objectId: '7001', rubricId: '9301', userId: '301' },
  };

  test('is read by its five parameters', async () => {
    const response = await platform.as(200)('GET', path, { query });
    expect(await jsonOf(response)).toMatchObject({ OverallScore: 8 });
  });

  test.each(Object.keys(query))('Invalid Parameters without %s, and where it is wrong', async (name) => {
    const { [name]: _, ...rest } = query;
    for (const wrong of [rest, { ...query, [name]: '' }, { ...query, [name]: '-1' }]) {
      const response = await platform.as(200)('GET', path, { query: wrong });
      const problem = await jsonOf(response);
      expect(problem).toMatchObject({ status: 400, title: 'Invalid Parameters' });
      expect(problem.detail).toContain(name);
    }
  });

  test('404 where there is none', async () => {
    expect((await platform.as(200)('GET', path, { query: { ...query, rubricId: '1' } })).status).toBe(404);
  });
});
