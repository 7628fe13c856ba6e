import type { Outcome } from '../../message/failure.ts';
import type { metricDefinitions } from '../../runtime/telemetry/metrics.ts';
import { type MailOptions, pageAddress } from './alarms.ts';
import { type Resource, sub } from './cloudformation.ts';
import type { FunctionNames } from './stage-alarms.ts';

type Definitions = typeof metricDefinitions;
type Series = (string | Record<string, unknown>)[];
type Widget = {
  title: string;
  /** The section of the runbook that it is about. */
  see: string;
  series: Series[];
  stacked?: true;
};

const outcomes: Outcome[] = ['done', 'duplicate', 'superseded', 'waiting', 'parked'];
const period = 300;

/** The dashboard of a stage, the states of all alarms first. It raises none. */
export const dashboard = (
  { stage, repositoryUrl }: MailOptions,
  { names, alarms }: { names: FunctionNames; alarms: readonly string[] },
): Resource => {
  const widgets = [...aboutAws(stage, names), ...aboutMessages(stage)];
  const links = widgets.map(
    ({ title, see }) => `[${title.replace(/[:,].*/, '')}](${pageAddress(see, repositoryUrl)})`,
  );
  const whole = { width: 24 };
  const body = [
    {
      type: 'alarm',
      ...whole,
      height: 6,
      properties: {
        title: 'Alarms: those that are on come first',
        sortBy: 'stateUpdatedTimestamp',
        alarms: alarms.map((id) => `\${${id}.Arn}`),
      },
    },
    {
      type: 'text',
      ...whole,
      height: 2,
      properties: { markdown: `\`npx sis-relay status --stage ${stage}\` · ${links.join(' · ')}` },
    },
    ...widgets.map(({ title, series, stacked }) => ({
      type: 'metric',
      width: 12,
      height: 6,
      properties: {
        region: `\${AWS::Region}`,
        title,
        ...(stacked && { stacked }),
        metrics: series,
      },
    })),
  ];
  return {
    Type: 'AWS::CloudWatch::Dashboard',
    Properties: {
      DashboardName: `sis-relay-${stage}`,
      DashboardBody: sub(JSON.stringify({ widgets: body })),
    },
  };
};

const aboutAws = (stage: string, { all, queued }: FunctionNames): Widget[] => {
  const eachQueue = (metric: string, names: readonly string[]): Series[] =>
    names.map((label) => [
      'AWS/SQS',
      metric,
      'QueueName',
      `sis-relay-${stage}-${label}`,
      { label, stat: 'Maximum', period },
    ]);
  const eachFunction = (metric: string): Series[] =>
    all.map((label) => [
      'AWS/Lambda',
      metric,
      'FunctionName',
      `sis-relay-${stage}-${label}`,
      { label, stat: 'Sum', period },
    ]);
  const fails = 'a-function-fails-or-does-not-start';
  return [
    {
      title: 'Backlog, by queue',
      see: 'messages-wait',
      series: eachQueue('ApproximateNumberOfMessagesVisible', queued),
      stacked: true,
    },
    {
      title: 'Oldest message, by queue, s',
      see: 'messages-wait',
      series: eachQueue('ApproximateAgeOfOldestMessage', queued),
    },
    { title: 'Errors, by function', see: fails, series: eachFunction('Errors'), stacked: true },
    { title: 'Throttles, by function', see: fails, series: eachFunction('Throttles'), stacked: true },
    {
      title: 'Letters that lie there',
      see: 'there-are-many-letters',
      series: eachQueue('ApproximateNumberOfMessagesVisible', ['dead-letters']),
    },
  ];
};

const aboutMessages = (stage: string): Widget[] => {
  const namespace = `sis-relay/${stage}`;
  /** All series of a metric with one of its sets of dimensions, as SEARCH finds them. */
  const search = <Name extends keyof Definitions>(
    metric: Name,
    dimensions: Definitions[Name]['dimensions'][number],
    { stat = 'Sum', seconds = period, only = '' } = {},
  ) => `SEARCH('{"${namespace}",${dimensions}} MetricName="${metric}"${only}', '${stat}', ${seconds})`;
  const each = (expression: string): Series => [{ expression }];
  const named = (label: string, expression: string, more = {}): Series => [{ label, expression, ...more }];
  const single = (metric: 'PaceBudget' | 'PaceUsed', label: string): Series => [
    namespace,
    metric,
    { label, stat: 'Maximum', period },
  ];
  const attempts = (only = '') => search('Messages', ['function', 'outcome', 'kind'], { only });
  const refusesMany = 'the-platform-refuses-many-calls-as-too-many-429';
  return [
    {
      title: 'Letters written, by kind',
      see: 'letters-of-each-kind',
      series: [each(search('Letters', ['kind']))],
      stacked: true,
    },
    {
      title: 'Platform’s budget: credits a window',
      see: refusesMany,
      series: [single('PaceBudget', 'budget'), single('PaceUsed', 'used')],
    },
    {
      title: 'Pace: calls and refused calls by class; waits for a turn, ms (p95, right)',
      see: refusesMany,
      series: [
        named('calls', search('PaceCalls', ['priority'])),
        named('refused', search('PaceRefused', ['priority'])),
        named('wait', search('PaceWait', ['priority'], { stat: 'p95' }), { yAxis: 'right' }),
      ],
    },
    {
      title: 'Outcomes',
      see: 'what-became-of-a-message',
      series: outcomes.map((outcome) => named(outcome, `SUM(${attempts(` outcome="${outcome}"`)})`)),
      stacked: true,
    },
    {
      title: 'Waiting, by function and reason',
      see: 'messages-wait',
      series: [each(attempts(' outcome="waiting"'))],
      stacked: true,
    },
    {
      title: 'Waits until a person acts, by function and kind',
      see: 'letters-of-each-kind',
      series: [each(search('Refusals', ['function', 'kind']))],
      stacked: true,
    },
    {
      title: 'Platform’s answers, by function and status',
      see: 'a-part-of-the-platform-or-of-aws-does-not-answer',
      series: [each(search('PlatformAnswers', ['function', 'status']))],
      stacked: true,
    },
    {
      title: 'Platform’s latency: of the slowest function, ms',
      see: 'the-platform-does-not-answer',
      series: ['p50', 'p95', 'p99'].map((stat) =>
        named(stat, `MAX(${search('PlatformLatency', ['function'], { stat })})`),
      ),
    },
    {
      title: 'Compared with the platform, by what it shows',
      see: 'options',
      series: [each(search('ReconcileWrites', ['class'], { seconds: 12 * period }))],
      stacked: true,
    },
  ];
};
