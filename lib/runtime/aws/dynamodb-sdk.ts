import { type ClientOptions, lazyAwsClient } from './clients.ts';
import type { DynamoDb, DynamoDbOutput } from './dynamodb.ts';

/** DynamoDB by the SDK's client, for all that is not on a message's way. */
export const createDynamoDb = (options: ClientOptions): DynamoDb => {
  const client = lazyAwsClient(
    async () => (await import('@aws-sdk/client-dynamodb')).DynamoDBClient,
    options,
  );
  return {
    call: async (action, input, { signal } = {}) => {
      const commands = await import('@aws-sdk/client-dynamodb');
      const Command = commands[`${action}Command`] as typeof commands.UpdateItemCommand;
      const command = new Command(input as never);
      return (await (await client()).send(command, signal && { abortSignal: signal })) as DynamoDbOutput;
    },
  };
};
