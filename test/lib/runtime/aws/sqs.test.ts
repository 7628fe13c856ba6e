import type { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { deleteAll, hideAll, sendAll } from '../../../../lib/runtime/aws/sqs.ts';
import { type Office, officesForTests } from '../../desk/cli/office.ts';

const offices = officesForTests();

const queue = async () => {
  const office = await offices.open();
  const { url } = office.queueOf('grade-push');
  return { office, url, queue: { sqs: await office.target.sqs(), url } };
};
const messages = (count: number, body = 'a message') =>
  Array.from({ length: count }, (_, at) => ({ body: `${body} ${at}`, attributes: {} }));

const idsByBody = async (office: Office, url: string) =>
  (await office.take(url)).map(({ Body, MessageId }) => [Body, MessageId]).sort();

describe('sending many messages', () => {
  test('sends all of them, whatever the number', async () => {
    const { office, url, queue: at } = await queue();
    expect((await sendAll(at, messages(37))).failures).toEqual(new Map());
    expect((await office.take(url)).map(({ Body }) => Body).sort()).toEqual(
      messages(37)
        .map(({ body }) => body)
        .sort(),
    );
  });

  test('tells by which id SQS knows each of them', async () => {
    const { office, url, queue: at } = await queue();
    const { messageIds } = await sendAll(at, messages(23));
    const expected = messages(23).map(({ body }, each) => [body, messageIds[each]]);
    expect(await idsByBody(office, url)).toEqual(expected.sort());
  });

  test('keeps each call within the bytes that SQS takes at once', async () => {
    const { office, url, queue: at } = await queue();
    const large = messages(5, 'x'.repeat(400_000));
    expect((await sendAll(at, large)).failures).toEqual(new Map());
    expect(await office.take(url)).toHaveLength(5);
  });

  test('asks again for entries that failed, and for no others', async () => {
    const { office, url, queue: at } = await queue();
    await office.fault({
      action: 'SendMessageBatch',
      name: url.split('/').at(-1),
      failedEntries: 3,
      times: 1,
    });
    const { failures, messageIds } = await sendAll(at, messages(10));
    expect(failures).toEqual(new Map());
    expect(await idsByBody(office, url)).toEqual(
      messages(10).map(({ body }, each) => [body, messageIds[each]]),
    );
  });

  test('names the entries that fail for good, and why', async () => {
    const { office, url, queue: at } = await queue();
    await office.fault({ action: 'SendMessageBatch', name: url.split('/').at(-1), failedEntries: 2 });
    const { failures, messageIds } = await sendAll(at, messages(12));
    expect(failures).toEqual(new Map([0, 1, 10, 11].map((each) => [each, 'InternalError'])));
    expect(messageIds.map((id) => id !== undefined)).toEqual(
      messageIds.map((_, each) => ![0, 1, 10, 11].includes(each)),
    );
    expect(await office.take(url)).toHaveLength(8);
    await office.clearFaults();
  });

  test('does not ask again where the sender is at fault', async () => {
    const { queue: at } = await queue();
    const [good, bad] = [
      { body: 'fine', attributes: {} },
      { body: 'bad \u0000', attributes: {} },
    ];
    expect([...(await sendAll(at, [good, bad])).failures.keys()]).toEqual([1]);
  });

  test('names no text that is no code', async () => {
    const failed = { Id: '0', Code: 'no, Jane', SenderFault: true };
    const sqs = { send: async () => ({ Failed: [failed] }) } as unknown as SQSClient;
    expect((await sendAll({ sqs, url: 'http://sqs/x' }, messages(1))).failures).toEqual(
      new Map([[0, 'unknown']]),
    );
  });

  test('counts all entries of a call that got no answer as not sent', async () => {
    const { office, url, queue: at } = await queue();
    await office.fault({
      action: 'SendMessageBatch',
      name: url.split('/').at(-1),
      status: 403,
      type: 'AccessDenied',
    });
    expect((await sendAll(at, messages(3))).failures.size).toBe(3);
    await office.clearFaults();
  });
});

test('a queue that does not answer at all is not asked for ever', async () => {
  const { office, url, queue: at } = await queue();
  const name = url.split('/').at(-1);
  let asked = 0;
  await office.fault({ action: 'SendMessageBatch', name, status: 403, type: 'AccessDenied' });
  const send = (command: never) => {
    asked += 1;
    return at.sqs.send(command);
  };
  const sqs = Object.create(at.sqs, { send: { value: send } });
  expect((await sendAll({ sqs, url }, messages(1_000))).failures.size).toBe(1_000);
  expect(asked).toBeLessThan(30);
  await office.clearFaults();
});

test('deleting and hiding look at failed entries in the same way', async () => {
  const { office, url, queue: at } = await queue();
  await sendAll(at, messages(1));
  const unknown = ['no-such-handle'];
  expect(await hideAll(at, unknown, 0)).toEqual(new Map([[0, 'ReceiptHandleIsInvalid']]));
  await office.fault({ action: 'DeleteMessageBatch', name: url.split('/').at(-1), failedEntries: 1 });
  expect(await deleteAll(at, unknown)).toEqual(new Map([[0, 'InternalError']]));
  await office.clearFaults();
});
