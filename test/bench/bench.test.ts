import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { bench } from './bench.ts';
import { startDriver } from './drivers.ts';
import { ours, raw, team } from './messages.ts';
import { atMost, atMostTimes, floorsOf, markdownOf, type Results, spreadOf, verdictOf } from './report.ts';
import { tiny } from './scale.ts';

test('in their smallest form, each part is measured, told and written with its floors, and a message beside its peers', {
  tags: ['long'],
}, async () => {
  const printed: string[] = [];
  const results = await bench(tiny, (text) => printed.push(text));
  const titles = [
    'A message',
    'A large message',
    'A cold start',
    'An upload of 1 MiB',
    'Growth',
    'A command',
  ];
  expect(results.sections.map(({ title }) => title)).toEqual(titles);
  expect(printed.map((text) => text.trim().split('\n')[0])).toEqual(titles.map((title) => `## ${title}`));
  for (const text of printed) expect(markdownOf(results)).toContain(text.trim());

  const figures = results.sections[0]?.figures ?? [];
  expect(figures).toHaveLength(8);
  for (const { values } of figures) expect(Object.keys(values).sort()).toEqual([ours, raw, team].sort());
  const values = results.sections.flatMap((each) => each.figures.flatMap((one) => Object.values(one.values)));
  expect(values.length).toBeGreaterThan(50);
  for (const { low, median, high } of values) {
    expect(low).toBeGreaterThanOrEqual(0);
    expect(median).toBeGreaterThanOrEqual(low);
    expect(high).toBeGreaterThanOrEqual(median);
  }

  expect(floorsOf(results).map(({ name }) => name)).toEqual([
    ...[`≤ 1.7 × ${raw}`, `≤ 0.3 × ${team}`, '≥ 1,584 messages/s', `≤ 1.5 × ${raw}`, `≤ 0.35 × ${team}`],
    ...[`≤ 1.7 × ${raw}`, `≤ 0.3 × ${team}`, `≤ 1.5 × ${raw}`, `≤ 0.35 × ${team}`],
    ...[`≤ 2 × ${raw}`, `≤ 1.25 × ${raw}`],
    ...[`grade-push ≤ 0.45 × ${team}`, '≤ 80 MB', 'within ± 10 %', 'within ± 10 %'],
    ...['`--version` ≤ 250 ms', '`--version` ≤ 4 × an empty Node'],
    ...['`letters list` ≤ 700 ms', '`letters list` ≤ 20 × an empty Node', '`status` ≤ 700 ms'],
    '`status` ≤ 25 × an empty Node',
  ]);
  for (const { name, measured } of floorsOf(results)) {
    expect(Number.isFinite(measured.median)).toBe(true);
    expect(printed.join('\n')).toContain(`${name}: `);
  }
  expect(markdownOf(results).match(/, (holds$|\*missed\*: up to |\*\*fails\*\*)/gm)).toHaveLength(21);
});

test('results/bench.md shows the results that are kept', async () => {
  const kept: Results = JSON.parse(await readFile(new URL('results/bench.json', import.meta.url), 'utf8'));
  expect(await readFile(new URL('results/bench.md', import.meta.url), 'utf8')).toBe(markdownOf(kept));
});

describe('what is compared', () => {
  test('is the middle of the repeats, and the quartiles', () =>
    expect(spreadOf([9, 1, 3, 2, 4])).toEqual({ median: 3, low: 2, high: 4 }));

  test('holds by the ratios of neighbours, so that a slow moment of the machine does not decide', () => {
    const compared = { peer: 'peer', ours: [10, 100, 11], theirs: [10, 100, 10] };
    expect(atMostTimes(1.05, compared)).toMatchObject({ measured: { median: 1 }, holds: true });
    expect(atMostTimes(0.95, compared)).toMatchObject({ holds: false });
  });

  test('fails if it misses its floor, and more than is accepted', () => {
    const verdict = (accepted?: number) =>
      verdictOf(
        atMostTimes(
          1,
          { peer: 'peer', ours: [20, 21, 19], theirs: [10, 10, 10] },
          accepted === undefined ? undefined : { limit: accepted, reason: 'it must' },
        ),
      );
    expect([undefined, 1.9, 2].map(verdict)).toEqual(['fails', 'fails', 'missed']);
    expect(verdictOf(atMost(2, 'most', [1, 2, 3]))).toBe('holds');
  });

  test('is nothing that failed', async () => {
    const refusing =
      'data:text/javascript,export const handler = async () => ({ batchItemFailures: [{ itemIdentifier: "1" }] })';
    const driver = startDriver({ module: refusing, env: {} });
    await expect(driver.ask({ kind: 'grade-push', messages: 1, batchSize: 1 })).rejects.toThrow(
      '1 of 1 messages failed',
    );
    await driver.close();
  });

  test('is nothing that ended', async () => {
    const driver = startDriver({ module: 'data:text/javascript,throw new Error("broken")', env: {} });
    await expect(driver.ask({ kind: 'grade-push', messages: 1, batchSize: 1 })).rejects.toThrow('broken');
    await driver.close();
  });
});
