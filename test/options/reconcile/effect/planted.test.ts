import { expect, test } from 'vitest';
import { plantAndFind, plantedKinds } from './planted.ts';

test('of 150 writes the 45 planted faults are found, each in its class, and nothing else', async () => {
  const { report, found, problems } = await plantAndFind({
    writes: 150,
    faults: 45,
    seed: 1,
    progress: () => {},
  });
  expect(problems).toEqual([]);
  for (const kind of plantedKinds) expect(found[kind].found).toBeGreaterThan(3);
  expect(report).toMatchObject({ state: 'whole', entries: 150, findings: 45, accepted: 0 });
  expect(report.tallies.recent).toMatchObject({ selected: 150, looked: 150, uncompared: 0 });
});
