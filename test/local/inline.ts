import { randomUUID } from 'node:crypto';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import {
  DeleteMessageBatchCommand,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Integration } from '../../lib/delivery/handle/integration.ts';
import type { Services } from '../../lib/delivery/handle/services.ts';
import { type DeadLetter, type LetterFailure, letterOf } from '../../lib/delivery/letters/dead-letter.ts';
import { messageFor } from '../../lib/desk/messages/replay/send-and-delete.ts';
import { parseMessage } from '../../lib/message/message.ts';
import { failureOf } from '../../lib/platform/client/failure-of.ts';
import type { DynamoDb } from '../../lib/runtime/aws/dynamodb.ts';
import { createQuickDynamoDb } from '../../lib/runtime/aws/dynamodb-quick.ts';
import type { MessageReport } from '../../lib/runtime/telemetry/observe.ts';
import { localClient } from './aws/aws.ts';
import { passingTime } from './aws/passing-time.ts';
import { controlsOf, type PlatformRequest } from './controls.ts';
import { inThisProcess } from './in-this-process.ts';
import { type Stack, startStack } from './stack.ts';

/** What became of one message. */
type MessageResult = {
  /** Of each attempt, in their order: the last is the end. */
  outcomes: string[];
  /** What the log says about them. */
  reasons: string[];
  /** The requests that it cost, as `METHOD status`. */
  requests: string[];
  letters: DeadLetter[];
  sent: { function: string; queueArn: string; body: string };
};

/** The failure in the one letter of a parked message, once all that every letter must tell is seen to be there. */
export function parked({
  outcomes,
  letters,
  requests,
  sent,
}: MessageResult): LetterFailure & { requests: string[] } {
  expect(outcomes.at(-1)).toBe('parked');
  expect(letters).toHaveLength(1);
  const [letter] = letters;
  expect(letter).toMatchObject({ body: sent.body, source: sent.queueArn, replays: 0 });
  const failure = letter?.failure;
  expect(failure).toMatchObject({ function: sent.function, attempts: outcomes.length });
  expect(failure?.message).not.toBe('');
  expect(failure?.remedy).toMatch(/replay|send (it|the message) again/i);
  expect(JSON.stringify(failure)).not.toMatch(/x_[a-d]=|local-key/);
  return { ...(failure as LetterFailure), requests };
}

/**
 * A function in this process, fed from its real queue, for a test file. Before each test the platform is as it was at its
 * start, and the ledger is empty; each message is newer than the one before it. Beside it stand others, each with its own
 * container and queue: a message comes to the function of its type. A message that waits is there again at once, and it is so
 * much later for everybody.
 */
export function functionForTests<Data>(
  integration: Integration<Data>,
  settings: () => Record<string, string> = () => ({}),
  beside: readonly { name: string }[] = [],
) {
  const { name } = integration;
  const time = passingTime();
  type Progress = { outcomes: string[]; reasons: string[]; end: PromiseWithResolvers<void> };
  const progress = new Map<string, Progress>();
  const reports: MessageReport[] = [];
  let stack: Stack;
  let dynamodb: DynamoDb;
  /** What a test does while its message waits for the first time. */
  let meanwhile: (() => unknown) | undefined;
  /** How many requests the platform has got, and letters were written, until now. */
  let [requested, written] = [0, 0];
  // Not so long ago that the ledger may have forgotten what came since.
  const firstMs = Date.now() - 14 * 24 * 3_600_000;
  let minute = 0;

  const queueUrlOf = (functionName: string): string => stack.description.queues[functionName] ?? '';
  const queueArnOf = (functionName: string): string => {
    const [account, queue] = new URL(queueUrlOf(functionName)).pathname.slice(1).split('/');
    return `arn:aws:sqs:${stack.description.region}:${account}:${queue}`;
  };
  const receiverOf = (body: string): string =>
    beside.find((each) => body.includes(`"sis.${each.name}.v1"`))?.name ?? name;

  const progressOf = (messageId: string): Progress => {
    const begun = { outcomes: [], reasons: [], end: Promise.withResolvers<void>() };
    const known = progress.get(messageId) ?? begun;
    progress.set(messageId, known);
    return known;
  };

  const change = ({ queues }: Services): Partial<Services> => ({
    queues: {
      ...queues,
      delay: async (waiting) => {
        await queues.delay(waiting);
        if (waiting.length === 0) return;
        const [act, shortest] = [meanwhile, Math.min(...waiting.map(({ seconds }) => seconds))];
        meanwhile = undefined;
        await act?.();
        time.pass(shortest * 1000);
      },
      writeLetter: (letter) => {
        written += 1;
        return queues.writeLetter(letter);
      },
    },
  });
  const onReport = (report: MessageReport): void => {
    reports.push(report);
    const { outcomes, reasons } = progressOf(report.messageId);
    outcomes.push(report.outcome);
    if (report.reason !== undefined) reasons.push(report.reason);
  };
  const onEnd = (messageId: string): void => progressOf(messageId).end.resolve();

  beforeAll(async () => {
    stack = await startStack({
      functions: [name, ...beside.map((each) => each.name)],
      lambda: (description) =>
        inThisProcess(description, settings(), { change, onReport, onEnd, asDeployed: true }),
      visibilitySeconds: 720,
      containersPerFunction: 1,
    });
    dynamodb = createQuickDynamoDb(localClient(stack.description.dynamodb));
  });
  afterAll(() => stack.close());

  const controls = () => controlsOf(stack.description);
  /** Else a test's unanswered call would keep the next one's message waiting. */
  const forget = async (): Promise<void> => {
    const { table: TableName } = stack.description;
    const { Items = [] } = await dynamodb.call('Scan', { TableName });
    for (const { resource } of Items) await dynamodb.call('DeleteItem', { TableName, Key: { resource } });
  };
  beforeEach(async () => {
    await controls().reset();
    requested = 0;
    await forget();
  });

  const takeLetters = async (): Promise<DeadLetter[]> => {
    if (written === 0) return [];
    written = 0;
    const { sqs, description } = stack;
    const QueueUrl = description.deadLetters;
    const all = { MessageAttributeNames: ['All'], MessageSystemAttributeNames: ['All' as const] };
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, ...all }),
    );
    const Entries = Messages.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle }));
    await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
    return Messages.map(letterOf);
  };

  const deliverBody = async (
    body: string,
    MessageAttributes?: Record<string, MessageAttributeValue>,
    whileWaiting?: () => unknown,
  ): Promise<MessageResult> => {
    meanwhile = whileWaiting;
    const before = requested;
    const receiver = receiverOf(body);
    const QueueUrl = queueUrlOf(receiver);
    const { MessageId = '' } = await stack.sqs.send(
      new SendMessageCommand({ QueueUrl, MessageBody: body, MessageAttributes }),
    );
    const { outcomes, reasons, end } = progressOf(MessageId);
    await end.promise;
    const all: PlatformRequest[] = await controls().requests();
    requested = all.length;
    const requests = all.slice(before);
    return {
      outcomes,
      reasons,
      requests: requests.map(({ method, status }) => `${method} ${status}`),
      letters: await takeLetters(),
      sent: { function: receiver, queueArn: queueArnOf(receiver), body },
    };
  };

  const event = (data: unknown, attributes: object = {}): string => {
    minute += 1;
    const time = new Date(firstMs + minute * 60_000).toISOString();
    const type = `sis.${name}.v1`;
    return JSON.stringify({
      specversion: '1.0',
      id: randomUUID(),
      source: '/sis',
      type,
      time,
      data,
      ...attributes,
    });
  };

  /** Sends messages in one request, so that they come in one batch, and tells what became of each. */
  const deliverTogether = async (...bodies: string[]) => {
    const Entries = bodies.map((MessageBody, at) => ({ Id: String(at), MessageBody }));
    const QueueUrl = stack.description.queues[name];
    const { Successful = [] } = await stack.sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
    const all = Successful.map(({ MessageId = '' }) => progressOf(MessageId));
    await Promise.all(all.map(({ end }) => end.promise));
    return { outcomes: all.map(({ outcomes }) => outcomes), letters: await takeLetters() };
  };

  return {
    controls,
    event,
    deliverBody,
    /** As a person's replay of its letter. */
    replay: ({ sent: { body }, letters: [letter] }: MessageResult): Promise<MessageResult> => {
      const { attributes } = messageFor(
        letter ?? { body, source: queueArnOf(name), replays: 0, failure: null, attributes: {} },
      );
      return deliverBody(body, attributes);
    },
    /** What comes from now on is another container's, which knows nothing of what was done before. */
    inAnotherContainer: () => {
      for (const { name: each } of [integration, ...beside]) void stack.lambda?.recycle(each);
    },
    deliverTogether,
    /** Of each attempt at each message of the file, in their order. */
    reports,
    takeLetters,
    /** What keeps a message with this data from being sent; undefined: nothing. */
    problemOf: (data: unknown): string | undefined => {
      try {
        parseMessage(event(data), integration, Date.now());
        return undefined;
      } catch (error) {
        return failureOf(error).message;
      }
    },
    /** Sends a message with this data, and tells when it has come to its end. */
    deliver: (data: unknown, whileWaiting?: () => unknown): Promise<MessageResult> =>
      deliverBody(event(data), undefined, whileWaiting),
    /** Sends a message with this data, or this body: it is done at once, by these requests if they are told, and writes no letter. */
    isDone: async (given: unknown, requests?: string[]): Promise<void> => {
      const delivery = await deliverBody(typeof given === 'string' ? given : event(given));
      expect(delivery).toMatchObject({ outcomes: ['done'], letters: [], ...(requests && { requests }) });
    },
    passTime: time.pass,
    rows: async (table: string) => (await controls().state())[table] ?? [],
    requests: () => controls().requests(),
    description: () => stack.description,
    /** Puts a file into the bucket, and answers its uri. */
    putFile: async (key: string, body: Uint8Array | string): Promise<string> => {
      const { bucket } = stack.description;
      await stack.s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
      return `s3://${bucket}/${key}`;
    },
  };
}
