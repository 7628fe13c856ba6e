import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { eventsOf } from './events.ts';
import { answerParent } from './processes.ts';

/** So many messages, batch after batch, as one container of Lambda gets them. */
export type DriveAsked = { messages: number; batchSize: number };

export type DriveAnswered = {
  messages: number;
  cpuMs: number;
  wallMs: number;
  /** Messages that were not acknowledged. */
  failed: number;
};

type Subject = { handler(event: SQSEvent, context: object): Promise<SQSBatchResponse> };

const [module = ''] = process.argv.slice(2);
const subject: Subject = await import(module);

const context = {
  awsRequestId: '8476a536-e9f4-11e8-9739-2dfe598c3fcd',
  functionName: 'bench',
  functionVersion: '$LATEST',
  invokedFunctionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:bench',
  memoryLimitInMB: '256',
  logGroupName: '/aws/lambda/bench',
  logStreamName: 'bench',
  callbackWaitsForEmptyEventLoop: true,
  getRemainingTimeInMillis: () => 120_000,
};

answerParent(async (asked: DriveAsked): Promise<DriveAnswered> => {
  // Made beforehand, as Lambda makes them before the handler runs.
  const events = eventsOf(asked);
  let failed = 0;
  const startedMs = performance.now();
  const before = process.cpuUsage();
  for (const event of events) {
    const { batchItemFailures } = await subject.handler(event, context);
    failed += batchItemFailures.length;
  }
  const { user, system } = process.cpuUsage(before);
  const wallMs = performance.now() - startedMs;
  return { messages: asked.messages, cpuMs: (user + system) / 1000, wallMs, failed };
});
