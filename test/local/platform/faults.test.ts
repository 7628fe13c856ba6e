// biome-ignore-all lint/suspicious/noThenProperty: a fault's own word; nothing awaits these objects
import { expect, test } from 'vitest';
import { platformForTests } from './fixture.ts';

const platform = platformForTests();
const path = '/svc/api/le/1.82/2001/grades/5001/values/301';
const put = () => platform.as(100)('PUT', path, { json: { GradeObjectType: 1, PointsNumerator: 7 } });
const fault = (then: unknown, more = {}) =>
  platform.control('POST faults', { match: {}, times: 1, then, ...more });

test('by chance, the same for the same seed', async () => {
  const statuses = async () => {
    await platform.control('POST reset');
    await fault({ status: 503 }, { times: 1000, probability: 0.5, seed: 7 });
    const all: number[] = [];
    for (let count = 0; count < 20; count += 1) all.push((await put()).status);
    return all;
  };
  const first = await statuses();
  expect(new Set(first)).toEqual(new Set([200, 503]));
  expect(await statuses()).toEqual(first);
});

test.each([
  [{ then: {} }],
  [{ then: { status: 503 }, time: 1 }],
  [{ then: { status: 503, reset: 'before' } }],
  [{ then: { truncate: true, endless: true } }],
])('a malformed fault is refused, and would else befall nobody: %o', async (body) => {
  const url = `${platform.url()}/_local/faults`;
  expect((await fetch(url, { method: 'POST', body: JSON.stringify(body) })).status).toBe(400);
});
