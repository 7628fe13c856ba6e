import { expect, test } from 'vitest';
import { writtenPart } from '../../documents.ts';
import { deploy } from '../cloudformation.ts';
import { packagedProject } from '../packages.ts';
import { billedMs, brokenPromises, costOf, costsTable, measuredRows } from './cost.ts';

const measured = {
  title: '`enrollment-create`',
  function: 'grade-push',
  batchSize: 50,
  messageBytes: 322,
  memoryMb: 1024,
  peakMb: 200,
  wallMs: 1000,
  cpuMs: 0,
  requests: 1,
  writes: 1,
  secretReads: 0,
  fileReads: 0,
  itemBytes: 860,
  logBytes: 966,
  logLines: 1,
};

test('a million messages cost the sum of what AWS bills for them', () => {
  expect(costOf(measured)).toEqual({
    lambda: expect.closeTo(0.004 + 0.266668, 6),
    sending: expect.closeTo(0.4, 6),
    receiving: expect.closeTo(0.08, 6),
    ledger: 0.625,
    secrets: 0,
    files: 0,
    logs: expect.closeTo(0.5, 6),
    total: expect.closeTo(1.875668, 6),
    inTens: expect.closeTo(1.515668, 6),
  });
});

test.each([
  ['a batch over ten: SQS hands out and deletes ten at a time', { batchSize: 50 }, 0.4, 0.08],
  ['a batch of ten', { batchSize: 10 }, 0.4, 0.08],
  ['a batch between tens: a request that is not full costs as much', { batchSize: 25 }, 0.4, 0.096],
  ['a batch of one', { batchSize: 1 }, 0.4, 0.8],
  ['messages whose ten have more than 64 KB', { messageBytes: 10_000 }, 0.4, 0.12],
  ['messages of more than 64 KB', { messageBytes: 100_000 }, 0.8, 0.04 * 16 + 0.04],
])('of SQS, a million cost its requests of 64 KB each: %s', (_, more, sending, receiving) => {
  const cost = costOf({ ...measured, ...more });
  expect(cost.sending).toBeCloseTo(sending, 6);
  expect(cost.receiving).toBeCloseTo(receiving, 6);
});

test('a write of the ledger costs as much again for each KiB of its item', () => {
  expect(costOf({ ...measured, itemBytes: 1024 }).ledger).toBeCloseTo(0.625, 6);
  expect(costOf({ ...measured, itemBytes: 1025 }).ledger).toBeCloseTo(1.25, 6);
});

test('a million grades and a million enrollments stay below what was promised for them', () => {
  const rows = measuredRows();
  expect(brokenPromises(rows)).toEqual([]);
  // A longer source or id must not make it two writes.
  expect(brokenPromises(rows.map((row) => ({ ...row, itemBytes: 901 })))).toHaveLength(2);
  expect(brokenPromises(rows.map((row) => ({ ...row, messageBytes: 100_000 })))).toHaveLength(2);
  expect(brokenPromises(rows.slice(1))).toHaveLength(1);
});

test('computing takes longer with a part of a CPU, and waiting does not', () => {
  expect(billedMs({ ...measured, cpuMs: 100, memoryMb: 1769 })).toBe(1000);
  expect(billedMs({ ...measured, cpuMs: 100, memoryMb: 884.5 })).toBe(1100);
  expect(billedMs({ ...measured, cpuMs: 100, memoryMb: 4000 })).toBe(1000);
});

test('the costs in lib/stage/README.md are those of the measurement and of the packaged template', async () => {
  const deployment = deploy((await packagedProject()).template);
  const rows = measuredRows();
  expect(writtenPart('costs')).toBe(costsTable(rows));
  for (const { function: name, batchSize, memoryMb, peakMb } of rows) {
    const lambda = deployment
      .ofType('AWS::Lambda::Function')
      .find(({ FunctionName }) => FunctionName.endsWith(`-${name}`));
    const mapping = deployment
      .ofType('AWS::Lambda::EventSourceMapping')
      .find(({ EventSourceArn }) => EventSourceArn.endsWith(`-${name}`));
    expect(memoryMb).toBe(lambda?.MemorySize);
    expect(peakMb).toBeLessThan(memoryMb);
    const [largest] = rows.filter((row) => row.function === name);
    expect(largest?.batchSize).toBe(mapping?.BatchSize);
    expect(batchSize).toBeLessThanOrEqual(mapping?.BatchSize);
  }
});
