import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { letterChange } from '../../lib/delivery/letters/letter-facts.ts';
import { writeRecord } from '../../lib/delivery/letters/write-record.ts';
import type { DynamoDb } from '../../lib/runtime/aws/dynamodb.ts';
import { writtenPart } from '../documents.ts';
import { eventBody, failureOf } from '../lib/show/cli/office.ts';
import { deploy } from './cloudformation.ts';
import {
  billedMs,
  costOf,
  countedIn,
  desk,
  deskCost,
  deskKeepingCost,
  exportCostOf,
  paceWritingCost,
  pipeCost,
  readMeasurement,
  tablesOf,
  waitingCost,
} from './cost.ts';
import { packagedProject } from './packages.ts';

const measured = {
  ...{ function: 'grade-push', batchSize: 50, messageBytes: 322, memoryMb: 1024, peakMb: 200 },
  ...{ wallMs: 1000, cpuMs: 0, requests: 1, metrics: 6 },
  ...{ calls: { 'dynamodb:UpdateItem': 1 }, itemBytes: 860, logBytes: 966, logLines: 1 },
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
  expect(pipeCost()).toBeCloseTo(1.8, 6);
  expect(pipeCost(10)).toBeCloseTo(1.44, 6);
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

test('calls that wait for their turn cost their containers for as long as the platform takes', () => {
  // 12,000 seconds of 2 containers with half a gigabyte.
  expect(waitingCost(512, 2)).toBeCloseTo(12_000 * 0.0000133334, 6);
});

test('what is written of the pace costs less than a cent of a million calls, whoever makes them', () => {
  // 200 minutes of 24 containers.
  expect(paceWritingCost(24)).toBeCloseTo(1.2 * 200 * 24 * 0.625e-6, 9);
  expect(paceWritingCost(24)).toBeLessThan(0.01);
});

test('what operators see costs less than a cent of a million messages that succeed', () => {
  expect(deskCost()).toEqual({
    succeeded: expect.closeTo(0.00625, 9),
    receivedAgain: 0.0625,
    wait: 1.25,
    letter: 2.5,
    receipt: expect.closeTo(0.625 + 20 * 0.125, 9),
  });
  expect(deskCost().succeeded).toBeLessThanOrEqual(0.01);
  // 220 MB.
  expect(deskKeepingCost(100_000)).toBeCloseTo(0.055, 9);
});

test('the record of a letter is as small as it is computed with', async () => {
  const failure = {
    ...failureOf('submission-upload', 'missing-permission'),
    title: 'Not authorized for [ orgUnitId: 2001, securityVariableName: SeeDropboxFolders ]',
    detail: 'The user has no permission for the folder in question.',
    required: 'SeeDropboxFolders',
  };
  const letter = { body: eventBody(), source: '', failure, replays: 1, attributes: {} };
  let bytes = 0;
  const dynamodb = {
    call: async (_: string, input: unknown) => {
      const given = input as { ExpressionAttributeNames: object; ExpressionAttributeValues: object };
      const texts = [
        ...Object.values(given.ExpressionAttributeNames),
        ...Object.values(given.ExpressionAttributeValues).flatMap((value) => Object.values(value)),
      ];
      bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(String(text)), 0);
      return {};
    },
    warm: () => {},
  };
  const table = { dynamodb: dynamodb as DynamoDb, table: 'desk', nowMs: Date.now };
  const about = { function: 'submission-upload', kind: 'missing-permission' } as const;
  const more = { missing: undefined, resource: 'grade/2001/5001/301', writtenMs: Date.now() };
  await writeRecord(table, randomUUID(), letterChange(letter, { ...about, ...more }));
  expect(bytes).toBeGreaterThan(500);
  expect(bytes).toBeLessThanOrEqual(desk.recordBytes);
});

test('a million grades and a million enrollments stay below what was promised for them', async () => {
  const { functions } = await readMeasurement();
  const headline = ['`grade-push`, both comments given', '`enrollment-create`'];
  for (const title of headline) {
    const { total, inTens } = costOf(functions[title]!);
    expect(total, title).toBeLessThanOrEqual(1.3);
    expect(inTens, title).toBeLessThanOrEqual(0.95);
    // A longer source or id must not make it two writes.
    expect(functions[title]?.itemBytes, title).toBeLessThanOrEqual(900);
  }
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

test('the costs in lib/operate/stage/README.md are those of the measurement and of the packaged template', async () => {
  const deployment = deploy((await packagedProject()).template);
  const measurement = await readMeasurement();
  expect(writtenPart('costs')).toBe(tablesOf(measurement, countedIn(deployment)));
  for (const { peakMb, memoryMb } of Object.values(measurement.functions))
    expect(peakMb).toBeLessThan(memoryMb);
  for (const { function: name, memoryMb, batchSize } of Object.values(measurement.functions)) {
    const lambda = deployment
      .ofType('AWS::Lambda::Function')
      .find(({ FunctionName }) => FunctionName.endsWith(`-${name}`));
    const mapping = deployment
      .ofType('AWS::Lambda::EventSourceMapping')
      .find(({ EventSourceArn }) => EventSourceArn.endsWith(`-${name}`));
    expect({ memoryMb, batchSize }).toEqual({ memoryMb: lambda?.MemorySize, batchSize: mapping?.BatchSize });
  }
});
