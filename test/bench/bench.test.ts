import { expect, test } from 'vitest';
import { writtenPart } from '../documents.ts';
import { bench, spreadOf, startDriver, tableOf, timesLimited, tiny } from './bench.ts';

test('each part is measured, printed and has its row in the table', { tags: ['long'] }, async () => {
  const printed: string[] = [];
  const rows = await bench(tiny, { print: (text) => printed.push(text) });
  expect(rows).toHaveLength(15);
  for (const { what, measured } of rows) {
    expect(Number.isFinite(measured.median), what).toBe(true);
    expect(printed.some((text) => text.includes(what))).toBe(true);
  }
  const columnsIn = (table: string) => (table.match(/^\| .* \|$/gm) ?? []).map((row) => row.split('|')[2]);
  expect(columnsIn(writtenPart('benchmarks')).slice(2)).toEqual(columnsIn(tableOf(rows, [1])).slice(2));
});

test('a ratio is that of neighbours, so that a slow moment of the machine does not decide', () => {
  expect(spreadOf([9, 1, 3, 2, 4])).toEqual({ median: 3, low: 2, high: 4 });
  const values = [
    [10, 100, 11],
    [10, 100, 10],
  ] as const;
  expect(timesLimited('', [1.05, 'peer'], values)).toMatchObject({
    measured: { median: 1 },
    holds: true,
  });
  expect(timesLimited('', [0.95, 'peer'], values).holds).toBe(false);
});

test.each([
  ['1 of 1 messages failed', 'export const handler = async () => ({ batchItemFailures: [{}] })'],
  ['broken', 'throw new Error("broken")'],
])('what fails is not measured: %s', async (complaint, code) => {
  const driver = startDriver({ module: `data:text/javascript,${code}`, env: {} });
  const asked = driver.ask({ kind: 'grade-push', messages: 1, batchSize: 1 });
  await expect(asked).rejects.toThrow(complaint);
  await driver.close();
});
