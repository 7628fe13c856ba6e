import { expect, test } from 'vitest';
import { subjectIn } from '../../../../lib/delivery/letters/subject.ts';
import { inTopic, noticeOf, onBus } from '../../../envelopes.ts';

const event = {
  specversion: '1.0',
  time: '1970-01-01T01:00:01+01:00',
  data: { userId: 301, orgUnitId: 2001, gradeObjectId: 5001 },
};
const subject = { user: '301', orgUnit: '2001', thing: 'grade object 5001', eventMs: 1_000 };
const nobody = { user: undefined, orgUnit: undefined, thing: undefined };

test.each([
  ['an event', JSON.stringify(event), subject],
  ['an event in SNS', inTopic(JSON.stringify(event)), subject],
  ['an event in EventBridge', onBus(event), subject],
  ['a notice of a file', noticeOf({ key: 'events/grade-push/1.jsonl' }), nobody],
  ['a text', 'Dear Jane', nobody],
])('whom and what it is about is read of %s', (_, body, expected) => {
  expect(subjectIn(body)).toEqual(expected);
});
