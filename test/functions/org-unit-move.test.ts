import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/org-unit-move.ts';
import type { Effect } from '../local/controls.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const move = { orgUnitId: 3001, fromParentId: 2001, toParentId: 2002 };
const parents = async (id = 3001) =>
  (await relay.rows('orgUnits')).find(({ orgUnitId }) => orgUnitId === id)?.parents;
const attached = 'POST 200';
const detached = 'DELETE 200';

describe('an org unit', () => {
  test('is attached to its new parent, and then detached from the old one', async () => {
    expect(await relay.deliver(move)).toMatchObject({
      outcomes: ['done'],
      requests: [attached, detached],
      letters: [],
    });
    expect(await parents()).toEqual([2002]);
    expect(await relay.requests()).toMatchObject([
      { path: '/svc/api/lp/1.49/orgstructure/3001/parents/' },
      { path: '/svc/api/lp/1.49/orgstructure/3001/parents/2001' },
    ]);
  });

  test('keeps its other parents', async () => {
    await relay.controls().seed({ orgUnits: [{ orgUnitId: 3001, typeId: 7, parents: [1101, 2001] }] });
    await relay.deliver(move);
    expect(await parents()).toEqual([1101, 2002]);
  });

  test('that has been moved by hand is as it must be', async () => {
    await relay.controls().seed({ orgUnits: [{ orgUnitId: 3001, typeId: 7, parents: [2002] }] });
    expect(await relay.deliver(move)).toMatchObject({
      outcomes: ['done'],
      requests: [attached, 'DELETE 404'],
    });
    expect(await parents()).toEqual([2002]);
  });
});

describe('a move that is cut off goes on where it stopped, and at no time there is no parent', () => {
  test.each<[string, string, Effect, string[]]>([
    ['no answer, and attached', 'POST', { reset: 'after' }, ['POST null', attached, detached]],
    ['no answer, and not attached', 'POST', { reset: 'before' }, ['POST null', attached, detached]],
    ['500 to the attachment', 'POST', { status: 500 }, ['POST 500', attached, detached]],
    [
      'no answer, and detached',
      'DELETE',
      { reset: 'after' },
      [attached, 'DELETE null', attached, 'DELETE 404'],
    ],
    [
      'no answer, and not detached',
      'DELETE',
      { reset: 'before' },
      [attached, 'DELETE null', attached, detached],
    ],
    ['503 to the detachment', 'DELETE', { status: 503 }, [attached, 'DELETE 503', attached, detached]],
    [
      '429 to the detachment',
      'DELETE',
      { status: 429, headers: { 'retry-after': '1' } },
      [attached, 'DELETE 429', attached, detached],
    ],
  ])('%s', async (_, method, effect, expected) => {
    await relay.controls().fault(effect, { method });
    const { outcomes, requests, letters } = await relay.deliver(move);
    expect({ outcomes, letters }).toEqual({ outcomes: ['waiting', 'done'], letters: [] });
    expect(requests).toEqual(expected);
    expect(await parents()).toEqual([2002]);
  });
});

describe('a refused attachment detaches nothing', () => {
  test.each([
    ['an unknown new parent', { toParentId: 999 }, 'POST 404', { detail: 'Parent org unit not found' }],
    ['an unknown org unit', { orgUnitId: 2999 }, 'POST 404', { detail: 'Org unit not found' }],
    [
      'its own child for a parent',
      { orgUnitId: 2001, fromParentId: 1101, toParentId: 3001 },
      'POST 400',
      { type: 'invalid-parameters', detail: 'an org unit cannot be its own ancestor' },
    ],
  ])('%s', async (_, wrong, request, failure) => {
    expect(parked(await relay.deliver({ ...move, ...wrong }))).toMatchObject({
      requests: [request],
      ...{ kind: 'rejected', ...failure },
    });
    expect(await parents()).toEqual([2001]);
    expect(await parents(2001)).toEqual([1101]);
  });

  test.each([
    ['POST', 'organizations:organization:create', ['POST 403'], [2001]],
    ['DELETE', 'organizations:organization:delete', [attached, 'DELETE 403'], [2001, 2002]],
  ])('a token without the scope for %s, which the letter names', async (method, required, requests, left) => {
    const body = {
      type: 'https://docs.example.edu/res/apiprop.html#not-authorized',
      ...{ title: 'Not Authorized', status: 403 },
      detail: `Insufficient scope to call API. Required: ${required}`,
    };
    await relay.controls().fault({ status: 403, body }, { method });
    const delivery = await relay.deliver(move);
    expect(parked(delivery)).toMatchObject({ requests, kind: 'missing-scope', required });
    expect(await parents()).toEqual(left);
    expect(await relay.replay(delivery)).toMatchObject({ outcomes: ['done'], letters: [] });
    expect(await parents()).toEqual([2002]);
  });
});

describe('that the old parent is gone is believed of nobody but the API', () => {
  test.each<[string, Effect & { status: number }, string]>([
    ['a 404 without a word', { status: 404 }, 'rejected'],
    ['a 404 in words that are nobody’s own', { status: 404, body: 'Cannot DELETE' }, 'rejected'],
    ['a 404 page', { status: 404, body: '<html><title>Not Found</title></html>' }, 'intercepted'],
    ['a 200 with errors', { status: 200, body: { Errors: [{ Message: 'No' }] } }, 'rejected'],
    ['a 200 with a page', { status: 200, body: '<html><title>Sign in</title></html>' }, 'intercepted'],
  ])('%s leaves it where it is, and the letter says so', async (_, effect, kind) => {
    await relay.controls().fault(effect, { method: 'DELETE' });
    expect(parked(await relay.deliver(move))).toMatchObject({
      ...{ requests: [attached, `DELETE ${effect.status}`], kind, status: effect.status },
      operation: 'DELETE /svc/api/lp/1.49/orgstructure/3001/parents/2001',
    });
    expect(await parents()).toEqual([2001, 2002]);
  });
});

describe('what is no move is parked, and nothing is sent', () => {
  test.each([
    ['to where it is', { toParentId: 2001 }, /data\.toParentId: must differ from fromParentId/],
    ['into itself', { toParentId: 3001 }, /data\.toParentId: must not be the org unit itself/],
    ['from nowhere', { fromParentId: undefined }, /data\.fromParentId: is missing/],
    ['to nowhere', { toParentId: undefined }, /data\.toParentId: is missing/],
  ])('%s', (_, wrong, says) => {
    expect(relay.problemOf({ ...move, ...wrong })).toMatch(says);
  });
});
