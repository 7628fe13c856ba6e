import { ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { expect, test } from 'vitest';
import { linesOf } from '../../../lib/desk/cli/print/view.ts';
import { documentOf, statusOf } from '../../../lib/desk/stage-state/status.ts';
import { statusView } from '../../../lib/desk/views/status.ts';
import { text } from '../../../lib/desk/views/view.ts';
import { createAudit } from '../../../lib/stage/audit.ts';
import { localOffice } from './cli/local-office.ts';
import { eventBody, functionNames, never, officesForTests } from './cli/office.ts';
import { quietTerminal } from './cli/typed.ts';

const offices = officesForTests();
const local = localOffice({ functions: false });

test('each queue with what is visible, in flight and delayed, and the letters by cause', async () => {
  const office = await offices.open();
  const { url } = office.queueOf('grade-push');
  await office.park([{}, {}, { failure: { kind: 'invalid' } }]);
  await office.send(url, [{ MessageBody: eventBody() }, { MessageBody: eventBody() }]);
  const sqs = await office.target.sqs();
  await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'later', DelaySeconds: 60 }));
  const beforeMs = Date.now();
  const { queues, letters, connection } = await statusOf(office.target, {
    functions: functionNames,
    oldest: true,
    signal: never,
  });
  expect(queues).toEqual([
    { function: 'grade-push', visible: 2, inFlight: 0, delayed: 1, oldestMs: expect.any(Number) },
    { function: 'grade-object-create', visible: 0, inFlight: 0, delayed: 0, oldestMs: undefined },
    { function: 'enrollment-create', visible: 0, inFlight: 0, delayed: 0, oldestMs: undefined },
    { function: 'submission-upload', visible: 0, inFlight: 0, delayed: 0, oldestMs: undefined },
  ]);
  expect(queues[0]!.oldestMs).toBeLessThanOrEqual(beforeMs);
  expect(letters.groups.map(({ kind, letters: count }) => [kind, count])).toEqual([
    ['rejected', 2],
    ['invalid', 1],
  ]);
  expect(connection).toBeUndefined();
  // A glance hides nothing.
  expect(await office.take(url)).toHaveLength(2);
});

test('letters and what waits may be those that somebody keeps in memory', async () => {
  const office = await offices.open();
  await office.park([{}]);
  const group = { function: 'grade-push', kind: 'throttled', error: '429', remedy: '' };
  const waits = {
    ...group,
    messages: 2,
    due: 0,
    unknown: 0,
    oldestMs: 1,
    lastMs: 2,
    nextMs: undefined,
    attempts: 1,
  };
  const kept = { groups: [], matching: 0, listed: 0, queued: 7 };
  const { letters, waiting } = await statusOf(office.target, {
    functions: functionNames,
    signal: never,
    lists: { letters: async () => kept, waiting: async () => [waits] },
  });
  expect(letters).toEqual({ ...kept, counts: { visible: 1, inFlight: 0, delayed: 0 } });
  expect(waiting).toEqual([waits]);
});

test('what options tell, and what operators have begun, belong to it', async () => {
  const office = await offices.open();
  const audit = createAudit({ ...office.target, who: 'jack' }, () => {});
  const { end } = await audit.begin({ command: 'letters replay', counts: { planned: 3 } });
  const part = { facts: { held: 2 }, first: [text('2 are held')], sections: [] };
  const parts = [async () => part];
  const status = () => statusOf(office.target, { functions: [], parts, signal: never });
  const begun = async () => (await status()).atWork?.filter(({ who }) => who === 'jack');
  expect(await status()).toMatchObject({ options: [part] });
  expect(documentOf(await status())).toMatchObject({ queues: [], held: 2 });
  expect(documentOf(await status())).not.toHaveProperty('options');
  expect(await begun()).toMatchObject([{ command: 'letters replay', counts: { planned: 3 } }]);
  await end({ sent: 3 });
  expect(await begun()).toEqual([]);
});

test('a function without a queue is left out, and a queue that may not be looked into has no oldest', async () => {
  const office = await offices.open();
  const { url } = office.queueOf('grade-push');
  await office.send(url, [{ MessageBody: eventBody() }]);
  await office.fault({
    action: 'ReceiveMessage',
    name: url.split('/').at(-1),
    status: 403,
    type: 'AccessDenied',
  });
  const { queues } = await statusOf(office.target, {
    functions: ['grade-push', 'course-export'],
    oldest: true,
    signal: never,
  });
  await office.clearFaults();
  expect(queues).toMatchObject([{ function: 'grade-push', visible: 1, oldestMs: undefined }]);
});

test('a message that is only counted is as new to its function as before', async () => {
  const office = await offices.open();
  const { url } = office.queueOf('grade-push');
  await office.send(url, [{ MessageBody: eventBody() }]);
  const { queues } = await statusOf(office.target, { functions: ['grade-push'], signal: never });
  expect(queues).toMatchObject([{ function: 'grade-push', visible: 1, oldestMs: undefined }]);
  const sqs = await office.target.sqs();
  const receive = new ReceiveMessageCommand({
    QueueUrl: url,
    MessageSystemAttributeNames: ['ApproximateReceiveCount'],
  });
  const { Messages = [] } = await sqs.send(receive);
  expect(Messages.map(({ Attributes }) => Attributes?.ApproximateReceiveCount)).toEqual(['1']);
});

test('the platform’s and the credential’s health belong to it', async () => {
  const status = await statusOf(local.target(), { functions: ['grade-push'], signal: never });
  expect(status.connection).toMatchObject({ reachable: true, credentialAccepted: true });
});

test('it fits the terminal, and takes a probe that met nothing for no more than that', async () => {
  const target = local.target();
  const status = await statusOf(target, { functions: ['grade-push'], signal: never });
  const refused = { what: 'The key was refused. '.repeat(6), remedy: 'Rotate it. '.repeat(12) };
  const terminal = { ...quietTerminal, width: 60 };
  const lines = linesOf(
    statusView({
      ...status,
      connection: { ...status.connection!, problems: [refused] },
      queues: [{ function: 'grade-push', visible: 0, inFlight: 3, delayed: 0, oldestMs: undefined }],
    }),
    terminal,
  );
  expect(lines.filter((line) => line.length > 60)).toEqual([]);
  expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toMatch(
    /3 messages are in flight\. A probe .* the log of the function shows why\./,
  );
});
