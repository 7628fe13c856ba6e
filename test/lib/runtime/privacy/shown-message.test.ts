import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { columnsOf } from '../../../../lib/delivery/mapping/columns.ts';
import { maskedText } from '../../../../lib/runtime/privacy/platform-words.ts';
import { hiddenIn, maskedBody, maskedField } from '../../../../lib/runtime/privacy/shown-message.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';
import { inTopic, noticeOf, onBus } from '../../../envelopes.ts';
import { shownIdsFile, shownIdsPath } from '../../../package/shown-ids.ts';
import { eventBody } from '../../desk/cli/office.ts';

describe('a message without what is personal', () => {
  test('keeps its shape, its ids and what tells shapes apart', () => {
    const body = eventBody(
      'grade-push',
      { grade: { type: 'numeric', points: 0 }, comments: 'Dear Jane', privateComments: null },
      { id: 'event-1', subject: 'grades of Jane' },
    );
    expect(maskedBody(body)).toEqual({
      specversion: '1.0',
      id: 'event-1',
      source: '/sis/test',
      type: 'sis.grade-push.v1',
      time: JSON.parse(body).time,
      subject: '•••',
      data: {
        orgUnitId: 2001,
        gradeObjectId: 5001,
        userId: 301,
        grade: { type: 'numeric', points: '•••' },
        comments: '•••',
        privateComments: null,
      },
    });
  });

  test.each([
    [
      'files and their names',
      { files: [{ uri: 's3://b/jane.pdf', name: 'Jane.pdf', contentType: 'application/pdf' }] },
      { files: [{ uri: '•••', name: '•••', contentType: 'application/pdf' }] },
    ],
    [
      'a passed exam',
      { grade: { type: 'pass-fail', pass: false } },
      { grade: { type: 'pass-fail', pass: '•••' } },
    ],
    [
      'numbers that only look like ids',
      { nationalId: 1234567890, person: { id: 7 } },
      { nationalId: '•••', person: { id: '•••' } },
    ],
    [
      'names of fields that are no plain words',
      { 'Jane Doe': 1, 'Dear Wu': { pass: true }, campus_7: null },
      { '•••1': '•••', '•••2': { pass: '•••' }, campus_7: null },
    ],
    ['a name where an id should be', { userId: 'Jane Doe' }, { userId: '•••' }],
    [
      'what is more than an id',
      { userId: '1234567890123456', orgUnitId: '12345678901234567', topicId: '7 Jane', roleId: 'Jane 7' },
      { userId: '1234567890123456', orgUnitId: '•••', topicId: '•••', roleId: '•••' },
    ],
    ['ids in a list', { userId: [301, [{ type: 'a/b' }]] }, { userId: ['•••', [{ type: 'a/b' }]] }],
    [
      'what is no type, or too long for one',
      { type: 7, contentType: 'a'.repeat(61), a: { type: 'a'.repeat(60) } },
      { type: '•••', contentType: '•••', a: { type: 'a'.repeat(60) } },
    ],
    ['what only looks like a number', { userId: { toString: 1 } }, { userId: { toString: '•••' } }],
    ['a sentence where a type should be', { grade: { type: 'Jane got an A' } }, { grade: { type: '•••' } }],
  ])('hides %s', (_, data, shown) => {
    expect(maskedBody(JSON.stringify({ data }))).toEqual({ data: shown });
  });

  test('hides a sentence where a field of the event should be', () => {
    const event = {
      id: 'Dear Jane',
      time: 'today',
      source: '/sis',
      type: 'a b',
      datacontenttype: 'application/json; charset=utf-8',
    };
    expect(maskedBody(JSON.stringify(event))).toEqual({ ...event, id: '•••', type: '•••' });
    expect(maskedText('No Jane today', JSON.stringify(event))).toBe('No ••• today');
  });

  test('hides what is no text where a field of the event should be', () => {
    expect(maskedBody('{"id":7,"time":{"id":"x"},"type":["y"],"source":"","subject":"z"}')).toEqual({
      id: '•••',
      time: { id: '•••' },
      type: ['•••'],
      source: '',
      subject: '•••',
    });
  });

  test.each<[(string | number)[], unknown, unknown]>([
    [['id'], 'event-1', 'event-1'],
    [['datacontenttype'], 'a/b; c=d; e=f', 'a/b; c=d; e=f'],
    [['id'], 'Dear Jane', '•••'],
    [['subject'], 'Jane', '•••'],
    [['data', 'id'], 'Jane', '•••'],
    [['data', 'userId'], 301, 301],
    [['data', 'comments'], 'Jane', '•••'],
    [['data', 'files', 0], { type: 'a', name: 'Jane' }, { type: 'a', name: '•••' }],
    [['data', 'files', 0], 'Jane', '•••'],
    [['data', 'comments'], null, null],
    [['data', 'comments'], undefined, undefined],
    [[], 'Jane', '•••'],
  ])('shows of the field %j with %j no more: %j', (path, value, shown) => {
    expect(maskedField(path, value)).toEqual(shown);
  });

  test.each<[string, string[]]>([
    ['Dear Jane', ['Dear Jane']],
    ['"Jane"', ['Jane']],
    ['null', []],
    ['[{"id":"Jane","userId":7},"Doe",null]', ['Jane', 'Doe']],
    [
      '{"id":"event-1","time":7,"type":"a b","userId":1,"Dear Jane":{"Doe, J.":true,"id":"x","userId":2,"a":[8.5]}}',
      ['7', 'a b', 'Dear Jane', 'Doe, J.', 'true', 'x', '8.5'],
    ],
  ])('all texts and numbers that are hidden of %s', (body, hidden) => {
    expect(hiddenIn(body)).toEqual(hidden);
  });

  test('keeps the ids that schemas tag: else npm run generate', async () => {
    expect(readFileSync(shownIdsPath, 'utf8')).toBe(await shownIdsFile());
  });

  test('keeps every id that a function’s messages may have: else tag it', async () => {
    const columns = [...(await loadIntegrations()).values()].flatMap((each) => [...columnsOf(each).keys()]);
    const names = columns
      .map((column) => column.split('.').at(-1) ?? '')
      // That is no id of the platform.
      .filter((name) => /Id$/.test(name) && name !== 'orgDefinedId');
    expect(names).toContain('toParentId');
    const data = Object.fromEntries(names.map((name) => [name, 7]));
    expect(maskedBody(JSON.stringify({ data }))).toEqual({ data });
  });

  test.each(['Dear Jane', '"Dear Jane"', '["Jane"]', '7', 'null', ''])(
    'of %s nothing can be shown',
    (body) => {
      expect(maskedBody(body)).toBeUndefined();
    },
  );
});

describe('an envelope shows no more than the event that it holds', () => {
  const body = eventBody('grade-push', {
    grade: { type: 'numeric', points: 8.5 },
    comments: 'Dear Jane, well argued',
  });
  test.each([
    ['SNS', inTopic(body)],
    ['EventBridge', onBus(JSON.parse(body))],
    ['both', inTopic(onBus(JSON.parse(body)))],
  ])('%s', (_, wrapped) => {
    expect(maskedBody(wrapped)).toEqual(maskedBody(body));
    for (const words of ['No Jane here', 'Value 8.5 of user 301 is too large', 'dear jane'])
      expect(maskedText(words, wrapped)).toBe(maskedText(words, body));
  });
  test('nor do one that holds none, and a notice of a file', () => {
    expect(maskedBody(inTopic('Jane has passed'))).toMatchObject({ Message: '•••', Subject: '•••' });
    expect(maskedText('Has Jane passed?', inTopic('Jane has passed'))).toBe('••• ••• •••?');
    const notice = noticeOf({ key: 'events/grade-push/Jane.jsonl' });
    expect(JSON.stringify(maskedBody(notice))).not.toContain('Jane');
  });
});

test('an id that is wrong is shown, if it is a number', () => {
  expect([-1, '-1', '-x', 1.5].map((id) => maskedField(['data', 'orgUnitId'], id))).toEqual([
    -1,
    '-1',
    '•••',
    '•••',
  ]);
});
