import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Invocation } from '../../../../lib/delivery/handle/attempt.ts';
import type { Integration } from '../../../../lib/delivery/handle/integration.ts';
import { processRecord } from '../../../../lib/delivery/handle/process-record.ts';
import type { Services } from '../../../../lib/delivery/handle/services.ts';
import type { Ledger, Verdict } from '../../../../lib/delivery/ledger/ledger.ts';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import { platformId } from '../../../../lib/message/message.ts';
import { safe } from '../../../../lib/message/safe-text.ts';
import type { Platform } from '../../../../lib/platform/client/client.ts';
import { servicesForTests } from './services-for-tests.ts';

const nowMs = Date.UTC(2026, 2, 1, 12);
const minute = 60_000;
const source = 'arn:aws:sqs:eu-west-1:1:try-out';

type Data = { say: string; userId?: number | undefined };

/** What happens to one message, in its order. */
let story: unknown[];
beforeEach(() => {
  story = [];
});

const lost = () => Promise.reject(new MessageFailure('unavailable', safe`It is lost`, { remedy: 'Wait.' }));
/** A ledger with this verdict on receipts, which locks everything else. */
const ledgerWith = (verdict: object, more: Partial<Ledger> = {}): Ledger => ({
  lateEffectMs: 0,
  take: async ({ resource, messageId }) => {
    const isReceipt = resource.startsWith('receipt/');
    if (isReceipt) story.push(`takes ${resource}`);
    const sending = { kind: 'send', fields: [], entry: { messageId, resource } };
    return (isReceipt ? { ...sending, ...verdict } : sending) as unknown as Verdict;
  },
  settle: async ({ entry: { resource } }, { ending }) => {
    if (resource.startsWith('receipt/')) story.push(`settles ${resource} ${ending}`);
    return true;
  },
  ...more,
});

type SettleInput = {
  record?: Partial<SQSRecord> | undefined;
  isolated?: boolean;
  integration?: Partial<Integration<Data>>;
};

const settled = (
  { record, isolated = false, integration = {} }: SettleInput,
  more: Partial<Services> = {},
) => {
  const services = servicesForTests({
    platform: { for: () => ({}) as Platform },
    crosswalk: { platformIds: async () => ({ userId: 301 }) },
    queues: { writeLetter: async (letter) => void story.push({ letter }) },
    letterIndex: {
      recordLetter: async (id, { body }, about) => void story.push({ parks: id, body, ...about }),
      record: ({ message, outcome }) => void story.push(`heard ${message} ${outcome}`),
      write: async () => {},
    },
    incidents: {
      record: ({ asService }) => void story.push({ asService }),
      write: async () => {},
    },
    observe: { message: ({ outcome, eventId }) => void story.push(`told ${outcome} ${eventId}`) },
    limits: { backoff: { minimumSeconds: 5, maximumSeconds: 5, random: () => 0 }, reserveMs: 5_000 },
    nowMs: () => nowMs,
    ...more,
  });
  const invocation: Invocation = {
    services,
    deadlineMs: nowMs + minute,
    slotsUntilMs: nowMs,
    isolated,
    timeLimit: () => new AbortController().signal,
  };
  const its: Integration<Data> = {
    name: 'try-out',
    data: z.strictObject({ say: z.string(), userId: platformId.optional() }) as z.ZodType<Data>,
    resource: ({ say, userId }) => `try-out/${say}/${userId ?? 'nobody'}`,
    changes: ['try-out'],
    operations: [],
    repeatable: true,
    run: async ({ say }) => void story.push(`run ${say}`),
    ...integration,
  };
  return processRecord(its, { ...recordOf(), ...record }, invocation);
};

const bodyOf = (data: object) =>
  JSON.stringify({
    specversion: '1.0',
    id: 'event-1',
    source: '/sis',
    type: 'sis.try-out.v1',
    time: '2026-03-01T10:00:00Z',
    data,
  });
const recordOf = (attempts = 1, waitedMs = 0) =>
  ({
    messageId: 'm',
    receiptHandle: 'r',
    eventSourceARN: source,
    body: bodyOf({ say: 'a' }),
    attributes: {
      SentTimestamp: `${nowMs - waitedMs}`,
      ApproximateFirstReceiveTimestamp: `${nowMs - waitedMs}`,
      ApproximateReceiveCount: `${attempts}`,
    },
    messageAttributes: { trace: { dataType: 'String', stringValue: 't' } },
  }) as unknown as SQSRecord;
/** Hidden once for all of its queue's time, as if its function had died. */
const suspect = recordOf(2, 12 * minute);
const large = { body: bodyOf({ say: 'x'.repeat(131_072) }) };
const done = {
  outcome: 'done',
  reason: undefined,
  ids: undefined,
  eventId: 'event-1',
  calls: [],
  turnMs: 0,
};
const unread = { eventId: undefined, calls: [], turnMs: 0 };

const refusing = {
  run: async () => {
    throw new MessageFailure('rejected', safe`It is wrong`, { remedy: 'Correct it.' });
  },
};
const letterOf = (more: object, failure: object) => ({
  body: bodyOf({ say: 'a' }),
  letterId: 'm',
  source,
  replays: 0,
  attributes: { trace: { DataType: 'String', StringValue: 't' } },
  failure: {
    kind: 'rejected',
    message: 'It is wrong',
    remedy: 'Correct it.',
    function: 'try-out',
    attempts: 1,
    firstAt: '2026-03-01T12:00:00.000Z',
    lastAt: '2026-03-01T12:00:00.000Z',
    ...failure,
  },
  ...more,
});

describe('what may have killed the function', () => {
  const receipt = 'receipt/try-out/m';
  const locked = [`takes ${receipt}`, `settles ${receipt} undone`];
  test.each<[string, SettleInput, Ledger | undefined, readonly string[]]>([
    ['is not asked for without a ledger', { record: large }, undefined, []],
    ['is no small message with its first receipt', {}, ledgerWith({ kind: 'isolate' }), []],
    ['is locked before it is read, and until it has ended', { record: suspect }, ledgerWith({}), locked],
    [
      'is a large message, which is tried by itself',
      { record: large, isolated: true },
      ledgerWith({}),
      locked,
    ],
  ])('%s', async (_, given, ledger, counted) => {
    expect(await settled(given, { ledger })).toEqual(done);
    const run = given.record === large ? `run ${'x'.repeat(131_072)}` : 'run a';
    const said = [
      { asService: true },
      'told done event-1',
      ...(given.record === suspect ? ['heard m done'] : []),
    ];
    expect(story).toEqual([...counted.slice(0, -1), run, ...said, ...counted.slice(-1)]);
  });

  test('is left for later after a death, and nothing is told of it', async () => {
    const ledger = ledgerWith(
      {},
      {
        take: async ({ resource }) => {
          story.push(`takes ${resource}`);
          return { kind: 'isolate', crashes: 2 };
        },
      },
    );
    expect(await settled({ record: suspect }, { ledger })).toEqual({
      ...unread,
      outcome: 'isolate',
      crashes: 3,
    });
    expect(story).toEqual([`takes ${receipt}`]);
  });

  test('is left for later if it is large, without a lock', async () => {
    const settlement = await settled({ record: large }, { ledger: ledgerWith({}) });
    expect(settlement).toEqual({ ...unread, outcome: 'isolate', crashes: 0 });
    expect(story).toEqual([]);
  });

  test('is left for later if the ledger says so of its resource, and nothing is told of it', async () => {
    const ledger = ledgerWith({}, { take: async () => ({ kind: 'isolate', crashes: 1 }) });
    expect(await settled({}, { ledger })).toEqual({
      outcome: 'isolate',
      crashes: 1,
      ids: undefined,
      eventId: 'event-1',
      calls: [],
      turnMs: 0,
    });
    expect(story).toEqual([]);
  });

  test('is parked unread after three crashes, and its text is shown nowhere else', async () => {
    const failure = {
      kind: 'crashed',
      message: 'The function died three times while it handled this message',
      remedy: 'Find the cause in the function’s log (memory, time, the file named), fix it, then replay.',
    };
    const settlement = await settled({ record: suspect }, { ledger: ledgerWith({ kind: 'crashed' }) });
    expect(settlement).toEqual({ ...unread, outcome: 'parked', failure });
    expect(story).toEqual([
      `takes ${receipt}`,
      { parks: 'm', body: '', resource: undefined },
      { letter: letterOf({}, { ...failure, attempts: 2, firstAt: '2026-03-01T11:48:00.000Z' }) },
      { asService: true },
      'told parked undefined',
    ]);
  });

  test('waits unread while the ledger cannot be written', async () => {
    const failure = { kind: 'unavailable', message: 'It is lost', remedy: 'Wait.' };
    const settlement = await settled({ record: suspect }, { ledger: ledgerWith({}, { take: lost }) });
    expect(settlement).toEqual({
      ...unread,
      outcome: 'waiting',
      seconds: 5,
      reason: 'It is lost',
      failure,
    });
    expect(story).toEqual([{ asService: true }, 'told waiting undefined']);
  });
});

describe('a letter', () => {
  const quotesSecret = '{"plainSecret":"hunter2"}';
  const pointing = { letterId: 'l', whole: 's3://files/letters/try-out/1.jsonl' };
  test.each<[string, SettleInput, string | undefined, { letter?: object; failure?: object }]>([
    ['tells the whole story', {}, 'try-out/a/nobody', {}],
    [
      'tells what its ids of the SIS stand for',
      { record: { body: bodyOf({ say: 'a', userName: 'jane' }) } },
      'try-out/a/301',
      { letter: { body: bodyOf({ say: 'a', userName: 'jane' }) }, failure: { ids: { userId: 301 } } },
    ],
    [
      'points to where the whole message lies',
      {
        record: {
          messageAttributes: {
            letterId: { dataType: 'String', stringValue: pointing.letterId },
            whole: { dataType: 'String', stringValue: pointing.whole },
          } as unknown as SQSRecord['messageAttributes'],
        },
      },
      'try-out/a/nobody',
      {
        letter: {
          storedAt: pointing.whole,
          replays: 1,
          attributes: {
            letterId: { DataType: 'String', StringValue: pointing.letterId },
            whole: { DataType: 'String', StringValue: pointing.whole },
          },
        },
        failure: {
          message:
            'SQS’ own redrive sent this letter back, but its message is in the bucket, so there was nothing to send',
          remedy:
            'Replay it (`sis-relay letters replay`): that sends the message from the bucket. If it was not kept there, have the producer send it again, and discard this letter.',
        },
      },
    ],
    [
      'is without a secret, which is to be rotated',
      {
        record: { body: bodyOf({ say: 'a', plainSecret: 's', theKey: 7 }) },
        integration: { forbidden: ['plainSecret', 'theKey'] },
      },
      undefined,
      {
        letter: { body: bodyOf({ say: 'a', plainSecret: '…', theKey: '…' }) },
        failure: {
          kind: 'invalid',
          message:
            'The message is not valid: data.plainSecret: is not a known field; data.theKey: is not a known field',
          remedy:
            'Rotate the secret that the message contained (plainSecret, theKey). The queue held it in clear text; this letter does not. Have the producer send the message again without it, or edit and replay this letter.',
        },
      },
    ],
    [
      'keeps a text of a valid message that only looks as if it held a secret',
      { record: { body: bodyOf({ say: quotesSecret }) }, integration: { forbidden: ['plainSecret'] } },
      `try-out/${quotesSecret}/nobody`,
      { letter: { body: bodyOf({ say: quotesSecret }) } },
    ],
    [
      'is without any such text of a message that is not valid',
      { record: { body: bodyOf({ say: [quotesSecret] }) }, integration: { forbidden: ['plainSecret'] } },
      undefined,
      {
        letter: { body: expect.not.stringContaining('hunter2') },
        failure: {
          kind: 'invalid',
          message: expect.stringContaining('data.say: expected string'),
          remedy: expect.stringMatching(/^This letter cannot be replayed/),
        },
      },
    ],
    [
      'is without its text where that may hold a secret',
      { record: { body: '{"id":"event-1","plainSecret":' }, integration: { forbidden: ['plainSecret'] } },
      undefined,
      {
        letter: {
          body: '{"withheld":"The message may hold a secret, and is no event in which it can be found","bytes":30,"id":"event-1"}',
        },
        failure: {
          kind: 'invalid',
          message: 'The message is not valid: the body is not JSON',
          remedy:
            'This letter cannot be replayed. Find its producer by the id and the size in this letter. Have the message sent again in the form that the contract describes, then discard this letter. If the message contained a secret, rotate that secret.',
        },
      },
    ],
  ])('%s', async (_, { record, integration }, resource, { letter: its = {}, failure = {} }) => {
    await settled({ record, integration: { ...refusing, ...integration } });
    const letter = letterOf(its, failure);
    expect(story.slice(0, 2)).toEqual([{ parks: 'm', body: letter.body, resource }, { letter }]);
  });

  test.each<[string, Partial<Services>]>([
    ['its queue', { queues: { writeLetter: lost, delay: async () => {} } }],
    [
      'the desk',
      {
        letterIndex: { recordLetter: lost, record: () => {} } as unknown as NonNullable<
          Services['letterIndex']
        >,
      },
    ],
  ])('that %s does not take leaves the message waiting, with both failures', async (_, broken) => {
    const settlement = await settled({ integration: refusing }, broken);
    const reason = 'No letter could be written for this failure: It is wrong. It is lost';
    expect(settlement).toEqual({
      outcome: 'waiting',
      seconds: 5,
      reason,
      ids: undefined,
      eventId: 'event-1',
      calls: [],
      turnMs: 0,
      failure: { kind: 'unavailable', message: reason, remedy: 'Wait.' },
    });
    expect(story).toContainEqual('told waiting event-1');
    expect(story).not.toContainEqual(expect.objectContaining({ letter: expect.anything() }));
  });

  test('is written without a desk, too, and tells where a user’s own credential was used', async () => {
    const integration = { ...refusing, actor: () => '7' as const };
    await settled({ integration }, { letterIndex: undefined });
    expect(story).toEqual([{ letter: letterOf({}, {}) }, { asService: false }, 'told parked event-1']);
  });
});
