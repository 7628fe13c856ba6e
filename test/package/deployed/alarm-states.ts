import type { Deployment, Properties } from '../cloudformation.ts';

/** A value of a metric, with one of the sets of dimensions under which it is published. */
type Point = { atMs: number; value: number };
export type State = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA';
/** What people get. */
export type Mail = { alarm: string; is: 'on' | 'over' | 'without data'; topic: string; minute: number };

/** By period, from the latest one back; undefined: no data. */
type Series = (number | undefined)[];
type Value = number | Series | Series[];

const seriesKey = (namespace: string, metric: string, dimensions: Record<string, string>): string =>
  JSON.stringify([namespace, metric, Object.entries(dimensions).sort()]);

const minuteMs = 60_000;
/** CloudWatch shows a metric so late. */
const lateMs = minuteMs;
/** Before its first value; an alarm reads further back than its own periods by so many. */
const furtherPeriods = 2;

/**
 * CloudWatch for the alarms of a template: their expressions are evaluated each minute on what was written. A metric that never had data is
 * left out of METRICS(), as `sis-relay doctor` finds it on AWS.
 */
export function alarmStates(deployment: Deployment) {
  const points = new Map<string, Point[]>();
  const states = new Map<string, State>();
  const suppressed = new Map<string, number>();
  const mails: Mail[] = [];
  const metricAlarms = deployment.ofType('AWS::CloudWatch::Alarm');
  const composites = deployment.ofType('AWS::CloudWatch::CompositeAlarm');
  let firstMs: number | undefined;

  const put = (key: string, point: Point): void => {
    const known = points.get(key) ?? [];
    points.set(key, known);
    known.push(point);
  };

  /** Undefined: it never had data until then. */
  const seriesOf = (metric: Properties, nowMs: number, periods: number): Series | undefined => {
    const { Namespace, MetricName, Dimensions = [], Period, Stat, Statistic } = metric;
    const dimensions = Object.fromEntries(Dimensions.map(({ Name, Value }: Properties) => [Name, Value]));
    const all = points.get(seriesKey(Namespace, MetricName, dimensions)) ?? [];
    const [first] = all;
    if (first === undefined || first.atMs > nowMs - lateMs) return undefined;
    const periodMs = Period * 1000;
    const lastEndMs = Math.floor((nowMs - lateMs) / periodMs) * periodMs;
    const found: number[][] = Array.from({ length: periods }, () => []);
    // They come in the order of their times.
    for (let at = all.length - 1; at >= 0; at -= 1) {
      const { atMs, value } = all[at] ?? first;
      if (atMs < lastEndMs - periods * periodMs) break;
      if (atMs < lastEndMs) found[Math.ceil((lastEndMs - atMs) / periodMs) - 1]?.push(value);
    }
    const isSum = (Stat ?? Statistic) === 'Sum';
    return found.map((values) => {
      if (values.length === 0) return undefined;
      return isSum ? values.reduce((sum, each) => sum + each, 0) : Math.max(...values);
    });
  };

  const valuesOf = ({ Metrics, ...alarm }: Properties, nowMs: number): Series => {
    const periods = alarm.EvaluationPeriods;
    if (Metrics === undefined) {
      // Its own data are looked for further back.
      const series = seriesOf(alarm, nowMs, periods + furtherPeriods) ?? [];
      const newest = series.findIndex((value) => value !== undefined);
      return newest < 0 ? [] : series.slice(newest, newest + periods);
    }
    const [{ Expression }, ...metrics] = Metrics as [Properties, ...Properties[]];
    const named = new Map(
      metrics.map(({ Id, MetricStat: { Metric, ...how } }): [string, Series | undefined] => [
        Id,
        seriesOf({ ...Metric, ...how }, nowMs, periods),
      ]),
    );
    const value = evaluated(Expression, named);
    if (typeof value === 'number') return Array.from({ length: periods }, () => value);
    if (isMany(value)) throw new Error(`${Expression} is more than one series`);
    return value;
  };

  const stateOf = (alarm: Properties, nowMs: number): State => {
    const { Threshold, ComparisonOperator, EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods } = alarm;
    const values = valuesOf(alarm, nowMs).filter((value) => value !== undefined);
    const breaches = values.filter((value) =>
      ComparisonOperator === 'GreaterThanThreshold' ? value > Threshold : value < Threshold,
    );
    if (breaches.length >= DatapointsToAlarm) return 'ALARM';
    return values.length === 0 && alarm.TreatMissingData === 'missing' ? 'INSUFFICIENT_DATA' : 'OK';
  };

  const nameOf = ({ AlarmName, id }: Properties): string => AlarmName ?? id;
  const isOn = (name: string): boolean => states.get(name) === 'ALARM';

  const enter = (alarm: Properties, state: State, nowMs: number): void => {
    const before = states.get(nameOf(alarm));
    states.set(nameOf(alarm), state);
    if (before === undefined || before === state) return;
    const by = composites.find(({ id }) => alarm.ActionsSuppressor === id);
    if (by && (isOn(nameOf(by)) || nowMs < (suppressed.get(nameOf(by)) ?? 0))) return;
    const { AlarmActions = [], OKActions = [], InsufficientDataActions = [] } = alarm;
    const [is, actions] = {
      ALARM: ['on', AlarmActions],
      OK: ['over', OKActions],
      INSUFFICIENT_DATA: ['without data', InsufficientDataActions],
    }[state] as [Mail['is'], string[]];
    const minute = Math.round((nowMs - (firstMs ?? nowMs)) / minuteMs);
    for (const topic of actions) mails.push({ alarm: alarm.id, is, topic, minute });
  };

  return {
    mails,
    isOn: (id: string): boolean => isOn(id),
    /** The last value of a metric that functions write. */
    last: (metric: string, dimensions: Record<string, string>): number | undefined =>
      points.get(seriesKey('sis-relay/local', metric, dimensions))?.at(-1)?.value,
    descriptionOf: (id: string): string =>
      [...metricAlarms, ...composites].find((each) => each.id === id)?.AlarmDescription,
    /** A line of a function's log, which may be one of metrics. */
    read: (line: string): void => {
      if (!line.startsWith('{"_aws"')) return;
      const { _aws, ...facts } = JSON.parse(line);
      for (const { Namespace, Dimensions, Metrics } of _aws.CloudWatchMetrics)
        for (const { Name } of Metrics)
          for (const names of Dimensions as string[][])
            for (const value of facts[Name] as number[])
              put(seriesKey(Namespace, Name, Object.fromEntries(names.map((name) => [name, facts[name]]))), {
                atMs: _aws.Timestamp,
                value,
              });
    },
    /** What AWS writes itself. */
    write: (
      Namespace: string,
      metric: string,
      { value, atMs, ...dimensions }: { value: number; atMs: number } & Record<string, string | number>,
    ): void =>
      put(seriesKey(Namespace, metric, dimensions as unknown as Record<string, string>), { atMs, value }),
    evaluate: (nowMs: number): void => {
      firstMs ??= nowMs;
      for (const alarm of metricAlarms) enter(alarm, stateOf(alarm, nowMs), nowMs);
      for (const alarm of composites.toSorted(({ ActionsSuppressor }) => (ActionsSuppressor ? 1 : -1))) {
        const parts = [...alarm.AlarmRule.matchAll(/ALARM\("([^"]+)"\)/g)].map(([, part = '']) => part);
        const on = parts.some(isOn);
        if (on) suppressed.set(nameOf(alarm), nowMs + 7200_000);
        enter(alarm, on ? 'ALARM' : 'OK', nowMs);
      }
    },
  };
}

const isMany = (value: Value): value is Series[] => Array.isArray(value) && Array.isArray(value[0]);

/** What an expression of CloudWatch's metric math is, for metrics by their ids. */
function evaluated(expression: string, metrics: ReadonlyMap<string, Series | undefined>): Value {
  const tokens = expression.match(/[A-Z]+|[a-z]\w*|\d+(?:\.\d+)?|"[^"]*"|[(),><]/g) ?? [];
  const next = (expected?: string): string => {
    const token = tokens.shift() ?? '';
    if (expected !== undefined && token !== expected)
      throw new Error(`${expression}: ${token} is not ${expected}`);
    return token;
  };
  const term = (): Value => {
    const token = next();
    if (/^\d/.test(token)) return Number(token);
    if (/^[a-z]/.test(token)) return metrics.get(token) ?? [];
    next('(');
    if (token === 'METRICS') {
      const beginning = next().slice(1, -1);
      next(')');
      return [...metrics].flatMap(([id, series]) => (id.startsWith(beginning) && series ? [series] : []));
    }
    const given: Value[] = [comparison()];
    while (tokens[0] === ',') {
      next();
      given.push(comparison());
    }
    next(')');
    return called(token, given);
  };
  const comparison = (): Value => {
    const left = term();
    if (tokens[0] !== '>' && tokens[0] !== '<') return left;
    const isGreater = next() === '>';
    const right = term();
    return each([left, right], (one = Number.NaN, other = Number.NaN) =>
      Number(isGreater ? one > other : one < other),
    );
  };
  const value = comparison();
  if (tokens.length > 0) throw new Error(`${expression}: ${tokens.join('')} is not understood`);
  return value;
}

/** Applies a function to the values of each period. */
const each = (
  given: readonly Value[],
  apply: (...values: (number | undefined)[]) => number | undefined,
): Value => {
  const lengths = given.flatMap((value) => (Array.isArray(value) && !isMany(value) ? [value.length] : []));
  if (lengths.length === 0) return apply(...(given as number[])) ?? [];
  return Array.from({ length: Math.max(...lengths) }, (_, at) =>
    apply(...given.map((value) => (typeof value === 'number' ? value : (value as Series)[at]))),
  );
};

const known = (values: readonly (number | undefined)[]): number[] =>
  values.filter((value) => value !== undefined);

function called(name: string, given: Value[]): Value {
  const [first = [], ...others] = given;
  if (name === 'FILL') {
    const fill = (series: Series): Series => series.map((value) => value ?? (others[0] as number));
    return isMany(first) ? first.map(fill) : typeof first === 'number' ? first : fill(first as Series);
  }
  if (name === 'IF') return each(given, (condition, then, otherwise) => (condition ? then : otherwise));
  const joined = {
    SUM: (values: number[]) => values.reduce((sum, value) => sum + value, 0),
    MAX: (values: number[]) => Math.max(...values),
    MIN: (values: number[]) => Math.min(...values),
  }[name];
  if (joined === undefined) throw new Error(`${name} is not known here`);
  if (!Array.isArray(first) || first.length === 0) return first;
  // Of many series it is one, and of one series it is one number.
  if (!isMany(first)) return joined(known(first as Series));
  return Array.from({ length: first[0]?.length ?? 0 }, (_, at) => {
    const values = known(first.map((series) => series[at]));
    return values.length === 0 ? undefined : joined(values);
  });
}
