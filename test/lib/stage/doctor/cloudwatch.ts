import type { CloudWatchClient } from '@aws-sdk/client-cloudwatch';

type State = 'ALARM' | 'OK' | 'INSUFFICIENT_DATA';
type Alarm = {
  AlarmName: string;
  TreatMissingData?: string;
  AlarmRule?: string;
  ActionsSuppressor?: string;
  Metrics?: { Expression?: string; MetricStat?: { Metric: { MetricName: string } } }[];
};
type Input = Alarm & {
  AlarmNames: string[];
  AlarmNamePrefix: string;
  StateValue: State;
  MetricData: { MetricName: string }[];
};

/** What AWS' documents leave open. */
export type Play = {
  /** What a metric that never had data is for an expression. */
  neverHadData?: 'left out' | 0;
  /** Whether an alarm over FILL(METRICS()) goes back when its data end. */
  endsWithData?: boolean;
  /** How long an alarm without FILL keeps the state of its last data. */
  bareMinutes?: number;
  suppresses?: boolean;
  /** Whether a metric without data for five minutes is as one that never had any. */
  forgets?: boolean;
  /** Whether MIN of a metric is one number for all minutes that are looked at. */
  minOfAll?: boolean;
};

/** CloudWatch as doctor meets it: a minute passes with every twentieth look at the alarms. */
export const playedCloudWatch = ({
  neverHadData = 'left out',
  endsWithData = true,
  bareMinutes = 5,
  suppresses = true,
  forgets = false,
  minOfAll = false,
}: Play = {}) => {
  const alarms = new Map<string, Alarm>();
  const states = new Map<string, State>();
  const data = new Map<string, Set<number>>();
  const called: string[] = [];
  let looks = 0;
  /** Until this look the extension of a suppressor that has ended lasts. */
  let extendedTo = 0;
  const minute = () => Math.floor(looks / 20);

  const stateOf = (alarm: Alarm): State => {
    const { AlarmName, AlarmRule, Metrics, TreatMissingData } = alarm;
    if (AlarmRule !== undefined) {
      const [, part = ''] = /^ALARM\("(.+)"\)$/.exec(AlarmRule) ?? [];
      return states.get(part) === 'ALARM' ? 'ALARM' : 'OK';
    }
    if (TreatMissingData === 'ignore') return states.get(AlarmName) ?? 'INSUFFICIENT_DATA';
    if (Metrics === undefined) return minute() < bareMinutes ? 'OK' : 'INSUFFICIENT_DATA';
    const names = Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric.MetricName ?? []);
    const valueAt = (name: string, at: number): number | undefined =>
      data.get(name)?.has(at) ? 1 : data.has(name) || neverHadData === 0 ? 0 : undefined;
    const lastOf = (name: string): number => Math.max(-1_000, ...(data.get(name) ?? []));
    const valuesAt = (at: number) =>
      names.filter((name) => name !== 'alive').flatMap((name) => valueAt(name, at) ?? []);
    const isCounted = (): boolean => {
      const periods = endsWithData ? [0, 1, 2, 3, 4] : [...Array(100).keys()];
      return periods.some((ago) => valuesAt(minute() - ago).some((value) => value > 0));
    };
    const isSilent = (): boolean => {
      if (minOfAll && minute() > 0) return true;
      const values = valuesAt(minute());
      if (forgets && !names.some((name) => name !== 'alive' && lastOf(name) > minute() - 5)) return false;
      return valueAt('alive', minute()) === 1 && values.length > 0 && Math.min(...values) < 1;
    };
    const expression = Metrics.find(({ Expression }) => Expression)?.Expression ?? '';
    const rings = [
      ['SUM', isCounted],
      ['IF(FILL(alive', isSilent],
    ] as const;
    const [, isRinging] = rings.find(([begin]) => expression.startsWith(begin)) ?? [];
    if (isRinging === undefined) throw new Error(`not played: ${expression}`);
    return isRinging() ? 'ALARM' : 'OK';
  };

  const suppressedBy = ({ ActionsSuppressor: by = '' }: Alarm): string | undefined => {
    if (!suppresses || by === '') return undefined;
    if (states.get(by) === 'ALARM') {
      extendedTo = looks + 20;
      return 'Alarm';
    }
    return looks < extendedTo ? 'ExtensionPeriod' : undefined;
  };

  const put = (alarm: Alarm) => alarms.set(alarm.AlarmName, alarm);
  const answers: Record<string, (input: Input) => object> = {
    PutMetricAlarm: put,
    PutCompositeAlarm: put,
    SetAlarmState: ({ AlarmName, StateValue }) => states.set(AlarmName, StateValue),
    DeleteAlarms: ({ AlarmNames: [name = ''] }) => {
      if ([...alarms.values()].some(({ AlarmRule = '' }) => AlarmRule.includes(`"${name}"`)))
        throw Object.assign(new Error('used'), { name: 'ValidationError' });
      alarms.delete(name);
      return {};
    },
    PutMetricData: ({ MetricData }) => {
      for (const { MetricName } of MetricData)
        data.set(MetricName, (data.get(MetricName) ?? new Set()).add(minute()));
      return {};
    },
    DescribeAlarms: ({ AlarmNamePrefix }) => {
      looks += 1;
      for (const alarm of alarms.values()) states.set(alarm.AlarmName, stateOf(alarm));
      const all = [...alarms.values()].filter(({ AlarmName }) => AlarmName.startsWith(AlarmNamePrefix));
      const alarmStates = all.map((alarm) => ({
        AlarmName: alarm.AlarmName,
        StateValue: states.get(alarm.AlarmName),
        ...(alarm.AlarmRule !== undefined && { ActionsSuppressedBy: suppressedBy(alarm) }),
      }));
      return { MetricAlarms: alarmStates, CompositeAlarms: [] };
    },
  };
  const send = async (command: { constructor: { name: string }; input: unknown }) => {
    const action = command.constructor.name.replace(/Command$/, '');
    called.push(`cloudwatch:${action}`);
    const answer = answers[action];
    if (answer === undefined) throw new Error(`not played: ${action}`);
    return answer(command.input as Input);
  };
  return {
    client: { send } as unknown as Pick<CloudWatchClient, 'send'>,
    called,
    /** The names of what is there. */
    alarms: () => [...alarms.keys()],
  };
};
