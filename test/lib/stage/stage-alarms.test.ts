import { expect, test } from 'vitest';
import { isReplayedBySchedule, letterKinds } from '../../../lib/message/failure-kinds.ts';
import { connectionCheck } from '../../../lib/stage/template/functions/connection-check.ts';
import {
  compositeAlarms,
  expectationAlarms,
  kindsByAlarm,
  stageAlarms,
} from '../../../lib/stage/template/stage-alarms.ts';
import { stageMetrics } from '../../../lib/stage/template/stage-metrics.ts';

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}-${at}`);

test('each function, queue and job is watched, by alarms of at most ten metrics, and waits by one made of them', () => {
  const names = {
    all: numbered('function', 23),
    queued: numbered('queue', 11),
    durable: numbered('job', 6),
    polling: numbered('schedule', 2),
  };
  const alarms = stageAlarms(names, stageMetrics('test'));
  const watched = Object.values(alarms).map(({ Metrics = [] }) =>
    Metrics.flatMap(({ MetricStat }) =>
      [MetricStat?.Metric].flatMap((metric) =>
        metric ? [`${metric.MetricName} ${metric.Dimensions?.[0]?.Value}`] : [],
      ),
    ),
  );
  expect(Math.max(...watched.map((metrics) => metrics.length))).toBeLessThanOrEqual(10);
  const wanted: [string[], string[]][] = [
    [['Errors'], names.all],
    [['ApproximateAgeOfOldestMessage', 'ApproximateNumberOfMessagesNotVisible'], names.queued],
    [['DurableExecutionFailed', 'DurableExecutionTimedOut'], names.durable],
    [['Invocations'], names.polling],
  ];
  for (const [metrics, functions] of wanted)
    for (const metric of metrics)
      for (const name of functions)
        expect(watched.flat().filter((each) => each === `${metric} sis-relay-test-${name}`)).toHaveLength(1);
  expect(compositeAlarms(alarms).Waiting?.anyOf).toEqual(['QueueOldest1', 'QueueOldest2', 'WaitingTooLong']);
  expect(compositeAlarms(alarms).PartAway?.anyOf).toEqual(['PartAway1', 'PartAway2']);
});

test('each kind of letter that the schedule does not replay is told by one alarm', () => {
  const kinds = Object.values(kindsByAlarm).flat();
  expect(kinds.toSorted()).toEqual(letterKinds.filter((kind) => !isReplayedBySchedule(kind)).sort());
});

test('an alarm is suppressed only by alarms about what all messages wait for, which send mails of their own', () => {
  const aboutAll = connectionCheck.alarms(stageMetrics('test'));
  const { Outage } = compositeAlarms({});
  expect(Object.keys(aboutAll)).toEqual(expect.arrayContaining(Outage?.anyOf ?? []));
  expect(Outage?.anyOf.filter((id) => aboutAll[id]?.isPart)).toEqual([]);
});

test('what is expected has an alarm each, and is refused if nothing of it is deployed', () => {
  const made = (expected: string) =>
    Object.keys(
      expectationAlarms(expected, stageMetrics('test'), { queued: ['grade-push'], receivers: ['exports'] }),
    );
  expect(made('grade-push 4h; exports/a-b.csv 26h')).toEqual([
    'NothingArrivesgradepush',
    'NothingArrivesexportsabcsv',
  ]);
  expect(() => made('grade-pish 4h')).toThrow(
    'expected: There is no deployed integration or export grade-pish: did you mean grade-push? There are: grade-push, exports/….',
  );
  expect(() => made('others/a.csv 4h')).toThrow('There is no deployed integration or export others/a.csv');
});
