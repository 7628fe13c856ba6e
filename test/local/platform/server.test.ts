// biome-ignore-all lint/suspicious/noThenProperty: a fault’s own word; nothing awaits these objects
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { errorAnswer } from './http/refusal.ts';
import { type LocalPlatform, startPlatform } from './server.ts';
import { callsAs, control } from './signed-call.ts';

const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
afterEach(() => printed.mockClear());
const image = '/svc/api/lp/1.49/courses/2001/image';
const brokenType = { orgUnitId: 2001, contentType: 'image/png\r\nX-Split: 1', base64: 'AA==' };
const show = ({ url }: LocalPlatform) => callsAs(url, 100)('GET', image);

describe('a bug of the local platform', () => {
  test('is printed, and fails whoever closes it: it does not pass for an outage', async () => {
    const platform = await startPlatform();
    await control(platform.url, 'POST seed', { courseImages: [brokenType] });
    await expect(show(platform)).rejects.toThrow('fetch failed');
    expect(printed).toHaveBeenCalledWith('The local platform is broken:', expect.any(TypeError));
    await expect(platform.close()).rejects.toThrow(/The local platform is broken: TypeError.*content-type/is);
  });

  test('within an operation is answered as what it is, and told', () => {
    const onBug = vi.fn();
    const bug = new TypeError('x is not a function');
    const answer = errorAnswer(bug, { docsUrl: '', onBug });
    expect([answer.status, String(answer.body)]).toEqual([500, `The local platform is broken: ${bug}`]);
    expect(onBug).toHaveBeenCalledWith(bug);
  });
});

test('a course and a person are added as the guide to the local stack says', async () => {
  const guide = readFileSync('test/README.md', 'utf8');
  const [, body = ''] = /_local\/seed -d '(\{[^']*\})'/.exec(guide) ?? [];
  const platform = await startPlatform();
  await control(platform.url, 'POST seed', JSON.parse(body));
  expect(await control(platform.url, 'GET state')).toMatchObject({
    orgUnits: expect.arrayContaining([expect.objectContaining({ code: 'BIO-101' })]),
    users: expect.arrayContaining([expect.objectContaining({ userName: 'ada', orgDefinedId: 's901' })]),
  });
  await platform.close();
});

test('a caller that goes away, or whose world is reset, is no bug', async () => {
  const platform = await startPlatform();
  const delay = () => control(platform.url, 'POST faults', { match: {}, then: { delayMs: 60_000 } });
  await delay();
  const aborted = new AbortController();
  const left = fetch(`${platform.url}${image}`, { signal: aborted.signal });
  await vi.waitFor(async () => expect(await control(platform.url, 'GET requests')).toHaveLength(1));
  aborted.abort();
  await expect(left).rejects.toThrow();
  await delay();
  const reset = fetch(`${platform.url}${image}`);
  await vi.waitFor(async () => expect(await control(platform.url, 'GET requests')).toHaveLength(2));
  await control(platform.url, 'POST reset');
  await expect(reset).rejects.toThrow();
  await platform.close();
  expect(printed).not.toHaveBeenCalled();
});
