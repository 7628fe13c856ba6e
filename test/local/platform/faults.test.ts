// biome-ignore-all lint/suspicious/noThenProperty: a fault's own word; nothing awaits these objects
import { describe, expect, test } from 'vitest';
import { platformForTests } from './fixture.ts';

const platform = platformForTests();
const path = '/svc/api/le/1.82/2001/grades/5001/values/301';
const whoami = '/svc/api/lp/1.52/users/whoami';
const json = { GradeObjectType: 1, PointsNumerator: 7 };
const put = () => platform.as(100)('PUT', path, { json });
const fault = (then: unknown, more = {}) =>
  platform.control('POST faults', { match: {}, times: 1, then, ...more });

test('a status, as often as told, without any effect', async () => {
  const then = {
    status: 503,
    headers: { 'Retry-After': '7', 'content-type': 'text/html' },
    body: '<h1>down</h1>',
  };
  await fault(then, { times: 2 });
  for (const _ of [1, 2]) {
    const response = await put();
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '7']);
    expect(response.headers.get('content-type')).toBe('text/html');
    expect(await response.text()).toBe('<h1>down</h1>');
  }
  expect(await platform.state('gradeValues')).toEqual([]);
  expect((await put()).status).toBe(200);
  expect(await platform.control('GET faults')).toMatchObject([{ then, left: 0 }]);
});

test('a body that is an object is sent as JSON, before authentication', async () => {
  await fault({ status: 500, body: { Errors: [{ Message: 'no' }] } });
  const response = await fetch(`${platform.url()}${whoami}`);
  expect(response.headers.get('content-type')).toMatch('application/json');
  expect([response.status, await response.json()]).toEqual([500, { Errors: [{ Message: 'no' }] }]);
});

test('a success without end goes on until nobody reads it, and nothing is left of it', async () => {
  await fault({ endless: true });
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  const response = await fetch(`${platform.url()}${whoami}`);
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > 32 * 1024 ** 2) break;
  }
  // Warnings come with the next turn of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off('warning', warned);
  expect(response.status).toBe(200);
  expect(warnings).toEqual([]);
  expect((await put()).status).toBe(200);
});

test('a delay, then the usual answer', async () => {
  await fault({ delayMs: 30 });
  expect((await put()).status).toBe(200);
  expect(await platform.state('gradeValues')).toHaveLength(1);
});

test('a delay that outlasts the client has no effect', async () => {
  await fault({ delayMs: 60_000 });
  const given = { method: 'GET', signal: AbortSignal.timeout(50) };
  await expect(fetch(`${platform.url()}${whoami}`, given)).rejects.toThrow();
  expect(await platform.requests()).toMatchObject([{ status: null }]);
});

test('a reset before: no effect, no answer', async () => {
  await fault({ reset: 'before' });
  await expect(put()).rejects.toThrow();
  expect(await platform.state('gradeValues')).toEqual([]);
  expect(await platform.requests()).toMatchObject([{ status: null }]);
});

test('a reset after: the effect, and no answer', async () => {
  await fault({ reset: 'after' });
  await expect(put()).rejects.toThrow();
  expect(await platform.state('gradeValues')).toHaveLength(1);
  expect(await platform.requests()).toMatchObject([{ status: null }]);
});

test('another answer than the one to what was done', async () => {
  await fault({ status: 200, body: { Errors: [{ Message: 'no' }] }, when: 'after' });
  const response = await put();
  expect([response.status, await response.json()]).toEqual([200, { Errors: [{ Message: 'no' }] }]);
  expect(await platform.state('gradeValues')).toHaveLength(1);
  expect(await platform.requests()).toMatchObject([{ status: 200 }]);
});

test('an answer without end, as long as somebody reads it', async () => {
  await fault({ endless: true });
  const response = await put();
  expect(response.headers.get('content-type')).toMatch('application/json');
  let bytes = 0;
  for await (const chunk of response.body!) {
    bytes += chunk.length;
    if (bytes > 5 * 1024 ** 2) break;
  }
  expect(await platform.state('gradeValues')).toEqual([]);
  expect((await put()).status).toBe(200);
});

describe('a truncation', () => {
  test('has the effect and breaks an empty answer', async () => {
    await fault({ truncate: true });
    const response = await put();
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    expect(await platform.state('gradeValues')).toHaveLength(1);
  });

  test('sends half of a body', async () => {
    await fault({ truncate: true });
    const response = await platform.as(100)('GET', whoami);
    let received = '';
    const reading = async () => {
      for await (const chunk of response.body!) received += Buffer.from(chunk).toString();
    };
    await expect(reading()).rejects.toThrow();
    expect(received.length).toBe(Math.floor(Number(response.headers.get('content-length')) / 2));
  });
});

describe('matching', () => {
  test('by method and path, in order', async () => {
    await fault({ status: 501 }, { match: { method: 'GET' } });
    await fault({ status: 502 }, { match: { path: '/values/30\\d$' } });
    await fault({ status: 503 });
    expect((await put()).status).toBe(502);
    expect((await put()).status).toBe(503);
    expect((await platform.as(100)('GET', path)).status).toBe(501);
    expect((await put()).status).toBe(200);
  });

  test('the control API is never faulted, and faults can be cleared', async () => {
    await fault({ status: 503 }, { times: 100 });
    expect(await platform.control('DELETE faults')).toEqual({});
    expect((await put()).status).toBe(200);
  });

  test('by chance, the same for the same seed', async () => {
    const statuses = async () => {
      await platform.control('POST reset');
      await fault({ status: 503 }, { times: 1000, probability: 0.5, seed: 7 });
      const all: number[] = [];
      for (let count = 0; count < 40; count += 1) all.push((await put()).status);
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
    [{ then: { status: 503, when: 'never' } }],
    [{ then: { truncate: true, endless: true } }],
  ])('a malformed fault is refused: %o', async (body) => {
    const response = await fetch(`${platform.url()}/_local/faults`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(400);
  });
});
