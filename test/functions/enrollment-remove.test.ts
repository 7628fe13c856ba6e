import { describe, expect, test } from 'vitest';
import { integration as creation } from '../../functions/enrollment-create.ts';
import { integration } from '../../functions/enrollment-remove.ts';
import { functionForTests, parked } from '../local/inline.ts';

const relay = functionForTests(integration, () => ({}), [creation]);
const learner = 110;
const enrolled = { orgUnitId: 2001, userId: 302 };
const newcomer = { orgUnitId: 2001, userId: 303 };
const rowsOf = async ({ orgUnitId, userId }: typeof enrolled) =>
  (await relay.rows('enrollments')).filter((row) => row.userId === userId && row.orgUnitId === orgUnitId);
const createdEvent = (enrollment: typeof enrolled) =>
  relay.event({ ...enrollment, roleId: learner }, { type: 'sis.enrollment-create.v1' });
const notEnrolled = {
  outcomes: ['done'],
  requests: ['DELETE 404', 'GET 200'],
  letters: [],
  reasons: ['The user was not enrolled'],
};

describe('a removal', () => {
  test('takes a user out of an org unit, with one request, and no other user', async () => {
    const before = (await relay.rows('enrollments')).length;
    expect(await relay.deliver(enrolled)).toMatchObject({
      outcomes: ['done'],
      reasons: [],
      requests: ['DELETE 200'],
      letters: [],
    });
    expect(await rowsOf(enrolled)).toEqual([]);
    expect(await relay.rows('enrollments')).toHaveLength(before - 1);
  });

  test('of whoever is not enrolled is done once the classlist says so, and the log tells it', async () => {
    expect(await relay.deliver(newcomer)).toMatchObject(notEnrolled);
  });

  test('reads all pages of the classlist', async () => {
    const users = Array.from({ length: 250 }, (_, at) => ({ userId: 5_000 + at }));
    const enrollments = users.map(({ userId }) => ({ orgUnitId: 2001, userId, roleId: learner }));
    await relay.controls().seed({ users, enrollments });
    const { outcomes, requests } = await relay.deliver(newcomer);
    expect(outcomes).toEqual(['done']);
    expect(requests.length).toBeGreaterThan(2);

    const last = { orgUnitId: 2001, userId: 5_249 };
    await relay.controls().fault({ status: 404, body: { Errors: [] } }, { method: 'DELETE' });
    expect(parked(await relay.deliver(last)).requests).toEqual(['DELETE 404', ...requests.slice(1)]);
    expect(await rowsOf(last)).toHaveLength(1);
  });

  test('is not hindered by names that the platform hides', async () => {
    const hidden = { ProfileIdentifier: 'p', DisplayName: null, Username: null, Email: null };
    const body = { Objects: [{ ...hidden, Identifier: '302' }], Next: null };
    await relay.controls().fault({ status: 200, body }, { path: 'classlist' });
    expect(await relay.deliver(newcomer)).toMatchObject(notEnrolled);
  });
});

describe('of a creation and a removal, each in a container of its own, the newer holds', () => {
  test('the older creation is superseded when it comes after the removal', async () => {
    const older = createdEvent(enrolled);
    await relay.isDone(enrolled);
    const { outcomes, requests, letters } = await relay.deliverBody(older);
    expect({ end: outcomes.at(-1), requests, letters }).toEqual({
      end: 'superseded',
      requests: [],
      letters: [],
    });
    expect(await rowsOf(enrolled)).toEqual([]);
  });

  test('the older removal is superseded when it comes after the creation', async () => {
    const older = relay.event(newcomer);
    await relay.isDone(createdEvent(newcomer));
    const { outcomes, requests, letters } = await relay.deliverBody(older);
    expect({ end: outcomes.at(-1), requests, letters }).toEqual({
      end: 'superseded',
      requests: [],
      letters: [],
    });
    expect(await rowsOf(newcomer)).toMatchObject([{ writes: 1 }]);
  });

  test('in their order both are done: whoever was enrolled and then removed is not enrolled', async () => {
    await relay.deliverBody(createdEvent(newcomer));
    const { outcomes, requests } = await relay.deliver(newcomer);
    expect({ end: outcomes.at(-1), requests }).toEqual({ end: 'done', requests: ['DELETE 200'] });
    expect(await rowsOf(newcomer)).toEqual([]);
  });
});

describe('what the platform refuses is parked, and the enrollment stays', () => {
  test('a 404 about somebody whom the classlist shows: it was the path or the version', async () => {
    const body = { type: 'about:blank', title: 'Not Found', status: 404, detail: 'No such version' };
    await relay.controls().fault({ status: 404, body }, { method: 'DELETE' });
    expect(parked(await relay.deliver(enrolled))).toMatchObject({
      requests: ['DELETE 404', 'GET 200'],
      kind: 'rejected',
      status: 404,
      title: 'Not Found',
      detail: 'No such version',
      operation: 'DELETE /svc/api/lp/1.49/enrollments/orgUnits/2001/users/302',
      message: expect.stringContaining('but the classlist shows the user'),
      remedy: expect.stringContaining('version of delete-enrollment'),
    });
    expect(await rowsOf(enrolled)).toHaveLength(1);
  });

  test.each([
    ['a page', { headers: { 'content-type': 'text/html' }, body: '<html><title>Blocked' }, 'intercepted'],
    ['nothing', {}, 'rejected'],
    ['the words of a router', { body: '404 page not found' }, 'rejected'],
  ])('a 404 that the API did not write, whoever is listed: %s', async (_, answer, kind) => {
    for (const removed of [enrolled, newcomer]) {
      await relay.controls().fault({ status: 404, ...answer }, { method: 'DELETE' });
      expect(parked(await relay.deliver(removed))).toMatchObject({
        requests: ['DELETE 404'],
        kind,
        status: 404,
        remedy: expect.stringContaining('Check the path'),
      });
    }
    expect(await rowsOf(enrolled)).toHaveLength(1);
  });

  test.each([
    [
      'items that lead on by an address',
      { Items: [], Next: '/svc/api/le/1.82/2001/classlist/paged/?page=2' },
    ],
    [
      'objects that lead on by a bookmark',
      { Objects: [], PagingInfo: { HasMoreItems: true, Bookmark: '7' } },
    ],
  ])('a 404, where the classlist comes as %s', async (_, body) => {
    const notFound = { title: 'Not Found', status: 404, detail: 'No such version' };
    await relay.controls().fault({ status: 404, body: notFound }, { method: 'DELETE' });
    await relay.controls().fault({ status: 200, body }, { path: 'classlist' });
    expect(parked(await relay.deliver(enrolled))).toMatchObject({ kind: 'unexpected-answer' });
    expect(await rowsOf(enrolled)).toHaveLength(1);
  });

  test('a 404 about an org unit that nobody knows', async () => {
    expect(parked(await relay.deliver({ ...enrolled, orgUnitId: 2999 }))).toMatchObject({
      requests: ['DELETE 404', 'GET 404'],
      kind: 'rejected',
      status: 404,
      detail: 'Org unit not found',
      operation: 'GET /svc/api/le/1.82/2999/classlist/paged/',
    });
  });

  test('a 404, where the classlist may not be read', async () => {
    const body = { title: 'Forbidden', status: 403, detail: 'Requires permission: SeeClasslist' };
    await relay.controls().fault({ status: 403, body }, { path: 'classlist' });
    expect(parked(await relay.deliver(newcomer))).toMatchObject({
      requests: ['DELETE 404', 'GET 403'],
      kind: 'missing-permission',
      status: 403,
      title: 'Forbidden',
    });
  });
});

test('a classlist that is not to be had proves nothing, and is waited for', async () => {
  await relay.controls().fault({ status: 503 }, { path: 'classlist' });
  expect(await relay.deliver(newcomer)).toMatchObject({
    outcomes: ['waiting', 'done'],
    letters: [],
    requests: ['DELETE 404', 'GET 503', 'DELETE 404', 'GET 200'],
  });
});
