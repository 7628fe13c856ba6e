import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SQSClient } from '@aws-sdk/client-sqs';
import * as sdk from '@aws-sdk/client-sqs';
import { unzipSync } from 'fflate';
import { afterEach, expect, test, vi } from 'vitest';
import { keptVisibility, tryVisibility } from '../../../../lib/stage/doctor/mapping.ts';
import { redrive } from '../../../../lib/stage/doctor/queues.ts';
import type { Step } from '../../../../lib/stage/doctor/step.ts';
import type { Target } from '../../../../lib/stage/target.ts';
import { officesForTests } from '../../desk/cli/office.ts';
import { overheard, playedLambda, tryOne } from './played.ts';

const offices = officesForTests();
afterEach(() => vi.unstubAllEnvs());

const urlOf = (arn: string): string => `${offices.url()}/000000000000/${arn.split(':').at(-1)}`;
type Changed = (message: sdk.Message, queueUrl: string) => sdk.Message | undefined;

/** SQS with the one call that fauxqs has not: it moves what lies in a dead-letter queue back. */
const heardQueues = async (real: SQSClient, called: string[], changed: Changed = (message) => message) => {
  const send = async (command: { constructor: { name: string }; input: Record<string, string> }) => {
    const { name } = command.constructor;
    if (name === 'StartMessageMoveTaskCommand') {
      const letters = urlOf(`${command.input.SourceArn}`);
      const { Messages: [letter] = [] } = await real.send(
        new sdk.ReceiveMessageCommand({ QueueUrl: letters, MessageAttributeNames: ['All'] }),
      );
      await real.send(
        new sdk.SendMessageCommand({
          QueueUrl: letters.replace(/letters$/, 'queue'),
          MessageBody: letter?.Body,
          MessageAttributes: letter?.MessageAttributes,
        }),
      );
      return {};
    }
    const answer = (await real.send(command as never)) as sdk.ReceiveMessageResult;
    if (name !== 'ReceiveMessageCommand') return answer;
    return { Messages: answer.Messages?.flatMap((each) => changed(each, `${command.input.QueueUrl}`) ?? []) };
  };
  return overheard('sqs', { send, config: real.config } as unknown as SQSClient, { called });
};

/** Answers what was tried, and the queues that are there afterwards. */
const tried = async (step: Step, changed?: Changed, more: Partial<Target> = {}) => {
  const called: string[] = [];
  const { target } = await offices.open();
  const real = await target.sqs();
  const sqs = await heardQueues(real, called, changed);
  const heard = { ...target, sqs: async () => sqs, ...more };
  const outcome = await tryOne(step, heard, { secondMs: 5 });
  const list = new sdk.ListQueuesCommand({ QueueNamePrefix: `${target.prefix}doctor` });
  expect((await real.send(list)).QueueUrls ?? []).toEqual([]);
  expect(called.filter((call) => !step.rights.includes(call))).toEqual([]);
  return outcome;
};

const onLetters =
  (change: (message: sdk.Message) => sdk.Message): Changed =>
  (message, url) =>
    url.endsWith('-letters') ? change(message) : message;

test('a message that was received too often is moved as it was, and back', async () => {
  expect(await tried(redrive)).toMatchObject({ is: 'as-expected', saw: 'all of it' });
});

test.each<[string, Changed, string]>([
  [
    'the body is another',
    onLetters((message) => ({ ...message, Body: 'x' })),
    'the letter has another body or other attributes',
  ],
  [
    'attributes are lost',
    onLetters((message) => ({ ...message, MessageAttributes: {} })),
    'the letter has another body or other attributes',
  ],
  [
    'the id is another',
    onLetters((message) => ({ ...message, MessageId: 'x' })),
    'the letter has another id',
  ],
  [
    'the letter does not say where it comes from',
    onLetters((message) => ({ ...message, Attributes: {} })),
    'the letter has another time of sending; the letter says it comes from nowhere',
  ],
  [
    'nothing is moved',
    (message, url) => (url.endsWith('-letters') ? undefined : message),
    'the message was not moved within 90 s of its second receipt',
  ],
])('it is different if %s', async (_, changed, saw) => {
  expect(await tried(redrive, changed)).toMatchObject({ is: 'different', saw });
});

const source = join(import.meta.dirname, '../../../../lib/stage/doctor/receipts.mjs');
type Created = { Code: { ZipFile: Uint8Array }; Environment: { Variables: Record<string, string> } };
type Kept = 'kept' | 'shown at once' | 'hidden for the time of the queue';

/** Lambda that takes in a function and its mapping, and hands it what lies on the queue until its code is gone. */
const lambdaThat = async (target: Target, kept: Kept, called: string[]) => {
  const sqs = await target.sqs();
  let handler: ((event: object) => Promise<{ batchItemFailures: object[] }>) | undefined;
  let isMapped = false;
  let refusals = 2;
  const deliver = async (QueueUrl: string): Promise<void> => {
    while (isMapped) {
      const { Messages = [] } = await sqs.send(
        new sdk.ReceiveMessageCommand({ QueueUrl, MessageSystemAttributeNames: ['All'] }),
      );
      for (const { MessageId: messageId, ReceiptHandle, Attributes: attributes } of Messages) {
        const Records = [{ messageId, receiptHandle: ReceiptHandle, attributes }];
        const { batchItemFailures = [] } = (await handler?.({ Records })) ?? {};
        if (batchItemFailures.length === 0)
          await sqs.send(new sdk.DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
        else if (kept !== 'kept')
          await sqs.send(
            new sdk.ChangeMessageVisibilityCommand({
              QueueUrl,
              ReceiptHandle,
              VisibilityTimeout: kept === 'shown at once' ? 0 : 8,
            }),
          );
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return playedLambda(
    target,
    {
      GetFunctionConfiguration: () => ({ Role: 'arn:aws:iam::000000000000:role/lent', State: 'Active' }),
      CreateFunction: async (input) => {
        const { Code, Environment } = input as unknown as Created;
        expect(`${Buffer.from(unzipSync(Code.ZipFile)['index.mjs'] ?? '')}`).toBe(
          readFileSync(source, 'utf8'),
        );
        for (const [name, value] of Object.entries(Environment.Variables)) vi.stubEnv(name, value);
        ({ handler } = await import(`${pathToFileURL(source)}?${kept.length}`));
      },
      CreateEventSourceMapping: ({ EventSourceArn }) => {
        refusals -= 1;
        if (refusals >= 0)
          throw Object.assign(new Error('may not receive'), { name: 'InvalidParameterValueException' });
        isMapped = true;
        void deliver(urlOf(`${EventSourceArn}`));
        return { UUID: 'u' };
      },
      ListEventSourceMappings: () => ({
        EventSourceMappings: isMapped ? [{ UUID: 'u', State: 'Enabled' }] : [],
      }),
      DeleteEventSourceMapping: () => {
        isMapped = false;
      },
      DeleteFunction: () => {
        handler = undefined;
      },
    },
    called,
  );
};

test.each<[Kept, string, RegExp]>([
  ['kept', 'as-expected', /^it came back after [345] s; hidden for 3 s by the function, 8 s by the queue$/],
  ['shown at once', 'different', /^it came back after [012] s/],
  ['hidden for the time of the queue', 'different', /^it came back after ([6789]|1\d) s/],
])('the time for which a function hides a message: %s', async (kept, is, saw) => {
  const { target } = await offices.open();
  const called: string[] = [];
  vi.stubEnv('AWS_ENDPOINT_URL', offices.url());
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, 'local');
  vi.stubEnv('AWS_REGION', 'us-east-1');
  const lambda = await lambdaThat({ ...target, lambdaOptions: {} }, kept, called);
  const quick: Step = {
    ...keptVisibility,
    try: (corner) => tryVisibility(corner, { hiddenSeconds: 3, queueSeconds: 8 }),
  };
  // SQS hides for whole seconds, and the step looks for 136 of its own.
  const { is: found, saw: said, left } = await tryOne(quick, target, { lambda, secondMs: 90 });
  expect([found, said, left]).toEqual([is, expect.stringMatching(saw), []]);
  expect(called.filter((call) => !keptVisibility.rights.includes(call))).toEqual([]);
  expect(called).toContain('lambda:DeleteFunction');
});
