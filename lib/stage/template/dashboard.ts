import type { Outcome } from '../../message/failure.ts';
import type { metricDefinitions } from '../../runtime/telemetry/metrics.ts';
import { type Resource, sub } from './cloudformation.ts';

type Definitions = typeof metricDefinitions;
type Series = (string | Record<string, unknown>)[];

const outcomes: Outcome[] = ['done', 'duplicate', 'superseded', 'waiting', 'parked'];
const minutes = 60;

/** The dashboard of a stage. It raises no alarm. */
export const dashboard = (stage: string): Resource => {
  const namespace = `sis-relay/${stage}`;
  /** All series of a metric with one of its sets of dimensions, as SEARCH finds them. */
  const search = <Name extends keyof Definitions>(
    metric: Name,
    dimensions: Definitions[Name]['dimensions'][number],
    { stat = 'Sum', seconds = 5 * minutes, only = '' } = {},
  ) => `SEARCH('{"${namespace}",${dimensions}} MetricName="${metric}"${only}', '${stat}', ${seconds})`;
  const each = (expression: string): Series => [{ expression }];
  const named = (label: string, expression: string, more = {}): Series => [{ label, expression, ...more }];
  const single = (metric: 'PaceBudget' | 'PaceUsed', label: string): Series => [
    namespace,
    metric,
    { label, stat: 'Maximum', period: 5 * minutes },
  ];
  const attempts = (only = '') => search('Messages', ['function', 'outcome', 'kind'], { only });
  const widgets: [title: string, series: Series[], stacked?: boolean][] = [
    [
      'Outcomes',
      outcomes.map((outcome) => named(outcome, `SUM(${attempts(` outcome="${outcome}"`)})`)),
      true,
    ],
    ['Waiting, by function and reason', [each(attempts(' outcome="waiting"'))], true],
    [
      'Platform: latency of the slowest function, ms',
      ['p50', 'p95', 'p99'].map((stat) =>
        named(stat, `MAX(${search('PlatformLatency', ['function'], { stat })})`),
      ),
    ],
    [
      'Platform: answers by function and status',
      [each(search('PlatformAnswers', ['function', 'status']))],
      true,
    ],
    ['Pace: the platform’s credits a window', [single('PaceBudget', 'budget'), single('PaceUsed', 'used')]],
    [
      'Pace: calls and refused calls by class; waits for a turn, ms (p95, right)',
      [
        named('calls', search('PaceCalls', ['priority'])),
        named('refused', search('PaceRefused', ['priority'])),
        named('wait', search('PaceWait', ['priority'], { stat: 'p95' }), { yAxis: 'right' }),
      ],
    ],
    ['Letters written, by kind', [each(search('Letters', ['kind']))], true],
    [
      'Letters that lie there',
      [
        [
          'AWS/SQS',
          'ApproximateNumberOfMessagesVisible',
          'QueueName',
          `sis-relay-${stage}-dead-letters`,
          { stat: 'Maximum', period: 5 * minutes },
        ],
      ],
    ],
    ['Age of messages at their end, s (p95)', [each(search('MessageAge', ['function'], { stat: 'p95' }))]],
    [
      'Waits until a person acts, by function and kind',
      [each(search('Refusals', ['function', 'kind']))],
      true,
    ],
    [
      'Exported files, by outcome',
      [each(search('ExportParts', ['outcome'], { seconds: 60 * minutes }))],
      true,
    ],
    [
      'Compared with the platform, by what it shows',
      [each(search('ReconcileWrites', ['class'], { seconds: 60 * minutes }))],
      true,
    ],
    [
      'Attempts: duration by function and outcome, ms (p95)',
      [each(search('MessageDuration', ['function', 'outcome'], { stat: 'p95' }))],
    ],
  ];
  const body = widgets.map(([title, metrics, stacked]) => ({
    ...{ type: 'metric', width: 12, height: 6 },
    properties: { region: `\${AWS::Region}`, title, ...(stacked && { stacked }), metrics },
  }));
  return {
    Type: 'AWS::CloudWatch::Dashboard',
    Properties: {
      DashboardName: `sis-relay-${stage}`,
      DashboardBody: sub(JSON.stringify({ widgets: body })),
    },
  };
};
