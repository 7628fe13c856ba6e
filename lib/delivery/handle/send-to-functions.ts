import type { SQSClient } from '@aws-sdk/client-sqs';
import { MessageFailure } from '../../message/failure.ts';
import { safe } from '../../message/safe-text.ts';
import type { OutgoingMessage } from '../../message/sqs-limits.ts';
import { sendAll } from '../../runtime/aws/sqs.ts';

export type AddressedMessage = { function: string; message: OutgoingMessage };

type SendOptions<Item> = {
  /** Created when first needed: often there is nothing to send. */
  sqs(): Promise<SQSClient>;
  queueUrlOf(functionName: string): string;
  signal?: AbortSignal;
  /** Called for each message that SQS accepted, even if it did not accept others. */
  taken?(item: Item, messageId: string): void;
};

/**
 * Sends messages to the queues of their functions, in order within each queue.
 * @throws if one of them was not accepted; others may have been.
 */
export const sendToFunctions = async <Item extends AddressedMessage>(
  items: readonly Item[],
  { sqs, queueUrlOf, signal, taken }: SendOptions<Item>,
): Promise<void> => {
  for (const [name, each] of Map.groupBy(items, (item) => item.function)) {
    const queue = { sqs: await sqs(), url: queueUrlOf(name) };
    const messages = each.map(({ message }) => message);
    const { failures, messageIds, error } = await sendAll(queue, messages, { signal });
    for (const [at, item] of each.entries()) {
      const messageId = messageIds[at];
      if (messageId !== undefined) taken?.(item, messageId);
    }
    if (error !== undefined) throw error;
    const [reason] = failures.values();
    if (reason !== undefined)
      throw new MessageFailure(
        'unavailable',
        safe`SQS refused ${failures.size} of ${each.length} messages: ${reason}`,
      );
  }
};
