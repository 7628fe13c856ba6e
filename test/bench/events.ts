import { randomUUID } from 'node:crypto';
import type { SQSEvent, SQSRecord } from 'aws-lambda';

/** Whole events of grade-push as Lambda hands them over. */
export const eventsOf = ({ messages, batchSize }: { messages: number; batchSize: number }): SQSEvent[] =>
  Array.from({ length: Math.ceil(messages / batchSize) }, (_, batch) => ({
    Records: Array.from({ length: Math.min(batchSize, messages - batch * batchSize) }, recordOf),
  }));

/** Another resource for each message. */
let users = process.pid * 1_000_000;

const recordOf = (): SQSRecord => {
  users += 1;
  return {
    messageId: randomUUID(),
    receiptHandle: `AQEB${'bench0123456789/+'.repeat(18)}==`,
    body: JSON.stringify({
      specversion: '1.0',
      id: randomUUID(),
      source: 'https://sis.example.edu/outbox',
      type: 'sis.grade-push.v1',
      time: new Date().toISOString(),
      datacontenttype: 'application/json',
      // With both comments given nothing is read first: one message is one request, as of the peers.
      data: {
        orgUnitId: 2001,
        gradeObjectId: 5001,
        userId: users,
        grade: { type: 'numeric', points: 8.5 },
        comments: 'A clear argument; the second experiment needs a control group.',
        privateComments: '',
      },
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
    eventSourceARN: 'arn:aws:sqs:eu-west-1:123456789012:sis-relay-grade-push',
    awsRegion: 'eu-west-1',
  };
};
