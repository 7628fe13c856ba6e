/** Every metric with the sets of dimensions under which it is published: what alarms and dashboards may ask for. */
export const metricDefinitions = {
  /** Attempts by what came of them; `kind` is `none` where nothing failed. */
  Messages: { unit: 'Count', dimensions: [['function', 'outcome', 'kind']] },
  /** Dead letters written. By kind alone as well: an alarm cannot add up what it must first search for. */
  Letters: { unit: 'Count', dimensions: [['function', 'kind'], ['kind']] },
  /** Of the oldest dead letter, told by each replay, also where nothing is replayed: SQS' own metric leaves out what was received thrice. */
  LetterAge: { unit: 'Seconds', dimensions: [['function']] },
  MessageDuration: { unit: 'Milliseconds', dimensions: [['function', 'outcome']] },
  /** How old messages are when they leave their queue. */
  MessageAge: { unit: 'Seconds', dimensions: [['function']] },
  /** How old messages are that must wait once more. */
  WaitingAge: { unit: 'Seconds', dimensions: [['function']] },
  PlatformLatency: { unit: 'Milliseconds', dimensions: [['function'], ['function', 'operation']] },
  /** Requests by the status of their answer; `none` where no answer came. */
  PlatformAnswers: { unit: 'Count', dimensions: [['function', 'status']] },
  /** OAuth credentials whose tokens were due, by what came of it. */
  TokenRefreshes: { unit: 'Count', dimensions: [['outcome']] },
  /** OAuth credentials that no refresh can help any more, told with every run until a person has authorised again. */
  AuthorizationsNeeded: { unit: 'Count', dimensions: [['function']] },
  /** 1 or 0, as are the next two; what is not known is not told. */
  PlatformReachable: { unit: 'None', dimensions: [['function']] },
  CredentialAccepted: { unit: 'None', dimensions: [['function']] },
  /** Whether the platform has every version that is configured. */
  VersionsSupported: { unit: 'None', dimensions: [['function']] },
  /** How far apart the platform's clock and ours are, whichever is ahead. */
  ClockSkew: { unit: 'Seconds', dimensions: [['function']] },
  /** Days until a person must authorise again. */
  AuthorisationDays: { unit: 'Count', dimensions: [['function']] },
} as const;

type MetricName = keyof typeof metricDefinitions;
type DimensionOf<Name extends MetricName> = (typeof metricDefinitions)[Name]['dimensions'][number][number];
type Dimensions = Record<string, string>;

/** What one invocation counted and timed, until it is taken as lines of CloudWatch's embedded metric format. */
type Tally = {
  add<Name extends MetricName>(
    metric: Name,
    dimensions: Record<DimensionOf<Name>, string>,
    value: number,
  ): void;
  take(): string[];
};

type Series = { metric: MetricName; dimensions: Dimensions; values: number[] };

export const createTally = (namespace: string): Tally => {
  const directives = directivesOf(namespace);
  const collected = new Map<string, Series>();
  return {
    add: (metric, dimensions, value) => {
      // JSON would turn it into null, for which CloudWatch drops the whole line.
      if (!Number.isFinite(value)) return;
      let key: string = metric;
      for (const value of Object.values(dimensions)) key += ` ${value}`;
      const series = collected.get(key);
      if (series === undefined) collected.set(key, { metric, dimensions, values: [value] });
      else if (metricDefinitions[metric].unit === 'Count') series.values[0] = (series.values[0] ?? 0) + value;
      else series.values.push(value);
    },
    take: () => {
      const lines = pack([...collected.values()].flatMap(sliced)).map((packed) => lineOf(packed, directives));
      collected.clear();
      return lines;
    },
  };
};

/** The most values of one metric that CloudWatch reads from a line. */
const mostValues = 100;

const sliced = (series: Series): Series[] =>
  series.values.length <= mostValues
    ? [series]
    : Array.from({ length: Math.ceil(series.values.length / mostValues) }, (_, at) => ({
        ...series,
        values: series.values.slice(at * mostValues, (at + 1) * mostValues),
      }));

type Packed = { metrics: Map<MetricName, number[]>; dimensions: Dimensions };

/** As few lines as can be, as each is paid for: a line names a metric once, and a dimension with one value. */
const pack = (all: Series[]): Packed[] => {
  const lines: Packed[] = [];
  for (const { metric, dimensions, values } of all) {
    const fits = (line: Packed) =>
      !line.metrics.has(metric) &&
      Object.entries(dimensions).every(([name, value]) => (line.dimensions[name] ?? value) === value);
    let line = lines.find(fits);
    if (line === undefined) {
      line = { metrics: new Map(), dimensions: {} };
      lines.push(line);
    }
    line.metrics.set(metric, values);
    Object.assign(line.dimensions, dimensions);
  }
  return lines;
};

type Directives = ReturnType<typeof directivesOf>;

const lineOf = ({ metrics, dimensions }: Packed, directives: Directives): string =>
  JSON.stringify({
    _aws: { Timestamp: Date.now(), CloudWatchMetrics: [...metrics.keys()].map((name) => directives[name]) },
    ...dimensions,
    ...Object.fromEntries(metrics),
  });

const directivesOf = (namespace: string) =>
  Object.fromEntries(
    Object.entries(metricDefinitions).map(([name, { unit, dimensions }]) => [
      name,
      { Namespace: namespace, Dimensions: dimensions, Metrics: [{ Name: name, Unit: unit }] },
    ]),
  );
