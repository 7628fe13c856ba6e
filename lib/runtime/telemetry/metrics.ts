/** Every metric with the sets of dimensions under which it is published, for alarms and dashboards. */
export const metricDefinitions = {
  /** Attempts by outcome; `kind` is `none` if nothing failed. */
  Messages: { unit: 'Count', dimensions: [['function', 'outcome', 'kind']] },
  /**
   * Failures that wait until a person acts, `credentials` and `aws-refused`, of messages and of anything else a function does.
   */
  Refusals: { unit: 'Count', dimensions: [['function', 'kind'], ['kind']] },
  /** Dead letters written. Also by kind and by who must act: an alarm cannot sum series that it must first search for. */
  Letters: { unit: 'Count', dimensions: [['function', 'kind'], ['kind'], ['responsible']] },
  /** Causes of letters that have none before, by kind; no value if there is none. A cause is new once, as long as its letters are there. */
  NewCauses: { unit: 'Count', dimensions: [['kind']] },
  /**
   * What waits for a person's decision, and what waits behind it, by what it is: `letters`, or what an option names. Written each morning
   * until it is decided; no value if nothing waits.
   */
  Decisions: { unit: 'Count', dimensions: [['what']] },
  /** 1 if what the stage expects has not come in its time, otherwise 0, by its name. */
  ArrivalsOverdue: { unit: 'None', dimensions: [['expected']] },
  /**
   * Age of the oldest dead letter, reported by each replay, even if nothing is replayed: SQS' own metric leaves out messages that
   * were received three times.
   */
  LetterAge: { unit: 'Seconds', dimensions: [['function']] },
  /** How long the longest-paused function has been paused; no value if none is paused. */
  PauseAge: { unit: 'Seconds', dimensions: [['function']] },
  MessageDuration: { unit: 'Milliseconds', dimensions: [['function', 'outcome']] },
  /** Age of messages when they leave their queue. */
  MessageAge: { unit: 'Seconds', dimensions: [['function']] },
  /** Time since the first receipt, for messages that must wait again. */
  WaitingAge: { unit: 'Seconds', dimensions: [['function'], []] },
  /** Batches in which something was `unavailable` for a message, and the platform answered for none: what heals at once has no such batch. */
  BatchesUnanswered: { unit: 'Count', dimensions: [['function']] },
  PlatformLatency: { unit: 'Milliseconds', dimensions: [['function'], ['function', 'operation']] },
  /** Requests by the status of their answer; `none` if no answer came. */
  PlatformAnswers: { unit: 'Count', dimensions: [['function', 'status']] },
  /** Calls of the platform by class, of all functions together, as the next two: each series has a monthly cost. */
  PaceCalls: { unit: 'Count', dimensions: [['priority']] },
  /** Those calls that the platform refused as too many. */
  PaceRefused: { unit: 'Count', dimensions: [['priority']] },
  /** How long messages waited for their turn, if they did. */
  PaceWait: { unit: 'Milliseconds', dimensions: [['priority']] },
  /** Credits that the platform grants to all clients together in a window; no value if it reports none. */
  PaceBudget: { unit: 'None', dimensions: [[]] },
  /** Credits that all clients together have used in a window, as the platform reports. */
  PaceUsed: { unit: 'None', dimensions: [[]] },
  /** OAuth credentials whose tokens were due, by outcome. */
  TokenRefreshes: { unit: 'Count', dimensions: [['outcome']] },
  /** OAuth credentials that need a person to authorize again; counted with every run until that is done. */
  AuthorizationsNeeded: { unit: 'Count', dimensions: [['function']] },
  /**
   * Exports by outcome: `complete`, `incomplete` if some files failed, or `empty` if no course is listed. The engine has its own
   * metrics for exports that fail as a whole or run out of time.
   */
  ExportRuns: { unit: 'Count', dimensions: [['outcome']] },
  /** Files of these exports: `stored` or `failed`. */
  ExportParts: { unit: 'Count', dimensions: [['outcome']] },
  /** Imports of snapshots by outcome: each import reports all outcomes, so that an alarm about one of them ends. `undecided`: nobody decided in time. */
  SnapshotImports: { unit: 'Count', dimensions: [['outcome']] },
  /** Rows of accepted snapshots, by change. */
  SnapshotRows: { unit: 'Count', dimensions: [['change']] },
  /** Exports of all courses that the schedule began, without those that a person began. */
  NightlyExports: { unit: 'Count', dimensions: [['function']] },
  /** 1 for a run that could not continue reading the SIS' changes, otherwise 0. */
  ChangePollsFailed: { unit: 'Count', dimensions: [['function']] },
  /** Change notices: `sent`, `skipped` if the mapping does not name them, or `refused`. */
  ChangeNotices: { unit: 'Count', dimensions: [['outcome']] },
  /** Fills of the crosswalk that began. */
  CrosswalkRuns: { unit: 'Count', dimensions: [['function']] },
  /** Fills of the crosswalk by outcome: `filled`, or `held` if names stay as they were until a person has looked. */
  CrosswalkFills: { unit: 'Count', dimensions: [['outcome']] },
  /** Codes that stand for another org unit than before, without an operator's acceptance. */
  CrosswalkMoved: { unit: 'Count', dimensions: [['function']] },
  /** Comparisons of the platform with what was sent: `whole`, or `partial` if the night was too short. */
  ReconcileRuns: { unit: 'Count', dimensions: [['outcome']] },
  /** The compared writes, by what the platform shows of them. */
  ReconcileWrites: { unit: 'Count', dimensions: [['class']] },
  /** 1 or 0, as the next two; no value if it is not known. */
  PlatformReachable: { unit: 'None', dimensions: [['function']] },
  CredentialAccepted: { unit: 'None', dimensions: [['function']] },
  /** Whether the platform has every version that is configured. */
  VersionsSupported: { unit: 'None', dimensions: [['function']] },
  /** The difference between the platform's clock and ours, as an absolute value. */
  ClockSkew: { unit: 'Seconds', dimensions: [['function']] },
  /** Days until a person must authorize again. */
  AuthorizationDays: { unit: 'Count', dimensions: [['function']] },
} as const;

type MetricName = keyof typeof metricDefinitions;
type DimensionOf<Name extends MetricName> = (typeof metricDefinitions)[Name]['dimensions'][number][number];
type Dimensions = Record<string, string>;

type Series = { metric: MetricName; dimensions: Dimensions; values: number[] };

/** Collects the metrics of one invocation, and writes them as lines of CloudWatch's embedded metric format. */
export const createTally = (namespace: string) => {
  const directives = directivesOf(namespace);
  let collected: Series[] = [];
  return {
    add: <Name extends MetricName>(
      metric: Name,
      dimensions: Record<DimensionOf<Name>, string>,
      value: number,
    ): void => {
      // JSON would write null, for which CloudWatch drops the whole line.
      if (!Number.isFinite(value)) return;
      // One invocation has few series: comparing each costs less than building a key.
      const series = collected.find((each) => each.metric === metric && isSame(each.dimensions, dimensions));
      if (series === undefined) collected.push({ metric, dimensions, values: [value] });
      else if (metricDefinitions[metric].unit === 'Count') series.values[0] = (series.values[0] ?? 0) + value;
      else series.values.push(value);
    },
    take: (): string[] => {
      const lines = pack(collected.flatMap(sliced)).map((packed) => metricLine(packed, directives));
      collected = [];
      return lines;
    },
  };
};

const isSame = (one: Dimensions, other: Dimensions): boolean => {
  for (const name in one) if (one[name] !== other[name]) return false;
  return true;
};

/** CloudWatch reads at most this many values of one metric from a line. */
const maxValues = 100;

const sliced = (series: Series): Series[] =>
  series.values.length <= maxValues
    ? [series]
    : Array.from({ length: Math.ceil(series.values.length / maxValues) }, (_, at) => ({
        ...series,
        values: series.values.slice(at * maxValues, (at + 1) * maxValues),
      }));

type MetricGroup = { metrics: Map<MetricName, number[]>; dimensions: Dimensions };

/** As few lines as possible, because each costs money. A line can hold a metric once, and one value of a dimension. */
const pack = (all: Series[]): MetricGroup[] => {
  const lines: MetricGroup[] = [];
  for (const { metric, dimensions, values } of all) {
    const fits = (line: MetricGroup) =>
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

/** Most lines have the same metrics, so the directive is not serialized each time. */
const metricLine = (
  { metrics, dimensions }: MetricGroup,
  directives: ReturnType<typeof directivesOf>,
): string => {
  const about = [...metrics.keys()].map((name) => directives[name]).join();
  const values = JSON.stringify({ ...dimensions, ...Object.fromEntries(metrics) });
  return `{"_aws":{"Timestamp":${Date.now()},"CloudWatchMetrics":[${about}]},${values.slice(1)}`;
};

const directivesOf = (namespace: string) =>
  Object.fromEntries(
    Object.entries(metricDefinitions).map(([name, { unit, dimensions }]) => [
      name,
      JSON.stringify({ Namespace: namespace, Dimensions: dimensions, Metrics: [{ Name: name, Unit: unit }] }),
    ]),
  );
