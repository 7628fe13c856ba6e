import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { Download } from '../../../../lib/platform/client/download.ts';
import { readAssessment } from '../../../../lib/platform/resources/assessments.ts';
import { listClasslist, readClasslist } from '../../../../lib/platform/resources/classlists.ts';
import {
  readConfigurationValues,
  readConfigurationVariable,
  setConfigurationValue,
} from '../../../../lib/platform/resources/configuration-variables.ts';
import {
  addFileTopic,
  addLinkTopic,
  readTopicFile,
  replaceTopicFile,
} from '../../../../lib/platform/resources/content.ts';
import { readCourseImage } from '../../../../lib/platform/resources/courses.ts';
import {
  createDemographicsField,
  listDemographicsDataTypes,
} from '../../../../lib/platform/resources/demographics.ts';
import {
  linkGradeItem,
  readDropboxFolder,
  updateDropboxFolder,
} from '../../../../lib/platform/resources/dropbox-folders.ts';
import {
  createEPortfolioObject,
  readEPortfolioObject,
  updateEPortfolioObject,
} from '../../../../lib/platform/resources/e-portfolio.ts';
import {
  createEnrollment,
  listMyEnrollments,
  removeEnrollment,
} from '../../../../lib/platform/resources/enrollments.ts';
import {
  createGradeObject,
  listGradeObjects,
  type NewGradeObject,
  readGradeObject,
} from '../../../../lib/platform/resources/grade-objects.ts';
import {
  deleteGradeValue,
  readGradeValue,
  setGradeValue,
} from '../../../../lib/platform/resources/grades.ts';
import { listGroups } from '../../../../lib/platform/resources/groups.ts';
import { updateLtiLink } from '../../../../lib/platform/resources/lti-links.ts';
import { createNewsItem } from '../../../../lib/platform/resources/news.ts';
import { operations, refusedOperations } from '../../../../lib/platform/resources/operations.ts';
import {
  addParent,
  courseOffering,
  listOrgUnits,
  readOrgUnit,
  removeParent,
} from '../../../../lib/platform/resources/org-units.ts';
import { listQuizAttempts } from '../../../../lib/platform/resources/quiz-attempts.ts';
import {
  readUserAttributes,
  updateUserAttributes,
} from '../../../../lib/platform/resources/user-attributes.ts';
import { readProfileImage, updateProfileImage, whoAmI } from '../../../../lib/platform/resources/users.ts';
import { listVersions } from '../../../../lib/platform/resources/versions.ts';
import { collected, fileOf, localPlatform } from '../local-client.ts';
import { errorOf } from '../servers.ts';

const local = localPlatform();
const service = () => local.as(100).platform;

const inFull = async ({ bytes, contentType, stream }: Download) => ({
  bytes,
  contentType,
  content: await buffer(stream()),
});

describe('the list of operations', () => {
  test('has each under a name of its own', () => {
    const names = operations.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  test('has every operation that is declared anywhere', async () => {
    const folder = join(import.meta.dirname, '../../../../lib/platform');
    const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
    const modules = await Promise.all(files.map((name) => import(join(folder, name))));
    const declared = modules
      .flatMap((module: object) => Object.values(module))
      .filter((each) => typeof each === 'object' && each !== null && 'repeatable' in each && 'path' in each);
    expect(new Set(declared)).toEqual(new Set(operations));
    expect(operations.length).toBeGreaterThan(35);
  });

  test('has no two with the same method and path', () => {
    const calls = operations.map(({ method, component, path }) => `${method} ${component}${path}`);
    expect(new Set(calls).size).toBe(calls.length);
  });

  test('repeats whatever only reads, and names a scope for all but what needs no credential', () => {
    for (const { name, method, repeatable, scope, anonymous } of operations) {
      expect([name, method !== 'GET' || repeatable]).toEqual([name, true]);
      expect([name, scope === undefined]).toEqual([name, anonymous === true]);
    }
  });

  test('is without the deletion of a grade value, which says why when it is asked for', () => {
    expect(operations.some(({ method, path }) => method === 'DELETE' && path.includes('/values/'))).toBe(
      false,
    );
    expect(refusedOperations[0].reason).toContain('405');
    expect(deleteGradeValue).toThrow(
      /cannot be deleted: the platform answers DELETE with 405 Method Not Allowed/,
    );
  });
});

describe('grade objects', () => {
  test.each<NewGradeObject>([
    { Name: 'Final', GradeType: 'Numeric', MaxPoints: 20, CanExceedMaxPoints: true, ShortName: 'F' },
    { Name: 'Excursion', GradeType: 'PassFail' },
    {
      Name: 'Letters',
      GradeType: 'SelectBox',
      GradeSchemeId: 4,
      Description: { Content: 'A to E', Type: 'Text' },
    },
    { Name: 'Remarks', GradeType: 'Text' },
  ])('of type $GradeType are created, found by their id and listed', async (created) => {
    const { Id } = await createGradeObject(service(), 2001, created);
    expect(await readGradeObject(service(), { orgUnitId: 2001, gradeObjectId: Id })).toMatchObject({
      Id,
      Name: created.Name,
      GradeType: created.GradeType,
    });
    const listed = await collected(listGradeObjects(service(), 2001));
    expect(listed.map(({ Name }) => Name)).toContain(created.Name);
    expect(listed.length).toBeGreaterThan(4);
  });

  test('that are not there are undefined', async () => {
    expect(await readGradeObject(service(), { orgUnitId: 2001, gradeObjectId: 1 })).toBeUndefined();
  });
});

test('a grade value is read as it was set, and is undefined before', async () => {
  const ids = { orgUnitId: 2001, gradeObjectId: 5001, userId: 301 };
  expect(await readGradeValue(service(), ids)).toBeUndefined();
  const grade = { GradeObjectType: 1, PointsNumerator: 0 } as const;
  await setGradeValue(service(), ids, { grade, comments: 'Hm', privateComments: '' });
  expect(await readGradeValue(service(), ids)).toMatchObject({
    PointsNumerator: 0,
    PointsDenominator: 10,
    LastModified: expect.any(String),
    Comments: { Text: 'Hm' },
  });
});

describe('org units', () => {
  test('are read by id, and undefined where there is none', async () => {
    expect(await readOrgUnit(service(), 2001)).toMatchObject({
      Identifier: '2001',
      Code: 'BIO-101',
      Type: { Id: 3 },
    });
    expect(await readOrgUnit(service(), 999)).toBeUndefined();
  });

  test('are listed page by page, all or of one type', async () => {
    await local.control('POST settings', { pageSize: 2 });
    const all = await collected(listOrgUnits(service()));
    expect(all).toHaveLength(6);
    const courses = await collected(listOrgUnits(service(), { type: courseOffering }));
    expect(courses.map(({ Identifier }) => Identifier)).toEqual(['2001', '2002']);
  });

  test('are attached to a further parent and detached from the old, each as often as one likes', async () => {
    const parentsOf = async () =>
      (await local.rows('orgUnits')).find(({ orgUnitId }) => orgUnitId === 3001)?.parents;
    const attached = { orgUnitId: 3001, parentOrgUnitId: 2002 };
    await addParent(service(), attached);
    await addParent(service(), attached);
    expect(await parentsOf()).toEqual([2001, 2002]);
    const detached = { orgUnitId: 3001, parentOrgUnitId: 2001 };
    expect(await removeParent(service(), detached)).toBe(true);
    expect(await removeParent(service(), detached)).toBe(false);
    expect(await parentsOf()).toEqual([2002]);
  });
});

describe('enrollments', () => {
  test('are made, listed page by page and taken back', async () => {
    await local.control('POST settings', { pageSize: 1 });
    await createEnrollment(service(), { orgUnitId: 3001, userId: 301, roleId: 110 });
    const mine = await collected(listMyEnrollments(local.as(301).platform));
    expect(mine).toMatchObject([{ OrgUnit: { Id: 2001 } }, { OrgUnit: { Id: 3001 } }]);
    const enrollment = { orgUnitId: 3001, userId: 301 };
    expect(await removeEnrollment(service(), enrollment)).toMatchObject({ OrgUnitId: 3001, RoleId: 110 });
    await expect(removeEnrollment(service(), enrollment)).rejects.toMatchObject({ refused: { status: 404 } });
  });
});

describe('the classlist', () => {
  test('has names and addresses where users show them, and null where they do not', async () => {
    const users = await readClasslist(service(), 2001);
    expect(users).toHaveLength(3);
    expect(users.find(({ Identifier }) => Identifier === '301')).toMatchObject({
      DisplayName: 'Learner, Lena',
      Username: 'lena.learner',
    });
    expect(users.find(({ Identifier }) => Identifier === '302')).toMatchObject({
      Username: null,
      Email: null,
    });
  });

  test('is whole even where it is asked for at once and comes in pages', async () => {
    await local.control('POST settings', { pageSize: 1 });
    const Next = `${local.url()}/svc/api/le/1.82/2001/classlist/paged/`;
    const headers = { 'Content-Type': 'application/json' };
    const then = { status: 200, headers, body: { Objects: [], Next } };
    await local.control('POST faults', { match: { path: '/classlist/$' }, then });
    expect(await readClasslist(service(), 2001)).toHaveLength(3);
  });

  test('is the same page by page', async () => {
    await local.control('POST settings', { pageSize: 1 });
    expect(await collected(listClasslist(service(), 2001))).toEqual(await readClasslist(service(), 2001));
    const pages = (await local.requests()).filter(({ path }) => String(path).endsWith('/classlist/paged/'));
    expect(pages).toHaveLength(3);
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

test('groups come with their members', async () => {
  const groups = await collected(listGroups(service(), { orgUnitId: 2001, groupCategoryId: 9101 }));
  expect(groups).toMatchObject([
    { Name: 'Bench 1', Enrollments: [301, 302] },
    { Name: 'Bench 2', Enrollments: [] },
  ]);
});

test('quiz attempts are listed page by page; one that is not scored yet has no score', async () => {
  await local.control('POST settings', { pageSize: 2 });
  const attempts = await collected(listQuizAttempts(service(), { orgUnitId: 2001, quizId: 9201 }));
  expect(attempts.map(({ AttemptId, Score }) => [AttemptId, Score])).toEqual([
    [9211, 7],
    [9212, null],
    [9213, 0],
  ]);
});

describe('the file of a topic', () => {
  const ids = { orgUnitId: 2001, topicId: 8101 };

  test('is read with its size and type', async () => {
    expect(await readTopicFile(service(), ids, inFull)).toEqual({
      bytes: 16,
      contentType: 'text/plain',
      content: Buffer.from('Read all of it.\n'),
    });
  });

  test('is replaced', async () => {
    const openFile = async () =>
      fileOf('<h1>New</h1>', { fileName: 'neu "1".html', contentType: 'text/html' });
    await replaceTopicFile(service(), ids, openFile);
    // A web page is a file like any other here.
    expect(await readTopicFile(service(), ids, inFull)).toMatchObject({
      contentType: 'text/html',
      content: Buffer.from('<h1>New</h1>'),
    });
    expect(await local.rows('topics')).toContainEqual(
      expect.objectContaining({ topicId: 8101, file: expect.objectContaining({ name: 'neu "1".html' }) }),
    );
  });
});

describe('a topic is added to a module', () => {
  const ids = { orgUnitId: 2001, moduleId: 8001 };

  test('that leads to an address', async () => {
    const times = { StartDate: '2026-03-01T08:00:00+01:00', DueDate: null };
    await addLinkTopic(service(), ids, { Title: 'Pond', Url: 'https://example.edu/pond', ...times });
    expect(await local.rows('topics')).toContainEqual(
      expect.objectContaining({
        moduleId: 8001,
        title: 'Pond',
        topicType: 3,
        url: 'https://example.edu/pond',
        startDate: '2026-03-01T07:00:00.000Z',
      }),
    );
  });

  test('that is a file', async () => {
    const openFile = async () => fileOf('notes', { fileName: 'notes.txt' });
    await addFileTopic(service(), ids, {
      topic: { Title: 'Notes', IsHidden: true, Url: '/content/enforced/2001-BIO-101/notes.txt' },
      openFile,
    });
    expect(await local.rows('topics')).toContainEqual(
      expect.objectContaining({
        title: 'Notes',
        topicType: 1,
        isHidden: true,
        file: expect.objectContaining({ name: 'notes.txt', bytes: 5 }),
      }),
    );
  });
});

describe('images', () => {
  test('of a course are read with their size and type', async () => {
    const image = await readCourseImage(service(), 2001, inFull);
    expect(image).toMatchObject({ contentType: 'image/png', bytes: image.content.length });
    expect(image.content.subarray(1, 4).toString()).toBe('PNG');
  });

  test('of a user are read as they were put', async () => {
    const openImage = async () => fileOf('not really', { fileName: 'me.png', contentType: 'image/png' });
    await updateProfileImage(service(), 301, openImage);
    expect(await readProfileImage(service(), 301, inFull)).toMatchObject({
      contentType: 'image/png',
      content: Buffer.from('not really'),
    });
  });
});

test('an assessment is read by what it is about', async () => {
  const query = {
    assessmentType: 'Rubric',
    objectType: 'Dropbox',
    objectId: 7001,
    rubricId: 9301,
    userId: 301,
  };
  expect(await readAssessment(service(), 2001, query)).toMatchObject({ OverallScore: 8 });
});

const link = {
  Title: 'Virtual lab',
  Url: 'https://lab.example.edu/',
  Description: null,
  Key: 'the-key',
  PlainSecret: 'psst',
  IsVisible: true,
  SignMessage: true,
  SignWithTc: false,
  ...{ SendTcInfo: true, SendContextInfo: true, SendUserId: false, SendUserName: false },
  ...{ SendUserEmail: false, SendLinkTitle: true, SendLinkDescription: false },
  ...{ SendVendorUserName: false, SendVendorOrgDefinedId: true, SendVendorRoleId: false },
  UseToolProviderSecuritySettings: false,
  CustomParameters: [{ Name: 'a', Value: 'b' }],
};

describe('an LTI link', () => {
  test('is replaced as a whole', async () => {
    await updateLtiLink(service(), 9001, link);
    expect(await local.rows('ltiLinks')).toMatchObject([{ linkId: 9001, fields: link, writes: 1 }]);
  });

  test('keeps its secret to itself, even where the platform repeats it', async () => {
    const secret = 'a "secret" & more';
    const detail = `Provided JSON is invalid: ${JSON.stringify({ PlainSecret: secret })} ${encodeURIComponent(secret)}`;
    const then = { status: 400, body: { title: 'JSON Binding Error', detail, status: 400 } };
    await local.control('POST faults', { match: { path: '/lti/link/' }, then });
    const error = await errorOf(updateLtiLink(service(), 9001, { ...link, PlainSecret: secret }));
    expect(error.refused?.detail).toContain('Provided JSON is invalid');
    expect(JSON.stringify(error)).not.toMatch(/secret"? ?(&|\\| &|%)/);
    expect(error.refused?.detail).not.toContain('more');
  });
});

describe('a dropbox folder', () => {
  const ids = { orgUnitId: 2001, folderId: 7001 };

  test('is linked to a grade item and keeps its other settings', async () => {
    const customInstructions = { content: '<p>Be <b>brief</b></p>', type: 'Html' };
    await local.control('POST seed', { folders: [{ ...ids, name: 'Report', customInstructions }] });
    await linkGradeItem(service(), { ...ids, gradeObjectId: 5001 });
    expect(await local.rows('folders')).toContainEqual({
      ...ids,
      name: 'Report',
      gradeItemId: 5001,
      customInstructions,
    });
    expect(await readDropboxFolder(service(), ids)).toMatchObject({ Id: 7001, GradeItemId: 5001 });
  });

  test('is replaced as a whole', async () => {
    await linkGradeItem(service(), { ...ids, gradeObjectId: 5001 });
    await updateDropboxFolder(service(), ids, { Name: 'Renamed', GradeItemId: null });
    expect(await readDropboxFolder(service(), ids)).toMatchObject({ Name: 'Renamed', GradeItemId: null });
  });

  test('that is linked already is left alone', async () => {
    await linkGradeItem(service(), { ...ids, gradeObjectId: 5001 });
    await linkGradeItem(service(), { ...ids, gradeObjectId: 5001 });
    expect((await local.requests()).filter(({ method }) => method === 'PUT')).toHaveLength(1);
  });
});

test('a news item is created with its attachments', async () => {
  const item = {
    Title: 'Exam',
    Body: { Text: 'On Monday', Html: null },
    StartDate: '2026-03-01T08:00:00Z',
    EndDate: null,
    IsGlobal: false,
    IsPublished: true,
    ShowOnlyInCourseOfferings: false,
  };
  const openAttachments = async () => [fileOf('plan', { fileName: 'plan.txt' }), fileOf('')];
  await createNewsItem(service(), 2001, { item, openAttachments });
  expect(await local.rows('newsItems')).toMatchObject([
    {
      orgUnitId: 2001,
      fields: { ...item, StartDate: '2026-03-01T08:00:00.000Z' },
      attachments: [
        { name: 'plan.txt', bytes: 4 },
        { name: 'file.txt', bytes: 0 },
      ],
    },
  ]);
});

test('a demographics field is created of one of the data types that are listed', async () => {
  await local.control('POST settings', { demographicsFields: 'create' });
  const [type] = await collected(listDemographicsDataTypes(service()));
  const field = { Name: 'First generation', Description: 'Of a family', DataTypeId: type!.DataTypeId };
  expect(await createDemographicsField(service(), field)).toMatchObject({
    ...field,
    FieldId: expect.any(Number),
  });
});

test('extended attributes of a user are read and put', async () => {
  expect(await readUserAttributes(service(), 301)).toEqual([
    { AttributeId: 'pronouns', Value: ['she', 'her'] },
  ]);
  const given = [{ AttributeId: 'cohort', Value: ['2026'] }];
  await updateUserAttributes(service(), 301, given);
  expect(await readUserAttributes(service(), 301)).toEqual(given);
});

test('a configuration variable is read with its definition, and set', async () => {
  expect(await readConfigurationVariable(service(), 'grades.decimals')).toMatchObject({
    ConfigId: 'grades.decimals',
    DefaultValue: '2',
  });
  await setConfigurationValue(service(), 'grades.decimals', '3');
  expect(await readConfigurationValues(service(), 'grades.decimals')).toEqual({ OrgValue: '3' });
});

test('an ePortfolio object is created for the user who signs, with its geotag metadata', async () => {
  const object = { Name: 'Pond', Geotag: { Latitude: 43.47, Longitude: null } };
  await createEPortfolioObject(service(), object);
  expect((await local.rows('ePortfolioObjects')).at(-1)).toMatchObject({ userId: 100, object });
});

test('an ePortfolio object goes back with the geotag metadata that it came with', async () => {
  const object = await readEPortfolioObject(service(), 9501);
  expect(object.Geotag).toEqual({ Latitude: 43.47, Longitude: -80.54, Label: 'Pond' });
  await updateEPortfolioObject(service(), 9501, { ...object, Name: 'Notes' });
  expect(await readEPortfolioObject(service(), 9501)).toEqual({ ...object, Name: 'Notes' });
});

test('versions are listed without any credential', async () => {
  const versions = await listVersions(local.as({ ...(await nobody()) }).platform);
  expect(versions.map(({ ProductCode }) => ProductCode)).toContain('lp');
  expect(await local.requests()).toMatchObject([{ path: '/svc/api/versions/', userId: null, status: 200 }]);
});

const nobody = async () => ({ type: 'id-key' as const, appId: 'x', appKey: 'x', userId: 'x', userKey: 'x' });

test('everyone can ask who they are', async () => {
  expect(await whoAmI(local.as(301).platform)).toMatchObject({
    Identifier: '301',
    FirstName: 'Lena',
    LastName: 'Learner',
    UniqueName: 'lena.learner',
  });
});

describe('a call', () => {
  test('whose required query lacks a name is not sent, and the name is told', async () => {
    const query = { assessmentType: 'Rubric', objectType: '', objectId: 1, userId: 301 };
    await expect(readAssessment(service(), 2001, query as never)).rejects.toThrow(
      'read-assessment: lacks the query parameter objectType, rubricId',
    );
    expect(await local.requests()).toEqual([]);
  });

  test('of what was not declared is not sent', async () => {
    const { platform } = local.as(100, { operations: [] });
    await expect(whoAmI(platform)).rejects.toThrow(TypeError);
    await expect(readTopicFile(platform, { orgUnitId: 2001, topicId: 8101 }, inFull)).rejects.toThrow(
      'read-topic-file is not among the operations that the integration declares',
    );
    expect(await local.requests()).toEqual([]);
  });
});
