import { expect, test } from 'vitest';
import { jsonOf, platformForTests } from '../fixture.ts';

const platform = platformForTests();
const path = '/svc/api/le/1.82/lti/link/9001';
const link = {
  ...{
    Title: 'Virtual lab',
    Url: 'https://lab.example.edu/',
    Description: '',
    Key: 'key',
    PlainSecret: 'secret',
  },
  ...{ IsVisible: true, SignMessage: true, SignWithTc: false, SendUserId: true, SendUserEmail: false },
  ...{ SendTcInfo: true, SendContextInfo: true, SendUserName: false },
  ...{ SendLinkTitle: true, SendLinkDescription: false, UseToolProviderSecuritySettings: false },
  ...{ SendVendorUserName: false, SendVendorOrgDefinedId: true, SendVendorRoleId: false },
  CustomParameters: [{ Name: 'room', Value: '1' }],
};

test('a link is replaced; the answer keeps its secret', async () => {
  const response = await platform.as(200)('PUT', path, { json: link });
  const { PlainSecret, ...shown } = link;
  expect(await jsonOf(response)).toEqual({ LtiLinkId: 9001, OrgUnitId: 2001, ...shown });
  expect(await platform.state('ltiLinks')).toEqual([
    { linkId: 9001, orgUnitId: 2001, fields: link, writes: 1 },
  ]);
});

test.each<[string, object]>([
  ...Object.keys(link).map((name): [string, object] => [`no ${name}`, { ...link, [name]: undefined }]),
  ['a flag as text', { ...link, SendUserId: 'true' }],
  ['a number as secret', { ...link, PlainSecret: 1 }],
  ['parameters as an object', { ...link, CustomParameters: { room: '1' } }],
])('a JSON Binding Error for %s', async (_, json) => {
  const response = await platform.as(200)('PUT', path, { json });
  expect([response.status, (await jsonOf(response)).title]).toEqual([400, 'JSON Binding Error']);
  expect(await platform.state('ltiLinks')).toMatchObject([{ writes: 0 }]);
});

test('the flags that are named after a vendor are called as the site says', async () => {
  await platform.control('POST settings', { ltiVendorFlags: ['SendAcmeUserName'] });
  const call = (json: object) => platform.as(200)('PUT', path, { json });
  expect((await call(link)).status).toBe(400);
  expect((await call({ ...link, SendAcmeUserName: true })).status).toBe(200);
});

test('the role in the link’s org unit decides', async () => {
  const response = await platform.as(301)('PUT', path, { json: link });
  expect((await jsonOf(response)).detail).toBe(
    'Not authorized for [ orgUnitId: 2001, securityVariableName: ManageLtiLinks ]',
  );
});

test('404 for an unknown link', async () => {
  expect((await platform.as(200)('PUT', path.replace('9001', '9999'), { json: link })).status).toBe(404);
});
