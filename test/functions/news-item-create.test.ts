import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/news-item-create.ts';
import type { Effect } from '../local/controls.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const news = () => relay.rows('newsItems');
const item = {
  orgUnitId: 2001,
  title: 'Room change',
  body: { text: 'The lecture is in B 12.' },
  startDate: '2026-03-19T09:00:00+01:00',
};
const plan = Buffer.from('%PDF-1.7\nThe way to B 12\n');
const planUri = () => relay.putFile('news/plan.pdf', plan);
const attachment = (uri: string, name = 'plan.pdf') => ({ uri, name, contentType: 'application/pdf' });

describe('a news item', () => {
  test('is published with what its message leaves open filled in', async () => {
    expect(await relay.deliver(item)).toMatchObject({
      outcomes: ['done'],
      requests: ['POST 200'],
      letters: [],
    });
    expect(await news()).toEqual([
      {
        newsItemId: expect.any(Number),
        orgUnitId: 2001,
        fields: {
          Title: 'Room change',
          Body: { Text: 'The lecture is in B 12.', Html: null },
          ...{ StartDate: '2026-03-19T08:00:00.000Z', EndDate: null },
          ...{ IsGlobal: false, IsPublished: true, ShowOnlyInCourseOfferings: false },
        },
        attachments: [],
      },
    ]);
  });

  test('has all that its message tells', async () => {
    await relay.deliver({
      ...item,
      body: { text: 'In B 12', html: '<p>In <b>B 12</b></p>' },
      endDate: '2026-03-20T00:00:00Z',
      ...{ isGlobal: true, isPublished: false, showOnlyInCourseOfferings: true },
    });
    expect(await news()).toMatchObject([
      {
        fields: {
          Body: { Text: 'In B 12', Html: '<p>In <b>B 12</b></p>' },
          EndDate: '2026-03-20T00:00:00.000Z',
          ...{ IsGlobal: true, IsPublished: false, ShowOnlyInCourseOfferings: true },
        },
      },
    ]);
  });

  test('brings its attachments along, under any name', async () => {
    const names = ['plan.pdf', 'a"; filename="b.pdf', 'a\r\nX-Evil: yes\r\n\r\n.pdf', 'Prüfung 🎓.pdf'];
    const uri = await planUri();
    await relay.deliver({ ...item, attachments: names.map((name) => attachment(uri, name)) });
    const sha256 = createHash('sha256').update(plan).digest('hex');
    const held = names.map((name) => ({ name, contentType: 'application/pdf', bytes: plan.length, sha256 }));
    expect(await news()).toMatchObject([{ attachments: held }]);
  });

  test('that is delivered twice is published once; another one, even an older one, is published too', async () => {
    const older = relay.event({ ...item, title: 'Older' });
    const body = relay.event(item);
    await relay.deliverBody(body);
    expect(await relay.deliverBody(body)).toMatchObject({ outcomes: ['duplicate'], requests: [] });
    expect(await relay.deliverBody(older)).toMatchObject({ outcomes: ['done'] });
    expect((await news()).map(({ fields }) => (fields as { Title: string }).Title)).toEqual([
      'Room change',
      'Older',
    ]);
  });
});

describe('what certainly had no effect is sent again', () => {
  test('after an attachment that could not be read', async () => {
    const uri = await planUri();
    const name = uri.replace('s3://', '');
    await relay.controls().awsFault('s3', { action: 'HeadObject', name, times: 3, status: 503 });
    expect(await relay.deliver({ ...item, attachments: [attachment(uri)] })).toMatchObject({
      ...{ outcomes: ['waiting', 'done'], requests: ['POST 200'], letters: [] },
    });
  });
});

describe('without an answer a person decides, as nothing can be read back', () => {
  test.each<[string, Effect, number]>([
    ['the connection is cut after the effect', { reset: 'after' }, 1],
    ['500', { status: 500 }, 0],
    ['503, which is a proxy’s', { status: 503, when: 'after' }, 1],
    ['a redirect after the effect', { status: 302, headers: { location: '/login' }, when: 'after' }, 1],
    ['409', { status: 409 }, 0],
    ['a page of a firewall', { status: 403, body: '<html><title>Blocked</title></html>' }, 0],
    ['errors with status 200', { status: 200, body: { Errors: [{ Message: 'No' }] } }, 0],
    ['a page with status 200', { status: 200, body: '<html><title>Sign in</title></html>' }, 0],
    ['a refused key with status 200', { status: 200, body: 'Invalid token' }, 0],
  ])('%s', async (_, effect, published) => {
    await relay.controls().fault(effect);
    const delivery = await relay.deliver(item);
    expect(parked(delivery)).toMatchObject({
      kind: 'uncertain',
      remedy: expect.stringMatching(
        /^On the platform, look for a news item with this message's title in org unit 2001 since .* If there is none, replay this letter/,
      ),
    });
    expect(delivery.requests).toHaveLength(1);
    expect(await news()).toHaveLength(published);
  });
});

test('what the platform said to it outlives the attempt: the letter that follows has all of it', async () => {
  const problem = {
    type: 'https://docs.example.edu/res/apiprop.html#internal-error',
    ...{ title: 'Internal Error', status: 500, detail: 'The notification service is down' },
  };
  const headers = { 'content-type': 'application/problem+json', 'x-request-id': 'r-7' };
  // A container that met a refused key leaves it alone for a minute.
  relay.inAnotherContainer();
  await relay.controls().fault({ status: 500, headers, body: problem });
  const { outcomes, ...delivery } = await relay.deliver(item);
  expect(outcomes).toEqual(['waiting', 'parked']);
  expect(parked({ outcomes, ...delivery })).toMatchObject({
    ...{ kind: 'uncertain', status: 500, type: 'internal-error', title: 'Internal Error', requestId: 'r-7' },
    ...{ detail: 'The notification service is down', operation: 'POST /svc/api/le/1.82/2001/news/' },
    message: expect.stringMatching(
      /left no outcome \(The platform answered POST .* with 500 Internal Error\): the platform does not show it$/,
    ),
  });
});

describe('what the platform refuses is parked after one request', () => {
  test.each([
    [
      'an unknown org unit',
      { orgUnitId: 2999 },
      { kind: 'rejected', status: 404, detail: 'Org unit not found' },
    ],
  ])('%s', async (_, wrong, failure) => {
    const { requests, ...rest } = parked(await relay.deliver({ ...item, ...wrong }));
    expect(rest).toMatchObject(failure);
    expect(requests).toHaveLength(1);
  });

  test('a JSON Binding Error', async () => {
    const body = {
      type: 'https://docs.example.edu/res/apiprop.html#json-binding-error',
      ...{ title: 'JSON Binding Error', status: 400, detail: 'Provided JSON is invalid' },
    };
    await relay.controls().fault({ status: 400, body });
    const failure = parked(await relay.deliver(item));
    expect(failure).toMatchObject({ kind: 'rejected', status: 400, type: 'json-binding-error' });
  });
});

describe('what is no news item is parked, and nothing is sent', () => {
  const uri = 's3://sis-relay-uploads/news/none.pdf';
  test.each([
    ['no title', { title: undefined }, /data\.title: is missing/],
    ['a blank title', { title: ' \n' }, /data\.title: must not be empty/],
    ['a body that is text', { body: 'text' }, /data\.body/],
    [
      'a body in the form of grades',
      { body: { Content: 'a', Type: 'Text' } },
      /data\.body\.Content: is not a known/,
    ],
    ['no start', { startDate: undefined }, /data\.startDate: is missing/],
    ['a start that is no time', { startDate: 'tomorrow' }, /data\.startDate: must be a time such as/],
    ['a time of no place', { startDate: '2026-03-19T09:00:00' }, /data\.startDate: must be a time such as/],
    [
      'an end before its start',
      { endDate: '2026-03-19T07:59:59Z' },
      /data\.endDate: must be after startDate/,
    ],
    ['a flag as text', { isGlobal: 'true' }, /data\.isGlobal/],
    ['21 attachments', { attachments: Array(21).fill(attachment(uri)) }, /must name at most 20 files/],
    ['an attachment without a name', { attachments: [attachment(uri, '')] }, /data\.attachments\[0\]\.name/],
    ['an attachment of the machine', { attachments: [attachment('file:///etc/passwd')] }, /scheme is file:/],
  ])('%s', (_, wrong, says) => {
    expect(relay.problemOf({ ...item, ...wrong })).toMatch(says);
  });

  test('an attachment that is not there', async () => {
    const failure = parked(await relay.deliver({ ...item, attachments: [attachment(uri)] }));
    const message = expect.stringMatching(/none\.pdf\S*: does not exist, or may not be read/);
    expect(failure).toMatchObject({ requests: [], kind: 'invalid', message });
    expect(await news()).toEqual([]);
  });
});
