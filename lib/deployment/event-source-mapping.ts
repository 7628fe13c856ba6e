import { awsClient } from '../aws/clients.ts';
import { unlessError } from '../aws/error.ts';
import { RefusedError } from './command-errors.ts';
import type { Target } from './target.ts';

/** What brings a queue's messages to its function. */
export type EventSourceMapping = {
  uuid: string;
  /** Such as `Enabled`, `Disabled` or, between the two, `Disabling`. */
  state: string;
  changedMs: number | undefined;
  /** It has a filter: messages that do not match it are deleted unseen. sis-relay sets none. */
  isFiltered: boolean;
};

export type EventSourceMappings = {
  /** Undefined: the function has none with its queue in this account and region, or there is no such function. */
  of(functionName: string): Promise<EventSourceMapping | undefined>;
  /** Begins the change, unless an earlier one is not over yet. */
  change(mapping: EventSourceMapping, enabled: boolean): Promise<void>;
};

/** Lambda's client is loaded here, apart from the other clients: no function needs it, so no bundle holds it. */
export const eventSourceMappings = async ({
  prefix,
  lambdaOptions,
}: Target): Promise<EventSourceMappings> => {
  if (lambdaOptions === undefined)
    throw new RefusedError(
      'The local stack is of an older version. Stop it, and start `npm run local` again.',
    );
  const { LambdaClient, ListEventSourceMappingsCommand, UpdateEventSourceMappingCommand } = await import(
    '@aws-sdk/client-lambda'
  );
  const lambda = awsClient(LambdaClient, lambdaOptions);
  return {
    of: async (functionName) => {
      const name = `${prefix}${functionName}`;
      const list = new ListEventSourceMappingsCommand({ FunctionName: name });
      const answer = await unlessError(/^ResourceNotFoundException$/, () => lambda.send(list));
      const found = answer?.EventSourceMappings?.find(({ EventSourceArn }) =>
        EventSourceArn?.endsWith(`:${name}`),
      );
      return (
        found && {
          uuid: found.UUID ?? '',
          state: found.State ?? '',
          changedMs: found.LastModified?.getTime(),
          isFiltered: (found.FilterCriteria?.Filters?.length ?? 0) > 0,
        }
      );
    },
    change: async ({ uuid: UUID }, Enabled) => {
      const update = new UpdateEventSourceMappingCommand({ UUID, Enabled });
      await unlessError(/^Resource(InUse|Conflict)Exception$/, () => lambda.send(update));
    },
  };
};
