import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ChangeMessageVisibilityBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, test } from 'vitest';
import { createQueues, type Delay } from '../../../../lib/delivery/handle/queues.ts';
import {
  type DeadLetter,
  type LetterFailure,
  letterOf,
} from '../../../../lib/delivery/letters/dead-letter.ts';
import { createLetterStore, type KeepWhole, wholeIn } from '../../../../lib/delivery/letters/letter-file.ts';
import { queuesAndFilesForTests } from '../../../local/aws/for-tests.ts';
import { filesIn } from '../../../local/bucket.ts';

const { sqs, s3, fault, clearFaults, createQueue, createBucket } = queuesAndFilesForTests();
let bucket: string;
let keepWhole: KeepWhole;
let queue: { url: string; arn: string };
let letters: { url: string; arn: string };
let made = 0;
let warnings: Record<string, unknown>[];
let warningTexts: string[];
const calls: string[] = [];

sqs.middlewareStack.add(
  (next, context) => (args) => {
    calls.push(String(context.commandName));
    return next(args);
  },
  { step: 'initialize' },
);
beforeEach(async () => {
  made += 1;
  queue = await createQueue(`queue-${made}`);
  letters = await createQueue(`letters-${made}`);
  bucket = `files-${made}`;
  await createBucket(bucket);
  keepWhole = createLetterStore({ s3: async () => s3, bucket });
  [warnings, warningTexts] = [[], []];
  calls.splice(0);
});

const queues = (options: Partial<Parameters<typeof createQueues>[0]> = {}) =>
  createQueues({
    sqs: async () => sqs,
    queueUrl: queue.url,
    deadLetterQueueUrl: letters.url,
    warn: (text, facts) => {
      warningTexts.push(text);
      warnings.push(facts);
    },
    ...options,
  });

const receive = async (url = queue.url): Promise<Message[]> => {
  const all: Message[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] }),
    );
    if (Messages.length === 0) return all;
    all.push(...Messages);
  }
};

/** What lies in the bucket. */
const kept = async (): Promise<{ address: string; line: string }[]> => {
  const files = await filesIn(() => ({ s3, description: { bucket } })).filesUnder();
  return Object.entries(files).map(([key, bytes]) => ({
    address: `s3://${bucket}/${key}`,
    line: `${bytes}`,
  }));
};

/** So many messages in hand, all invisible on their queue. */
const inHand = async (count: number, seconds = 0): Promise<Delay[]> => {
  for (let at = 0; at < count; at += 1)
    await sqs.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: `m${at}` }));
  const messages = await receive();
  expect(messages).toHaveLength(count);
  calls.splice(0);
  return messages.map(({ MessageId = '', ReceiptHandle = '' }) => ({
    messageId: MessageId,
    receiptHandle: ReceiptHandle,
    seconds,
  }));
};

const idsOf = (delays: Delay[]) => delays.map(({ messageId }) => messageId).sort();
/** A visibility of 0 seconds shows a message at once: what can be received has been set. */
const shown = async () => (await receive()).map(({ MessageId = '' }) => MessageId).sort();
const warned = (delays: Delay[]) => delays.map(({ messageId, seconds }) => ({ messageId, seconds }));
const visibilityCalls = () => calls.filter((name) => name === 'ChangeMessageVisibilityBatchCommand').length;

describe('waiting messages', () => {
  test.each([
    [10, 1],
    [11, 2],
  ])('get their visibility in batches of ten: %i messages by %i calls', async (count, expected) => {
    const delays = await inHand(count);
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(expected);
    expect(await shown()).toEqual(idsOf(delays));
    expect(warnings).toEqual([]);
  });

  test('of a large batch have the time-outs of one call, and not of each ten one after the other', async () => {
    let underWay = 0;
    let most = 0;
    const silent = {
      send: async () => {
        underWay += 1;
        most = Math.max(most, underWay);
        await sleep(20);
        underWay -= 1;
        return {};
      },
    } as unknown as SQSClient;
    const delays = Array.from({ length: 50 }, (_, at) => ({
      messageId: `m${at}`,
      receiptHandle: `r${at}`,
      seconds: 5,
    }));
    await queues({ sqs: async () => silent }).delay(delays);
    expect(most).toBe(5);
  });

  test('stay hidden for the time that each has to wait', async () => {
    const delays = await inHand(3);
    await queues().delay(delays.map((delay, at) => ({ ...delay, seconds: at === 1 ? 0 : 600 })));
    expect(await shown()).toEqual([delays[1]?.messageId]);
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: queue.url, AttributeNames: ['All'] }),
    );
    expect(Attributes?.ApproximateNumberOfMessagesNotVisible).toBe('3');
  });

  test('that are none need no client', async () => {
    await queues({ sqs: () => Promise.reject(new Error('asked for')) }).delay([]);
    expect(calls).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test('whose entries failed are asked for once more, and they alone', async () => {
    const delays = await inHand(7);
    await fault({ action: 'ChangeMessageVisibilityBatch', failedEntries: 3, times: 1 });
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(2);
    expect(await shown()).toEqual(idsOf(delays));
    expect(warnings).toEqual([]);
  });

  test('whose entries failed twice are named, and the others are set', async () => {
    const delays = await inHand(7);
    await fault({ action: 'ChangeMessageVisibilityBatch', failedEntries: 2, times: 2 });
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(2);
    expect(await shown()).toEqual(idsOf(delays.slice(2)));
    expect(warnings).toEqual(warned(delays.slice(0, 2)));
    const text =
      'the visibility of a waiting message could not be set; the message comes back when its queue shows it';
    expect(warningTexts).toEqual([text, text]);
  });

  test('that nobody may hide are named, and why is told once', async () => {
    const delays = await inHand(2);
    await fault({ action: 'ChangeMessageVisibilityBatch', type: 'AccessDenied', status: 403 });
    const failures: unknown[] = [];
    await queues({ failed: (failure) => failures.push(failure) }).delay(delays);
    expect(warnings).toEqual(warned(delays));
    expect(failures).toMatchObject([
      { kind: 'aws-refused', message: expect.stringContaining('AccessDenied') },
    ]);
  });

  test('of which one has a receipt handle that SQS no longer knows: it alone is named', async () => {
    const delays = await inHand(3);
    const stale = { ...delays[1]!, receiptHandle: 'gone' };
    await queues().delay([delays[0]!, stale, delays[2]!]);
    expect(await shown()).toEqual(idsOf([delays[0]!, delays[2]!]));
    expect(warnings).toEqual(warned([stale]));
  });

  test('are set by the second call where the first has no answer', async () => {
    const delays = await inHand(4);
    await fault({ action: 'ChangeMessageVisibilityBatch', times: 1, reset: true });
    await queues().delay(delays);
    expect(visibilityCalls()).toBe(2);
    expect(await shown()).toEqual(idsOf(delays));
    expect(warnings).toEqual([]);
  });

  test('of one call that fails are no reason to leave those of the next', async () => {
    const delays = await inHand(15);
    const [first] = delays;
    const withoutFirst = {
      send: async (command: ChangeMessageVisibilityBatchCommand) => {
        const isOfFirst = command.input.Entries?.some(
          ({ ReceiptHandle }) => ReceiptHandle === first?.receiptHandle,
        );
        if (isOfFirst) throw new Error('no answer');
        return sqs.send(command);
      },
    } as unknown as SQSClient;
    await queues({ sqs: async () => withoutFirst }).delay(delays);
    expect(visibilityCalls()).toBe(1);
    expect(await shown()).toEqual(idsOf(delays.slice(10)));
    expect(warnings).toEqual(warned(delays.slice(0, 10)));
  });
});

describe('a parked message', () => {
  const letter: DeadLetter = {
    body: '{"id":"ä😀"}',
    source: 'arn:aws:sqs:eu-west-1:123456789012:sis-relay-grade-push',
    failure: null,
    replays: 1,
    attributes: { trace: { DataType: 'String', StringValue: 't' } },
  };

  test('is told to have failed where there is no such queue', async () => {
    const none = queues({ deadLetterQueueUrl: `${letters.url}-none`, keepWhole });
    await expect(none.writeLetter(letter)).rejects.toThrow(Error);
    expect(await kept()).toEqual([]);
  });
});

describe('a parked message that SQS will never take as a letter', () => {
  const failure: LetterFailure = {
    kind: 'rejected',
    message: 'm',
    remedy: 'r',
    function: 'grade-push',
    attempts: 1,
    status: 404,
    detail: 'User not found',
    firstAt: '2026-06-01T12:00:00Z',
    lastAt: '2026-06-01T12:00:00Z',
  };
  const letter: DeadLetter = {
    body: '{"id":"e-1","a":"ä😀\u2028"}',
    source: 'arn:aws:sqs:eu-west-1:1:sis-relay-grade-push',
    failure,
    replays: 1,
    attributes: { trace: { DataType: 'String', StringValue: 't' } },
  };
  const notANumber = { trace: { DataType: 'Number', StringValue: 'not one' } };

  /** What is kept, by its letter. `code`: of SQS’ refusal. */
  const wholeOf = async (
    given: DeadLetter,
    code: unknown = expect.stringMatching(/^(Invalid|Message|Batch)/),
  ) => {
    await queues({ keepWhole }).writeLetter(given);
    const [message, ...others] = (await receive(letters.url)).map(letterOf);
    const [object, ...more] = await kept();
    expect([others, more]).toEqual([[], []]);
    const { body, ...story } = message!;
    expect(story).toEqual({
      failure,
      replays: 1,
      attributes: {},
      source: given.source,
      storedAt: object!.address,
    });
    expect(JSON.parse(body)).toMatchObject({ whole: object!.address, bytes: Buffer.byteLength(given.body) });
    expect(object!.address).toMatch(/^s3:\/\/files-\d+\/letters\/grade-push\/\w{32}\.jsonl$/);
    expect(warnings).toEqual([{ code }]);
    expect(warningTexts).toEqual(['SQS refuses a letter; its message is kept in the bucket']);
    return wholeIn(object!.line);
  };

  test.each([
    ['as one of its attributes is no such value', { attributes: notANumber }],
    ['as it holds what SQS refuses', { body: '{"id":"e-1","a":"\uFFFF\u0000\uD800"}' }],
    ['as it is larger than SQS takes', { body: `{"id":"e-1","a":"${'ä'.repeat(600_000)}"}` }],
  ])('lies whole in the bucket, and its letter says where: %s', async (_, change) => {
    const given = { ...letter, ...change };
    const whole = await wholeOf(given);
    expect(whole.body === given.body).toBe(true);
    expect(whole.source).toBe(given.source);
    expect(letterOf({ Body: whole.body, MessageAttributes: whole.attributes })).toEqual(given);
  });

  test.each([
    'InvalidMessageContents',
    'InvalidParameterValue',
    'InvalidAttributeValue',
    'MessageTooLong',
    'BatchRequestTooLong',
    'InvalidParameterCombination',
    'InvalidAttributeName',
    'MissingParameter',
    'MissingRequiredParameterException',
    'ValidationError',
  ])('is told by the error %s', async (type) => {
    await fault({ action: 'SendMessage', times: 1, status: 400, type });
    expect((await wholeOf(letter, type)).body).toBe(letter.body);
  });

  test.each([
    'AccessDenied',
    'RequestThrottled',
    'ThrottlingException',
    'OverLimit',
    'KmsThrottled',
    'InvalidClientTokenId',
    'InvalidSignatureException',
    'InvalidSecurity',
    'InvalidAddress',
    'InternalError',
    'AnInvalidParameterValue',
    'MessageTooLongToday',
  ])('is not told by the error %s: it waits', async (type) => {
    await fault({ action: 'SendMessage', times: 1, status: type === 'InternalError' ? 500 : 400, type });
    await expect(queues({ keepWhole }).writeLetter(letter)).rejects.toThrow(Error);
    expect([await kept(), await receive(letters.url)]).toEqual([[], []]);
  });

  test('tried again is the same object', async () => {
    const given = { ...letter, attributes: notANumber };
    await fault({ action: 'SendMessage', times: 2, status: 500 });
    await expect(queues({ keepWhole }).writeLetter(given)).rejects.toThrow(Error);
    await clearFaults();
    await queues({ keepWhole }).writeLetter({ ...given, failure: { ...failure, attempts: 2 } });
    await queues({ keepWhole }).writeLetter({ ...given, failure: { ...failure, attempts: 3 } });
    expect(await kept()).toHaveLength(1);
    expect(await receive(letters.url)).toHaveLength(2);
  });

  test('waits where the bucket does not take it', async () => {
    await fault({ action: 'PutObject', status: 403, type: 'AccessDenied' });
    await expect(queues({ keepWhole }).writeLetter({ ...letter, attributes: notANumber })).rejects.toThrow(
      Error,
    );
    expect(await receive(letters.url)).toEqual([]);
  });

  test('is told to be missing where there is no bucket to keep it in', async () => {
    await queues().writeLetter({ ...letter, attributes: notANumber });
    const [message] = (await receive(letters.url)).map(letterOf);
    expect(message).toMatchObject({ failure, source: letter.source, replays: 1, storedAt: 'nowhere' });
    expect(JSON.parse(message!.body)).toEqual({
      whole: 'nowhere',
      why: expect.stringContaining('LETTERS_BUCKET'),
      bytes: Buffer.byteLength(letter.body),
      id: 'e-1',
    });
    expect(warnings).toEqual([{ code: 'InvalidParameterValue' }]);
    expect(warningTexts).toEqual([
      'SQS refuses a letter, and its message is not kept, because LETTERS_BUCKET is not set',
    ]);
  });
});
