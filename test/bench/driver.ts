import { writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { peakBytes } from '../peak-memory.ts';
import { eventsOf, type Kind } from './events.ts';
import { answerParent } from './processes.ts';

/** So many messages, batch after batch, as one container of Lambda gets them. */
export type DriveAsked = {
  kind: Kind;
  messages: number;
  batchSize: number;
  fileBytes?: number;
  textLength?: number;
  /** Whether garbage is collected at the end, before the memory is looked at; it takes `--expose-gc`. */
  collects?: boolean;
};

export type DriveAnswered = {
  messages: number;
  cpuMs: number;
  wallMs: number;
  /** Messages that were not acknowledged. */
  failed: number;
  /** How far the resident memory rose above what it was before. */
  grownBytes: number;
  residentBytes: number;
  heapBytes: number;
};

/** What is made beforehand takes memory. */
const maxAtOnce = ({ textLength = 0 }: DriveAsked): number => (textLength > 10_000 ? 100 : 1_000);

type Subject = {
  handler(event: SQSEvent, context: object): Promise<SQSBatchResponse>;
};

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
  const total = { cpuMs: 0, wallMs: 0, failed: 0, grownBytes: 0 };
  for (let left = asked.messages; left > 0; left -= maxAtOnce(asked)) {
    // Made beforehand, as Lambda makes them before the handler runs, and in portions, as they take memory.
    const messages = Math.min(left, maxAtOnce(asked));
    const events = eventsOf({ ...asked, messages });
    const beforeBytes = process.memoryUsage.rss();
    forgetPeak();
    const startedMs = performance.now();
    const before = process.cpuUsage();
    for (const event of events) {
      const { batchItemFailures } = await subject.handler(event, context);
      total.failed += batchItemFailures.length;
    }
    const { user, system } = process.cpuUsage(before);
    total.cpuMs += (user + system) / 1000;
    total.wallMs += performance.now() - startedMs;
    total.grownBytes = Math.max(total.grownBytes, peakBytes() - beforeBytes);
  }
  if (asked.collects) globalThis.gc?.();
  const { rss: residentBytes, heapUsed: heapBytes } = process.memoryUsage();
  return { ...total, messages: asked.messages, residentBytes, heapBytes };
});

function forgetPeak(): void {
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5');
}
