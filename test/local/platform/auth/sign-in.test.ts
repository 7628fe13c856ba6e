import { describe, expect, test } from 'vitest';
import { platformForTests } from '../fixture.ts';
import { sign } from './signing.ts';

const platform = platformForTests();
const callback = 'https://relay.example.edu/callback?next=a b&x=1+1';
const good = { x_a: 'local-app', x_b: sign('local-app-key', callback), x_target: callback };

function enter(query: Record<string, string>, path = '/svc/auth/api/token') {
  return fetch(`${platform.url()}${path}?${new URLSearchParams(query)}`, { redirect: 'manual' });
}

test.each(['/svc/auth/api/token', '/svc/auth/api/token/'])(
  '%s sends the user back with id and key',
  async (path) => {
    await platform.control('POST settings', { signedInUserId: 301 });
    const response = await enter(good, path);
    expect(response.status).toBe(302);
    const location = new URL(response.headers.get('location') ?? '');
    expect(location.origin + location.pathname).toBe('https://relay.example.edu/callback');
    expect(Object.fromEntries(location.searchParams)).toEqual({
      ...{ next: 'a b', x: '1 1', x_a: '301', x_b: 'local-key-301' },
    });
  },
);

describe('the error page', () => {
  test.each([
    ['another app', { ...good, x_a: 'other' }],
    ['a wrong signature', { ...good, x_b: sign('other', callback) }],
    ['the signature of another target', { ...good, x_target: 'https://evil.example/' }],
    [
      'the signature of the encoded target',
      { ...good, x_b: sign('local-app-key', encodeURIComponent(callback)) },
    ],
    ['no target', { x_a: good.x_a, x_b: good.x_b }],
    ['nothing', {}],
  ])('%s', async (_, query) => {
    const response = await enter(query as Record<string, string>);
    expect(response.status).toBe(302);
    const location = response.headers.get('location') ?? '';
    expect(location).toMatch(/^\/svc\/error\/404\/log\?targetUrl=%2Fsvc%2Fauth%2Fapi%2Ftoken/);
    const page = await fetch(`${platform.url()}${location}`);
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=UTF-8']);
  });
});
