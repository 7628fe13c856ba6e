import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/content-topic-update.ts';
import type { Effect } from '../local/controls.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const topics = () => relay.rows('topics');
const added = async () => (await topics()).slice(2);
const topic = async (id: number) => (await topics()).find(({ topicId }) => topicId === id);
const notes = Buffer.from('Read §1 to §4.\r\n--boundary--\r\n');
const notesUri = () => relay.putFile('content/notes.txt', notes);
const fileOf = (uri: string, name = 'notes.txt') => ({ uri, name, contentType: 'text/plain' });
const stored = (bytes: Buffer, name = 'notes.txt') => ({
  ...{ name, contentType: 'text/plain', bytes: bytes.length },
  sha256: createHash('sha256').update(bytes).digest('hex'),
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
    expect(await relay.deliver(link)).toMatchObject({
      outcomes: ['done'],
      requests: ['POST 200'],
      letters: [],
    });
    expect(await added()).toEqual([
      {
        ...{ topicId: expect.any(Number), orgUnitId: 2001, moduleId: 8001, topicType: 3, writes: 1 },
        ...{ title: 'Lab safety', shortTitle: '', url: link.topic.url, file: null },
        ...{ isHidden: false, isLocked: false, startDate: null, endDate: null, dueDate: null },
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
        ...{ shortTitle: 'Safety', isHidden: true, isLocked: true, startDate: '2026-03-01T08:00:00.000Z' },
        ...{ endDate: '2026-04-01T00:00:00.000Z', dueDate: '2026-03-31T00:00:00.000Z' },
      },
    ]);
  });

  test('can lead to a place on the platform itself', async () => {
    await relay.deliver({ ...link, topic: { ...link.topic, url: '/svc/home/2001' } });
    expect(await added()).toMatchObject([{ url: '/svc/home/2001' }]);
  });

  test.each(['notes.txt', 'a"; filename="b.txt', 'a\r\nX-Evil: yes\r\n\r\n.txt', 'Prüfung 🎓.txt'])(
    'that is a file is added under the name %j',
    async (name) => {
      const file = fileOf(await notesUri(), name);
      const delivery = await relay.deliver({ ...module, topic: { title: 'Notes', file } });
      expect(delivery).toMatchObject({ outcomes: ['done'], requests: ['GET 200', 'POST 200'], letters: [] });
      expect(await added()).toMatchObject([{ title: 'Notes', topicType: 1, file: stored(notes, name) }]);
    },
  );

  test.each([
    ['notes.txt', 'notes.txt'],
    ['Prüfung 🎓.txt', 'Prüfung 🎓.txt'],
    ['../../2002-HIS-210/a?b#c%2Fd.txt', '..-..-2002-HIS-210-a-b-c-2Fd.txt'],
    ['..', 'file'],
  ])('that is the file %j goes to the files of its org unit, under its code', async (name, file) => {
    await relay.deliver({ ...module, topic: { title: 'Notes', file: fileOf(await notesUri(), name) } });
    expect(await added()).toMatchObject([{ url: `/content/enforced/2001-BIO-101/${file}` }]);
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
      ...{ requests: ['GET 200'], kind: 'rejected', message: 'The platform shows no code for org unit 2001' },
      remedy: expect.stringContaining('Set data.topic.fileUrl to /content/enforced/2001-<code>/<file>'),
    });
    expect(await added()).toEqual([]);
  });

  test('that is a file for another place than the platform has is refused by it, without a word', async () => {
    const fileUrl = '/content/enforced/2001-BIO-102/notes.txt';
    const topic = { title: 'Notes', file: fileOf(await notesUri()), fileUrl };
    expect(parked(await relay.deliver({ ...module, topic }))).toMatchObject({
      ...{ requests: ['POST 400'], kind: 'rejected', status: 400 },
    });
    expect(await added()).toEqual([]);
  });

  test('that is delivered twice is added once; an older one is added too', async () => {
    const older = relay.event({ ...link, topic: { ...link.topic, title: 'Older' } });
    const body = relay.event(link);
    await relay.deliverBody(body);
    expect(await relay.deliverBody(body)).toMatchObject({ outcomes: ['duplicate'], requests: [] });
    expect(await relay.deliverBody(older)).toMatchObject({ outcomes: ['done'] });
    expect(await added()).toMatchObject([{ title: 'Lab safety' }, { title: 'Older' }]);
  });

  test.each<[string, Effect, number]>([
    ['the connection is cut after the effect', { reset: 'after' }, 1],
    ['503, which is a proxy’s', { status: 503, when: 'after' }, 1],
    ['504', { status: 504 }, 0],
    ['errors with status 200', { status: 200, body: { Errors: [{ Message: 'No' }] } }, 0],
  ])('without an answer is left to a person, as nothing can be read back: %s', async (_, effect, held) => {
    await relay.controls().fault(effect);
    const delivery = await relay.deliver(link);
    expect(parked(delivery)).toMatchObject({
      kind: 'uncertain',
      remedy: expect.stringMatching(
        /^On the platform, look for a topic with this message's title in module 8001 of org unit 2001 since .* If there is none, replay/,
      ),
    });
    expect(delivery.requests).toHaveLength(1);
    expect(await added()).toHaveLength(held);
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
    expect(await relay.deliverBody(older)).toMatchObject({ outcomes: ['done'], requests: ['POST 200'] });
  });

  test.each<[string, Effect, number]>([
    ['no answer to what was done', { reset: 'after' }, 2],
    ['no answer to what was not done', { reset: 'before' }, 1],
    ['500', { status: 500 }, 1],
    ['half an answer', { truncate: true }, 2],
  ])('is opened and sent anew after %s', async (_, effect, writes) => {
    const data = await replacement();
    await relay.controls().fault(effect);
    const { outcomes, requests, letters } = await relay.deliver(data);
    expect({ outcomes, letters }).toEqual({ outcomes: ['waiting', 'done'], letters: [] });
    expect(requests).toHaveLength(2);
    expect(await topic(8101)).toMatchObject({ file: stored(notes), writes });
  });

  test.each([
    ['an unknown topic', { topicId: 8999 }],
    ['a topic that is a link', { topicId: 8102 }],
    ['a topic of another org unit', { orgUnitId: 3001 }],
  ])('is refused for %s', async (_, wrong) => {
    expect(parked(await relay.deliver({ ...(await replacement()), ...wrong }))).toMatchObject({
      ...{ requests: ['PUT 404'], kind: 'rejected', status: 404, detail: 'File topic not found' },
    });
  });
});

describe('what the platform refuses is parked after one request', () => {
  test('an unknown module', async () => {
    expect(parked(await relay.deliver({ ...link, moduleId: 8999 }))).toMatchObject({
      ...{ requests: ['POST 404'], kind: 'rejected', detail: 'Module not found' },
    });
  });

  test('a JSON Binding Error', async () => {
    const body = {
      type: 'https://docs.example.edu/res/apiprop.html#json-binding-error',
      ...{ title: 'JSON Binding Error', status: 400, detail: 'Provided JSON is invalid' },
    };
    await relay.controls().fault({ status: 400, body });
    const failure = parked(await relay.deliver(link));
    expect(failure).toMatchObject({ requests: ['POST 400'], kind: 'rejected', type: 'json-binding-error' });
  });
});

describe('what is no topic is parked, and nothing is sent', () => {
  const file = fileOf('s3://sis-relay-uploads/content/none.txt');
  const { title } = link.topic;
  test.each<[string, object, RegExp]>([
    ['no action', { ...link, action: undefined }, /data\.action/],
    ['an unknown action', { ...link, action: 'remove' }, /data\.action/],
    ['no title', { ...module, topic: { url: '/a' } }, /data\.topic\.title: is missing/],
    [
      'a blank title',
      { ...module, topic: { title: ' ', url: '/a' } },
      /data\.topic\.title: must not be empty/,
    ],
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
    ...[
      'javascript:alert(1)',
      'data:text/html,a',
      'file:///etc/passwd',
      'lab.example.edu',
      'https:///a',
      'https://a b',
    ].map((url): [string, object, RegExp] => [
      `a link to ${url}`,
      { ...module, topic: { title, url } },
      /data\.topic\.url: must begin with https:\/\/, http:\/\/ or \//,
    ]),
    [
      'a time of no place',
      { ...module, topic: { ...link.topic, dueDate: '2026-03-31' } },
      /data\.topic\.dueDate: must be/,
    ],
    [
      'a file of the machine',
      { ...replacing, file: fileOf('file:///etc/passwd') },
      /data\.file\.uri: .*scheme is file:/,
    ],
    ['a replacement without a file', replacing, /data\.file: is missing/],
    ['a replacement of a title', { ...replacing, file, title }, /data\.title: is not a known field/],
    [
      'an unknown field of a topic',
      { ...module, topic: { ...link.topic, topicType: 3 } },
      /topicType: is not a known/,
    ],
  ])('%s', (_, data, says) => {
    expect(relay.problemOf(data)).toMatch(says);
  });

  test('a file that is not there', async () => {
    const topic = { title, file, fileUrl: '/content/enforced/2001-BIO-101/a.txt' };
    const message = expect.stringMatching(/none\.txt\S*: does not exist, or may not be read/);
    const failure = parked(await relay.deliver({ ...module, topic }));
    expect(failure).toMatchObject({ requests: [], kind: 'invalid', message });
    expect(await added()).toEqual([]);
  });
});
