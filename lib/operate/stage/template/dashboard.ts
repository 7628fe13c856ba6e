import type { Outcome } from '../../../message/failure.ts';
import type { metricDefinitions } from '../../../runtime/telemetry/metrics.ts';
import { type Resource, sub } from './cloudformation.ts';

type MetricName = keyof typeof metricDefinitions;
type Series = (string | Record<string, unknown>)[];

const outcomes: Outcome[] = ['done', 'duplicate', 'superseded', 'waiting', 'parked'];
const minutes = 60;

/** The dashboard of a stage. It raises no alarm. */
export const dashboard = (stage: string): Resource => {
  const namespace = `sis-relay/${stage}`;
  /** All series of a metric with these dimensions, as SEARCH finds them. */
  const search = (metric: MetricName, by: string, how = 'Sum', { seconds = 5 * minutes, only = '' } = {}) =>
    `SEARCH('{"${namespace}",${by}} MetricName="${metric}"${only}', '${how}', ${seconds})`;
  const each = (...found: Parameters<typeof search>): Series => [{ expression: search(...found) }];
  const named = (label: string, expression: string, more = {}): Series => [{ label, expression, ...more }];
  const single = (metric: MetricName, label: string): Series => [
    ...[namespace, metric],
    { label, stat: 'Maximum', period: 5 * minutes },
  ];
  const widgets: [title: string, series: Series[], stacked?: boolean][] = [
    [
      'Outcomes',
      outcomes.map((outcome) => {
        const only = ` outcome="${outcome}"`;
        return named(outcome, `SUM(${search('Messages', 'function,outcome,kind', 'Sum', { only })})`);
      }),
      true,
    ],
    [
      'Waiting, by function and reason',
      [each('Messages', 'function,outcome,kind', 'Sum', { only: ' outcome="waiting"' })],
      true,
    ],
    [
      'Platform: latency of the slowest function, ms',
      ['p50', 'p95', 'p99'].map((percentile) =>
        named(percentile, `MAX(${search('PlatformLatency', 'function', percentile)})`),
      ),
    ],
    ['Platform: answers by function and status', [each('PlatformAnswers', 'function,status')], true],
    ['Pace: the platform’s credits a window', [single('PaceBudget', 'budget'), single('PaceUsed', 'used')]],
    [
      'Pace: calls and refused calls by class; waits for a turn, ms (p95, right)',
      [
        named('calls', search('PaceCalls', 'priority')),
        named('refused', search('PaceRefused', 'priority')),
        named('wait', search('PaceWait', 'priority', 'p95'), { yAxis: 'right' }),
      ],
    ],
    ['Letters written, by kind', [each('Letters', 'kind')], true],
    [
      'Letters that lie there',
      [
        [
          ...['AWS/SQS', 'ApproximateNumberOfMessagesVisible', 'QueueName'],
          ...[`sis-relay-${stage}-dead-letters`, { stat: 'Maximum', period: 5 * minutes }],
        ],
      ],
    ],
    ['Age of messages at their end, s (p95)', [each('MessageAge', 'function', 'p95')]],
    ['Waits until a person acts, by function and kind', [each('Refusals', 'function,kind')], true],
    ['Exported files, by outcome', [each('ExportParts', 'outcome', 'Sum', { seconds: 60 * minutes })], true],
    [
      'Compared with the platform, by what it shows',
      [each('ReconcileWrites', 'class', 'Sum', { seconds: 60 * minutes })],
      true,
    ],
    [
      'Attempts: duration by function and outcome, ms (p95)',
      [each('MessageDuration', 'function,outcome', 'p95')],
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
