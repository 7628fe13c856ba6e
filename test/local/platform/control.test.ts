// biome-ignore-all lint/suspicious/noThenProperty: a fault's own word; nothing awaits these objects
import { beforeEach, describe, expect, test } from 'vitest';
import { jsonOf, platformForTests } from './fixture.ts';

const platform = platformForTests();
const whoami = '/svc/api/lp/1.52/users/whoami';
const valuePath = '/svc/api/le/1.82/2001/grades/5001/values/301';

test('the default seed', async () => {
  const state = await platform.everything();
  expect(state.users?.map(({ userId }) => userId)).toEqual([100, 200, 301, 302, 303]);
  expect(JSON.stringify(state)).not.toContain('local-key');
  expect(state.gradeObjects).toHaveLength(5);
  expect(state.folders).toMatchObject([{ folderId: 7001, orgUnitId: 2001 }, { folderId: 7002 }]);
  expect(state).toMatchObject({ gradeValues: [], submissions: [], profileImages: [] });
});

test('requests are listed in order, with the names of their query and never its values', async () => {
  await platform.as(301)('GET', whoami, { query: { secret: 'value' } });
  await platform.as({ userId: 302, userKey: 'wrong' })('GET', whoami);
  await fetch(`${platform.url()}/elsewhere`);
  const requests = await platform.requests();
  expect(requests).toEqual([
    {
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      ...{ method: 'GET', path: whoami, userId: 301, status: 200 },
      queryNames: ['secret', 'x_a', 'x_b', 'x_c', 'x_d', 'x_t'],
    },
    expect.objectContaining({ userId: 302, status: 403 }),
    expect.objectContaining({ path: '/elsewhere', userId: null, status: 404, queryNames: [] }),
  ]);
});

test('more of anything is seeded by the thousand', async () => {
  const ids = Array.from({ length: 5000 }, (_, index) => 10_000 + index);
  await platform.control('POST seed', {
    users: ids.map((userId) => ({ userId })),
    gradeObjects: [{ gradeObjectId: 5900, orgUnitId: 2001 }],
    enrollments: ids.map((userId) => ({ orgUnitId: 2001, userId, roleId: 110 })),
  });
  expect(await platform.state('users')).toHaveLength(5005);
  const path = valuePath.replace('5001', '5900').replace('301', '14999');
  const json = { GradeObjectType: 1, PointsNumerator: 1 };
  expect((await platform.as(100)('PUT', path, { json })).status).toBe(200);
  expect((await platform.as(14_999)('GET', path)).status).toBe(200);
});

test.each([
  ['an unknown table', { people: [] }],
  ['an unknown field', { users: [{ userId: 1, nick: 'x' }] }],
  ['no id', { users: [{ userName: 'x' }] }],
])('%s is not seeded in silence', async (_, body) => {
  const response = await fetch(`${platform.url()}/_local/seed`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(400);
});

describe('behind the back of all', () => {
  const ids = Array.from({ length: 1000 }, (_, index) => 10_000 + index);
  const keys = ids.map((userId) => ({ gradeObjectId: 5001, userId }));
  const members = ids.map((userId) => ({ orgUnitId: 2001, userId }));
  const lastModified = '2026-02-03T04:05:06.000Z';
  const refused = async (name: string, body: object) =>
    (await fetch(`${platform.url()}/_local/${name}`, { method: 'POST', body: JSON.stringify(body) })).status;

  beforeEach(() =>
    platform.control('POST seed', {
      users: ids.map((userId) => ({ userId })),
      enrollments: members.map((member) => ({ ...member, roleId: 110 })),
      gradeValues: keys.map((key) => ({
        ...{ ...key, orgUnitId: 2001, pointsNumerator: 1, lastModified },
        comments: { content: 'well done', type: 'Text' },
      })),
    }),
  );

  test('grades and enrollments are changed by the thousand, in what is named alone', async () => {
    await platform.control('POST change', {
      gradeValues: keys.map((key) => ({ ...key, pointsNumerator: 2 })),
      enrollments: members.map((member) => ({ ...member, roleId: 109 })),
    });
    await platform.control('POST change', {
      gradeValues: [{ ...keys[7], lastModified: '2026-03-01T00:00:00.000Z' }],
    });
    const values = await platform.state('gradeValues');
    expect(values[0]).toMatchObject({ pointsNumerator: 2, lastModified, comments: { content: 'well done' } });
    expect(values[7]).toMatchObject({ pointsNumerator: 2, lastModified: '2026-03-01T00:00:00.000Z' });
    const enrollments = await platform.state('enrollments');
    expect(enrollments.filter(({ roleId }) => roleId === 109).length).toBeGreaterThanOrEqual(1000);
  });

  test('and they are removed', async () => {
    const before = (await platform.state('enrollments')).length;
    await platform.control('POST remove', { gradeValues: keys, enrollments: members });
    expect(await platform.state('gradeValues')).toEqual([]);
    expect(await platform.state('enrollments')).toHaveLength(before - 1000);
  });

  test('what is not there is not changed or removed in silence, and neither is what is misspelt', async () => {
    const nobody = { gradeObjectId: 5001, userId: 1 };
    expect(await refused('change', { gradeValues: [nobody] })).toBe(404);
    expect(await refused('remove', { enrollments: [{ orgUnitId: 2001, userId: 1 }] })).toBe(404);
    expect(await refused('change', { gradeValues: [{ ...keys[0], points: 1 }] })).toBe(400);
    expect(await refused('remove', { grades: [] })).toBe(400);
  });
});

test('a reset brings the default seed back, without faults, skew, keys and requests', async () => {
  await platform.control('POST clock', { skewSeconds: 5000 });
  await platform.control('POST keys', { userId: 100, userKey: 'rotated' });
  await platform.control('POST faults', { then: { status: 503 }, times: 9 });
  await platform.control('POST seed', { users: [{ userId: 1 }] });
  await platform.as(100)('GET', whoami);
  await platform.control('POST reset');
  expect(await platform.requests()).toEqual([]);
  expect(await platform.control('GET faults')).toEqual([]);
  expect(await platform.state('users')).toHaveLength(5);
  expect((await platform.as(100)('GET', whoami)).status).toBe(200);
});

test('versions need no authentication', async () => {
  const response = await fetch(`${platform.url()}/svc/api/versions/`);
  expect(await response.json()).toMatchObject([
    { ProductCode: 'lp', LatestVersion: expect.any(String) },
    {},
    {},
  ]);
});

test('every answer carries the rate limit, and a call beyond it is told when to come back', async () => {
  const free = await platform.as(100)('GET', whoami);
  expect(free.headers.get('x-request-cost')).toBe('10');
  await platform.control('POST rateLimit', { creditsPerMinute: 20 });
  const statuses: number[] = [];
  let last = free;
  for (const _ of [1, 2, 3]) {
    last = await platform.as(100)('GET', whoami);
    statuses.push(last.status);
  }
  expect(statuses).toEqual([200, 200, 429]);
  expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(last.headers.get('x-rate-limit-remaining')).toBe('0');
  expect(last.headers.get('x-rate-limit-reset')).toBe(last.headers.get('retry-after'));
});

test.each(['lp/1.51', 'lp/2.5', 'le/1.49', 'le/1.820', 'eP/2.4'])(
  'a version that is not listed has no path: %s',
  async (version) => {
    const path = { lp: 'users/whoami', le: '2001/grades/', eP: 'object/9501' }[version.slice(0, 2)];
    const [component = ''] = version.split('/');
    const call = platform.as(100);
    const response = await call('GET', `/svc/api/${version}/${path}`);
    expect([response.status, (await jsonOf(response)).title]).toEqual([404, 'Resource Not Found']);
    const listed = { lp: '1.9', le: '1.22', eP: '2.5' }[component];
    expect((await call('GET', `/svc/api/${component}/${listed}/${path}`)).status).toBe(200);
  },
);

test('a problem is written in the order of the contract: type, title, status, detail', async () => {
  const problem = await jsonOf(await platform.as(100)('GET', whoami.replace('whoami', 'whereami')));
  expect(Object.keys(problem)).toEqual(['type', 'title', 'status', 'detail']);
});
