import { randomUUID } from 'node:crypto';
import type { SQSEvent, SQSRecord } from 'aws-lambda';

/** What the bench sends; each kind is that of a function. */
export type Kind = 'grade-push' | 'submission-upload' | 'user-attributes-update';

type Wanted = { kind: Kind; messages: number; batchSize: number; fileBytes?: number; textLength?: number };

/** Whole events as Lambda hands them over, each message about another thing. */
export const eventsOf = ({ messages, batchSize, ...wanted }: Wanted): SQSEvent[] =>
  Array.from({ length: Math.ceil(messages / batchSize) }, (_, batch) => ({
    Records: Array.from({ length: Math.min(batchSize, messages - batch * batchSize) }, () =>
      recordOf(wanted),
    ),
  }));

/** Another thing for each message, and others in each process: the ledger holds those of an earlier one for its lease. */
let things = process.pid * 1_000_000;

const recordOf = ({
  kind,
  fileBytes = 1024,
  textLength = 0,
}: Omit<Wanted, 'messages' | 'batchSize'>): SQSRecord => ({
  messageId: randomUUID(),
  receiptHandle: `AQEB${'bench0123456789/+'.repeat(18)}==`,
  body: JSON.stringify({
    specversion: '1.0',
    id: randomUUID(),
    source: 'https://sis.example.edu/outbox',
    type: `sis.${kind}.v1`,
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data: dataOf(kind, { fileBytes, textLength }),
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

const words =
  'She said: "The results [of 2025], as far as I know, are clear." Zoë agreed,\nand wrote a report. ';

const dataOf = (
  kind: Kind,
  { fileBytes, textLength }: Record<'fileBytes' | 'textLength', number>,
): object => {
  things += 1;
  // With both comments given nothing is read first: one message is one request, as of the peers.
  if (kind === 'grade-push')
    return {
      orgUnitId: 2001,
      gradeObjectId: 5001,
      userId: things,
      grade: { type: 'numeric', points: 8.5 },
      comments: 'A clear argument; the second experiment needs a control group.',
      privateComments: '',
    };
  // As a text of people: with quotation marks, brackets, and letters beyond ASCII.
  if (kind === 'user-attributes-update') {
    const value = [0, 1, 2].map(() => words.repeat(Math.ceil(textLength / 3 / words.length)));
    return { userId: things, attributes: [{ attributeId: 'biography', value }] };
  }
  const file = { uri: `s3://bench/${fileBytes}`, name: 'thesis.pdf', contentType: 'application/pdf' };
  return { orgUnitId: 2001, folderId: 8001, userId: 301, files: [file], comment: '' };
};
