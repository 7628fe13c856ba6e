import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { peakBytes } from '../peak-memory.ts';
import { answerParent } from './processes.ts';

/** So many messages, batch after batch, as one container of Lambda gets them. */
export type DriveAsked = {
  kind: 'grade-push' | 'submission-upload';
  messages: number;
  batchSize: number;
  fileBytes?: number;
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

const maxAtOnce = 1_000;

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

/** Whole events as Lambda hands them over, each message about another thing. */
const eventsOf = ({ messages, batchSize, ...wanted }: DriveAsked): SQSEvent[] =>
  Array.from({ length: Math.ceil(messages / batchSize) }, (_, batch) => ({
    Records: Array.from({ length: Math.min(batchSize, messages - batch * batchSize) }, () =>
      recordOf(wanted),
    ),
  }));

/** Another thing for each message, and others in each process: the ledger holds those of an earlier one for its lease. */
let things = process.pid * 1_000_000;

const recordOf = ({ kind, fileBytes = 1024 }: Pick<DriveAsked, 'kind' | 'fileBytes'>): SQSRecord => ({
  messageId: randomUUID(),
  receiptHandle: `AQEB${'bench0123456789/+'.repeat(18)}==`,
  body: JSON.stringify({
    specversion: '1.0',
    id: randomUUID(),
    source: 'https://sis.example.edu/outbox',
    type: `sis.${kind}.v1`,
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data: dataOf(kind, fileBytes),
  }),
  attributes: {
    ApproximateReceiveCount: '1',
    SentTimestamp: String(Date.now()),
    SenderId: 'AROAQ3EXAMPLEEXAMPLE1:sis-outbox',
    ApproximateFirstReceiveTimestamp: String(Date.now()),
  },
  messageAttributes: {},
  md5OfBody: '29c856ea35eaf36af678a2f6db499213',
  eventSource: 'aws:sqs',
  eventSourceARN: `arn:aws:sqs:eu-west-1:123456789012:sis-relay-${kind}`,
  awsRegion: 'eu-west-1',
});

const dataOf = (kind: DriveAsked['kind'], fileBytes: number): object => {
  things += 1;
  // With both comments given nothing is read first: one message is one request, as of the peer.
  if (kind === 'grade-push')
    return {
      orgUnitId: 2001,
      gradeObjectId: 5001,
      userId: things,
      grade: { type: 'numeric', points: 8.5 },
      comments: 'A clear argument; the second experiment needs a control group.',
      privateComments: '',
    };
  const file = { uri: `s3://bench/${fileBytes}`, name: 'thesis.pdf', contentType: 'application/pdf' };
  return { orgUnitId: 2001, folderId: 8001, userId: 301, files: [file], comment: '' };
};

answerParent(async (asked: DriveAsked): Promise<DriveAnswered> => {
  const total = { cpuMs: 0, wallMs: 0, failed: 0, grownBytes: 0 };
  for (let left = asked.messages; left > 0; left -= maxAtOnce) {
    // Made beforehand, as Lambda makes them before the handler runs, and in portions, as they take memory.
    const messages = Math.min(left, maxAtOnce);
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
