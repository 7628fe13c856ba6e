import { describe, expect, test } from 'vitest';
import { sqsMessageOf } from '../../../../../lib/delivery/letters/dead-letter.ts';
import { letterChange } from '../../../../../lib/delivery/letters/letter-facts.ts';
import type { IndexRecord } from '../../../../../lib/delivery/letters/record.ts';
import { filterSchema, matches } from '../../../../../lib/desk/messages/letters/filter.ts';
import { createLetterReader } from '../../../../../lib/desk/messages/letters/letter.ts';
import { eventBody, failureOf } from '../../cli/office.ts';

const read = createLetterReader({ prefix: 'sis-relay-test-', queueUrlOf: async () => 'http://queues/any' });
const hourMs = 3_600_000;

/** As the lists tell of it. */
const letter = async (body = eventBody('grade-push', {}, { id: 'event-1' })): Promise<IndexRecord> => {
  const { MessageBody: Body, MessageAttributes } = sqsMessageOf({
    body,
    source: 'arn:aws:sqs:eu-west-1:1:sis-relay-test-grade-push',
    replays: 3,
    attributes: {},
    failure: { ...failureOf(), detail: 'Grade object not found' },
  });
  const SentTimestamp = String(Date.now() - 2 * hourMs);
  const whole = await read({
    MessageId: '3f0c91aa-0000',
    Body,
    MessageAttributes,
    Attributes: { SentTimestamp },
  });
  const { facts } = letterChange(whole, { ...whole, resource: undefined, writtenMs: whole.sentMs });
  return { ...(facts as unknown as IndexRecord), message: whole.id, state: 'letter', waits: [] };
};

describe('a condition', () => {
  test.each([
    [{ user: 's-301', orgUnit: 'MATH-101' }, true],
    [{ user: 's-30' }, false],
    [{ user: '301' }, false],
  ])(
    'is about what the SIS calls things, too, where the message gives that: %j: %s',
    async (given, expected) => {
      const data = { orgUnitCode: 'MATH-101', orgDefinedId: 's-301' };
      const body = JSON.stringify({ ...JSON.parse(eventBody('grade-push')), data });
      expect(matches(filterSchema.parse(given), await letter(body))).toBe(expected);
    },
  );
  test.each([
    [{}, true],
    [{ function: ['grade-push'] }, true],
    [{ function: ['enrollment-create', 'grade-push'] }, true],
    [{ function: ['enrollment-create'] }, false],
    [{ kind: ['rejected', 'invalid'] }, true],
    [{ kind: ['unknown-source'] }, false],
    [{ status: ['404'] }, true],
    [{ status: ['4xx'] }, true],
    [{ status: ['403', '5xx'] }, false],
    [{ error: 'GRADE OBJECT' }, true],
    [{ error: 'values/301' }, true],
    [{ error: 'Jane' }, false],
    [{ orgUnit: 2001 }, true],
    [{ orgUnit: '2001', user: '301' }, true],
    [{ orgUnit: 2001, user: 302 }, false],
    [{ since: '3h' }, true],
    [{ since: '90m' }, false],
    [{ until: '1h' }, true],
    [{ until: '1d' }, false],
    [{ since: '2026-01-01T00:00Z' }, true],
    [{ minReplays: 3, maxReplays: 3 }, true],
    [{ minReplays: 4 }, false],
    [{ maxReplays: 2 }, false],
    [{ id: ['3f0c'] }, true],
    [{ id: ['event-1'] }, true],
    [{ id: ['even'] }, false],
    [{ kind: ['rejected'], status: ['500'] }, false],
  ])('%j: %s', async (given, expected) => {
    expect(matches(filterSchema.parse(given), await letter())).toBe(expected);
  });

  test.each(['garbage', '[]', 'null', '{"data":null}', '{"data":7}'])(
    'about a key does not stumble over %s',
    async (body) => {
      expect(matches(filterSchema.parse({ user: 301 }), await letter(body))).toBe(false);
    },
  );

  test.each([
    [{ kind: ['reject'] }, /must be one of invalid, rejected,/],
    [{ status: ['4x'] }, /must be a status such as 403, or 5xx/],
    [{ since: 'yesterday' }, /must be a time such as/],
    [{ since: '3' }, /must be a time such as/],
    [{ until: 'week 2' }, /must be a time such as/],
    [{ error: '' }, /must not be empty/],
    [{ cause: '1a2b' }, /must be 8 hex digits/],
    [{ cause: 'User not found' }, /must be 8 hex digits/],
    [{ since: '3d', until: '5d' }, /must not be before since/],
    [{ user: '' }, /must be an id/],
    [{ orgUnit: 'Jane Doe' }, /must be an id, without spaces/],
    [{ id: ['3f'] }, /at least 4 characters/],
    [{ colour: 'red' }, /Unrecognized key/],
  ])('%j is refused, and says why', (given, reason) => {
    const parsed = filterSchema.safeParse(given);
    expect(parsed.error?.issues.map(({ message }) => message).join()).toMatch(reason);
  });
});
