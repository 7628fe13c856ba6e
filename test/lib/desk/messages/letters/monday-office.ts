import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { countsOf } from '../../../../../lib/desk/messages/letters/queue.ts';
import { listWaiting } from '../../../../../lib/desk/messages/waiting/waiting.ts';
import { sendAll } from '../../../../../lib/runtime/aws/sqs.ts';
import type { Effect } from '../../../../local/controls.ts';
import { type Attempt, attemptsIn } from '../../../../local/scenarios/play.ts';
import { settingsOf } from '../../../../local/stack.ts';
import { localOffice } from '../../cli/local-office.ts';
import { eventBody, never } from '../../cli/office.ts';

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

/** More causes of kinds that are there already; without an answer, submissions have two causes. */
const moreCauses = ['locked', 'other-permission', 'intercepted'] as const;
export const allCauses = [...kinds, ...moreCauses];
type Cause = (typeof allCauses)[number];

/** By cause, what a text has to say for a person to know what to do. */
const asks: readonly (readonly [Cause, ...string[]])[] = [
  ['missing-scope', 'Grant the scope grades:gradevalues:write'],
  ['missing-permission', 'the permission EditGrades'],
  ['other-permission', 'the permission ReleaseGrades'],
  ['intercepted', '1. Check what is between sis-relay and the platform'],
  ['defect', 'This is a bug in sis-relay', 'deploy the fix'],
  ['rejected', 'Grade object not found', 'Correct what the platform names'],
  ['locked', 'Locked until Monday', 'Correct what the platform names'],
];

const brokenRoute = JSON.stringify({ 'create-enrollment': { path: '/enrollments/{nothing}/' } });
const parkAtOnce = { WAIT_LONGEST_HOURS: '0.0000001' };

const key = (userId: number | string, userKey = `local-key-${userId}`) => ({
  type: 'id-key',
  appId: 'local-app',
  appKey: 'local-app-key',
  userId: String(userId),
  userKey,
});

/** What a message waits for is not gone before a person has acted. */
const longWaits = { WAIT_MINIMUM_SECONDS: '1800', WAIT_MAXIMUM_SECONDS: '1800' };

/** A weekend has left letters of these causes, so many of each, that somebody removes on Monday. */
export const mondayOffice = (each: number, causes: readonly Cause[] = kinds) => {
  const attempts: Attempt[] = [];
  /** How often a function has said that it could not record a message for the operators. */
  let unrecorded = 0;
  const office = localOffice({
    // What would wait for a day is parked at once, and one function has a bug.
    settings: { ...parkAtOnce, PLATFORM_OPERATIONS: brokenRoute },
    onLog: (_, line) => {
      attempts.push(...attemptsIn(line));
      if (line.includes('could not be recorded for the operators')) unrecorded += 1;
    },
  });

  // After a 429, or with a key that is refused, no call is made for a while: more of them would take a day.
  const few = Math.min(each, 20);
  const counts: Partial<Record<Cause, number>> = {
    throttled: few,
    credentials: few,
    rejected: 3 * each - 2 * few,
  };
  const usersOf = (cause: Cause): number[] =>
    Array.from({ length: counts[cause] ?? each }, (_, at) => 10_000 * (1 + allCauses.indexOf(cause)) + at);
  const pathOf = (cause: Cause): string => `values/${1 + allCauses.indexOf(cause)}\\d{4}$`;
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
  const waitingGrades = Array.from({ length: 8 }, (_, at) => 900_000 + at);
  const refusedLearner = 990_000;
  const bodyOf: Record<Cause, (userId: number) => string> = {
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
    locked: grade,
    'other-permission': grade,
    intercepted: grade,
  };
  const functionOf = (cause: Cause): string =>
    ({
      defect: 'enrollment-create',
      'missing-credential': 'submission-upload',
      uncertain: 'submission-upload',
    })[cause as string] ?? 'grade-push';

  /** Sends messages of these causes to their functions, and waits until each is a letter, of which there may be copies. */
  const sow = async (some: readonly Cause[]): Promise<void> => {
    const { sqs, description } = office.stack();
    const queueOf = (cause: Cause) => ({ sqs, url: description.queues[functionOf(cause)] ?? '' });
    for (const cause of some)
      await sendAll(
        queueOf(cause),
        usersOf(cause).map((userId) => ({ body: bodyOf[cause](userId), attributes: {} })),
      );
    for (const cause of some) {
      const left = async (): Promise<number> => {
        const { visible, inFlight } = await countsOf(queueOf(cause));
        return visible + inFlight;
      };
      while ((await left()) > 0) await sleep(50);
    }
  };

  const secretOf = (userId: number): string => `${office.stack().description.secrets.userPrefix}${userId}`;
  /** New containers know nothing of the key that was refused, and have no bug. */
  const renew = (name: string, settings: Record<string, string> = parkAtOnce) => {
    const { lambda, description } = office.stack();
    return lambda?.recycle(name, { ...settingsOf(description, name), ...settings });
  };

  const always = { method: 'PUT', times: 1_000_000 };
  const problem = (anchor: string, title: string, detail: string): Effect => ({
    status: 403,
    headers: { 'content-type': 'application/problem+json' },
    body: { type: `https://docs/apiprop.html#${anchor}`, title, status: 403, detail },
  });
  const permission = (name: string): Effect =>
    problem(
      'forbidden',
      'Forbidden',
      `Not authorized for [ orgUnitId: 2001, securityVariableName: ${name} ]`,
    );
  /** What the platform does, until somebody mends it. */
  const faults = new Map<Cause, Effect>([
    [
      'missing-scope',
      problem(
        'not-authorized',
        'Not Authorized',
        'Insufficient scope to call API. Required: grades:gradevalues:write',
      ),
    ],
    ['missing-permission', permission('EditGrades')],
    ['other-permission', permission('ReleaseGrades')],
    ['throttled', { status: 429 }],
    ['unavailable', { status: 503 }],
    ['locked', { status: 400, body: { Errors: [{ Message: 'Locked until Monday' }] } }],
    [
      'intercepted',
      {
        status: 200,
        headers: { 'content-type': 'text/html' },
        body: '<html><title>Sign in</title><body>Sign in</body></html>',
      },
    ],
  ]);
  const waiting = async (): Promise<number> =>
    (await listWaiting(office.target(), { filter: {}, limit: 1 }, { signal: never })).matching;
  const setFaults = async (): Promise<void> => {
    await office.controls().clearFaults();
    for (const [cause, fault] of faults)
      if (causes.includes(cause)) await office.controls().fault(fault, { ...always, path: pathOf(cause) });
  };

  return {
    office,
    attempts,
    usersOf,
    grade,
    waiting,
    unrecorded: (): number => unrecorded,
    /** Has the weekend happen. */
    befall: async (): Promise<void> => {
      const controls = office.controls();
      const everybody = [...causes.flatMap(usersOf), ...waitingGrades, refusedLearner];
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

      // Of the submissions without an answer one half was taken all the same.
      await setFaults();
      const uploads = { method: 'POST', path: 'folders/7001' };
      await controls.fault({ status: 502 }, { ...uploads, times: Math.ceil(each / 2) });
      await controls.fault({ reset: 'after' }, { ...uploads, times: Math.floor(each / 2) });
      const apart: readonly Cause[] = ['unavailable', 'throttled', 'credentials'];
      await sow(causes.filter((cause) => !apart.includes(cause)));
      // When the platform is down, or after a 429, no call is made for a while: what is at its second one then would be of that kind, too.
      await sow(['unavailable']);
      await sow(['throttled']);
      await controls.key(100, 'rotated');
      await sow(['credentials']);
    },
    /** What comes after the weekend waits: for the service's key, and for that of one learner. */
    detain: async (): Promise<void> => {
      const { sqs, description } = office.stack();
      await office.controls().secret(secretOf(refusedLearner), key(refusedLearner, 'a wrong one'));
      for (const name of ['grade-push', 'submission-upload']) await renew(name, longWaits);
      const send = (name: string, bodies: string[]) =>
        sendAll(
          { sqs, url: description.queues[name] ?? '' },
          bodies.map((body) => ({ body, attributes: {} })),
        );
      await send(
        'grade-push',
        waitingGrades.map((userId) => grade(userId)),
      );
      await send(
        'submission-upload',
        waitingGrades.map(() => submission(refusedLearner)),
      );
      while ((await waiting()) < 2 * waitingGrades.length) await sleep(50);
      // Until Monday their containers are gone.
      for (const name of ['grade-push', 'submission-upload']) await renew(name, {});
    },
    /** What heals by itself has healed. */
    passes: async (): Promise<void> => {
      for (const cause of ['throttled', 'unavailable'] as const) faults.delete(cause);
      await setFaults();
    },
    /** Does what the printed remedies ask for, if they name it: a remedy that names too little removes nothing. */
    heed: async (printed: string): Promise<void> => {
      const text = printed.replace(/\s+/g, ' ');
      for (const [cause, ...asked] of asks)
        if (asked.every((each) => text.includes(each))) {
          if (cause === 'rejected')
            await office.controls().seed({ gradeObjects: [{ gradeObjectId: 5999, orgUnitId: 2001 }] });
          else if (cause === 'defect') await renew('enrollment-create');
          else if (faults.delete(cause)) await setFaults();
        }
      const { secrets } = office.stack().description;
      const put = text.matchAll(/Put a valid credential into the secret ([\w/-]+)/g);
      const create = text.matchAll(/(?<=Secrets to create:.*)([\w-]+\/[\w-]+\/users\/\d+)/g);
      // Whoever is told how to get the whole list has it.
      const others = /Secrets to create:.*… and \d+ more/.test(text)
        ? usersOf('missing-credential').map((userId) => ['', secretOf(userId)])
        : [];
      for (const [, secret = ''] of [...put, ...create, ...others])
        if (secret === secrets.service) await office.controls().secret(secret, key(100, 'rotated'));
        else await office.controls().secret(secret, key(secret.slice(secrets.userPrefix.length)));
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
    /** The platform holds what the messages said, each once; those that are invalid, what an operator has made of them. */
    expectDone: async (corrected?: number): Promise<void> => {
      const { gradeValues = [], enrollments = [], submissions = [] } = await office.controls().state();
      const graded = causes.filter((cause) => cause !== 'invalid' && functionOf(cause) === 'grade-push');
      for (const userId of graded.flatMap(usersOf))
        expect(gradeValues.filter((row) => row.userId === userId)).toMatchObject([
          { pointsNumerator: points(userId), writes: 1 },
        ]);
      for (const userId of corrected === undefined ? [] : usersOf('invalid'))
        expect(gradeValues.filter((row) => row.userId === userId)).toMatchObject([
          { pointsNumerator: corrected, writes: 1 },
        ]);
      for (const userId of [...usersOf('missing-credential'), ...usersOf('uncertain')])
        expect(submissions.filter((row) => row.userId === userId)).toHaveLength(1);
      for (const userId of usersOf('defect'))
        expect(enrollments.filter((row) => row.userId === userId)).toMatchObject([
          { orgUnitId: 2001, roleId: 110 },
        ]);
    },
    /** As is what waited. */
    expectReleased: async (): Promise<void> => {
      const { gradeValues = [], submissions = [] } = await office.controls().state();
      for (const userId of waitingGrades)
        expect(gradeValues.filter((row) => row.userId === userId)).toMatchObject([{ writes: 1 }]);
      expect(submissions.filter((row) => row.userId === refusedLearner)).toHaveLength(waitingGrades.length);
    },
  };
};
