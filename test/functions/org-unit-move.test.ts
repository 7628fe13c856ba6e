import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/org-unit-move.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const move = { orgUnitId: 3001, fromParentId: 2001, toParentId: 2002 };
const parents = async (id = 3001) =>
  (await relay.rows('orgUnits')).find(({ orgUnitId }) => orgUnitId === id)?.parents;
const attached = 'POST 200';
const detached = 'DELETE 200';

describe('an org unit', () => {
  test('is attached to its new parent, and then detached from the old one', async () => {
    await relay.isDone(move, [attached, detached]);
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
    await relay.isDone(move, [attached, 'DELETE 404']);
    expect(await parents()).toEqual([2002]);
  });
});

test('a refused attachment detaches nothing', async () => {
  expect(parked(await relay.deliver({ ...move, toParentId: 999 }))).toMatchObject({
    requests: ['POST 404'],
    kind: 'rejected',
    detail: 'Parent org unit not found',
  });
  expect(await parents()).toEqual([2001]);
});

test.each([
  ['to where it is', { toParentId: 2001 }, /data\.toParentId: must differ from fromParentId/],
  ['into itself', { toParentId: 3001 }, /data\.toParentId: must not be the org unit itself/],
])('a move %s is none', (_, wrong, says) => {
  expect(relay.problemOf({ ...move, ...wrong })).toMatch(says);
});
