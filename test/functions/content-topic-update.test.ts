import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/content-topic-update.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const topics = () => relay.rows('topics');
const added = async () => (await topics()).slice(2);
const topic = async (id: number) => (await topics()).find(({ topicId }) => topicId === id);
const notes = Buffer.from('Read §1 to §4.\r\n--boundary--\r\n');
const notesUri = () => relay.putFile('content/notes.txt', notes);
const fileOf = (uri: string, name = 'notes.txt') => ({ uri, name, contentType: 'text/plain' });
const stored = (bytes: Buffer, name = 'notes.txt') => ({
  name,
  contentType: 'text/plain',
  bytes: bytes.length,
  sha256: hash('sha256', bytes),
});
const module = { action: 'add', orgUnitId: 2001, moduleId: 8001 };
const link = {
  ...module,
  topic: { title: 'Lab safety', url: 'https://lab.example.edu/safety?lang=en#gloves' },
};
const replacing = { action: 'replace-file', orgUnitId: 2001, topicId: 8101 };
const replacement = async () => ({ ...replacing, file: fileOf(await notesUri()) });

describe('a new topic', () => {
  test('that is a link is added to its module, with what its message leaves open filled in', async () => {
    await relay.isDone(link, ['POST 200']);
    expect(await added()).toEqual([
      {
        topicId: expect.any(Number),
        orgUnitId: 2001,
        moduleId: 8001,
        topicType: 3,
        writes: 1,
        title: 'Lab safety',
        shortTitle: '',
        url: link.topic.url,
        file: null,
        isHidden: false,
        isLocked: false,
        startDate: null,
        endDate: null,
        dueDate: null,
      },
    ]);
  });

  test('has all that its message tells', async () => {
    const times = { startDate: '2026-03-01T09:00:00+01:00', endDate: '2026-04-01T00:00:00Z' };
    const more = {
      shortTitle: 'Safety',
      isHidden: true,
      isLocked: true,
      ...times,
      dueDate: '2026-03-31T00:00:00Z',
    };
    await relay.deliver({ ...link, topic: { ...link.topic, ...more } });
    expect(await added()).toMatchObject([
      {
        shortTitle: 'Safety',
        isHidden: true,
        isLocked: true,
        startDate: '2026-03-01T08:00:00.000Z',
        endDate: '2026-04-01T00:00:00.000Z',
        dueDate: '2026-03-31T00:00:00.000Z',
      },
    ]);
  });

  test('can lead to a place on the platform itself', async () => {
    await relay.deliver({ ...link, topic: { ...link.topic, url: '/svc/home/2001' } });
    expect(await added()).toMatchObject([{ url: '/svc/home/2001' }]);
  });

  test.each([
    ['notes.txt', 'notes.txt'],
    ['Prüfung 🎓.txt', 'Prüfung 🎓.txt'],
    ['../../2002-HIS-210/a?b#c%2Fd.txt', '..-..-2002-HIS-210-a-b-c-2Fd.txt'],
    ['..', 'file'],
  ])('that is the file %j goes to the files of its org unit, under its code', async (name, file) => {
    await relay.deliver({ ...module, topic: { title: 'Notes', file: fileOf(await notesUri(), name) } });
    const url = `/content/enforced/2001-BIO-101/${file}`;
    expect(await added()).toMatchObject([{ title: 'Notes', topicType: 1, url, file: stored(notes, name) }]);
  });

  test('that is a file goes where its message says, and nothing is asked', async () => {
    const fileUrl = '/content/enforced/2001-BIO-101/week 1/notes.txt';
    const topic = { title: 'Notes', file: fileOf(await notesUri()), fileUrl };
    expect(await relay.deliver({ ...module, topic })).toMatchObject({ requests: ['POST 200'] });
    expect(await added()).toMatchObject([{ url: fileUrl, file: stored(notes) }]);
  });

  test('that is a file of an org unit without a code is left to whoever knows the place', async () => {
    await relay.controls().seed({
      orgUnits: [{ orgUnitId: 2001, name: 'Introduction to Biology', code: '', typeId: 3, parents: [1101] }],
    });
    const topic = { title: 'Notes', file: fileOf(await notesUri()) };
    expect(parked(await relay.deliver({ ...module, topic }))).toMatchObject({
      requests: ['GET 200'],
      kind: 'rejected',
      message: 'The platform shows no code for org unit 2001',
      remedy: expect.stringContaining('Set data.topic.fileUrl to /content/enforced/2001-<code>/<file>'),
    });
    expect(await added()).toEqual([]);
  });

  test('that is a file for another place than the platform has is refused by it, without a word', async () => {
    const fileUrl = '/content/enforced/2001-BIO-102/notes.txt';
    const topic = { title: 'Notes', file: fileOf(await notesUri()), fileUrl };
    expect(parked(await relay.deliver({ ...module, topic }))).toMatchObject({
      requests: ['POST 400'],
      kind: 'rejected',
      status: 400,
    });
    expect(await added()).toEqual([]);
  });
});

describe('the file of a topic', () => {
  test('is replaced', async () => {
    const delivery = await relay.deliver(await replacement());
    expect(delivery).toMatchObject({ outcomes: ['done'], requests: ['PUT 200'], letters: [] });
    expect(await topic(8101)).toMatchObject({ title: 'Syllabus', file: stored(notes), writes: 1 });
    expect(await added()).toEqual([]);
  });

  test('is nothing to a topic that is added by an older message', async () => {
    const older = relay.event(link);
    await relay.deliver(await replacement());
    await relay.isDone(older, ['POST 200']);
  });
});

describe('what is no topic is parked, and nothing is sent', () => {
  const file = fileOf('s3://sis-relay-uploads/content/none.txt');
  const { title } = link.topic;
  test.each<[string, object, RegExp]>([
    ['neither link nor file', { ...module, topic: { title } }, /data\.topic: must have either url or file/],
    ...[
      '/content/enforced/2002-HIS-210/a.txt',
      '/content/enforced/2001-BIO-101/',
      '/content/enforced/2001-BIO-101/../../a.txt',
      '/content/enforced/2001-BIO-101/..\\..\\2002-HIS-210\\a.txt',
      '/content/enforced/2001-BIO-101/%2e%2E/2002-HIS-210/a.txt',
      '/content/enforced/2001-BIO-101/%252e%252e/a.txt',
      '/content/enforced/2001-BIO-101/..%2f2002-HIS-210/a.txt',
      '/content/enforced/2001-BIO-101/..%5c2002-HIS-210/a.txt',
      '/content/enforced/2001-BIO-101/a\nb.txt',
      'https://lab.example.edu/a.txt',
    ].map((fileUrl): [string, object, RegExp] => [
      `a file at ${fileUrl}`,
      { ...module, topic: { title, file, fileUrl } },
      /data\.topic\.fileUrl: must be a path such as \/content\/enforced\/<orgUnitId>-<code of the org unit>\/<file>/,
    ]),
    [
      'a file’s place without a file',
      { ...module, topic: { title, url: '/a', fileUrl: '/content/enforced/2001-BIO-101/a.txt' } },
      /data\.topic\.fileUrl: must be given together with a file/,
    ],
    ['both', { ...module, topic: { title, url: '/a', file } }, /data\.topic: must have either url or file/],
    [
      'a link that runs',
      { ...module, topic: { title, url: 'javascript:alert(1)' } },
      /data\.topic\.url: must begin with https:\/\/, http:\/\/ or \//,
    ],
  ])('%s', (_, data, says) => {
    expect(relay.problemOf(data)).toMatch(says);
  });
});
