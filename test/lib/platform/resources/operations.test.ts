import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { Download } from '../../../../lib/platform/client/download.ts';
import { readAssessment } from '../../../../lib/platform/resources/assessments.ts';
import { readClasslist } from '../../../../lib/platform/resources/classlists.ts';
import {
  readConfigurationValues,
  readConfigurationVariable,
  setConfigurationValue,
} from '../../../../lib/platform/resources/configuration-variables.ts';
import { readTopicFile, replaceTopicFile } from '../../../../lib/platform/resources/content.ts';
import {
  createDemographicsField,
  listDemographicsDataTypes,
} from '../../../../lib/platform/resources/demographics.ts';
import {
  createEPortfolioObject,
  readEPortfolioObject,
  updateEPortfolioObject,
} from '../../../../lib/platform/resources/e-portfolio.ts';
import { createEnrollment, listMyEnrollments } from '../../../../lib/platform/resources/enrollments.ts';
import { deleteGradeValue } from '../../../../lib/platform/resources/grades.ts';
import { operations } from '../../../../lib/platform/resources/operations.ts';
import {
  readUserAttributes,
  updateUserAttributes,
} from '../../../../lib/platform/resources/user-attributes.ts';
import { readProfileImage, updateProfileImage, whoAmI } from '../../../../lib/platform/resources/users.ts';
import { listVersions } from '../../../../lib/platform/resources/versions.ts';
import { collected, fileOf, localPlatform } from '../local-client.ts';

const local = localPlatform();
const service = () => local.as(100).platform;

const inFull = async ({ bytes, contentType, stream }: Download) => ({
  bytes,
  contentType,
  content: await text(stream()),
});

describe('the list of operations', () => {
  test('has every operation that is declared anywhere', async () => {
    const folder = join(import.meta.dirname, '../../../../lib/platform');
    const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
    const modules = await Promise.all(files.map((name) => import(join(folder, name))));
    const declared = modules
      .flatMap((module: object) => Object.values(module))
      .filter((each) => typeof each === 'object' && each !== null && 'repeatable' in each && 'path' in each);
    expect(new Set(declared)).toEqual(new Set(operations));
    expect(operations.length).toBeGreaterThan(35);
    expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
  });

  test('repeats whatever only reads, and names a scope for all but what needs no credential', () => {
    for (const { name, method, repeatable, scope, anonymous } of operations) {
      expect([name, method !== 'GET' || repeatable]).toEqual([name, true]);
      expect([name, scope === undefined]).toEqual([name, anonymous === true]);
    }
  });

  test('has no deletion of a grade value: who asks for it is told why', () => {
    expect(deleteGradeValue).toThrow(
      /cannot be deleted: the platform answers DELETE with 405 Method Not Allowed/,
    );
  });
});

test('my enrollments are read page by page', async () => {
  await local.control('POST settings', { pageSize: 1 });
  await createEnrollment(service(), { orgUnitId: 3001, userId: 301, roleId: 110 });
  const mine = await collected(listMyEnrollments(local.as(301).platform));
  expect(mine).toMatchObject([{ OrgUnit: { Id: 2001 } }, { OrgUnit: { Id: 3001 } }]);
});

test('a classlist that is asked for at once and comes in pages is whole', async () => {
  await local.control('POST settings', { pageSize: 1 });
  const Next = `${local.url()}/svc/api/le/1.82/2001/classlist/paged/`;
  const headers = { 'Content-Type': 'application/json' };
  const then = { status: 200, headers, body: { Objects: [], Next } };
  await local.control('POST faults', { match: { path: '/classlist/$' }, then });
  expect(await readClasslist(service(), 2001)).toHaveLength(3);
});

test('the file of a topic is read as it was put, with its size and type', async () => {
  const ids = { orgUnitId: 2001, topicId: 8101 };
  const [content, contentType] = ['<h1>New</h1>', 'text/html'];
  await replaceTopicFile(service(), ids, async () =>
    fileOf(content, { fileName: 'neu "1".html', contentType }),
  );
  expect(await readTopicFile(service(), ids, inFull)).toEqual({ bytes: 12, contentType, content });
});

test('the image of a user is read as it was put', async () => {
  const openImage = async () => fileOf('not really', { fileName: 'me.png', contentType: 'image/png' });
  await updateProfileImage(service(), 301, openImage);
  const image = await readProfileImage(service(), 301, inFull);
  expect(image).toMatchObject({ contentType: 'image/png', content: 'not really' });
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

test('an ePortfolio object is created by its user, and goes back with its geotag metadata', async () => {
  const created = { Name: 'Pond', Geotag: { Latitude: 43.47, Longitude: null } };
  await createEPortfolioObject(service(), created);
  expect((await local.rows('ePortfolioObjects')).at(-1)).toMatchObject({ userId: 100, object: created });
  const object = await readEPortfolioObject(service(), 9501);
  expect(object.Geotag).toEqual({ Latitude: 43.47, Longitude: -80.54, Label: 'Pond' });
  await updateEPortfolioObject(service(), 9501, { ...object, Name: 'Notes' });
  expect(await readEPortfolioObject(service(), 9501)).toEqual({ ...object, Name: 'Notes' });
});

test('versions are listed without any credential', async () => {
  const nobody = { type: 'id-key', appId: 'x', appKey: 'x', userId: 'x', userKey: 'x' } as const;
  const versions = await listVersions(local.as(nobody).platform);
  expect(versions.map(({ ProductCode }) => ProductCode)).toContain('lp');
  expect(await local.requests()).toMatchObject([{ path: '/svc/api/versions/', userId: null, status: 200 }]);
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
