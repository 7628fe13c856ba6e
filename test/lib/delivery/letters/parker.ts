import { DeleteMessageCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { createQueues } from '../../../../lib/delivery/handle/queues.ts';
import { createLetterIndexWriter } from '../../../../lib/delivery/letters/letter-index-writer.ts';
import { createQuickDynamoDb } from '../../../../lib/runtime/aws/dynamodb-quick.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { failureOf } from '../../desk/cli/office.ts';

/** A function that can do nothing but park: record, letter, acknowledgement. A test kills it in between. */
const [server = '', queueUrl = '', queueArn = '', deadLetterQueueUrl = '', table = ''] =
  process.argv.slice(2);
const sqs = new SQSClient(localClient(server));
const queues = createQueues({ sqs: async () => sqs, queueUrl, deadLetterQueueUrl, warn: () => {} });
const notes = createLetterIndexWriter({
  dynamodb: createQuickDynamoDb(localClient(server)),
  table,
  nowMs: Date.now,
  function: 'grade-push',
  warn: () => {},
});

for (;;) {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl: queueUrl, VisibilityTimeout: 1 }),
  );
  const [message] = Messages;
  if (message === undefined) break;
  const { MessageId: letterId = '', Body: body = '', ReceiptHandle } = message;
  const letter = {
    body,
    source: queueArn,
    replays: 0,
    attributes: {},
    letterId,
    failure: failureOf('grade-push', 'rejected'),
  };
  await notes.recordLetter(letterId, letter, { resource: 'grade/2001/5001/301' });
  await queues.writeLetter(letter);
  await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
}
sqs.destroy();
process.exit(0);
