import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/news-item-create.ts';
import { functionForTests } from '../local/inline.ts';

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
    await relay.isDone(item, ['POST 200']);
    expect(await news()).toEqual([
      {
        newsItemId: expect.any(Number),
        orgUnitId: 2001,
        fields: {
          Title: 'Room change',
          Body: { Text: 'The lecture is in B 12.', Html: null },
          StartDate: '2026-03-19T08:00:00.000Z',
          EndDate: null,
          IsGlobal: false,
          IsPublished: true,
          ShowOnlyInCourseOfferings: false,
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
      isGlobal: true,
      isPublished: false,
      showOnlyInCourseOfferings: true,
    });
    expect(await news()).toMatchObject([
      {
        fields: {
          Body: { Text: 'In B 12', Html: '<p>In <b>B 12</b></p>' },
          EndDate: '2026-03-20T00:00:00.000Z',
          IsGlobal: true,
          IsPublished: false,
          ShowOnlyInCourseOfferings: true,
        },
      },
    ]);
  });

  test('brings its attachments along, under any name', async () => {
    const names = ['plan.pdf', 'a"; filename="b.pdf', 'a\r\nX-Evil: yes\r\n\r\n.pdf', 'Prüfung 🎓.pdf'];
    const uri = await planUri();
    await relay.deliver({ ...item, attachments: names.map((name) => attachment(uri, name)) });
    const sha256 = hash('sha256', plan);
    const held = names.map((name) => ({ name, contentType: 'application/pdf', bytes: plan.length, sha256 }));
    expect(await news()).toMatchObject([{ attachments: held }]);
  });
});

test('an attachment that cannot be read for a while is waited for, and nothing is sent meanwhile', async () => {
  const uri = await planUri();
  const name = uri.replace('s3://', '');
  await relay.controls().awsFault('s3', { action: 'HeadObject', name, times: 3, status: 503 });
  expect(await relay.deliver({ ...item, attachments: [attachment(uri)] })).toMatchObject({
    outcomes: ['waiting', 'done'],
    requests: ['POST 200'],
    letters: [],
  });
});

test('an end before its start is none: nothing is sent', () => {
  const wrong = { ...item, endDate: '2026-03-19T07:59:59Z' };
  expect(relay.problemOf(wrong)).toMatch(/data\.endDate: must be after startDate/);
});
