import { ChangeMessageVisibilityCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';

// Runs on Lambda, with the SDK that its runtime has.
const sqs = new SQSClient();
const { SEEN_URL, OWN_URL, HIDDEN_SECONDS } = process.env;

/** Tells each receipt. It hides what it gets for the first time, and has it come back, as all functions with a queue do. */
export const handler = async ({ Records }) => {
  const batchItemFailures = [];
  for (const { messageId, receiptHandle: ReceiptHandle, attributes } of Records) {
    const receipt = Number(attributes.ApproximateReceiveCount);
    const MessageBody = JSON.stringify({ receipt, atMs: Date.now() });
    await sqs.send(new SendMessageCommand({ QueueUrl: SEEN_URL, MessageBody }));
    if (receipt > 1) continue;
    const VisibilityTimeout = Number(HIDDEN_SECONDS);
    await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl: OWN_URL, ReceiptHandle, VisibilityTimeout }));
    batchItemFailures.push({ itemIdentifier: messageId });
  }
  return { batchItemFailures };
};
