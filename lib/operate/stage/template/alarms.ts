import { type Resource, type Resources, ref, sub } from './cloudformation.ts';

/** From serverless.yml. */
export type FunctionNames = Record<'all' | 'queued' | 'durable' | 'off', string[]>;

/** From template/alarms.yml. */
type Row = {
  id: string;
  see: string;
  text: string;
  watch: string[];
  each?: Exclude<keyof FunctionNames, 'off'>;
  as: keyof typeof alarmKinds;
  over?: number;
  under?: number;
  minutes?: number;
  of?: [wrong: number, periods: number];
  part?: boolean;
  /** The function that writes what is watched; it needs no name if that is part of `watch`. */
  by?: string;
};
type Composite = { id: string; see: string; text: string; parts: string[]; suppressedBy?: string };
export type Alarms = { rows: Row[]; composites: Composite[] };

/**
 * Without FILL, CloudWatch evaluates the last metric that came, and an alarm keeps its state for as long: FILL adds a number for missing
 * data. The effect of FILL on a metric that never had data is not documented, so functions such as SUM receive all metrics at once and
 * omit such a metric. A new stage must not count as silent: another schedule must have run.
 */
export const alarmKinds = {
  counted: { expression: () => 'SUM(FILL(METRICS("m"), 0))', statistic: 'Sum', over: 0, minutes: 5 },
  repeated: { expression: () => 'MAX(FILL(METRICS("m"), 0))', statistic: 'Sum', over: 1, minutes: 60 },
  highest: { expression: () => 'MAX(FILL(METRICS("m"), 0))', statistic: 'Maximum', over: 0, minutes: 5 },
  lowest: { expression: (least = 0) => `FILL(m0, ${least})`, statistic: 'Maximum', under: 0, minutes: 10 },
  silent: {
    ...{ expression: () => 'IF(FILL(alive, 0) > 0, MIN(FILL(METRICS("m"), 0)), 1)', statistic: 'Sum' },
    ...{ under: 1, minutes: 60 },
  },
  checked: { expression: undefined, statistic: 'Maximum', under: 1, minutes: 10 },
};

/** A CloudWatch metric-math alarm accepts no more metrics. */
const maxMetrics = 10;

const telling = { AlarmActions: [ref('Alarms')], OKActions: [ref('Alarms')] };

export const alarmResources = (
  stage: string,
  { rows, composites }: Alarms,
  names: FunctionNames,
): Resources => {
  const alarms = rows.flatMap((row): [string, Resource][] => {
    if (row.each === undefined) {
      const watch = row.watch.filter((text) => !names.off.includes(row.by ?? functionIn(text)));
      const text = row.text.replace('{names}', listed(watch.map(functionIn)));
      return watch.length === 0 ? [] : [[row.id, alarmOf(stage, { ...row, text }, watch)]];
    }
    const groups = inGroups(names[row.each], Math.floor(maxMetrics / row.watch.length));
    return groups.map((group, at) => {
      const watch = group.flatMap((name) => row.watch.map((metric) => `${metric} ${name}`));
      const text = row.text.replace('{names}', listed(group));
      return [groups.length === 1 ? row.id : `${row.id}${at + 1}`, alarmOf(stage, { ...row, text }, watch)];
    });
  });
  const idsOf = (part: string): string[] =>
    alarms.flatMap(([id]) =>
      id.startsWith(part) && Number.isInteger(Number(id.slice(part.length))) ? [id] : [],
    );
  return Object.fromEntries([
    ...alarms,
    ...composites.map(({ parts, ...row }): [string, Resource] => [
      row.id,
      compositeOf(stage, { ...row, parts: parts.flatMap(idsOf) }),
    ]),
  ]);
};

const described = ({ text, see }: { text: string; see: string }): string =>
  `${text} Runbook: lib/show/cli/README.md#${see}`;

const alarmOf = (stage: string, row: Row, watch: string[]): Resource => {
  const { expression, statistic, ...usual } = alarmKinds[row.as];
  const { over, under, minutes, of = [1, row.as === 'checked' ? 1 : 3], part } = { ...usual, ...row };
  const Period = minutes * 60;
  const rings = {
    AlarmDescription: described(row),
    ComparisonOperator: over === undefined ? 'LessThanThreshold' : 'GreaterThanThreshold',
    Threshold: over ?? under,
    EvaluationPeriods: of[1],
  };
  const metrics = watch.map((text) => metricOf(stage, text));
  // A missing metric raises an alarm, too.
  const checked = {
    ...{ ...metrics[0], Statistic: statistic, Period, TreatMissingData: 'missing' },
    ...{ ...telling, InsufficientDataActions: telling.AlarmActions },
  };
  const measured = (Id: string, Metric: object) => ({
    ...{ Id, ReturnData: false },
    MetricStat: { Metric, Period, Stat: statistic },
  });
  const alive = metricOf(stage, 'AWS/Lambda Invocations connection-check');
  const filled = expression && {
    ...{ DatapointsToAlarm: of[0], TreatMissingData: 'notBreaching', ...(part ? {} : telling) },
    Metrics: [
      { Id: 'filled', Expression: expression(under) },
      ...metrics.map((metric, at) => measured(`m${at}`, metric)),
      ...(row.as === 'silent' ? [measured('alive', alive)] : []),
    ],
  };
  return { Type: 'AWS::CloudWatch::Alarm', Properties: { ...rings, ...(filled ?? checked) } };
};

const compositeOf = (stage: string, { id, parts, suppressedBy, ...row }: Composite): Resource => ({
  Type: 'AWS::CloudWatch::CompositeAlarm',
  Properties: {
    AlarmName: `sis-relay-${stage}-${id.toLowerCase()}`,
    AlarmDescription: described(row),
    AlarmRule: sub(parts.map((part) => `ALARM("\${${part}}")`).join(' OR ')),
    // After the reason is gone, messages need time to be delivered.
    ...(suppressedBy !== undefined && {
      ...{ ...telling, ActionsSuppressor: ref(suppressedBy) },
      ...{ ActionsSuppressorWaitPeriod: 300, ActionsSuppressorExtensionPeriod: 7200 },
    }),
  },
});

const nameOf: Record<string, string> = {
  'AWS/Events': 'RuleName',
  'AWS/Lambda': 'FunctionName',
  'AWS/SQS': 'QueueName',
};

/** `Refusals kind=credentials`, or `AWS/Lambda Errors token-refresh`. */
const metricOf = (stage: string, text: string) => {
  const [first = '', ...others] = text.split(' ');
  if (!first.startsWith('AWS/'))
    return {
      ...{ Namespace: `sis-relay/${stage}`, MetricName: first },
      Dimensions: others.map((each) => ({ Name: each.split('=')[0], Value: each.split('=')[1] })),
    };
  const [MetricName, name] = others;
  const Name = nameOf[first];
  return {
    ...{ Namespace: first, MetricName },
    Dimensions: [{ Name, Value: `sis-relay-${stage}-${name}` }],
  };
};

const listed = (names: string[]): string => names.map((name) => `\`${name}\``).join(', ');

/** As in `TokenRefreshes function=token-refresh` and `AWS/Lambda Invocations token-refresh`. */
const functionIn = (text: string): string => text.split(/[ =]/).at(-1) ?? '';

const inGroups = (names: string[], most: number): string[][] => {
  const groups = Math.ceil(names.length / most);
  const size = Math.ceil(names.length / groups);
  return Array.from({ length: groups }, (_, at) => names.slice(at * size, (at + 1) * size));
};
