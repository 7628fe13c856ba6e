import { expect, test } from 'vitest';
import { filePart, jsonOf, jsonPart, mixed, mixedType, platformForTests } from './fixture.ts';

/**
 * What a client may get wrong, the local platform refuses or shows, as the API's specification says: else a wrong call of
 * sis-relay would pass its tests.
 */
const platform = platformForTests();

const le = '/svc/api/le/1.82';
const lp = '/svc/api/lp/1.52';
const value = `${le}/2001/grades/5001/values/301`;
const grades = `${le}/2001/grades/`;
const folder = `${le}/2001/dropbox/folders/7001`;
const submissions = `${folder}/submissions/mysubmissions/`;
const topicFile = `${le}/2001/content/topics/8101/file`;
const module = `${le}/2001/content/modules/8001/structure/`;
const news = `${le}/2001/news/`;
const ltiLink = `${le}/lti/link/9001`;
const enrollments = `${lp}/enrollments/`;
const parents = `${lp}/orgstructure/2001/parents/`;
const attributes = `${lp}/attributes/users/301`;
const fields = `${lp}/demographics/fields/`;
const image = `${lp}/profile/user/301/image`;
const assessment = `${le}/2001/assessment`;

const grade = { GradeObjectType: 1, PointsNumerator: 8.5 };
const gradeObject = { Name: 'Final', ShortName: 'fin', GradeType: 'Numeric', MaxPoints: 50 };
const enrollment = { OrgUnitId: 2001, UserId: 303, RoleId: 110 };
const topic = { Title: 'Reading', ShortTitle: 'r', Type: 1, TopicType: 3, Url: '/a', IsHidden: false };
const fileTopic = { ...topic, TopicType: 1, Url: '/content/enforced/2001-BIO-101/notes.txt' };
const newsItem = {
  Title: 'Welcome',
  Body: { Text: 'hello', Html: null },
  StartDate: '2026-09-01T08:00:00.000Z',
  EndDate: null,
  IsGlobal: false,
  IsPublished: true,
  ShowOnlyInCourseOfferings: false,
};
const link = {
  Title: 'Lab',
  Url: 'https://lab.example.edu/',
  Description: '',
  Key: 'key',
  PlainSecret: 'secret',
  IsVisible: true,
  SignMessage: true,
  SignWithTc: false,
  UseToolProviderSecuritySettings: false,
  SendTcInfo: true,
  SendContextInfo: true,
  SendUserId: true,
  SendUserName: false,
  SendUserEmail: false,
  SendLinkTitle: true,
  SendLinkDescription: false,
  CustomParameters: null,
  SendVendorUserName: false,
  SendVendorOrgDefinedId: true,
  SendVendorRoleId: false,
};
const without = (given: object, name: string) => ({ ...given, [name]: undefined });
const comment = jsonPart({ Text: 'my report', Html: null });
const file = filePart('a.txt');
const form = (name: string, type = 'image/png') => {
  const body = new FormData();
  body.append(name, new Blob(['bytes'], { type }), 'a');
  return body;
};

type Body = { json?: unknown; body?: string | FormData; type?: string; query?: Record<string, string> };
type Call = { as?: number; path: string; call: string } & Body;
type Row = [status: number, what: string, call: Partial<Call> & Body];

/** Of one call, that this client may make, and what is refused in its place. */
const refusals: { good: Call; rows: Row[] }[] = [
  {
    good: { call: 'PUT', path: value, json: grade },
    rows: [
      [400, 'a null grade', { json: { ...grade, PointsNumerator: null } }],
      [400, 'no grade', { json: { GradeObjectType: 1 } }],
      [400, 'a grade as text', { json: { ...grade, PointsNumerator: '8' } }],
      [400, 'another type than that of the grade object', { json: { GradeObjectType: 4, Text: 'good' } }],
      [
        400,
        'a comment in the form that is read',
        { json: { ...grade, Comments: { Text: 'a', Html: null } } },
      ],
      [400, 'a long comment', { json: { ...grade, Comments: { Content: 'x'.repeat(4_001), Type: 'Text' } } }],
      [
        400,
        'JSON that is none',
        { json: undefined, body: '{"GradeObjectType":1,', type: 'application/json' },
      ],
      [400, 'another content type', { json: undefined, body: JSON.stringify(grade), type: 'text/plain' }],
      [403, 'a learner', { as: 301 }],
      [403, 'the instructor of another course', { as: 200, path: value.replace('2001', '2002') }],
      [404, 'a grade object of another org unit', { path: value.replace('5001', '5101') }],
      [404, 'an unknown user', { path: value.replace('301', '999') }],
      [404, 'a slash too many', { path: `${value}/` }],
      [404, 'an odd version', { path: value.replace('1.82', 'unstable') }],
      [404, 'a version that is not listed', { path: value.replace('1.82', '1.820') }],
      [404, 'an id with a sign', { path: value.replace('301', '-301') }],
      [405, 'a deletion', { call: 'DELETE', json: undefined }],
    ],
  },
  {
    good: { call: 'POST', path: grades, json: gradeObject },
    rows: [
      [400, 'no name', { json: without(gradeObject, 'Name') }],
      [400, 'a name too long', { json: { ...gradeObject, Name: 'x'.repeat(129) } }],
      ...[...'/"*<>+=|,%'].map((sign): Row => [400, sign, { json: { ...gradeObject, Name: `a${sign}b` } }]),
      [400, 'no maximum', { json: { ...gradeObject, MaxPoints: null } }],
      [400, 'points beyond those of a type', { json: { Name: 'a', GradeType: 'PassFail', IsBonus: 'yes' } }],
      [400, 'a selectbox without a scheme', { json: { Name: 'Final', GradeType: 'SelectBox' } }],
      [500, 'an associated tool', { json: { ...gradeObject, AssociatedTool: { ToolId: 1, ToolItemId: 2 } } }],
      [403, 'a learner', { as: 301 }],
    ],
  },
  {
    good: { call: 'PUT', path: `${grades}5001`, json: gradeObject },
    rows: [
      [400, 'another type', { json: { Name: 'Final', GradeType: 'PassFail' } }],
      [404, 'one of another course', { path: `${grades}5101` }],
    ],
  },
  {
    good: { call: 'PUT', path: folder, json: { Name: 'Lab report', GradeItemId: 5001 } },
    rows: [
      [400, 'no name', { json: { GradeItemId: 5001 } }],
      [404, 'a grade item of another course', { json: { Name: 'x', GradeItemId: 5101 } }],
      [403, 'a learner', { as: 301 }],
    ],
  },
  {
    good: { as: 301, call: 'POST', path: submissions, body: mixed(comment, file), type: mixedType },
    rows: [
      [400, 'another multipart type', { type: 'multipart/form-data; boundary=b' }],
      [400, 'no boundary', { type: 'multipart/mixed' }],
      [400, 'another boundary', { type: 'multipart/mixed; boundary=c' }],
      [400, 'line feeds alone', { body: mixed(comment, file).replaceAll('\r\n', '\n') }],
      [400, 'no closing boundary', { body: mixed(comment, file).replace('--b--\r\n', '') }],
      [400, 'no file', { body: mixed(comment) }],
      [400, 'the JSON part last', { body: mixed(file, comment) }],
      [400, 'JSON with a disposition', { body: mixed(`Content-Disposition: form-data\r\n${comment}`, file) }],
      [400, 'JSON in the form that is sent', { body: mixed(jsonPart({ Content: 'a', Type: 'Text' }), file) }],
      [400, 'a field name', { body: mixed(comment, file.replace('name=""', 'name="file"')) }],
      [400, 'no file name', { body: mixed(comment, filePart('')) }],
      [400, 'a quote in a file name', { body: mixed(comment, filePart('a".txt')) }],
      [400, 'a line break in a file name', { body: mixed(comment, filePart('a\r\nX-Evil: yes')) }],
      [400, 'no content type', { body: mixed(comment, file.replace('Content-Type: text/plain\r\n', '')) }],
      [403, 'the service user, which only inherits its role', { as: 100 }],
      [404, 'an unknown folder', { path: submissions.replace('7001', '7999') }],
    ],
  },
  {
    good: { as: 200, call: 'PUT', path: topicFile, body: form('file') },
    rows: [
      [400, 'another field', { body: form('other') }],
      [404, 'a topic that is a link', { path: topicFile.replace('8101', '8102') }],
      [403, 'a learner', { as: 301 }],
    ],
  },
  {
    good: { as: 200, call: 'POST', path: module, json: topic },
    rows: [
      [400, 'no short title', { json: without(topic, 'ShortTitle') }],
      [400, 'a module', { json: { ...topic, Type: 0 } }],
      [400, 'a file topic without a file', { json: fileTopic }],
      [400, 'a date without milliseconds', { json: { ...topic, StartDate: '2026-01-01T00:00:00Z' } }],
      [404, 'an unknown module', { path: module.replace('8001', '8999') }],
    ],
  },
  {
    good: { as: 200, call: 'POST', path: module, type: mixedType, body: mixed(jsonPart(fileTopic), file) },
    rows: [
      [400, 'a link with a file', { body: mixed(jsonPart(topic), file) }],
      [400, 'two files', { body: mixed(jsonPart(fileTopic), file, file) }],
      ...[
        null,
        'https://example.edu/a',
        '/content/enforced/2002-HIS-210/a',
        '/content/enforced/2001-X/a',
      ].map((Url): Row => [400, `a file at ${Url}`, { body: mixed(jsonPart({ ...fileTopic, Url }), file) }]),
    ],
  },
  {
    good: { as: 200, call: 'POST', path: news, body: mixed(jsonPart(newsItem)), type: mixedType },
    rows: [
      [400, 'plain JSON', { body: JSON.stringify(newsItem), type: 'application/json' }],
      [
        400,
        'a date without milliseconds',
        { body: mixed(jsonPart({ ...newsItem, StartDate: '2026-09-01' })) },
      ],
      [400, 'no flag', { body: mixed(jsonPart(without(newsItem, 'IsGlobal'))) }],
      [403, 'a learner', { as: 301 }],
    ],
  },
  {
    good: { as: 200, call: 'PUT', path: ltiLink, json: link },
    rows: [
      ...Object.keys(link).map((name): Row => [400, `no ${name}`, { json: without(link, name) }]),
      [400, 'a flag as text', { json: { ...link, SendUserId: 'true' } }],
      [403, 'a learner', { as: 301 }],
      [404, 'an unknown link', { path: ltiLink.replace('9001', '9999') }],
    ],
  },
  {
    good: { call: 'POST', path: enrollments, json: enrollment },
    rows: [
      [400, 'an id as text', { json: { ...enrollment, UserId: '303' } }],
      [400, 'no role', { json: without(enrollment, 'RoleId') }],
      [403, 'an org unit in which the caller has another role', { json: { ...enrollment, OrgUnitId: 2002 } }],
      [404, 'an unknown role', { json: { ...enrollment, RoleId: 999 } }],
      [404, 'a collection without its slash', { path: enrollments.slice(0, -1) }],
      [404, 'a deletion of nobody', { call: 'DELETE', path: `${enrollments}orgUnits/2001/users/303` }],
      [403, 'a deletion', { as: 200, call: 'DELETE', path: `${enrollments}orgUnits/2001/users/301` }],
    ],
  },
  {
    good: { call: 'POST', path: parents, json: 1102 },
    rows: [
      [400, 'an object', { json: { OrgUnitId: 1102 } }],
      [400, 'itself', { json: 2001 }],
      [400, 'its own child', { json: 3001 }],
      [404, 'an unknown one', { json: 999 }],
      [404, 'a detachment from none', { call: 'DELETE', path: `${parents}1102`, json: undefined }],
    ],
  },
  {
    good: { call: 'PUT', path: attributes, json: { UserId: 301, Attributes: [] } },
    rows: [
      [400, 'another user', { json: { UserId: 302, Attributes: [] } }],
      [400, 'text', { json: { UserId: 301, Attributes: [{ AttributeId: 'house', Value: 'red' }] } }],
      [403, 'a learner', { as: 301 }],
    ],
  },
  {
    good: { call: 'POST', path: image, body: form('profileImage') },
    rows: [
      [400, 'another field', { body: form('image') }],
      [400, 'no image', { body: form('profileImage', 'application/pdf') }],
      [403, 'another user', { as: 302 }],
      [404, 'an unknown user', { path: image.replace('301', '999') }],
    ],
  },
];

const send = async ({ as = 100, call, path, type, ...given }: Call): Promise<Response> =>
  platform.as(as)(call, path, { ...given, ...(type && { headers: { 'Content-Type': type } }) });

test.each(refusals)('$good.call $good.path', async ({ good, rows }) => {
  const before = await platform.everything();
  const statuses: [number, string][] = [];
  for (const [, what, wrong] of rows) {
    const response = await send({ ...good, ...wrong });
    statuses.push([response.status, what]);
    await response.text();
  }
  expect(statuses).toEqual(rows.map(([status, what]) => [status, what]));
  expect(await platform.everything()).toEqual(before);
  expect((await send(good)).status).toBe(200);
});

test('a demographics field is answered with a 500, unless the deployment can create it', async () => {
  const json = { Name: 'Language', Description: '', DataTypeId: '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01' };
  expect((await send({ call: 'POST', path: fields, json })).status).toBe(500);
  await platform.control('POST settings', { demographicsFields: 'create' });
  expect((await send({ call: 'POST', path: fields, json: { ...json, DataTypeId: 'Text' } })).status).toBe(
    400,
  );
  expect((await send({ call: 'POST', path: fields, json })).status).toBe(200);
});

test('an assessment is read by its five parameters, each of which must be there', async () => {
  const query: Record<string, string> = {
    assessmentType: 'Rubric',
    objectType: 'Dropbox',
    objectId: '7001',
    rubricId: '9301',
    userId: '301',
  };
  const read = (given: Record<string, string>) =>
    send({ as: 200, call: 'GET', path: assessment, query: given });
  expect((await read(query)).status).toBe(200);
  for (const name of Object.keys(query)) {
    const problem = await jsonOf(await read({ ...query, [name]: '' }));
    expect(problem).toMatchObject({ status: 400, title: 'Invalid Parameters' });
    expect(problem.detail).toContain(name);
  }
});

test('what replaces a value, a grade object or a folder is the whole of it: what it leaves out is gone', async () => {
  const comment = { Content: 'well <b>done</b>', Type: 'Html' };
  const put = (path: string, json: object) => send({ as: 200, call: 'PUT', path, json });
  const shown = async (path: string) => jsonOf(await send({ as: 200, call: 'GET', path }));
  await put(value, { ...grade, Comments: comment, PrivateComments: comment });
  const text = { Text: 'well done', Html: 'well <b>done</b>' };
  expect(await shown(value)).toMatchObject({ Comments: text, PrivateComments: text });
  await put(value, grade);
  const none = { Text: '', Html: null };
  expect(await shown(value)).toMatchObject({ ...grade, Comments: none, PrivateComments: none });

  const whole = {
    ...gradeObject,
    CategoryId: 31,
    IsBonus: true,
    CanExceedMaxPoints: true,
    Description: comment,
  };
  await put(`${grades}5001`, whole);
  expect(await shown(`${grades}5001`)).toMatchObject({ CategoryId: 31, IsBonus: true, Description: text });
  await put(`${grades}5001`, gradeObject);
  expect(await shown(`${grades}5001`)).toMatchObject({
    ...gradeObject,
    CategoryId: null,
    IsBonus: false,
    CanExceedMaxPoints: false,
    Description: { Text: '' },
  });

  await put(folder, { Name: 'Pond', GradeItemId: 5001, CustomInstructions: comment });
  expect(await shown(folder)).toMatchObject({ GradeItemId: 5001, CustomInstructions: text });
  await put(folder, { Name: 'Pond' });
  expect(await shown(folder)).toMatchObject({ GradeItemId: null, CustomInstructions: { Text: '' } });
});

test('a chunked upload is answered with a bare 500', async () => {
  const body = new Blob([mixed(comment, file)]).stream();
  const headers = { 'Content-Type': mixedType };
  const response = await platform.as(301)('POST', submissions, { body, headers });
  expect([response.status, await response.text()]).toEqual([500, '']);
});

test('a problem is written as in the contract, and a right that is missing is named', async () => {
  const response = await send({ as: 301, call: 'PUT', path: value, json: grade });
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = await jsonOf(response);
  expect(Object.entries(problem)).toEqual([
    ['type', `${platform.url()}/docs/res/apiprop.html#forbidden`],
    ['title', 'Forbidden'],
    ['status', 403],
    ['detail', 'Not authorized for [ orgUnitId: 2001, securityVariableName: EditGradeValues ]'],
  ]);
});

test('every answer carries the rate limit, and a call beyond it is told when to come back', async () => {
  const whoami = () => send({ call: 'GET', path: `${lp}/users/whoami` });
  expect((await whoami()).headers.get('x-request-cost')).toBe('10');
  await platform.control('POST rateLimit', { creditsPerMinute: 20 });
  const answers = [await whoami(), await whoami(), await whoami()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  const headers = answers.at(-1)?.headers;
  expect(Number(headers?.get('retry-after'))).toBeGreaterThan(0);
  expect(headers?.get('x-rate-limit-remaining')).toBe('0');
  expect(headers?.get('x-rate-limit-reset')).toBe(headers?.get('retry-after'));
});
