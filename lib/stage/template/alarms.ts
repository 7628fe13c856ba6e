import type { Metric, MetricDataQuery, PutMetricAlarmInput } from '@aws-sdk/client-cloudwatch';
import { type Resource, type Resources, ref, sub } from './cloudformation.ts';

/** The properties by which CloudWatch decides whether an alarm is on. */
type Watch = Pick<
  PutMetricAlarmInput,
  | 'Metrics'
  | 'Namespace'
  | 'MetricName'
  | 'Dimensions'
  | 'Statistic'
  | 'Period'
  | 'ComparisonOperator'
  | 'Threshold'
  | 'EvaluationPeriods'
  | 'DatapointsToAlarm'
  | 'TreatMissingData'
>;

/** The sections of the mails are in it, but for those that name another page. */
const runbook = 'lib/desk/cli/README.md';

/** How soon a person must act. The last two may go to a second address. */
export type Severity = 'act now' | 'today' | 'this week';

/** What its mail says. */
type Mail = {
  severity: Severity;
  /** What has happened, and what to do. */
  text: string;
  /** What to type first, as in `letters groups`; default: `status`. */
  command?: string;
  /** A section of the runbook, or of another page, as in `page.md#section`. */
  see: string;
};

export type Alarm = Mail &
  Watch & {
    /** It is part of a composite alarm, and sends no mail of its own. */
    isPart?: true;
    /** It reports an event: its end says nothing, and sends no mail. */
    isEvent?: true;
  };
/** By their logical ids. */
export type Alarms = Record<string, Alarm>;

/** It is on while one of others is. */
export type CompositeAlarm = Mail & {
  anyOf: string[];
  /** The alarm while which this one sends no mail. Without it, this one never sends any. */
  ActionsSuppressor?: string;
};

/**
 * Without FILL, CloudWatch evaluates the last metric that came, and an alarm keeps its state for as long: FILL adds a number for missing
 * data. The effect of FILL on a metric that never had data is not documented, so functions such as SUM receive all metrics at once and
 * omit such a metric.
 */
const filled = (
  Expression: string,
  metrics: Metric[],
  { Stat, Period }: { Stat: 'Sum' | 'Maximum'; Period: number },
): MetricDataQuery[] => [
  { Id: 'filled', Expression },
  ...metrics.map((Metric, at) => ({
    Id: `m${at}`,
    ReturnData: false,
    MetricStat: { Metric, Period, Stat },
  })),
];

/** In one of the last three periods, as data of the newest may yet come. */
const inOneOfThree = { EvaluationPeriods: 3, DatapointsToAlarm: 1, TreatMissingData: 'notBreaching' };

/** The sum of all in a period is over 0. */
export const counted = (metrics: Metric[], { Period = 300 } = {}) =>
  ({
    Metrics: filled('SUM(FILL(METRICS("m"), 0))', metrics, { Stat: 'Sum', Period }),
    ComparisonOperator: 'GreaterThanThreshold',
    Threshold: 0,
    ...inOneOfThree,
  }) satisfies Watch;

/**
 * Something was counted by what runs every 15 minutes. It is over within 10 minutes, before the next run: what that one counts goes off
 * again.
 */
export const countedAnew = (metrics: Metric[]) =>
  ({ ...counted(metrics), EvaluationPeriods: 2, isEvent: true }) satisfies Watch & Pick<Alarm, 'isEvent'>;

/** The sum of all in an hour is over this number. */
export const sumOver = (Threshold: number, metrics: Metric[]) =>
  ({ ...counted(metrics, { Period: 3600 }), Threshold, EvaluationPeriods: 1 }) satisfies Watch;

/** One of their sums in an hour is over this number. */
export const oneCountedOver = (Threshold: number, metrics: Metric[]) =>
  ({
    Metrics: filled('MAX(FILL(METRICS("m"), 0))', metrics, { Stat: 'Sum', Period: 3600 }),
    ComparisonOperator: 'GreaterThanThreshold',
    Threshold,
    ...inOneOfThree,
  }) satisfies Watch;

/** The highest value of all is over this number. */
export const highestOver = (Threshold: number, metrics: Metric[], { Period = 300 } = {}) =>
  ({
    Metrics: filled('MAX(FILL(METRICS("m"), 0))', metrics, { Stat: 'Maximum', Period }),
    ComparisonOperator: 'GreaterThanThreshold',
    Threshold,
    ...inOneOfThree,
  }) satisfies Watch;

/** It is under this number, where it is known. */
export const under = (Threshold: number, metric: Metric) =>
  ({
    Metrics: filled(`FILL(m0, ${Threshold})`, [metric], { Stat: 'Maximum', Period: 600 }),
    ComparisonOperator: 'LessThanThreshold',
    Threshold,
    ...inOneOfThree,
  }) satisfies Watch;

/** One of them is not counted, though `alive` is: a new stage must not count as silent. */
export const silent = (metrics: Metric[], alive: Metric, { Period = 3600 } = {}) => {
  const expression = 'IF(FILL(alive, 0) > 0, MIN(FILL(METRICS("m"), 0)), 1)';
  const Stat = 'Sum';
  return {
    Metrics: [
      ...filled(expression, metrics, { Stat, Period }),
      { Id: 'alive', ReturnData: false, MetricStat: { Metric: alive, Period, Stat } },
    ],
    ComparisonOperator: 'LessThanThreshold',
    Threshold: 1,
    ...inOneOfThree,
  } satisfies Watch;
};

/** A CloudWatch metric-math alarm accepts no more metrics. */
const maxMetrics = 10;

/** One alarm, or several with numbers behind the id, so that none watches too many metrics of these functions. */
export const inGroups = (
  id: string,
  functions: string[],
  alarmOf: (group: string[]) => Alarm & { Metrics: MetricDataQuery[] },
): Alarms => {
  if (functions.length === 0) return {};
  const metricsOfOne = alarmOf(functions.slice(0, 1)).Metrics.length - 1;
  const most = Math.floor(maxMetrics / metricsOfOne);
  const groups = Math.ceil(functions.length / most);
  const size = Math.ceil(functions.length / groups);
  return Object.fromEntries(
    Array.from({ length: groups }, (_, at) => [
      groups === 1 ? id : `${id}${at + 1}`,
      alarmOf(functions.slice(at * size, (at + 1) * size)),
    ]),
  );
};

export const listed = (names: string[]): string => names.map((name) => `\`${name}\``).join(', ');

/** Where mails go, and what they name. */
export type MailOptions = { stage: string; alarmEmailLater: string; repositoryUrl: string };

export const alarmResources = (
  options: MailOptions,
  alarms: Alarms,
  composites: Record<string, CompositeAlarm>,
): Resources =>
  Object.fromEntries([
    ...Object.entries(alarms).map(([id, alarm]) => [id, alarmOf(alarm, options)]),
    ...Object.entries(composites).map(([id, alarm]) => [id, compositeOf(id, alarm, options)]),
  ]);

/** As lines, so that the command can be copied whole. */
const described = (
  { severity, text, command = 'status', see }: Mail,
  { stage, repositoryUrl }: MailOptions,
): string =>
  [
    `${severity.toUpperCase()}: ${text}`,
    `npx sis-relay ${command} --stage ${stage}`,
    `Runbook: ${pageAddress(see, repositoryUrl)}`,
  ].join('\n');

/** A link, if the stage says where the repository can be read. */
export const pageAddress = (see: string, repositoryUrl: string): string => {
  const page = see.includes('#') ? see : `${runbook}#${see}`;
  return repositoryUrl === '' ? page : `${repositoryUrl.replace(/\/$/, '')}/${page}`;
};

const actionsOf = ({ severity, isEvent }: Mail & Pick<Alarm, 'isEvent'>, options: MailOptions) => {
  const topic = severity === 'act now' || options.alarmEmailLater === '' ? 'Alarms' : 'AlarmsLater';
  return { AlarmActions: [ref(topic)], ...(!isEvent && { OKActions: [ref(topic)] }) };
};

const aboutMail: ReadonlySet<string> = new Set([
  'severity',
  'text',
  'command',
  'see',
  'isPart',
  'isEvent',
] satisfies (keyof Alarm)[]);

const alarmOf = (alarm: Alarm, options: MailOptions): Resource => {
  const actions = actionsOf(alarm, options);
  return {
    Type: 'AWS::CloudWatch::Alarm',
    Properties: {
      AlarmDescription: described(alarm, options),
      ...Object.fromEntries(Object.entries(alarm).filter(([name]) => !aboutMail.has(name))),
      ...(!alarm.isPart && actions),
      // If missing data count as that, the alarm reports it as well.
      ...(alarm.TreatMissingData === 'missing' && { InsufficientDataActions: actions.AlarmActions }),
    },
  };
};

const compositeOf = (id: string, alarm: CompositeAlarm, options: MailOptions): Resource => {
  const { anyOf, ActionsSuppressor } = alarm;
  return {
    Type: 'AWS::CloudWatch::CompositeAlarm',
    Properties: {
      AlarmName: `sis-relay-${options.stage}-${id.toLowerCase()}`,
      AlarmDescription: described(alarm, options),
      AlarmRule: sub(anyOf.map((part) => `ALARM("\${${part}}")`).join(' OR ')),
      ...(ActionsSuppressor !== undefined && {
        ...actionsOf(alarm, options),
        ActionsSuppressor: ref(ActionsSuppressor),
        ActionsSuppressorWaitPeriod: 300,
        // After the reason is gone, messages need time to be delivered.
        ActionsSuppressorExtensionPeriod: 7200,
      }),
    },
  };
};
