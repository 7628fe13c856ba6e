import { expect, test } from 'vitest';
import { jsonOf, platformForTests } from '../fixture.ts';

const platform = platformForTests();
const path = '/svc/api/lp/1.52/enrollments/';
const enrollment = { OrgUnitId: 2001, UserId: 303, RoleId: 110 };
const stored = async () => (await platform.state('enrollments')).filter(({ userId }) => userId === 303);

test('an enrollment is created, and once more sets the role', async () => {
  const first = await platform.as(100)('POST', path, { json: enrollment });
  expect([first.status, await first.json()]).toEqual([200, { ...enrollment, IsCascading: false }]);
  const second = await platform.as(100)('POST', path, { json: { ...enrollment, RoleId: 109 } });
  expect(second.status).toBe(200);
  expect(await stored()).toEqual([{ orgUnitId: 2001, userId: 303, roleId: 109, writes: 2 }]);
});

test.each([
  [400, 'an id as a string', { ...enrollment, UserId: '303' }],
  [400, 'a missing role', { OrgUnitId: 2001, UserId: 303 }],
  [404, 'an unknown org unit', { ...enrollment, OrgUnitId: 999 }],
  [404, 'an unknown user', { ...enrollment, UserId: 999 }],
  [404, 'an unknown role', { ...enrollment, RoleId: 999 }],
])('%i for %s', async (status, _, json) => {
  expect((await platform.as(100)('POST', path, { json })).status).toBe(status);
  expect(await stored()).toEqual([]);
});

test('the role in the body’s org unit decides', async () => {
  const response = await platform.as(100)('POST', path, { json: { ...enrollment, OrgUnitId: 2002 } });
  expect([response.status, (await jsonOf(response)).detail]).toEqual([
    403,
    'Not authorized for [ orgUnitId: 2002, securityVariableName: ManageEnrollments ]',
  ]);
});

test('a collection ends in a slash', async () => {
  expect((await platform.as(100)('POST', path.slice(0, -1), { json: enrollment })).status).toBe(404);
});

test('an enrollment is deleted and answered; twice is not found', async () => {
  await platform.as(100)('POST', path, { json: enrollment });
  const own = `${path}orgUnits/2001/users/303`;
  expect((await platform.as(200)('DELETE', own)).status).toBe(403);
  const response = await platform.as(100)('DELETE', own);
  expect([response.status, await response.json()]).toEqual([200, { ...enrollment, IsCascading: false }]);
  expect(await stored()).toEqual([]);
  expect((await platform.as(100)('DELETE', own)).status).toBe(404);
});
