import { describe, expect, test } from 'vitest';
import { integration } from '../../functions/enrollment-create.ts';
import type { Effect } from '../local/controls.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration);
const instructor = 109;
const learner = 110;
const enrollment = { orgUnitId: 2001, userId: 303, roleId: learner };
const enrollmentsOf = async (userId: number) =>
  (await relay.rows('enrollments')).filter((row) => row.userId === userId);

describe('an enrollment', () => {
  test('takes a user into an org unit, with one request', async () => {
    await relay.isDone(enrollment, ['POST 200']);
    expect(await enrollmentsOf(303)).toEqual([{ ...enrollment, writes: 1 }]);
  });

  test('of a user who is enrolled sets the role', async () => {
    await relay.deliver(enrollment);
    const promoted = { ...enrollment, roleId: instructor };
    await relay.isDone(promoted, ['POST 200']);
    expect(await enrollmentsOf(303)).toEqual([{ ...promoted, writes: 2 }]);
  });

  test('in one org unit says nothing about another', async () => {
    const older = relay.event({ ...enrollment, orgUnitId: 3001 });
    await relay.deliver(enrollment);
    await relay.isDone(older);
    expect(await enrollmentsOf(303)).toMatchObject([{ orgUnitId: 2001 }, { orgUnitId: 3001 }]);
  });
});

describe('a success in another shape', () => {
  const others: [string, Effect & { status: number }][] = [
    ['no content', { status: 204 }],
    ['another user', { status: 200, body: { OrgUnitId: 2001, UserId: 302, RoleId: learner } }],
    ['another org unit', { status: 200, body: { OrgUnitId: 2002, UserId: 303, RoleId: learner } }],
    ['another role', { status: 200, body: { OrgUnitId: 2001, UserId: 303, RoleId: instructor } }],
    ['an id beyond all numbers', { status: 200, body: { OrgUnitId: 2001, UserId: 303, RoleId: 2 ** 60 } }],
  ];

  test.each(others)('is looked for in the classlist, and is done if it is there: %s', async (_, effect) => {
    const requests = [`POST ${effect.status}`, 'GET 200'];
    await relay.controls().fault(effect, { method: 'POST' });
    expect(parked(await relay.deliver(enrollment))).toMatchObject({
      requests,
      kind: 'unexpected-answer',
      operation: expect.stringMatching(/^POST .*enroll/),
      message: expect.stringMatching(/the platform shows something else than was sent$/),
    });
    expect(await enrollmentsOf(303)).toEqual([]);
    await relay.controls().fault({ ...effect, when: 'after' }, { method: 'POST' });
    // What came of the first is not known: the lock stays for as long as the platform may still carry it out.
    const { outcomes, ...ends } = await relay.deliver(enrollment);
    expect([new Set(outcomes.slice(0, -1)), outcomes.at(-1)]).toEqual([new Set(['waiting']), 'done']);
    expect(ends).toMatchObject({ requests, letters: [] });
    expect(await enrollmentsOf(303)).toEqual([{ ...enrollment, writes: 1 }]);
  });

  test('is found on the last of many pages, by its role, too', async () => {
    await relay.controls().settings({ pageSize: 2 });
    await relay.deliver({ ...enrollment, roleId: instructor });
    const fault = { status: 200, body: '' };
    await relay.controls().fault({ ...fault, when: 'after' }, { method: 'POST' });
    await relay.isDone(enrollment);
    await relay.controls().fault(fault, { method: 'POST' });
    const promoted = { ...enrollment, roleId: instructor };
    expect(parked(await relay.deliver(promoted)).kind).toBe('unexpected-answer');
    expect(await enrollmentsOf(303)).toMatchObject([{ roleId: learner }]);
  });

  test('waits where the looking has to wait', async () => {
    await relay.controls().fault({ status: 200, when: 'after' }, { method: 'POST' });
    await relay.controls().fault({ status: 503 }, { path: 'classlist' });
    expect(await relay.deliver(enrollment)).toMatchObject({
      outcomes: ['waiting', 'done'],
      requests: ['POST 200', 'GET 503', 'POST 200'],
      letters: [],
    });
  });

  test('is parked as what came where the looking is refused, and says so', async () => {
    await relay.controls().fault({ status: 200, when: 'after' }, { method: 'POST' });
    const detail = 'Insufficient scope to call API. Required: enrollment:orgunit:read';
    await relay
      .controls()
      .fault({ status: 403, body: { title: 'Not Authorized', detail } }, { path: 'classlist' });
    expect(parked(await relay.deliver(enrollment))).toMatchObject({
      kind: 'unexpected-answer',
      message: expect.stringMatching(
        /the answer carries nothing; and it cannot be seen whether it was done: .*403/,
      ),
      detail: 'the answer carries nothing',
    });
  });
});
