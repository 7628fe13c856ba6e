import { S3Client } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, test } from 'vitest';
import { integration } from '../../functions/grade-push.ts';
import { sqsMessageOf } from '../../lib/delivery/letters/dead-letter.ts';
import { withWhole } from '../../lib/desk/messages/letters/letter.ts';
import { localClient } from '../local/aws/aws.ts';
import type { Effect } from '../local/controls.ts';
import { functionForTests, parked } from '../local/inline.ts';

const ledgerKey = { LEDGER_KEY_SECRET: 'sis-relay/ledger-key' };
const relay = functionForTests(integration, () => ledgerKey);
beforeAll(() => relay.controls().secret(ledgerKey.LEDGER_KEY_SECRET, { key: 'k'.repeat(40) }));
const whole = { comments: '', privateComments: '' };
const ids = { orgUnitId: 2001, gradeObjectId: 5001, userId: 301 };
const numeric = (points: unknown) => ({ type: 'numeric', points });
const message = { ...ids, grade: numeric(8.5), ...whole };
const comment = (content: string) => ({ content, type: 'Text' });
const dayMs = 24 * 3_600_000;
const values = () => relay.rows('gradeValues');
const earlier = (comments: string, privateComments: string) =>
  relay.controls().seed({
    gradeValues: [
      { ...ids, pointsNumerator: 1, comments: comment(comments), privateComments: comment(privateComments) },
    ],
  });

describe('a grade', () => {
  test.each([
    ['numeric', 5001, numeric(8.5), { gradeObjectType: 1, pointsNumerator: 8.5 }],
    ['numeric: 0 is a grade', 5001, numeric(0), { gradeObjectType: 1, pointsNumerator: 0 }],
    [
      'numeric: a fraction, digit for digit',
      5001,
      numeric(7.333333333333333),
      { pointsNumerator: 7.333333333333333 },
    ],
    ['numeric: more than there are points', 5001, numeric(1e3), { pointsNumerator: 1000 }],
    ['pass/fail: passed', 5002, { type: 'pass-fail', pass: true }, { gradeObjectType: 2, pass: true }],
    ['pass/fail: not passed', 5002, { type: 'pass-fail', pass: false }, { gradeObjectType: 2, pass: false }],
    ['selectbox', 5003, { type: 'selectbox', value: 'Sehr gut' }, { gradeObjectType: 3, value: 'Sehr gut' }],
    [
      'text',
      5004,
      { type: 'text', text: 'Weiter so “!” 🎓\n' },
      { gradeObjectType: 4, text: 'Weiter so “!” 🎓\n' },
    ],
    ['text: an empty one', 5004, { type: 'text', text: '' }, { gradeObjectType: 4, text: '' }],
  ])('%s', async (_, gradeObjectId, grade, held) => {
    const delivery = await relay.deliver({ ...message, gradeObjectId, grade });
    expect(delivery).toMatchObject({ outcomes: ['done'], requests: ['PUT 200'], letters: [] });
    expect(await values()).toEqual([expect.objectContaining({ ...ids, gradeObjectId, ...held, writes: 1 })]);
  });

  test('takes the place of the one before it', async () => {
    await relay.deliver(message);
    await relay.deliver({ ...message, grade: numeric(0) });
    expect(await values()).toMatchObject([{ pointsNumerator: 0, writes: 2 }]);
  });

  test('that is sent once more with a new time puts no old points over corrected ones, in any container', async () => {
    const again = () =>
      relay.event({ ...message, grade: numeric(5) }, { id: 'the second row of grades.csv' });
    await relay.deliverBody(again());
    await relay.deliver({ ...message, grade: numeric(7) });
    expect(await relay.deliverBody(again())).toMatchObject({ outcomes: ['superseded'], requests: [] });
    relay.inAnotherContainer();
    expect(await relay.deliverBody(again())).toMatchObject({ outcomes: ['superseded'], requests: [] });
    expect(await values()).toMatchObject([{ pointsNumerator: 7, writes: 2 }]);
  });
});

describe('what a grade does not give, it does not supersede:', () => {
  const seven = () =>
    relay.event({ ...ids, grade: numeric(7), comments: 'Well argued', privateComments: 'Late' });
  const eight = () => relay.event({ ...ids, grade: numeric(8) });
  const both = { pointsNumerator: 8, comments: comment('Well argued'), privateComments: comment('Late') };

  test.each([
    ['in their order, in one container', false, false],
    ['in their order, in two containers', false, true],
    ['the other way round, in one container', true, false],
    ['the other way round, in two containers', true, true],
  ])('7 with comments and 8 without end as 8 with them, %s', async (_, isReversed, inTwo) => {
    const bodies = [seven(), eight()];
    for (const body of isReversed ? bodies.toReversed() : bodies) {
      await relay.isDone(body);
      if (inTwo) relay.inAnotherContainer();
    }
    expect(await values()).toMatchObject([both]);
  });

  test('comments that come after a newer grade are added to what the platform holds of it', async () => {
    const [older, newer] = [seven(), eight()];
    await relay.deliverBody(newer);
    expect(await relay.deliverBody(older)).toMatchObject({ requests: ['GET 200', 'PUT 200'] });
    expect(await relay.deliverBody(older)).toMatchObject({ outcomes: ['duplicate'], requests: [] });
  });

  test('a newer comment alone leaves the older grade to be sent, and stays', async () => {
    const older = relay.event({ ...message, comments: 'old', privateComments: 'old' });
    await relay.deliver({ ...ids, grade: numeric(9), comments: 'new' });
    await relay.isDone(older);
    expect(await values()).toMatchObject([
      { pointsNumerator: 9, comments: comment('new'), privateComments: comment('old') },
    ]);
  });

  test('a grade of which the platform does not tell the newer value is for a person to complete', async () => {
    const older = seven();
    await relay.deliverBody(eight());
    const notShown = { status: 200, body: { Comments: { Text: '' }, PrivateComments: { Text: '' } } };
    await relay.controls().fault(notShown, { method: 'GET', path: 'values/301$' });
    expect(parked(await relay.deliverBody(older))).toMatchObject({
      kind: 'rejected',
      requests: ['GET 200'],
      message: 'The platform does not show the newer value of this grade',
    });
    expect(await values()).toMatchObject([{ pointsNumerator: 8, comments: comment('') }]);
  });
});

describe('in another container', () => {
  test('a newer grade goes on at once behind one that was done, and nothing is read for it', async () => {
    for (const grade of [numeric(7), numeric(8)]) {
      await relay.isDone({ ...message, grade, comments: 'é <b>' });
      relay.inAnotherContainer();
    }
    expect((await relay.requests()).map(({ method }) => method)).toEqual(['PUT', 'PUT']);
    expect(await values()).toMatchObject([{ pointsNumerator: 8, writes: 2 }]);
  });
});

describe('the platform replaces a whole value, so', () => {
  const held = async () => {
    const [{ comments, privateComments } = {}] = await values();
    return { comments, privateComments };
  };

  test.each([
    ['Well done 🎉\n"<b>"', 'Late by a day'],
    ['', ''],
  ])('with both comments given, nothing is read: %j and %j', async (comments, privateComments) => {
    await earlier('old', 'old, private');
    const data = { ...message, comments, privateComments };
    await relay.isDone(data, ['PUT 200']);
    expect(await held()).toEqual({ comments: comment(comments), privateComments: comment(privateComments) });
  });

  test.each([
    ['a comment alone keeps the private one', { comments: 'new' }, ['new', 'old, private']],
    ['a private comment alone keeps the other', { privateComments: 'new' }, ['old', 'new']],
    ['an empty comment clears it, and keeps the private one', { comments: '' }, ['', 'old, private']],
    ['an empty private comment clears it, and keeps the other', { privateComments: '' }, ['old', '']],
    ['a grade without comments keeps both', {}, ['old', 'old, private']],
  ])('%s', async (_, given, [comments = '', privateComments = '']) => {
    await earlier('old', 'old, private');
    await relay.isDone({ ...ids, grade: numeric(5), ...given }, ['GET 200', 'PUT 200']);
    expect(await held()).toEqual({ comments: comment(comments), privateComments: comment(privateComments) });
    expect(await values()).toMatchObject([{ pointsNumerator: 5 }]);
  });

  test('what a person has written as HTML stays HTML, and is not read as another text', async () => {
    const html = (content: string) => ({ content, type: 'Html' as const });
    const feedback = html(
      '<p>Look at <a href="https://example.edu/a?b=1&amp;c">this</a> &amp; <b>that</b></p>',
    );
    await relay.controls().seed({
      gradeValues: [
        { ...ids, pointsNumerator: 1, comments: feedback, privateComments: html('<ul><li>late</li></ul>') },
      ],
    });
    await relay.isDone({ ...ids, grade: numeric(5) }, ['GET 200', 'PUT 200']);
    expect(await held()).toEqual({ comments: feedback, privateComments: html('<ul><li>late</li></ul>') });
    await relay.isDone({ ...ids, grade: numeric(6), comments: 'by the SIS' }, ['GET 200', 'PUT 200']);
    expect(await held()).toMatchObject({ comments: comment('by the SIS') });
    expect(await values()).toMatchObject([{ pointsNumerator: 6 }]);
  });

  test('where there is no value yet, there is nothing to keep', async () => {
    await relay.isDone({ ...ids, grade: numeric(5), comments: 'first' }, ['GET 404', 'PUT 200']);
    expect(await held()).toEqual({ comments: comment('first'), privateComments: comment('') });
  });

  test('a private comment that the platform does not tell is not overwritten: the grade is parked', async () => {
    await earlier('old', 'old, private');
    const notShown = { status: 200, body: { PointsNumerator: 1, Comments: { Text: 'old', Html: '' } } };
    const read = { method: 'GET', path: 'values/301$', times: 2 };
    await relay.controls().fault(notShown, read);
    expect(parked(await relay.deliver({ ...ids, grade: numeric(5) }))).toMatchObject({
      requests: ['GET 200'],
      kind: 'rejected',
      remedy: expect.stringContaining('Set data.privateComments'),
    });
    expect(await values()).toMatchObject([{ pointsNumerator: 1 }]);
    const given = { ...ids, grade: numeric(5), privateComments: '' };
    expect(await relay.deliver(given)).toMatchObject({ requests: ['GET 200', 'PUT 200'] });
    expect(await held()).toEqual({ comments: comment('old'), privateComments: comment('') });
  });

  describe('a comment that was done is not undone by what a cache or a replica still shows', () => {
    const stale = {
      PointsNumerator: 1,
      LastModified: '2026-01-01T00:00:00.000Z',
      Comments: { Text: 'old', Html: '' },
      PrivateComments: { Text: '', Html: '' },
    };

    test.each<[string, Effect]>([
      ['an older grade', { status: 200, body: stale }],
      ['none', { status: 404, body: { Errors: [{ Message: 'Grade value not found' }] } }],
    ])('%s: the grade waits until it is shown', async (_, effect) => {
      await relay.deliver({ ...message, comments: 'new' });
      await relay.controls().fault(effect, { method: 'GET', path: 'values/301$' });
      expect(await relay.deliver({ ...ids, grade: numeric(5) })).toMatchObject({
        outcomes: ['waiting', 'done'],
        reasons: [expect.stringMatching(/^The platform still returns the previous value/)],
        requests: [expect.stringMatching(/^GET [24]/), 'GET 200', 'PUT 200'],
      });
      expect(await values()).toMatchObject([{ pointsNumerator: 5, comments: comment('new') }]);
    });

    test('what a person has changed since is kept', async () => {
      await relay.deliver({ ...message, comments: 'new' });
      const comments = { content: 'by a person', type: 'Text' as const };
      await relay.controls().change({
        gradeValues: [{ gradeObjectId: 5001, userId: 301, comments, lastModified: new Date().toISOString() }],
      });
      await relay.deliver({ ...ids, grade: numeric(5) });
      expect(await values()).toMatchObject([{ pointsNumerator: 5, comments }]);
    });
  });

  test('comments that are read in the form in which they are given are kept', async () => {
    await earlier('old', 'old, private');
    const text = (Content: string) => ({ Content, Type: 'Text' });
    const body = { PointsNumerator: 1, Comments: text('old'), PrivateComments: text('old, private') };
    await relay.controls().fault({ status: 200, body }, { method: 'GET', path: 'values/301$' });
    await relay.isDone({ ...ids, grade: numeric(5) });
    expect(await held()).toEqual({ comments: comment('old'), privateComments: comment('old, private') });
  });

  test('a comment of 4,000 characters is sent, and kept', async () => {
    const longest = 'ü'.repeat(4_000);
    await relay.deliver({ ...message, comments: longest });
    await relay.deliver({ ...ids, grade: numeric(5) });
    expect(await held()).toMatchObject({ comments: comment(longest) });
  });
});

describe('what is no grade is parked, and nothing is sent', () => {
  const cleared = /must not be null: the platform cannot clear a grade/;
  test.each([
    ['a null grade', { grade: null }, cleared],
    ['null points', { grade: numeric(null) }, cleared],
    ['no grade', { grade: undefined }, /data\.grade: is missing: the platform cannot clear a grade/],
    [
      'no points',
      { grade: { type: 'numeric' } },
      /data\.grade\.points: is missing: the platform cannot clear a grade/,
    ],
  ])('%s', (_, wrong, says) => {
    expect(relay.problemOf({ ...message, ...wrong })).toMatch(says);
  });
});

test('a 200 about another learner is looked up, and parked', async () => {
  const body = { UserId: 302, PointsNumerator: 8.5 };
  await relay.controls().fault({ status: 200, body }, { path: 'values/301$' });
  expect(parked(await relay.deliver(message))).toMatchObject({
    requests: ['PUT 200', 'GET 404'],
    kind: 'unexpected-answer',
    detail: expect.stringContaining('another UserId than requested'),
  });
  expect(await values()).toEqual([]);
});

test.each<[string, unknown]>([
  ['nothing', ''],
  ['the value', { GradeObjectType: 1, PointsNumerator: 8.5, UserId: 301, New: 'field' }],
])('a 200 that says nothing else than that it was done is a success: %s', async (_, body) => {
  await relay.controls().fault({ status: 200, body, when: 'after' }, { path: 'values/301$' });
  await relay.isDone(message, ['PUT 200']);
  expect(await values()).toMatchObject([{ writes: 1 }]);
});

test('a letter whose message lies in the bucket still points there when SQS’ own redrive sends it back', async () => {
  const { bucket, s3: endpoint } = relay.description();
  await relay.controls().fault({ status: 503 }, { method: 'PUT' });
  const body = relay.event(message);
  const first = await relay.deliverBody(body, {}, async () => {
    await relay.controls().fault({ status: 400 }, { method: 'PUT' });
    const refused = { action: 'SendMessage', times: 1, status: 400, type: 'InvalidMessageContents' };
    await relay.controls().awsFault('sqs', refused);
  });
  const [pointer] = first.letters;
  expect(pointer?.storedAt).toContain(`s3://${bucket}/letters/grade-push/`);
  const { MessageBody, MessageAttributes } = sqsMessageOf(pointer!);
  const again = await relay.deliverBody(MessageBody, MessageAttributes);
  expect(again).toMatchObject({ outcomes: ['parked'], requests: [] });
  expect(again.letters).toMatchObject([{ body: MessageBody, storedAt: pointer?.storedAt, replays: 1 }]);
  const s3 = new S3Client({ ...localClient(endpoint), forcePathStyle: true });
  const found = await withWhole(again.letters[0]!, { bucket: async () => bucket, s3: async () => s3 });
  s3.destroy();
  expect(found).toMatchObject({ letter: { body } });
});

describe('where the platform was restored', () => {
  const restored = () =>
    relay.controls().change({
      gradeValues: [
        {
          gradeObjectId: 5001,
          userId: 301,
          comments: { content: 'old', type: 'Text' as const },
          lastModified: '2026-01-01T00:00:00.000Z',
        },
      ],
    });

  test('a grade that would keep an older comment is parked after a day, and sent when it is replayed', async () => {
    await relay.deliver({ ...message, comments: 'new' });
    await restored();
    const delivery = await relay.deliver({ ...ids, grade: numeric(5) }, () => relay.passTime(dayMs));
    const failure = parked(delivery);
    expect(failure).toMatchObject({ kind: 'uncertain', remedy: expect.stringContaining('a restore') });
    expect(new Set(failure.requests)).toEqual(new Set(['GET 200']));
    expect(await relay.replay(delivery)).toMatchObject({ outcomes: ['done'], letters: [] });
    expect(await values()).toMatchObject([{ pointsNumerator: 5, comments: comment('old') }]);
  });

  test('a grade with its comments is sent at once', async () => {
    await relay.deliver({ ...message, comments: 'new' });
    await restored();
    await relay.isDone({ ...message, comments: 'newer' });
  });
});
