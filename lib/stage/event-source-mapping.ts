import { unlessError } from '../runtime/aws/error.ts';
import { lambdaOf } from './lambda-client.ts';
import type { Target } from './target.ts';

/** Lambda's mapping from a queue to its function. */
export type EventSourceMapping = {
  uuid: string;
  /** Such as `Enabled`, `Disabled` or, between the two, `Disabling`. */
  state: string;
  changedMs: number | undefined;
  /** It has a filter, which deletes messages that do not match it, unread. sis-relay sets none. */
  isFiltered: boolean;
};

export type EventSourceMappings = {
  /** Undefined: the function has no mapping from its queue in this account and region, or does not exist. */
  of(functionName: string): Promise<EventSourceMapping | undefined>;
  /** Begins the change, unless an earlier one is in progress. */
  change(mapping: EventSourceMapping, enabled: boolean): Promise<void>;
};

export const eventSourceMappings = async (target: Target): Promise<EventSourceMappings> => {
  const { lambda, sdk } = await lambdaOf(target);
  return {
    of: async (functionName) => {
      const name = `${target.prefix}${functionName}`;
      const list = new sdk.ListEventSourceMappingsCommand({ FunctionName: name });
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
      const update = new sdk.UpdateEventSourceMappingCommand({ UUID, Enabled });
      await unlessError(/^Resource(InUse|Conflict)Exception$/, () => lambda.send(update));
    },
  };
};
