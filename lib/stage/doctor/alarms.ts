import { counted, silent } from '../template/alarms.ts';
import type { StepSandbox } from './sandbox.ts';
import { type Step, seen } from './step.ts';

const Namespace = 'sis-relay-doctor';
const Period = 60;
const rights = ['PutMetricAlarm', 'DescribeAlarms', 'DeleteAlarms'].map((action) => `cloudwatch:${action}`);

type AlarmState = { state: string; suppressedBy: string | undefined };

const alarmsOf = async (corner: StepSandbox) => {
  const sdk = await import('@aws-sdk/client-cloudwatch');
  const cloudWatch = await corner.cloudWatch();
  const nameOf = (ending: string): string => `${corner.name}-${ending}`;
  const made = (ending: string, work: () => Promise<unknown>) =>
    corner.make(`the alarm ${nameOf(ending)}`, work, () =>
      cloudWatch.send(new sdk.DeleteAlarmsCommand({ AlarmNames: [nameOf(ending)] })),
    );
  const metric = (MetricName: string) => ({
    Namespace,
    MetricName,
    Dimensions: [{ Name: 'run', Value: corner.name }],
  });
  return {
    nameOf,
    metric,
    /** A metric of this name has a value from now on. */
    count: (...names: string[]) =>
      cloudWatch.send(
        new sdk.PutMetricDataCommand({
          Namespace,
          MetricData: names.map((name) => ({ ...metric(name), Namespace: undefined, Value: 1 })),
        }),
      ),
    alarm: (
      ending: string,
      input: Omit<ConstructorParameters<typeof sdk.PutMetricAlarmCommand>[0], 'AlarmName'>,
    ) =>
      made(ending, () =>
        cloudWatch.send(new sdk.PutMetricAlarmCommand({ AlarmName: nameOf(ending), ...input })),
      ),
    composite: (ending: string, input: { AlarmRule: string; ActionsSuppressor?: string }) =>
      made(ending, () =>
        cloudWatch.send(
          new sdk.PutCompositeAlarmCommand({
            AlarmName: nameOf(ending),
            ...input,
            ...(input.ActionsSuppressor !== undefined && {
              ActionsSuppressorWaitPeriod: Period,
              ActionsSuppressorExtensionPeriod: Period,
            }),
          }),
        ),
      ),
    set: (ending: string, StateValue: 'ALARM' | 'OK') =>
      cloudWatch.send(
        new sdk.SetAlarmStateCommand({ AlarmName: nameOf(ending), StateValue, StateReason: 'doctor' }),
      ),
    look: async (): Promise<(ending: string) => AlarmState> => {
      const { MetricAlarms = [], CompositeAlarms = [] } = await cloudWatch.send(
        new sdk.DescribeAlarmsCommand({
          AlarmNamePrefix: nameOf(''),
          AlarmTypes: ['MetricAlarm', 'CompositeAlarm'],
        }),
      );
      return (ending) => {
        const found = [...MetricAlarms, ...CompositeAlarms].find((each) => each.AlarmName === nameOf(ending));
        const suppressedBy = found && 'ActionsSuppressedBy' in found ? found.ActionsSuppressedBy : undefined;
        return { state: found?.StateValue ?? 'not there', suppressedBy };
      };
    },
  };
};

const soundMinutes = 15;

export const fillOfMetrics: Step = {
  id: 'fill-of-metrics',
  claim:
    'In an alarm, METRICS() takes all metrics at once, FILL makes missing data 0, and a metric that never had data is left out',
  marked: ['An alarm watches up to ten metrics, and fires only when someone must act'],
  does: 'Makes five alarms without actions, by the expressions of the stage’s alarms, over three metrics of its own: one has a value each minute, one had a value once, and one never has any.',
  costs:
    'two metrics, which CloudWatch itself forgets, and five alarms for a quarter of an hour: less than $0.02',
  minutes: soundMinutes,
  expected:
    'an alarm on several metrics goes off after one value of one of them, and ends when no more values come; an alarm on missing data goes off when its metric stops, and stays on; it does not go off if its metric never had data, or still has data',
  rights: [...rights, 'cloudwatch:PutMetricData'],
  try: async (corner) => {
    const { metric, count, alarm, look } = await alarmsOf(corner);
    const silence = (name: string) => ({
      ...silent([metric(name)], metric('alive'), { Period }),
      EvaluationPeriods: 1,
    });
    await count('once', 'alive');
    await alarm('counted', {
      ...counted([metric('once'), metric('never')], { Period }),
      // AWS shows the first value of a metric up to two minutes late.
      EvaluationPeriods: 5,
    });
    await alarm('fell-silent', silence('once'));
    await alarm('never-spoke', silence('never'));
    await alarm('speaks', silence('alive'));
    await alarm('bare', {
      ...metric('once'),
      Period,
      Statistic: 'Maximum',
      EvaluationPeriods: 1,
      Threshold: 1,
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'missing',
    });
    const [rang, minuteOf] = [new Set<string>(), new Map<string, number>()];
    let looks = 0;
    await corner.until(soundMinutes * 60, async (passedSeconds) => {
      looks += 1;
      const note = (what: string, isSo: boolean): void => {
        if (isSo && !minuteOf.has(what)) minuteOf.set(what, Math.round(passedSeconds / 60));
      };
      // Four times a minute, so that no minute is without it.
      if (looks % 5 === 0) await count('alive');
      const now = await look();
      for (const each of ['counted', 'fell-silent', 'never-spoke', 'speaks'])
        if (now(each).state === 'ALARM') rang.add(each);
      note('counted rang', rang.has('counted'));
      note('counted ended', rang.has('counted') && now('counted').state === 'OK');
      // Until then, AWS may still judge by the last value.
      note('fell-silent rings on', passedSeconds > 10 * 60 && now('fell-silent').state === 'ALARM');
      note('never-spoke rang', rang.has('never-spoke'));
      note('speaks rang', rang.has('speaks'));
      note('bare had no data', minuteOf.has('counted ended') && now('bare').state === 'INSUFFICIENT_DATA');
      const isWhole = minuteOf.has('counted ended') && minuteOf.has('fell-silent rings on');
      return isWhole && minuteOf.has('bare had no data') ? true : undefined;
    });
    const last = await look();
    const times = [...minuteOf].map(([what, minute]) => `${what} after about ${minute} min`);
    const without = minuteOf.has('bare had no data')
      ? []
      : [`without FILL, it is ${last('bare').state} to the end`];
    return seen(
      minuteOf.has('counted ended') &&
        minuteOf.has('fell-silent rings on') &&
        !rang.has('never-spoke') &&
        !rang.has('speaks'),
      [...times, `never-spoke is ${last('never-spoke').state}`, ...without].join('; '),
    );
  },
};

export const suppression: Step = {
  id: 'suppression',
  claim: 'While an alarm’s suppressor is on, the alarm sends nothing. Some time after that, it sends again',
  does: 'Makes two alarms and, over them, two composite alarms like Waiting and Outage, all without actions. Sets the states of the first two.',
  costs: 'four alarms for some minutes: less than $0.02',
  minutes: 16,
  expected: 'suppressed by the alarm, then by the extension period, then no longer',
  rights: [...rights, 'cloudwatch:PutCompositeAlarm', 'cloudwatch:SetAlarmState'],
  try: async (corner) => {
    const { nameOf, metric, alarm, composite, set, look } = await alarmsOf(corner);
    // Without data, it keeps the state that it is given.
    const still = {
      Period,
      Statistic: 'Sum' as const,
      EvaluationPeriods: 1,
      Threshold: 1,
      ComparisonOperator: 'GreaterThanThreshold' as const,
      TreatMissingData: 'ignore',
    };
    await alarm('cause', { ...metric('never'), ...still });
    await alarm('part', { ...metric('never'), ...still });
    await composite('outage', { AlarmRule: `ALARM("${nameOf('cause')}")` });
    await composite('waiting', {
      AlarmRule: `ALARM("${nameOf('part')}")`,
      ActionsSuppressor: nameOf('outage'),
    });
    const saw: string[] = [];
    /** Whether the alarm rings at last, suppressed by this. */
    const until = async (by: string | undefined): Promise<boolean> => {
      const found = await corner.until(4 * 60, async () => {
        const { state, suppressedBy } = (await look())('waiting');
        return state === 'ALARM' && suppressedBy === by ? true : undefined;
      });
      const { state, suppressedBy } = (await look())('waiting');
      saw.push(
        found ? `suppressed by ${by ?? 'nothing'}` : `${state}, suppressed by ${suppressedBy ?? 'nothing'}`,
      );
      return found === true;
    };
    await set('cause', 'ALARM');
    await corner.until(4 * 60, async () => ((await look())('outage').state === 'ALARM' ? true : undefined));
    await set('part', 'ALARM');
    if (!(await until('Alarm'))) return seen(false, saw.join('; then '));
    await set('cause', 'OK');
    if (!(await until('ExtensionPeriod'))) return seen(false, saw.join('; then '));
    return seen(await until(undefined), saw.join('; then '));
  },
};
