import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendToFunctions } from '../../../../lib/delivery/handle/send-to-functions.ts';
import { failureOf } from '../../../../lib/platform/client/failure-of.ts';
import { type Office, officesForTests } from '../../desk/cli/office.ts';

const offices = officesForTests();
let office: Office;
let taken: Map<string, string>;
beforeEach(async () => {
  office = await offices.open();
  taken = new Map();
});
afterEach(() => office.clearFaults());

const addressed = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    function: name,
    message: { body: `${name} ${at}`, attributes: {} },
  }));
const send = (messages: ReturnType<typeof addressed>) =>
  sendToFunctions(messages, {
    sqs: office.target.sqs,
    queueUrlOf: (name) => office.queueOf(name).url,
    taken: ({ message }, id) => taken.set(message.body, id),
  });
const fault = (given: object) => office.fault({ action: 'SendMessageBatch', ...given });
const bodiesOf = async (name: string) =>
  (await office.take(office.queueOf(name).url)).map(({ Body = '' }) => Body).sort();

test('messages go to the queues of their functions, and each is told', async () => {
  const messages = [...addressed('grade-push', 12), ...addressed('enrollment-create', 2)];
  await send(messages);
  expect(await bodiesOf('grade-push')).toEqual(
    addressed('grade-push', 12)
      .map(({ message }) => message.body)
      .sort(),
  );
  expect(await bodiesOf('enrollment-create')).toEqual(['enrollment-create 0', 'enrollment-create 1']);
  expect([...taken.keys()]).toEqual(messages.map(({ message }) => message.body));
});

test('where SQS does not take some, it waits, and those that it took are told', async () => {
  await fault({ failedEntries: 2 });
  const failure = await send(addressed('grade-push', 10)).catch(failureOf);
  expect(failure).toMatchObject({
    kind: 'unavailable',
    message: 'SQS refused 2 of 10 messages: InternalError',
  });
  expect(taken.size).toBe(8);
});

test('where SQS lets nobody send, a person is called', async () => {
  await fault({ status: 403, type: 'AccessDenied' });
  const failure = await send(addressed('grade-push', 3)).catch(failureOf);
  expect(failure).toMatchObject({ kind: 'aws-refused', message: expect.stringContaining('AccessDenied') });
  expect(taken.size).toBe(0);
});

test('nobody need be told, and a client is made only where there is something to send', async () => {
  const queueUrlOf = (name: string) => office.queueOf(name).url;
  await sendToFunctions([], { queueUrlOf, sqs: () => Promise.reject(new Error('was made')) });
  await sendToFunctions(addressed('grade-push', 1), { queueUrlOf, sqs: office.target.sqs });
  expect(await bodiesOf('grade-push')).toEqual(['grade-push 0']);
});

test('nothing is sent after its signal', async () => {
  const queueUrlOf = (name: string) => office.queueOf(name).url;
  const given = { queueUrlOf, sqs: office.target.sqs, signal: AbortSignal.abort() };
  await expect(sendToFunctions(addressed('grade-push', 1), given)).rejects.toThrow('aborted');
  expect(await bodiesOf('grade-push')).toEqual([]);
});
