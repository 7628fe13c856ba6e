import { describe, expect, test } from 'vitest';
import { createTally, metricDefinitions } from '../../../../lib/runtime/telemetry/metrics.ts';

type Line = {
  _aws: {
    Timestamp: number;
    CloudWatchMetrics: {
      Namespace: string;
      Dimensions: string[][];
      Metrics: { Name: string; Unit: string }[];
    }[];
  };
  [name: string]: unknown;
};

const taken = (tally: { take(): string[] }): Line[] => tally.take().map((line) => JSON.parse(line));

describe('a line of metrics', () => {
  test('is what the embedded metric format asks for', () => {
    const tally = createTally('sis-relay');
    const before = Date.now();
    tally.add('Letters', { function: 'grade-push', kind: 'rejected', responsible: 'producer' }, 1);
    const [line] = taken(tally);
    expect(line).toEqual({
      _aws: {
        Timestamp: expect.any(Number),
        CloudWatchMetrics: [
          {
            Namespace: 'sis-relay',
            Dimensions: [['function', 'kind'], ['kind'], ['responsible']],
            Metrics: [{ Name: 'Letters', Unit: 'Count' }],
          },
        ],
      },
      function: 'grade-push',
      kind: 'rejected',
      responsible: 'producer',
      Letters: [1],
    });
    expect(line!._aws.Timestamp).toBeGreaterThanOrEqual(before);
  });

  test('is the only one of an invocation whose messages all fared alike', () => {
    const tally = createTally('sis-relay');
    for (let at = 0; at < 10; at += 1) {
      tally.add('Messages', { function: 'grade-push', outcome: 'done', kind: 'none' }, 1);
      tally.add('MessageDuration', { function: 'grade-push', outcome: 'done' }, 20 + at);
      tally.add('MessageAge', { function: 'grade-push' }, 1);
      tally.add('PlatformLatency', { function: 'grade-push', operation: 'grades.put' }, 15 + at);
      tally.add('PlatformAnswers', { function: 'grade-push', status: '200' }, 1);
    }
    const lines = taken(tally);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ Messages: [10], PlatformAnswers: [10], MessageAge: Array(10).fill(1) });
  });

  test('gives a dimension one value and a metric one list of at most 100 values, and nothing is lost', () => {
    const tally = createTally('sis-relay');
    for (let at = 0; at < 250; at += 1) {
      tally.add('PlatformLatency', { function: 'grade-push', operation: `operation-${at % 2}` }, at);
      tally.add('MessageAge', { function: 'grade-push' }, at);
      tally.add(
        'Messages',
        { function: 'grade-push', outcome: at % 5 ? 'done' : 'waiting', kind: 'none' },
        1,
      );
    }
    const lines = taken(tally);
    for (const line of lines)
      for (const { Dimensions, Metrics } of line._aws.CloudWatchMetrics) {
        for (const name of Dimensions.flat()) expect(line[name]).toBeTypeOf('string');
        for (const { Name } of Metrics) expect((line[Name] as number[]).length).toBeLessThanOrEqual(100);
        expect(Metrics.every(({ Name }) => Name in metricDefinitions)).toBe(true);
      }
    const valuesOf = (name: string, where: (line: Line) => boolean = () => true) =>
      lines
        .filter(where)
        .flatMap((line) => (line[name] ?? []) as number[])
        .toSorted((a, b) => a - b);
    const all = Array.from({ length: 250 }, (_, at) => at);
    expect(valuesOf('MessageAge')).toEqual(all);
    expect(valuesOf('PlatformLatency')).toEqual(all);
    expect(valuesOf('PlatformLatency', (line) => line.operation === 'operation-1')).toEqual(
      all.filter((at) => at % 2),
    );
    expect(valuesOf('Messages', (line) => line.outcome === 'done')).toEqual([200]);
    expect(valuesOf('Messages', (line) => line.outcome === 'waiting')).toEqual([50]);
  });

  test('is not spoilt by a value that is no number', () => {
    const tally = createTally('sis-relay');
    tally.add('MessageAge', { function: 'grade-push' }, Number.NaN);
    tally.add('MessageAge', { function: 'grade-push' }, Number.POSITIVE_INFINITY);
    expect(tally.take()).toEqual([]);
    tally.add('MessageAge', { function: 'grade-push' }, 0);
    expect(taken(tally)).toMatchObject([{ MessageAge: [0] }]);
  });
});

test('each metric is published as its definition says', () => {
  const tally = createTally('sis-relay');
  for (const [name, { dimensions }] of Object.entries(metricDefinitions)) {
    const values = Object.fromEntries(dimensions.flat().map((dimension) => [dimension, 'x']));
    tally.add(name as 'Letters', values as Parameters<typeof tally.add<'Letters'>>[1], 1);
  }
  const published = taken(tally).flatMap((line) => line._aws.CloudWatchMetrics);
  expect(
    Object.fromEntries(
      published.map(({ Dimensions, Metrics }) => [
        Metrics[0]!.Name,
        { unit: Metrics[0]!.Unit, dimensions: Dimensions },
      ]),
    ),
  ).toEqual(metricDefinitions);
});
