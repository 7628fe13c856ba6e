import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { jsonIn } from '../../message/json.ts';
import { awsClient, type ClientOptions } from '../../runtime/aws/clients.ts';
import type { metricDefinitions } from '../../runtime/telemetry/metrics.ts';
import { pathOfStage, type Target } from '../../stage/target.ts';

type DoneQuery = { functions: readonly string[]; sinceMs: number; signal: AbortSignal };
type DoneCount = { atMs: number; count: number };

const metric: keyof typeof metricDefinitions = 'Messages';
const done = { outcome: 'done', kind: 'none' };
const periodSeconds = 300;

/**
 * How many messages were done, every five minutes, by the functions' metrics: what is done at once leaves no record. Undefined if they
 * cannot be read.
 */
export const readDone = async (
  { functionLog, prefix }: Pick<Target, 'functionLog' | 'prefix'>,
  query: DoneQuery,
): Promise<DoneCount[] | undefined> => {
  if (functionLog === undefined) return undefined;
  const reading =
    'file' in functionLog ? inFile(functionLog.file, query) : onAws(functionLog.client, { ...query, prefix });
  return reading.catch(() => undefined);
};

const lineSchema = z.looseObject({
  _aws: z.looseObject({ Timestamp: z.number() }),
  outcome: z.literal(done.outcome),
  [metric]: z.array(z.number()),
});

/** `npm run local` keeps the lines that CloudWatch would read the metrics from. */
const inFile = async (file: string, { sinceMs, signal }: DoneQuery): Promise<DoneCount[]> => {
  const counts = new Map<number, number>();
  const input = createReadStream(file, { signal });
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (!line.includes(`"${metric}":[`)) continue;
    const parsed = lineSchema.safeParse(jsonIn(line.slice(line.indexOf('{'))));
    if (!parsed.success) continue;
    const { _aws: about, [metric]: values } = parsed.data;
    const atMs = about.Timestamp - (about.Timestamp % (periodSeconds * 1000));
    if (atMs < sinceMs) continue;
    const sum = values.reduce((total, value) => total + value, 0);
    counts.set(atMs, (counts.get(atMs) ?? 0) + sum);
  }
  return [...counts].map(([atMs, count]) => ({ atMs, count }));
};

const onAws = async (
  client: ClientOptions,
  { functions, sinceMs, signal, prefix }: DoneQuery & { prefix: string },
): Promise<DoneCount[]> => {
  const { CloudWatchClient, GetMetricDataCommand } = await import('@aws-sdk/client-cloudwatch');
  const cloudwatch = awsClient(CloudWatchClient, client);
  const Namespace = pathOfStage(prefix);
  const MetricDataQueries = functions.map((name, at) => ({
    Id: `m${at}`,
    MetricStat: {
      Metric: {
        Namespace,
        MetricName: metric,
        Dimensions: Object.entries({ function: name, ...done }).map(([Name, Value]) => ({ Name, Value })),
      },
      Period: periodSeconds,
      Stat: 'Sum',
    },
  }));
  const counts: DoneCount[] = [];
  try {
    let NextToken: string | undefined;
    do {
      const input = { MetricDataQueries, StartTime: new Date(sinceMs), EndTime: new Date(), NextToken };
      const answer = await cloudwatch.send(new GetMetricDataCommand(input), { abortSignal: signal });
      for (const { Timestamps = [], Values = [] } of answer.MetricDataResults ?? [])
        counts.push(...Timestamps.map((at, index) => ({ atMs: at.getTime(), count: Values[index] ?? 0 })));
      NextToken = answer.NextToken;
    } while (NextToken !== undefined);
    return counts;
  } finally {
    cloudwatch.destroy();
  }
};
