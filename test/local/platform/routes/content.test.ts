import { describe, expect, test } from 'vitest';
import { filePart, jsonOf, jsonPart, mixed, mixedType, platformForTests } from '../fixture.ts';

const platform = platformForTests();
const filePath = '/svc/api/le/1.82/2001/content/topics/8101/file';
const modulePath = '/svc/api/le/1.82/2001/content/modules/8001/structure/';
const link = {
  Title: 'Reading',
  ShortTitle: 'r',
  Type: 1,
  TopicType: 3,
  Url: 'https://example.edu/',
  IsHidden: false,
};
const fileTopic = { ...link, TopicType: 1, Url: '/content/enforced/2001-BIO-101/notes.txt' };

function form(name: string, bytes = 'new bytes') {
  const body = new FormData();
  body.append(name, new Blob([bytes], { type: 'text/plain' }), 'new.txt');
  return body;
}

describe('a topic’s file', () => {
  test('is read', async () => {
    const response = await platform.as(301)('GET', filePath);
    expect(response.headers.get('content-type')).toBe('text/plain');
    expect(await response.text()).toBe('Read all of it.\n');
  });

  test('is replaced and read back', async () => {
    expect((await platform.as(200)('PUT', filePath, { body: form('file') })).status).toBe(200);
    expect(await (await platform.as(301)('GET', filePath)).text()).toBe('new bytes');
    expect((await platform.state('topics'))[0]).toMatchObject({
      file: { name: 'new.txt', bytes: 9 },
      writes: 1,
    });
  });

  test.each([
    [400, 'another field', filePath, 'other'],
    [404, 'an unknown topic', filePath.replace('8101', '8999'), 'file'],
    [404, 'a link topic', filePath.replace('8101', '8102'), 'file'],
  ])('%i for %s', async (status, _, path, name) => {
    expect((await platform.as(200)('PUT', path, { body: form(name) })).status).toBe(status);
  });

  test('a learner may not replace it', async () => {
    expect((await platform.as(301)('PUT', filePath, { body: form('file') })).status).toBe(403);
  });
});

describe('a new topic', () => {
  const addFile = (...parts: string[]) =>
    platform.as(200)('POST', modulePath, { body: mixed(...parts), headers: { 'Content-Type': mixedType } });

  test('is a link', async () => {
    const created = await jsonOf(await platform.as(200)('POST', modulePath, { json: link }));
    expect(created).toMatchObject({ ...link, Id: expect.any(Number) });
    expect((await platform.state('topics')).at(-1)).toMatchObject({
      moduleId: 8001,
      url: link.Url,
      file: null,
    });
  });

  test('is a file that can be read', async () => {
    const { Id } = await jsonOf(await addFile(jsonPart(fileTopic), filePart('notes.txt', 'my notes')));
    const read = await platform.as(301)('GET', filePath.replace('8101', String(Id)));
    expect(await read.text()).toBe('my notes');
  });

  test.each([
    null,
    '',
    'https://example.edu/notes.txt',
    '/content/enforced/2001-BIO-101/',
    '/content/enforced/2002-HIS-210/notes.txt',
    '/content/enforced/2001-OTHER/notes.txt',
    '/content/2001-BIO-101/notes.txt',
  ])('is no file at %s: 400 without a word', async (Url) => {
    const response = await addFile(jsonPart({ ...fileTopic, Url }), filePart('notes.txt'));
    expect([response.status, await response.text()]).toEqual([400, '{"Errors":[]}']);
    expect(await platform.state('topics')).toHaveLength(2);
  });

  test.each([
    ['no title', { ...link, Title: undefined }],
    ['no short title', { ...link, ShortTitle: undefined }],
    ['a module', { ...link, Type: 0 }],
    ['a link without address', { ...link, Url: null }],
    ['a file topic without a file', fileTopic],
    ['a date without milliseconds', { ...link, StartDate: '2026-01-01T00:00:00Z' }],
  ])('a JSON Binding Error for %s', async (_, json) => {
    const response = await platform.as(200)('POST', modulePath, { json });
    expect([response.status, (await jsonOf(response)).title]).toEqual([400, 'JSON Binding Error']);
  });

  test.each([
    ['a link with a file', [jsonPart(link), filePart('a')]],
    ['no file', [jsonPart(fileTopic)]],
    ['two files', [jsonPart(fileTopic), filePart('a'), filePart('b')]],
  ])('400 for %s', async (_, parts) => {
    expect((await addFile(...parts)).status).toBe(400);
    expect(await platform.state('topics')).toHaveLength(2);
  });

  test('404 for an unknown module', async () => {
    const path = modulePath.replace('8001', '8999');
    expect((await platform.as(200)('POST', path, { json: link })).status).toBe(404);
  });
});

describe('a news item', () => {
  const path = '/svc/api/le/1.82/2001/news/';
  const item = {
    ...{
      Title: 'Welcome',
      Body: { Text: 'hello', Html: null },
      StartDate: '2026-09-01T08:00:00.000Z',
      EndDate: null,
    },
    ...{ IsGlobal: false, IsPublished: true, ShowOnlyInCourseOfferings: false },
  };
  const post = (...parts: string[]) =>
    platform.as(200)('POST', path, { body: mixed(...parts), headers: { 'Content-Type': mixedType } });

  test('is created, with and without attachments', async () => {
    const created = await jsonOf(await post(jsonPart(item)));
    expect(created).toMatchObject({ Id: expect.any(Number), ...item, Attachments: [] });
    expect((await post(jsonPart(item), filePart('a.txt'), filePart('b.txt'))).status).toBe(200);
    expect(await platform.state('newsItems')).toMatchObject([
      { orgUnitId: 2001, fields: item, attachments: [] },
      { attachments: [{ name: 'a.txt', bytes: 5 }, { name: 'b.txt' }] },
    ]);
  });

  test.each([
    ['a body in the form of grades', { ...item, Body: { Content: 'hello', Type: 'Text' } }],
    ['a date without milliseconds', { ...item, StartDate: '2026-09-01T08:00:00Z' }],
    ['no start', { ...item, StartDate: undefined }],
    ['a missing flag', { ...item, IsGlobal: undefined }],
  ])('a JSON Binding Error for %s', async (_, json) => {
    const response = await post(jsonPart(json));
    expect([response.status, (await jsonOf(response)).title]).toEqual([400, 'JSON Binding Error']);
  });

  test('400 for plain JSON, 403 for a learner', async () => {
    expect((await platform.as(200)('POST', path, { json: item })).status).toBe(400);
    expect((await platform.as(301)('POST', path, { json: item })).status).toBe(403);
  });
});
