import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

type Options = {
  /** As Lambda knows it: with the service and the stage. */
  functionName: string;
  queueArn: string;
  batchSize: number;
  /** Begins to bring messages from the queue to the function. */
  start(): { stop(): Promise<void> };
};

type MappingState = Options & {
  uuid: string;
  state: 'Enabled' | 'Disabling' | 'Disabled' | 'Enabling';
  changedMs: number;
  running: { stop(): Promise<void> } | undefined;
  changing: Promise<void> | undefined;
};

/** Until what was asked for is done; Lambda takes seconds. */
const changingMs = 100;

const failure = (name: string, status: number, message: string) =>
  Object.assign(new Error(message), { name, status });

/** Lambda's API for event-source mappings, as far as they are switched off and on, and what they do meanwhile. */
export function createEventSourceMappings() {
  const known: MappingState[] = [];
  let isOver = false;

  const change = (mapping: MappingState, isEnabled: boolean): void => {
    mapping.changedMs = Date.now();
    mapping.state = isEnabled ? 'Enabling' : 'Disabling';
    const { running } = mapping;
    mapping.running = undefined;
    // What is being handled comes to its end.
    mapping.changing = Promise.all([running?.stop(), sleep(changingMs)]).then(() => {
      if (isEnabled && !isOver) mapping.running = mapping.start();
      mapping.state = isEnabled ? 'Enabled' : 'Disabled';
    });
  };

  return {
    add: (options: Options): void => {
      const begun = { uuid: randomUUID(), state: 'Enabled', changedMs: Date.now() } as const;
      known.push({ ...options, ...begun, running: options.start(), changing: undefined });
    },

    list: (functionName: string | null) => ({
      EventSourceMappings: known
        .filter((each) => functionName === null || each.functionName === functionName)
        .map(configurationOf),
    }),

    update: (uuid: string, { Enabled }: { Enabled?: boolean }) => {
      const mapping = known.find((each) => each.uuid === uuid);
      if (mapping === undefined)
        throw failure('ResourceNotFoundException', 404, 'The resource you requested does not exist.');
      if (mapping.state.endsWith('ing'))
        throw failure('ResourceInUseException', 400, `The mapping is ${mapping.state}`);
      if (Enabled !== undefined && Enabled !== (mapping.state === 'Enabled')) change(mapping, Enabled);
      return configurationOf(mapping);
    },

    /** Done when all that is being handled is. */
    stop: async (): Promise<void> => {
      isOver = true;
      await Promise.all(known.flatMap(({ running, changing }) => [running?.stop(), changing]));
    },
  };
}

const configurationOf = ({ uuid, functionName, queueArn, batchSize, state, changedMs }: MappingState) => ({
  UUID: uuid,
  BatchSize: batchSize,
  EventSourceArn: queueArn,
  FunctionArn: queueArn.replace(/:sqs:([^:]+:[^:]+):.*$/, `:lambda:$1:function:${functionName}`),
  LastModified: new Date(changedMs),
  State: state,
  StateTransitionReason: 'USER_INITIATED',
});
