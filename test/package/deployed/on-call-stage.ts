import { setTimeout as sleep } from 'node:timers/promises';
import { GetQueueAttributesCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, vi } from 'vitest';
import { handler as connectionCheck } from '../../../functions/connection-check.ts';
import { handler as deadLetterReplay } from '../../../functions/dead-letter-replay.ts';
import { passingTime } from '../../local/aws/passing-time.ts';
import { type Controls, controlsOf } from '../../local/controls.ts';
import { eventOf } from '../../local/examples.ts';
import { inThisProcess } from '../../local/in-this-process.ts';
import { bringOnce } from '../../local/lambda/event-source-mapping.ts';
import type { Lambda } from '../../local/lambda/lambda.ts';
import { type Stack, settingsAsDeployed, startStack } from '../../local/stack.ts';
import { deploy } from '../cloudformation.ts';
import { packagedProject } from '../packages.ts';
import { alarmStates } from './alarm-states.ts';

const minuteMs = 60_000;
/** The shortest period of an alarm. */
const stepMinutes = 5;
const context = { getRemainingTimeInMillis: () => 600_000, awsRequestId: 'on-call' } as Context;

/**
 * A stage of the local stack whose time passes minute by minute, with the alarms of the packaged template. Functions and schedules run when
 * they are due, and the alarms judge by the metrics that they write.
 */
export function onCallStage(functions: readonly string[], beside: Record<string, string> = {}) {
  const time = passingTime();
  let stack: Stack;
  let states: ReturnType<typeof alarmStates>;
  let lambda: Lambda;
  let settings: Record<string, string> = {};
  let minutes = 0;
  let written = 0;

  const start = (more: Record<string, string> = {}): void => {
    lambda = inThisProcess(
      stack.description,
      { ...settings, ...more },
      { asDeployed: true, onLog: (_, line) => states.read(line) },
    );
  };
  const counted = (metric: string, name: string): void =>
    states.write('AWS/Lambda', metric, {
      value: 1,
      atMs: Date.now(),
      FunctionName: `sis-relay-local-${name}`,
    });

  const bring = async (name: string): Promise<void> => {
    const queueUrl = stack.description.queues[name] ?? '';
    const queueArn = `arn:aws:sqs:us-east-1:000000000000:sis-relay-local-${name}`;
    const invoke: Lambda['invoke'] = async (_, event) => {
      counted('Invocations', name);
      return lambda.invoke(name, event).catch((error: Error) => {
        counted('Errors', name);
        throw error;
      });
    };
    const mapping = { sqs: stack.sqs, queueUrl, queueArn, batchSize: 50 };
    const once = () => bringOnce({ ...mapping, invoke: (event) => invoke(name, event) }).catch(() => 0);
    while ((await once()) > 0);
  };

  const onSchedule = async (name: string, run: (event: unknown) => Promise<unknown>): Promise<void> => {
    counted('Invocations', name);
    await run(await eventOf(name)).catch(() => counted('Errors', name));
  };

  const sampleLetters = async (): Promise<void> => {
    const { Attributes = {} } = await stack.sqs.send(
      new GetQueueAttributesCommand({
        QueueUrl: stack.description.deadLetters,
        AttributeNames: ['ApproximateNumberOfMessages'],
      }),
    );
    states.write('AWS/SQS', 'ApproximateNumberOfMessagesVisible', {
      value: Number(Attributes.ApproximateNumberOfMessages),
      atMs: Date.now(),
      QueueName: 'sis-relay-local-dead-letters',
    });
  };

  /** What waits goes on when its time has passed. */
  const untilThen = async (ms: number, signal: AbortSignal): Promise<void> => {
    const endMs = Date.now() + ms;
    while (Date.now() < endMs) await sleep(10, undefined, { signal });
  };

  const step = async (passed: number): Promise<void> => {
    for (let minute = 0; minute < passed; minute += 1) {
      time.pass(minuteMs);
      minutes += 1;
      if (minutes % stepMinutes === 0) states.evaluate(Date.now());
    }
    for (const name of functions) await bring(name);
    const isDue = (every: number): boolean => minutes % every < passed;
    if (isDue(5)) await onSchedule('connection-check', (event) => connectionCheck(event, context));
    if (isDue(15)) await onSchedule('dead-letter-replay', (event) => deadLetterReplay(event, context));
    await sampleLetters();
  };

  beforeAll(async () => {
    const durable = { pause: untilThen };
    stack = await startStack({ functions: false, visibilitySeconds: 720, durable });
    // Else a test begins by chance at night.
    const now = new Date();
    const toMonday = (8 - now.getUTCDay()) % 7 || 7;
    const mondayMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + toMonday, 8);
    time.pass(mondayMs - now.getTime());
    settings = { METRIC_NAMESPACE: 'sis-relay/local', ...beside };
    const environment = {
      ...settingsAsDeployed(stack.description, 'dead-letter-replay'),
      ...settings,
      AWS_LAMBDA_FUNCTION_NAME: 'sis-relay-local-dead-letter-replay',
    };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    states = alarmStates(deploy((await packagedProject()).template));
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      for (const line of `${text}`.split('\n')) states.read(line);
      return true;
    });
    start();
    // A stage that is a while old, and has something to be silent about.
    await step(1);
  });
  beforeEach(async () => {
    await controlsOf(stack.description).reset();
    await controlsOf(stack.description).clearAwsFaults();
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    await lambda.close();
    await stack.close();
  });

  return {
    stack: () => stack,
    controls: (): Controls => controlsOf(stack.description),
    states: () => states,
    start,
    /** In steps, after which messages and schedules come that are due. */
    pass: async (total: number, each = stepMinutes): Promise<void> => {
      for (let at = 0; at < total; at += each) await step(each);
    },
    /** Sends messages to a function. */
    send: async (name: string, ...all: object[]): Promise<void> => {
      for (let at = 0; at < all.length; at += 10)
        await stack.sqs.send(
          new SendMessageBatchCommand({
            QueueUrl: stack.description.queues[name],
            Entries: all.slice(at, at + 10).map((data, index) => {
              written += 1;
              const MessageBody = JSON.stringify({
                specversion: '1.0',
                id: `on-call-${written}`,
                source: '/sis/test',
                data,
                type: `sis.${name}.v1`,
                time: new Date(Date.now() + written).toISOString(),
              });
              return { Id: `${index}`, MessageBody };
            }),
          }),
        );
    },
    /** The mails since the last call, as in `LettersAccess on`. */
    mails: (): string[] => states.mails.splice(0).map(({ alarm, is }) => `${alarm} ${is}`),
    /** After how many minutes from now on this alarm sends its mail. */
    minutesOf: async (alarm: string, most: number): Promise<number> => {
      for (let minute = stepMinutes; minute <= most; minute += stepMinutes) {
        await step(stepMinutes);
        if (states.mails.some((mail) => mail.alarm === alarm && mail.is === 'on')) return minute;
      }
      return Number.POSITIVE_INFINITY;
    },
  };
}
