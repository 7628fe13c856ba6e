import type { metricDefinitions } from '../../runtime/telemetry/metrics.ts';

type Definitions = typeof metricDefinitions;
type DimensionsOf<Name extends keyof Definitions> = RecordOf<Definitions[Name]['dimensions'][number]>;
type RecordOf<Names> = Names extends readonly string[] ? Record<Names[number], string> : never;

/** The metrics of a stage, as CloudWatch names them. */
export const stageMetrics = (stage: string) => {
  const dimension = (Name: string, name: string) => [{ Name, Value: `sis-relay-${stage}-${name}` }];
  const lambdaMetric = (
    MetricName:
      | 'Errors'
      | 'Invocations'
      | 'AsyncEventsDropped'
      | 'DurableExecutionFailed'
      | 'DurableExecutionTimedOut',
    name: string,
  ) => ({ Namespace: 'AWS/Lambda', MetricName, Dimensions: dimension('FunctionName', name) });
  return {
    /** One that functions write, with one of its sets of dimensions. */
    metric: <Name extends keyof Definitions>(MetricName: Name, dimensions: DimensionsOf<Name>) => ({
      Namespace: `sis-relay/${stage}`,
      MetricName,
      Dimensions: Object.entries<string>(dimensions).map(([Name, Value]) => ({ Name, Value })),
    }),
    lambdaMetric,
    queueMetric: (
      MetricName:
        | 'ApproximateAgeOfOldestMessage'
        | 'ApproximateNumberOfMessagesNotVisible'
        | 'ApproximateNumberOfMessagesVisible',
      name: string,
    ) => ({ Namespace: 'AWS/SQS', MetricName, Dimensions: dimension('QueueName', name) }),
    ruleMetric: (MetricName: 'FailedInvocations', name: string) => ({
      Namespace: 'AWS/Events',
      MetricName,
      Dimensions: dimension('RuleName', name),
    }),
    /** While it has data, the stage works: what is silent then is not merely new. */
    alive: lambdaMetric('Invocations', 'connection-check'),
  };
};
export type StageMetrics = ReturnType<typeof stageMetrics>;
