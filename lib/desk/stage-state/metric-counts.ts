import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { jsonIn } from '../../message/json.ts';
import { awsClient, type ClientOptions } from '../../runtime/aws/clients.ts';
import type { metricDefinitions } from '../../runtime/telemetry/metrics.ts';
import { pathOfStage, type Target } from '../../stage/target.ts';

type Query = { functions: readonly string[]; sinceMs: number; signal: AbortSignal };
type Metric = { name: keyof typeof metricDefinitions; of: Record<string, string> };
type LogLocation = Pick<Target, 'functionLog' | 'prefix'>;

/** What one function counted within five minutes. */
export type MetricCount = { function: string; atMs: number; count: number };

export const periodSeconds = 300;

/** What is shown beside metrics does not wait longer for them. */
const readingMs = 10_000;

/** How many messages were done: what is done at once leaves no record. Undefined if it cannot be read. */
export const readDone = (place: LogLocation, query: Query): Promise<MetricCount[] | undefined> =>
  readCounts(place, { name: 'Messages', of: { outcome: 'done', kind: 'none' } }, query);

/** In how many invocations nothing that a function needs answered, also if it could not record what waits. Undefined: unknown. */
export const readUnanswered = (place: LogLocation, query: Query): Promise<MetricCount[] | undefined> =>
  readCounts(place, { name: 'BatchesUnanswered', of: {} }, query);

/** Every five minutes, by the functions' metrics. */
const readCounts = async (
  { functionLog, prefix }: LogLocation,
  metric: Metric,
  query: Query,
): Promise<MetricCount[] | undefined> => {
  if (functionLog === undefined) return undefined;
  const signal = AbortSignal.any([query.signal, AbortSignal.timeout(readingMs)]);
  const reading =
    'file' in functionLog
      ? inFile(functionLog.file, metric, { ...query, signal })
      : onAws(functionLog.client, metric, { ...query, signal, prefix });
  return reading.catch(() => undefined);
};

const lineSchema = z.looseObject({
  _aws: z.looseObject({ Timestamp: z.number() }),
  function: z.string(),
});

const valuesSchema = z.array(z.number());

/** `npm run local` keeps the lines that CloudWatch would read the metrics from. */
const inFile = async (
  file: string,
  { name, of }: Metric,
  { functions, sinceMs, signal }: Query,
): Promise<MetricCount[]> => {
  const counts = new Map<string, MetricCount>();
  const input = createReadStream(file, { signal });
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (!line.includes(`"${name}":[`)) continue;
    const parsed = lineSchema.safeParse(jsonIn(line.slice(line.indexOf('{'))));
    if (!parsed.success) continue;
    const { _aws: about, function: counter, ...values } = parsed.data;
    const samples = valuesSchema.safeParse(values[name]);
    const isOfIt = Object.entries(of).every(([dimension, value]) => values[dimension] === value);
    const atMs = about.Timestamp - (about.Timestamp % (periodSeconds * 1000));
    if (!samples.success || !isOfIt || atMs < sinceMs || !functions.includes(counter)) continue;
    const known = counts.get(`${atMs} ${counter}`) ?? { function: counter, atMs, count: 0 };
    known.count += samples.data.reduce((total, value) => total + value, 0);
    counts.set(`${atMs} ${counter}`, known);
  }
  return [...counts.values()];
};

const onAws = async (
  client: ClientOptions,
  { name, of }: Metric,
  { functions, sinceMs, signal, prefix }: Query & { prefix: string },
): Promise<MetricCount[]> => {
  const { CloudWatchClient, GetMetricDataCommand } = await import('@aws-sdk/client-cloudwatch');
  const cloudwatch = awsClient(CloudWatchClient, client);
  const Namespace = pathOfStage(prefix);
  const MetricDataQueries = functions.map((counter, at) => ({
    Id: `m${at}`,
    MetricStat: {
      Metric: {
        Namespace,
        MetricName: name,
        Dimensions: Object.entries({ function: counter, ...of }).map(([Name, Value]) => ({ Name, Value })),
      },
      Period: periodSeconds,
      Stat: 'Sum',
    },
  }));
  const counts: MetricCount[] = [];
  try {
    let NextToken: string | undefined;
    do {
      const input = { MetricDataQueries, StartTime: new Date(sinceMs), EndTime: new Date(), NextToken };
      const answer = await cloudwatch.send(new GetMetricDataCommand(input), { abortSignal: signal });
      for (const { Id = '', Timestamps = [], Values = [] } of answer.MetricDataResults ?? []) {
        const counter = functions[Number(Id.slice(1))] ?? '';
        for (const [index, at] of Timestamps.entries())
          counts.push({ function: counter, atMs: at.getTime(), count: Values[index] ?? 0 });
      }
      NextToken = answer.NextToken;
    } while (NextToken !== undefined);
    return counts;
  } finally {
    cloudwatch.destroy();
  }
};
