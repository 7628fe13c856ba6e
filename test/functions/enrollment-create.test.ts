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
    expect(await relay.deliver(enrollment)).toMatchObject({
      outcomes: ['done'],
      requests: ['POST 200'],
      letters: [],
    });
    expect(await enrollmentsOf(303)).toEqual([{ ...enrollment, writes: 1 }]);
  });

  test('of a user who is enrolled sets the role', async () => {
    await relay.deliver(enrollment);
    const promoted = { ...enrollment, roleId: instructor };
    expect(await relay.deliver(promoted)).toMatchObject({ outcomes: ['done'], requests: ['POST 200'] });
    expect(await enrollmentsOf(303)).toEqual([{ ...promoted, writes: 2 }]);
  });

  test('in one org unit says nothing about another', async () => {
    const older = relay.event({ ...enrollment, orgUnitId: 3001 });
    await relay.deliver(enrollment);
    expect(await relay.deliverBody(older)).toMatchObject({ outcomes: ['done'] });
    expect(await enrollmentsOf(303)).toMatchObject([{ orgUnitId: 2001 }, { orgUnitId: 3001 }]);
  });
});

describe('what the platform refuses is parked after one request', () => {
  test.each([
    ['an unknown org unit', { ...enrollment, orgUnitId: 2999 }, 'Org unit not found'],
    ['an unknown user', { ...enrollment, userId: 999 }, 'User not found'],
    ['an unknown role', { ...enrollment, roleId: 999 }, 'Role not found'],
  ])('%s', async (_, data, detail) => {
    expect(parked(await relay.deliver(data))).toMatchObject({
      requests: ['POST 404'],
      kind: 'rejected',
      ...{ status: 404, type: 'resource-not-found', title: 'Resource Not Found', detail },
      operation: 'POST /svc/api/lp/1.49/enrollments/',
      remedy: 'Correct what the platform names, in the message or on the platform, then replay.',
    });
  });

  test('in the other form of its errors', async () => {
    const body = { Errors: [{ Message: 'The course is closed' }, { Message: 'Ask the registrar' }] };
    await relay.controls().fault({ status: 400, body });
    expect(parked(await relay.deliver(enrollment))).toMatchObject({
      requests: ['POST 400'],
      ...{ kind: 'rejected', status: 400, detail: 'The course is closed; Ask the registrar' },
    });
  });
});

describe('an answer that proves nothing is waited for, and the message sent again', () => {
  test.each<[string, Effect, number]>([
    ['half an answer', { truncate: true }, 2],
    ['no answer to what was done', { reset: 'after' }, 2],
    ['no answer to what was not done', { reset: 'before' }, 1],
  ])('%s', async (_, effect, writes) => {
    await relay.controls().fault(effect);
    const { outcomes, requests, letters } = await relay.deliver(enrollment);
    expect({ outcomes, letters }).toEqual({ outcomes: ['waiting', 'done'], letters: [] });
    expect(requests).toHaveLength(2);
    expect(await enrollmentsOf(303)).toEqual([{ ...enrollment, writes }]);
  });
});

describe('a success in another shape', () => {
  const shown = 'GET 200';
  test.each<[string, unknown]>([
    ['ids as text', { OrgUnitId: '2001', UserId: '303', RoleId: '110', IsCascading: false }],
    ['names in small letters', { orgUnitId: 2001, userId: 303, roleId: 110 }],
    ['fields that nobody knows', { ...{ OrgUnitId: 2001, UserId: 303, RoleId: 110 }, Errors: [], New: {} }],
  ])('is read where its meaning is certain: %s', async (_, body) => {
    await relay.controls().fault({ status: 200, body, when: 'after' });
    expect(await relay.deliver(enrollment)).toMatchObject({
      ...{ outcomes: ['done'], requests: ['POST 200'], letters: [] },
    });
    expect(await enrollmentsOf(303)).toEqual([{ ...enrollment, writes: 1 }]);
  });

  const others: [string, Effect & { status: number }][] = [
    ['nothing', { status: 200 }],
    ['no content', { status: 204 }],
    ['a word', { status: 200, body: 'Enrolled' }],
    ['another shape', { status: 200, body: { Enrollment: { User: 303 } } }],
    ['a list', { status: 200, body: [{ OrgUnitId: 2001, UserId: 303, RoleId: learner }] }],
    ['another user', { status: 200, body: { OrgUnitId: 2001, UserId: 302, RoleId: learner } }],
    ['another org unit', { status: 200, body: { OrgUnitId: 2002, UserId: 303, RoleId: learner } }],
    ['another role', { status: 200, body: { OrgUnitId: 2001, UserId: 303, RoleId: instructor } }],
    ['an id beyond all numbers', { status: 200, body: { OrgUnitId: 2001, UserId: 303, RoleId: 2 ** 60 } }],
  ];

  test.each(others)('is looked for in the classlist, and done where it is there: %s', async (_, effect) => {
    await relay.controls().fault({ ...effect, when: 'after' }, { method: 'POST' });
    expect(await relay.deliver(enrollment)).toMatchObject({
      ...{ outcomes: ['done'], requests: [`POST ${effect.status}`, shown], letters: [] },
    });
    expect(await enrollmentsOf(303)).toEqual([{ ...enrollment, writes: 1 }]);
  });

  test.each(others)(
    'is parked at once where it is not there, with the shape that came: %s',
    async (...row) => {
      const [, effect] = row;
      await relay.controls().fault(effect, { method: 'POST' });
      const failure = parked(await relay.deliver(enrollment));
      expect(failure).toMatchObject({
        requests: [`POST ${effect.status}`, shown],
        ...{
          kind: 'unexpected-answer',
          status: effect.status,
          operation: expect.stringMatching(/^POST .*enroll/),
        },
        message: expect.stringMatching(/the platform shows something else than was sent$/),
      });
      expect(await enrollmentsOf(303)).toEqual([]);
    },
  );

  test('is found on the last of many pages, by its role, too', async () => {
    await relay.controls().settings({ pageSize: 2 });
    await relay.deliver({ ...enrollment, roleId: instructor });
    const fault = { status: 200, body: '' };
    await relay.controls().fault({ ...fault, when: 'after' }, { method: 'POST' });
    expect(await relay.deliver(enrollment)).toMatchObject({ outcomes: ['done'] });
    await relay.controls().fault(fault, { method: 'POST' });
    const promoted = { ...enrollment, roleId: instructor };
    expect(parked(await relay.deliver(promoted)).kind).toBe('unexpected-answer');
    expect(await enrollmentsOf(303)).toMatchObject([{ roleId: learner }]);
  });

  test('waits where the looking has to wait', async () => {
    await relay.controls().fault({ status: 200, when: 'after' }, { method: 'POST' });
    await relay.controls().fault({ status: 503 }, { path: 'classlist' });
    expect(await relay.deliver(enrollment)).toMatchObject({
      ...{ outcomes: ['waiting', 'done'], requests: ['POST 200', 'GET 503', 'POST 200'], letters: [] },
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
      detail: expect.stringMatching(/expected: \{ OrgUnitId: number, UserId: number, RoleId: number, … \}$/),
    });
  });
});

describe('what something before the API answers is parked at once, and says what it was', () => {
  test.each<[string, Effect & { status: number }]>([
    ['a login page', { status: 200, body: '<html><title>Sign in</title>' }],
    [
      'a page that calls itself JSON',
      {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: '<!doctype html><title>Sign in</title>',
      },
    ],
    [
      'a firewall',
      { status: 403, headers: { 'content-type': 'text/html' }, body: '<html><title>Sign in</title></html>' },
    ],
    [
      'a page that is not there',
      { status: 404, headers: { 'content-type': 'text/html' }, body: '<html><title>Sign in</title></html>' },
    ],
  ])('%s', async (_, effect) => {
    await relay.controls().fault(effect);
    expect(parked(await relay.deliver(enrollment))).toMatchObject({
      requests: [`POST ${effect.status}`],
      ...{ kind: 'intercepted', status: effect.status, title: 'Sign in' },
      message: expect.stringMatching(/^Something in front of the platform’s API answered POST .*: \d+ .*$/),
      remedy: expect.stringMatching(/a proxy, a firewall, a login.*PLATFORM_URL/),
    });
    expect(await enrollmentsOf(303)).toEqual([]);
  });

  test('a redirect', async () => {
    await relay
      .controls()
      .fault({ status: 302, headers: { location: 'https://sso.example.edu/login?x_a=1' } });
    expect(parked(await relay.deliver(enrollment))).toMatchObject({
      ...{ requests: ['POST 302'], kind: 'intercepted', detail: 'to https://sso.example.edu/login' },
    });
  });
});

test('a role is no name', () => {
  const named = { ...enrollment, roleId: 'Learner' };
  expect(relay.problemOf(named)).toMatch(/data\.roleId: must be a positive whole number/);
});
