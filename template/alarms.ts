import type { responsible } from '../lib/failure/dispositions.ts';
import { faultClasses } from '../lib/reconcile/classes.ts';
import type { metricDefinitions } from '../lib/telemetry/metrics.ts';

/** The functions of serverless.yml by what starts them: an alarm watches several at once. */
export type FunctionNames = { all: string[]; queued: string[]; durable: string[] };

type Statistic = 'Sum' | 'Maximum';
type Watched = { Namespace: string; MetricName: string; Dimensions: { Name: string; Value: string }[] };
type Metrics = typeof metricDefinitions;
/** A set of dimensions under which a metric is published: an alarm that watches what nobody writes does not compile. */
type DimensionsOf<Name extends keyof Metrics> = NamesIn<Metrics[Name]['dimensions'][number]>;
type NamesIn<Names> = Names extends readonly (infer Each extends string)[] ? Record<Each, string> : never;

/** One alarm; `npm run generate` writes the texts into the runbook. */
export type AlarmRow = {
  id: string;
  /** What is wrong, and what to do first. */
  text: string;
  /** The section of the runbook, by its anchor. */
  section: string;
  watched: Watched[];
  /** What is made of the metrics `m0`, `m1`, …, and of `alive`; without it, the only metric is watched as it comes. */
  expression?: string;
  /** Another function's starts: an hour in which nothing at all ran says nothing about this one. */
  alive?: Watched;
  statistic: Statistic;
  over?: number;
  under?: number;
  periodSeconds: number;
  /** So many of the last periods must be wrong. */
  of: [wrong: number, periods: number];
  /** It is part of `Waiting` or of nothing else, and tells nobody by itself. */
  isPart?: boolean;
};

type Row = Pick<AlarmRow, 'id' | 'text' | 'section' | 'watched'> & Partial<AlarmRow>;

const minutes = 60;
const hours = 3600;
const days = 24 * hours;
/** A metric-math alarm of CloudWatch takes no more. */
const maxMetrics = 10;

/**
 * Where no metric came, CloudWatch would look back for the last one, and an alarm would stay where it was for as long: FILL puts a
 * number there. It is not documented what FILL makes of a metric that never had data, so functions such as SUM are given all
 * metrics at once, and leave out such a one.
 */
const sum = 'SUM(FILL(METRICS("m"), 0))';
const highest = 'MAX(FILL(METRICS("m"), 0))';
const lowest = 'MIN(FILL(METRICS("m"), 0))';

/** All alarms but those that are made of others. */
export const alarmRows = (stage: string, functions: FunctionNames): AlarmRow[] => {
  const own = <Name extends keyof Metrics>(name: Name, dimensions: DimensionsOf<Name>): Watched => ({
    Namespace: `sis-relay/${stage}`,
    MetricName: name,
    Dimensions: Object.entries<string>(dimensions).map(([Name, Value]) => ({ Name, Value })),
  });
  const ofLambda = (MetricName: string, name: string): Watched => ({
    Namespace: 'AWS/Lambda',
    MetricName,
    Dimensions: [{ Name: 'FunctionName', Value: `sis-relay-${stage}-${name}` }],
  });
  const ofQueue = (MetricName: string, name: string): Watched => ({
    Namespace: 'AWS/SQS',
    MetricName,
    Dimensions: [{ Name: 'QueueName', Value: `sis-relay-${stage}-${name}` }],
  });
  const checkStarts = ofLambda('Invocations', 'connection-check');

  /** Rings at the first count. Data of the newest period may yet come, so that one of the last three is enough. */
  const counted = (row: Row): AlarmRow => ({
    ...{ expression: sum, statistic: 'Sum', over: 0, periodSeconds: 5 * minutes, of: [1, 3] },
    ...row,
  });
  /** Rings at an age, which is told as long as it lasts. */
  const aged = (row: Row & { over: number }): AlarmRow => ({
    ...{ expression: highest, statistic: 'Maximum', periodSeconds: 5 * minutes, of: [1, 3] },
    ...row,
  });
  /** Rings where a schedule starts nothing, but only while another one starts something: a new stage is not silent yet. */
  const silent = (row: Row & { of: [number, number] }): AlarmRow => ({
    ...{ expression: `IF(FILL(alive, 0) > 0, ${lowest}, 1)`, alive: checkStarts },
    ...{ statistic: 'Sum', under: 1, periodSeconds: 1 * hours },
    ...row,
  });
  const letters = (who: (typeof responsible)[keyof typeof responsible]) => [
    own('Letters', { responsible: who }),
  ];

  return [
    // A message that waits is tried again within half an hour: its refusal counts for an hour.
    counted({
      id: 'CredentialRefused',
      text: 'A credential is refused, cannot be read, or is not renewed. `sis-relay status` and the log of the function name the secret and who must act. Messages wait for up to a day.',
      section: 'the-platform-refused-our-key-credentials',
      watched: [
        own('Refusals', { kind: 'credentials' }),
        own('AuthorizationsNeeded', { function: 'token-refresh' }),
        own('TokenRefreshes', { outcome: 'failed' }),
        own('TokenRefreshes', { outcome: 'correct' }),
      ],
      of: [1, 12],
    }),
    counted({
      id: 'AwsRefused',
      text: 'AWS refuses an action that a function needs. `sis-relay status` and the log of the function name the action, the resource and who must act. Messages wait for up to a day.',
      section: 'aws-refuses-an-action-aws-refused',
      watched: [own('Refusals', { kind: 'aws-refused' })],
      of: [1, 12],
    }),
    // An alarm begins without data and tells when its state changes: this silence is heard after the first check, not before. It is
    // the one schedule whose silence no other alarm reports.
    {
      id: 'ConnectionFails',
      text: 'For 10 minutes, `connection-check` has not reached the platform, or has not run. `sis-relay status` shows what fails. Messages wait.',
      section: 'the-platform-does-not-answer',
      watched: [own('PlatformReachable', { function: 'connection-check' })],
      ...{ statistic: 'Maximum', under: 1, periodSeconds: 10 * minutes, of: [1, 1] },
    },
    {
      id: 'VersionFails',
      text: 'The platform no longer lists a version that sis-relay is configured to use. The log of `connection-check` names it.',
      section: 'the-platform-does-not-answer',
      watched: [own('VersionsSupported', { function: 'connection-check' })],
      // What is not known is not missing.
      ...{
        expression: 'FILL(m0, 1)',
        statistic: 'Maximum',
        under: 1,
        periodSeconds: 10 * minutes,
        of: [1, 3],
      },
    },
    {
      id: 'AuthorizationEnds',
      text: 'A person must authorize sis-relay again within a week. `sis-relay status` shows by when.',
      section: 'a-person-must-authorize-again',
      watched: [own('AuthorizationDays', { function: 'connection-check' })],
      ...{
        expression: 'FILL(m0, 7)',
        statistic: 'Maximum',
        under: 7,
        periodSeconds: 10 * minutes,
        of: [1, 3],
      },
    },

    // Lambda tries again what an error cut off: one error heals by itself, and a function that cannot start has one after the other.
    ...inGroups(functions.all).map((names, at) =>
      counted({
        id: `FunctionErrors${at + 1}`,
        text: `One of these functions fails again and again: ${listed(names)}. Its log shows the reason: settings, memory or time.`,
        section: 'a-function-fails-or-does-not-start',
        watched: names.map((name) => ofLambda('Errors', name)),
        of: [2, 12],
      }),
    ),
    // Of an execution that fails, the function itself reports no error.
    counted({
      id: 'JobsFailed',
      text: `An execution failed or did not finish in its time, of one of these functions: ${listed(functions.durable)}. What it had done is kept.`,
      section: 'a-function-fails-or-does-not-start',
      watched: functions.durable.flatMap((name) =>
        ['DurableExecutionFailed', 'DurableExecutionTimedOut'].map((metric) => ofLambda(metric, name)),
      ),
    }),
    silent({
      id: 'SchedulesSilent',
      text: 'For an hour, `token-refresh`, `dead-letter-replay` or `change-poll` was not started, though its schedule starts it every 15 minutes or more often.',
      section: 'a-function-fails-or-does-not-start',
      watched: ['token-refresh', 'dead-letter-replay', 'change-poll'].map((name) =>
        ofLambda('Invocations', name),
      ),
      ...{ periodSeconds: 15 * minutes, of: [4, 4] },
    }),
    // A night that begins later than the one before is none without an export. Exports that people start do not count.
    silent({
      id: 'ExportSilent',
      text: 'For more than a day, the schedule has not started `course-export`.',
      section: 'a-function-fails-or-does-not-start',
      watched: [own('NightlyExports', { function: 'course-export' })],
      of: [26, 26],
    }),
    silent({
      id: 'CrosswalkSilent',
      text: 'For more than a day, no fill of the crosswalk has started.',
      section: 'a-function-fails-or-does-not-start',
      watched: [own('CrosswalkRuns', { function: 'crosswalk-fill' })],
      of: [26, 26],
    }),
    // One night may be too short, or the platform away. A night that ends later than the one before is none without a comparison.
    silent({
      id: 'ReconcileSilent',
      text: 'For three nights, no comparison of the platform with what was sent has finished. `sis-relay reconcile report` shows how far the last one came.',
      section: 'no-comparison-is-whole',
      watched: [own('ReconcileRuns', { outcome: 'whole' })],
      of: [80, 80],
    }),

    // By who must act. Letters that the schedule replays need nobody unless they stay, which `LettersAny` tells.
    counted({
      id: 'LettersProducer',
      text: 'Messages were parked that the student information system must correct. `sis-relay letters groups` shows what is wrong with them.',
      section: 'there-are-many-letters',
      watched: letters('producer'),
    }),
    counted({
      id: 'LettersAccess',
      text: 'Messages were parked because a scope, a permission or a learner’s credential is missing. `sis-relay letters groups` names it.',
      section: 'a-scope-or-a-permission-is-missing-missing-scope-missing-permission',
      watched: letters('access'),
    }),
    counted({
      id: 'LettersPlatform',
      text: 'Messages were parked because the platform’s answers are not understood. `sis-relay letters groups` shows the answers.',
      section: 'the-answer-is-not-understood-unexpected-answer',
      watched: letters('platform'),
    }),
    counted({
      id: 'LettersOperator',
      text: 'Messages were parked that need a decision of yours, or on which a function died or has a bug. `sis-relay letters groups` shows which.',
      section: 'there-are-many-letters',
      watched: letters('operator'),
    }),
    // Also those that SQS itself moved, of which nobody else knows. The schedule replays within 15 minutes what heals by itself.
    counted({
      id: 'LettersAny',
      text: 'For an hour, there have been dead letters. `sis-relay letters groups` shows who must do what.',
      section: 'there-are-many-letters',
      watched: [ofQueue('ApproximateNumberOfMessagesVisible', 'dead-letters')],
      ...{ expression: highest, statistic: 'Maximum', of: [12, 13] },
    }),
    // SQS' own metric leaves out what was received thrice, as each letter was after an hour of dead-letter-replay.
    aged({
      id: 'LettersNearTheirEnd',
      text: 'A dead letter is 10 days old, and SQS deletes it after 14 days. Replay it, discard it, or keep it with `sis-relay letters export`.',
      section: 'letters-are-about-to-expire',
      watched: [own('LetterAge', { function: 'dead-letter-replay' })],
      ...{ over: 10 * days, periodSeconds: 30 * minutes },
    }),
    aged({
      id: 'PausedForLong',
      text: 'A function has been paused for more than a day. `sis-relay status` shows which one, by whom and why. SQS deletes a message 14 days after it was sent.',
      section: 'a-function-must-stop-for-a-while',
      watched: [own('PauseAge', { function: 'dead-letter-replay' })],
      ...{ over: 1 * days, periodSeconds: 30 * minutes },
    }),

    counted({
      id: 'SnapshotFails',
      text: 'A snapshot could not be imported, or not sent completely. `sis-relay snapshots list` shows why. The next import of its kind first sends the rest.',
      section: 'snapshots',
      watched: [own('SnapshotImports', { outcome: 'failed' })],
    }),
    counted({
      id: 'SnapshotWaits',
      text: 'A snapshot waits for a decision: it would change too much, or lacks something. Nothing of it, nor of later ones, is sent until then. Use `sis-relay snapshots show`, then `approve` or `reject`.',
      section: 'snapshots',
      watched: [own('SnapshotImports', { outcome: 'waiting-for-approval' })],
    }),
    // Each fill reports the next two, every hour.
    counted({
      id: 'CrosswalkHeld',
      text: 'The names of the crosswalk are not updated: a list or a file lacks too many of them, or cannot be used. The log of `crosswalk-fill` shows which one.',
      section: 'the-crosswalk-keeps-what-it-had',
      watched: [own('CrosswalkFills', { outcome: 'held' })],
      ...{ statistic: 'Maximum', periodSeconds: 1 * hours },
    }),
    counted({
      id: 'CrosswalkMoved',
      text: 'A code has moved to another org unit, and messages with it are parked. `sis-relay crosswalk moved` lists such codes, and `sis-relay crosswalk accept` accepts a move.',
      section: 'a-code-has-moved-to-another-org-unit',
      watched: [own('CrosswalkMoved', { function: 'crosswalk-fill' })],
      ...{ statistic: 'Maximum', periodSeconds: 1 * hours },
    }),
    counted({
      id: 'ExportIncomplete',
      text: 'An export of courses is incomplete or empty. Its `manifest.json` says what failed and who must do what.',
      section: 'export-courses',
      watched: ['incomplete', 'empty'].map((outcome) => own('ExportRuns', { outcome })),
    }),
    // A run that fails is the next minute's work.
    counted({
      id: 'ChangesUnread',
      text: 'For a quarter of an hour, changes of the student information system could not be read. The log of `change-poll` shows why. No change is lost.',
      section: 'change-notices-are-not-read-or-refused',
      watched: [own('ChangePollsFailed', { function: 'change-poll' })],
      of: [3, 4],
    }),
    counted({
      id: 'ChangesRefused',
      text: 'The mapping makes no message of a change. The change is under `change-poll/refused/` in the bucket, with what is wrong.',
      section: 'change-notices-are-not-read-or-refused',
      watched: [own('ChangeNotices', { outcome: 'refused' })],
    }),
    counted({
      id: 'ReconcileFaults',
      text: 'Something that was sent is missing, older or different on the platform, or cannot be read there. `sis-relay reconcile show` shows what, and what to do.',
      section: 'the-platform-differs-from-what-was-sent',
      watched: faultClasses.map((each) => own('ReconcileWrites', { class: each })),
    }),

    ...inGroups(functions.queued).map((names, at) =>
      aged({
        id: `QueueOldest${at + 1}`,
        text: `A message has been for half an hour on the queue of one of these functions, which does not keep up or does not run: ${listed(names)}. Messages that wait for another try do not count.`,
        section: 'messages-wait',
        watched: names.map((name) => ofQueue('ApproximateAgeOfOldestMessage', name)),
        ...{ over: 30 * minutes, isPart: true },
      }),
    ),
    // An unknown id is given three hours, after which it is no longer waiting. No message waits for an hour between two attempts.
    aged({
      id: 'WaitingTooLong',
      text: 'A message has been waiting for four hours. After a day it becomes a dead letter.',
      section: 'messages-wait',
      watched: [own('WaitingAge', {})],
      ...{ over: 4 * hours, of: [1, 12], isPart: true },
    }),
  ];
};

/** What CloudFormation makes of the rows, and of what is made of them. */
export const alarmResources = (stage: string, functions: FunctionNames): Record<string, object> => {
  const rows = alarmRows(stage, functions);
  const parts = rows.filter(({ isPart }) => isPart).map(({ id }) => id);
  return {
    ...Object.fromEntries(rows.map((row) => [row.id, alarmOf(row)])),
    ...Object.fromEntries(
      compositeRows(parts).map(({ id, text, section, of, suppressedBy }) => [
        id,
        {
          Type: 'AWS::CloudWatch::CompositeAlarm',
          Properties: {
            AlarmName: `sis-relay-${stage}-${id.toLowerCase()}`,
            AlarmDescription: described(text, section),
            AlarmRule: { 'Fn::Sub': of.map((part) => `ALARM("\${${part}}")`).join(' OR ') },
            // It takes messages their time to go on once the reason is gone.
            ...(suppressedBy && {
              ...telling,
              ActionsSuppressor: { Ref: suppressedBy },
              ActionsSuppressorWaitPeriod: 5 * minutes,
              ActionsSuppressorExtensionPeriod: 2 * hours,
            }),
          },
        },
      ]),
    ),
  };
};

/** That messages wait says nothing new where another alarm already says why. */
export const compositeRows = (parts: string[]) => [
  {
    id: 'Waiting',
    text: 'Messages wait, or lie on their queue unhandled, for a reason for which no other alarm goes off.',
    section: 'messages-wait',
    of: parts,
    suppressedBy: 'Outage',
  },
  {
    id: 'Outage',
    text: 'Another alarm already reports why messages wait. This one suppresses `Waiting` and sends no mail.',
    section: 'messages-wait',
    of: ['ConnectionFails', 'VersionFails', 'CredentialRefused', 'AwsRefused'],
  },
];

const telling = { AlarmActions: [{ Ref: 'Alarms' }], OKActions: [{ Ref: 'Alarms' }] };

const described = (text: string, section: string): string =>
  `${text.replaceAll('`', '')} Runbook: lib/cli/README.md#${section}`;

const alarmOf = (row: AlarmRow) => {
  const { text, section, watched, expression, alive, statistic, periodSeconds, isPart } = row;
  const { over, under, of } = row;
  const measured = (Id: string, Metric: Watched) => ({
    ...{ Id, ReturnData: false },
    MetricStat: { Metric, Period: periodSeconds, Stat: statistic },
  });
  const rings = {
    AlarmDescription: described(text, section),
    ComparisonOperator: over === undefined ? 'LessThanThreshold' : 'GreaterThanThreshold',
    Threshold: over ?? under,
    EvaluationPeriods: of[1],
  };
  if (expression === undefined)
    return {
      Type: 'AWS::CloudWatch::Alarm',
      Properties: {
        ...rings,
        ...watched[0],
        ...{ Statistic: statistic, Period: periodSeconds, TreatMissingData: 'missing' },
        InsufficientDataActions: telling.AlarmActions,
        OKActions: telling.OKActions,
      },
    };
  return {
    Type: 'AWS::CloudWatch::Alarm',
    Properties: {
      ...rings,
      ...{ DatapointsToAlarm: of[0], TreatMissingData: 'notBreaching' },
      ...(isPart ? {} : telling),
      Metrics: [
        { Id: 'filled', Expression: expression },
        ...watched.map((metric, at) => measured(`m${at}`, metric)),
        ...(alive ? [measured('alive', alive)] : []),
      ],
    },
  };
};

const inGroups = (names: string[]): string[][] => {
  const groups = Math.ceil(names.length / maxMetrics);
  const size = Math.ceil(names.length / groups);
  return Array.from({ length: groups }, (_, at) => names.slice(at * size, (at + 1) * size));
};

const listed = (names: string[]): string => names.map((name) => `\`${name}\``).join(', ');
