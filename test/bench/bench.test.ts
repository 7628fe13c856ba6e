import { describe, expect, test } from 'vitest';
import { bench } from './bench.ts';
import { floorLineOf, lineOf, ratioOf, spreadOf, verdictOf } from './figures.ts';
import { startDriver } from './messages.ts';

test('in its smallest form, all is measured beside its peers, and printed with its floors', {
  tags: ['long'],
}, async () => {
  const printed: string[] = [];
  const size = { launches: 1, rounds: 1, messages: 10, functions: ['grade-push'] };
  const floors = await bench(size, (line) => printed.push(line));
  expect(printed.map((line) => line.replace(/[\d,.]+ (µs|ms|;|$)/g, '')).slice(0, 1)).toEqual([
    expect.stringMatching(/^CPU a message: raw undici .*sis-relay .*middy, Powertools, axios /),
  ]);
  expect(printed.filter((line) => !line.startsWith('Floor'))).toEqual([
    expect.stringContaining('CPU a message: '),
    expect.stringContaining('Messages a second in one container: '),
    expect.stringContaining('Import: '),
    expect.stringContaining('Import of each function: grade-push '),
    expect.stringContaining('CPU of a command: an empty Node '),
  ]);
  expect(floors).toHaveLength(7);
  for (const floor of floors) {
    expect(floor.ratio).toBeGreaterThan(0);
    expect(printed).toContain(floorLineOf(floor));
  }
});

describe('what is compared', () => {
  test('is the middle of the repeats, and the quartiles', () => {
    expect(spreadOf([9, 1, 3, 2, 4])).toEqual({ median: 3, low: 2, high: 4 });
    expect(lineOf('Import', 'ms', { a: [1], b: [900, 1300, 1700] })).toBe(
      'Import: a 1 ms; b 1,300 ms (1,100–1,500)',
    );
  });

  test('is the ratio of neighbours, so that a slow moment of the machine does not decide', () => {
    expect(ratioOf([10, 100, 11], [10, 100, 10])).toBe(1);
  });

  test('fails if it misses its floor by more than is tolerated, or is no number', () => {
    const verdict = (ratio: number) =>
      verdictOf({ name: 'a', ratio, target: 1, tolerance: 2, reason: 'it must' });
    expect([1, 2, 2.01, Number.NaN].map(verdict)).toEqual(['holds', 'missed', 'fails', 'fails']);
  });

  test.each([
    [
      'failed',
      'export const handler = async () => ({ batchItemFailures: [{ itemIdentifier: "1" }] })',
      '1 of 1 messages failed',
    ],
    ['ended', 'throw new Error("broken")', 'broken'],
  ])('is nothing that %s', async (_, code, problem) => {
    const driver = startDriver({ module: `data:text/javascript,${code}`, env: {} });
    await expect(driver.ask({ messages: 1, batchSize: 1 })).rejects.toThrow(problem);
    await driver.close();
  });
});
