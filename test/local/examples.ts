import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SQSRecord } from 'aws-lambda';
import { localRegion } from './aws/aws.ts';

const folder = join(import.meta.dirname, '../../events');

/** The example event of a function. */
export async function eventOf(name: string) {
  return JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8'));
}

/** What its example event carries, as the SIS would have said it an hour ago: what is too old, nobody sends. */
export async function example(name: string): Promise<string> {
  const message = JSON.parse((await eventOf(name)).Records[0].body);
  return JSON.stringify({ ...message, time: new Date(Date.now() - 3_600_000).toISOString() });
}

/** A message as Lambda gives it to its function, received for the first time. */
export function recordOf(name: string, body: string): SQSRecord {
  const now = String(Date.now());
  return {
    messageId: randomUUID(),
    receiptHandle: randomUUID(),
    body,
    md5OfBody: '',
    messageAttributes: {},
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: now,
      SenderId: '',
      ApproximateFirstReceiveTimestamp: now,
    },
    eventSource: 'aws:sqs',
    awsRegion: localRegion,
    eventSourceARN: `arn:aws:sqs:${localRegion}:000000000000:sis-relay-local-${name}`,
  };
}
