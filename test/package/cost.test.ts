import { expect, test } from 'vitest';
import { writtenPart } from '../documents.ts';
import { deploy } from './cloudformation.ts';
import { billedMs, costOf, countedIn, exportCostOf, pipeCost, readMeasurement, tablesOf } from './cost.ts';
import { packagedProject, slowMs } from './packaged.ts';

const measured = {
  ...{ batchSize: 10, memoryMb: 1024, wallMs: 1000, cpuMs: 0, requests: 1, metrics: 6 },
  ...{ calls: { 'dynamodb:UpdateItem': 1 }, logBytes: 934, logLines: 1 },
};

test('a million messages cost the sum of what AWS bills for them', () => {
  expect(costOf(measured)).toEqual({
    lambda: expect.closeTo(0.02 + 1.33334, 6),
    sqs: expect.closeTo(0.48, 6),
    ledger: 0.625,
    secrets: 0,
    files: 0,
    logs: expect.closeTo(0.5, 6),
    total: expect.closeTo(2.95834, 6),
  });
  expect(pipeCost()).toBeCloseTo(1.8, 6);
});

test('an export costs its time, its files and its operations, of which a pass has 500 at most', () => {
  expect(exportCostOf(100, 200)).toEqual({
    operations: 106,
    lambda: expect.closeTo(20 * 0.0000133334, 9),
    engine: expect.closeTo(106 * (0.000008 + 0.000002 * (0.25 + 0.07)), 9),
    files: expect.closeTo(0.002, 9),
    total: expect.closeTo(0.003185, 5),
  });
  expect(exportCostOf(100_000, 200)).toMatchObject({ operations: 506, files: expect.closeTo(2, 9) });
});

test('computing takes longer with a part of a CPU, and waiting does not', () => {
  expect(billedMs({ ...measured, cpuMs: 100, memoryMb: 1769 })).toBe(1000);
  expect(billedMs({ ...measured, cpuMs: 100, memoryMb: 884.5 })).toBe(1100);
  expect(billedMs({ ...measured, cpuMs: 100, memoryMb: 4000 })).toBe(1000);
});

test('the costs in lib/config/README.md are those of the measurement and of the packaged template', {
  timeout: slowMs,
}, async () => {
  const deployment = deploy((await packagedProject()).template);
  const measurement = await readMeasurement();
  expect(writtenPart('costs')).toBe(tablesOf(measurement, countedIn(deployment)));
  for (const [name, { memoryMb, batchSize }] of Object.entries(measurement.functions)) {
    const lambda = deployment
      .ofType('AWS::Lambda::Function')
      .find(({ FunctionName }) => FunctionName.endsWith(`-${name}`));
    const mapping = deployment
      .ofType('AWS::Lambda::EventSourceMapping')
      .find(({ EventSourceArn }) => EventSourceArn.endsWith(`-${name}`));
    expect({ memoryMb, batchSize }).toEqual({ memoryMb: lambda?.MemorySize, batchSize: mapping?.BatchSize });
  }
});
