import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { countsOf } from '../../../../../lib/operate/messages/letters/queue.ts';
import { sendAll } from '../../../../../lib/runtime/aws/sqs.ts';
import { type Attempt, attemptsIn } from '../../../../local/play.ts';
import { settingsOf } from '../../../../local/stack.ts';
import { localOffice } from '../../../show/cli/local-office.ts';
import { eventBody } from '../../../show/cli/office.ts';

export const kinds = [
  'invalid',
  'rejected',
  'missing-scope',
  'missing-permission',
  'missing-credential',
  'uncertain',
  'defect',
  'credentials',
  'throttled',
  'unavailable',
] as const;
export type Kind = (typeof kinds)[number];

const brokenRoute = JSON.stringify({ 'create-enrollment': { path: '/enrollments/{nothing}/' } });
const parkAtOnce = { WAIT_LONGEST_HOURS: '0.0000001' };

const key = (userId: number | string, userKey = `local-key-${userId}`) => ({
  ...{ type: 'id-key', appId: 'local-app', appKey: 'local-app-key', userId: String(userId), userKey },
});

/** A weekend has left letters of ten kinds, so many of each, for causes that somebody removes on Monday. */
export const mondayOffice = (each: number) => {
  const attempts: Attempt[] = [];
  const office = localOffice({
    // What would wait for a day is parked at once, and one function has a bug.
    settings: { ...parkAtOnce, PLATFORM_OPERATIONS: brokenRoute },
    onLog: (_, line) => attempts.push(...attemptsIn(line)),
  });

  // After a 429, or with a key that is refused, no call is made for a while: more of them would take a day.
  const few = Math.min(each, 20);
  const counts: Partial<Record<Kind, number>> = {
    throttled: few,
    credentials: few,
    rejected: 3 * each - 2 * few,
  };
  const usersOf = (kind: Kind): number[] =>
    Array.from({ length: counts[kind] ?? each }, (_, at) => 10_000 * (1 + kinds.indexOf(kind)) + at);
  const pathOf = (kind: Kind): string => `values/${1 + kinds.indexOf(kind)}\\d{4}$`;
  const points = (userId: number): number => userId % 97;

  const grade = (userId: number, more: object = {}) =>
    eventBody('grade-push', {
      userId,
      grade: { type: 'numeric', points: points(userId) },
      comments: '',
      privateComments: '',
      ...more,
    });
  const submission = (userId: number) => eventBody('submission-upload', { userId });
  const bodyOf: Record<Kind, (userId: number) => string> = {
    invalid: (userId) => grade(userId, { grade: null }),
    rejected: (userId) => grade(userId, { gradeObjectId: 5999 }),
    'missing-scope': grade,
    'missing-permission': grade,
    'missing-credential': submission,
    uncertain: submission,
    defect: (userId) => eventBody('enrollment-create', { userId, roleId: 110 }),
    credentials: grade,
    throttled: grade,
    unavailable: grade,
  };
  const functionOf = (kind: Kind): string =>
    ({
      defect: 'enrollment-create',
      'missing-credential': 'submission-upload',
      uncertain: 'submission-upload',
    })[kind as string] ?? 'grade-push';

  /** Sends messages of these kinds to their functions, and waits until each is a letter. */
  const sow = async (some: readonly Kind[]): Promise<void> => {
    const { sqs, description } = office.stack();
    const deadLetters = { sqs, url: description.deadLetters };
    const { visible: before } = await countsOf(deadLetters);
    for (const kind of some) {
      const url = description.queues[functionOf(kind)] ?? '';
      await sendAll(
        { sqs, url },
        usersOf(kind).map((userId) => ({ body: bodyOf[kind](userId), attributes: {} })),
      );
    }
    const sown = some.flatMap(usersOf).length;
    while ((await countsOf(deadLetters)).visible < before + sown) await sleep(50);
  };

  const secretOf = (userId: number): string => `${office.stack().description.secrets.userPrefix}${userId}`;
  /** New containers know nothing of the key that was refused, and have no bug. */
  const renew = (name: string) => {
    const { lambda, description } = office.stack();
    return lambda?.recycle(name, { ...settingsOf(description, name), ...parkAtOnce });
  };

  return {
    ...{ office, attempts, usersOf, grade },
    /** Has the weekend happen. */
    befall: async (): Promise<void> => {
      const controls = office.controls();
      const everybody = kinds.flatMap(usersOf);
      await controls.seed({
        users: everybody.map((userId) => ({
          userId,
          userName: `u${userId}`,
          firstName: 'L',
          lastName: `${userId}`,
        })),
        enrollments: everybody
          .filter((userId) => !usersOf('defect').includes(userId))
          .map((userId) => ({ orgUnitId: 2001, userId, roleId: 110 })),
      });
      for (const userId of usersOf('uncertain')) await controls.secret(secretOf(userId), key(userId));

      // What befalls each kind. Of the submissions without an answer one half was taken all the same.
      const problem = (anchor: string, title: string, detail: string) => ({
        status: 403,
        headers: { 'content-type': 'application/problem+json' },
        body: { type: `https://docs/apiprop.html#${anchor}`, title, status: 403, detail },
      });
      const always = { method: 'PUT', times: 1_000_000 };
      const scope = problem(
        'not-authorized',
        'Not Authorized',
        'Insufficient scope to call API. Required: grades:gradevalues:write',
      );
      const permission = problem(
        'forbidden',
        'Forbidden',
        'Not authorized for [ orgUnitId: 2001, securityVariableName: EditGrades ]',
      );
      await controls.fault(scope, { ...always, path: pathOf('missing-scope') });
      await controls.fault(permission, { ...always, path: pathOf('missing-permission') });
      await controls.fault({ status: 429 }, { ...always, path: pathOf('throttled') });
      await controls.fault({ status: 503 }, { ...always, path: pathOf('unavailable') });
      const uploads = { method: 'POST', path: 'folders/7001' };
      await controls.fault({ status: 502 }, { ...uploads, times: Math.ceil(each / 2) });
      await controls.fault({ reset: 'after' }, { ...uploads, times: Math.floor(each / 2) });
      const apart: readonly Kind[] = ['unavailable', 'throttled', 'credentials'];
      await sow(kinds.filter((kind) => !apart.includes(kind)));
      // When the platform is down, or after a 429, no call is made for a while: what is at its second one then would be of that kind, too.
      await sow(['unavailable']);
      await sow(['throttled']);
      await controls.key(100, 'rotated');
      await sow(['credentials']);
    },
    /** The service's key is as it was. */
    restoreKey: async (): Promise<void> => {
      const controls = office.controls();
      await controls.key(100, 'local-key-100');
      await controls.secret(office.stack().description.secrets.service, key(100));
      await renew('grade-push');
    },
    /** All causes are removed, but for the messages that are wrong in themselves. */
    removeCauses: async (): Promise<void> => {
      const controls = office.controls();
      await controls.clearFaults();
      await controls.seed({ gradeObjects: [{ gradeObjectId: 5999, orgUnitId: 2001 }] });
      for (const userId of usersOf('missing-credential'))
        await controls.secret(secretOf(userId), key(userId));
      // The bug is mended.
      await renew('enrollment-create');
    },
    /** The platform holds what the messages said, each once, but for those that are invalid. */
    expectDone: async (): Promise<void> => {
      const { gradeValues = [], enrollments = [], submissions = [] } = await office.controls().state();
      for (const kind of [
        'rejected',
        'missing-scope',
        'missing-permission',
        'credentials',
        'throttled',
        'unavailable',
      ] as const)
        for (const userId of usersOf(kind))
          expect(gradeValues.filter((row) => row.userId === userId)).toMatchObject([
            { pointsNumerator: points(userId), writes: 1 },
          ]);
      for (const userId of [...usersOf('missing-credential'), ...usersOf('uncertain')])
        expect(submissions.filter((row) => row.userId === userId)).toHaveLength(1);
      for (const userId of usersOf('defect'))
        expect(enrollments.filter((row) => row.userId === userId)).toMatchObject([
          { orgUnitId: 2001, roleId: 110 },
        ]);
    },
  };
};
