import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sendAll } from '../../../lib/aws/batches.ts';
import type { Groups } from '../../../lib/dead-letters/reading/groups.ts';
import { countsOf } from '../../../lib/dead-letters/reading/queue.ts';
import type { ReplayResult } from '../../../lib/dead-letters/replay/replay.ts';
import { type Attempt, attemptsIn } from '../../local/play.ts';
import { settingsOf } from '../../local/stack.ts';
import { localOffice } from '../cli/local-office.ts';
import { eventBody } from '../cli/office.ts';
import { documentIn, typed } from '../cli/typed.ts';

/** Letters of each kind; `npm run monday` asks for 300. */
const each = Number(process.env.LETTERS_PER_KIND ?? 6);

const attempts: Attempt[] = [];
const brokenRoute = JSON.stringify({ 'create-enrollment': { path: '/enrollments/{nothing}/' } });
const office = localOffice({
  // What would wait for a day is parked at once, and one function has a bug.
  settings: { WAIT_LONGEST_HOURS: '0.0000001', PLATFORM_OPERATIONS: brokenRoute },
  onLog: (_, line) => attempts.push(...attemptsIn(line)),
});

const kinds = [
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
type Kind = (typeof kinds)[number];

const usersOf = (kind: Kind): number[] =>
  Array.from({ length: each }, (_, at) => 10_000 * (1 + kinds.indexOf(kind)) + at);
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
  while ((await countsOf(deadLetters)).visible < before + some.length * each) await sleep(50);
};

const key = (userId: number | string, userKey = `local-key-${userId}`) => ({
  ...{ type: 'id-key', appId: 'local-app', appKey: 'local-app-key', userId: String(userId), userKey },
});

/** The command's JSON document, and what is to happen when something is sent for the first time. */
const sisRelay = async <Document>(line: string, onBegin: () => void = () => {}) => {
  const { status, out } = await typed(`${line} --json --stack ${office.file}`, {
    onErr: (piece) => {
      if (piece.includes('"audit":"begin"')) onBegin();
    },
  });
  return { status, document: documentIn<Document>(out) };
};
const replay = async (options: string, onBegin?: () => void) => {
  const { status, document } = await sisRelay<{ plan?: ReplayResult['plan']; result?: ReplayResult }>(
    `letters replay --yes --rate 500 --canary-wait 120 ${options}`,
    onBegin,
  );
  return { status, ...document };
};
const lettersByKind = async () => {
  const { document } = await sisRelay<Groups>('letters groups');
  const counts: Record<string, number> = {};
  for (const { kind, letters } of document.groups) counts[kind] = (counts[kind] ?? 0) + letters;
  return counts;
};
/** Of any kind, those that only ask what can succeed yet among them. */
const requests = async () =>
  (await office.controls().requests()).filter(({ path }) => !path.includes('_local')).length;

test(`an operator’s Monday: ${each * kinds.length} letters of ten kinds are seen, planned and put right`, async () => {
  const controls = office.controls();
  const { description, lambda } = office.stack();
  const secretOf = (userId: number) => `${description.secrets.userPrefix}${userId}`;
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
  await sow(kinds.filter((kind) => kind !== 'credentials' && kind !== 'throttled'));
  // After a 429 no call is made for a while: a message that is at its second one would be throttled, too.
  await sow(['throttled']);
  await controls.key(100, 'rotated');
  await sow(['credentials']);

  // Seen: ten groups, each counted, with the exact scope to ask for.
  expect(await lettersByKind()).toEqual(Object.fromEntries(kinds.map((kind) => [kind, each])));
  const { document } = await sisRelay<Groups>('letters groups --kind missing-scope');
  expect(document.groups).toMatchObject([
    { grants: ['grades:gradevalues:write'], remedy: expect.stringContaining('grades:gradevalues:write') },
  ]);

  // The key is still refused: nothing that the service signs can succeed, and nothing of it is sent.
  const dry = await replay('--dry-run --kind credentials --kind unavailable --kind rejected');
  expect(dry.plan?.send).toEqual([]);
  expect(dry.plan?.notYet.every(({ why }) => why.includes('credential'))).toBe(true);

  // Once it is restored, but the other causes are not: the canary stops it.
  await controls.key(100, 'local-key-100');
  await controls.secret(description.secrets.service, key(100));
  // New containers know nothing of the key that was refused.
  const renew = (name: string) =>
    lambda?.recycle(name, { ...settingsOf(description, name), WAIT_LONGEST_HOURS: '0.0000001' });
  await renew('grade-push');
  const before = await requests();
  const early = await replay('--kind missing-scope --kind missing-permission --kind rejected');
  expect(early).toMatchObject({ status: 1, result: { ended: 'stopped', counts: { sent: 5, cameBack: 5 } } });
  const causes = early.result?.counts?.cameBackAs.map(({ kind }) => kind).sort();
  expect(causes).toEqual(['missing-permission', 'missing-scope', 'rejected']);
  expect((await requests()) - before).toBeLessThanOrEqual(5 + 5);

  // All causes are removed, but for the messages that are wrong in themselves.
  await controls.clearFaults();
  await controls.seed({ gradeObjects: [{ gradeObjectId: 5999, orgUnitId: 2001 }] });
  for (const userId of usersOf('missing-credential')) await controls.secret(secretOf(userId), key(userId));
  // The bug is mended.
  await renew('enrollment-create');

  const late = usersOf('invalid').map((userId) => grade(userId, { grade: null, gradeObjectId: 5002 }));
  let arriving: Promise<unknown> = Promise.resolve();
  const { sqs } = office.stack();
  const main = await replay('', () => {
    arriving = sendAll(
      { sqs, url: description.queues['grade-push'] ?? '' },
      late.map((body) => ({ body, attributes: {} })),
    );
  });
  await arriving;
  expect(main.plan?.uncertain.reduce((sum, { letters }) => sum + letters, 0)).toBe(each);
  expect(main.result, JSON.stringify(main.result?.counts?.cameBackAs)).toMatchObject({
    ended: 'done',
    counts: {
      ...{ sent: 8 * each, through: 8 * each, stillInvalid: each },
      ...{ failed: [], undeleted: [], setAside: 0, notTried: 0, gone: 0 },
    },
  });

  const uncertain = await replay('--kind uncertain --include-uncertain');
  expect(uncertain.result).toMatchObject({ ended: 'done', counts: { sent: each, through: each } });

  // The platform holds what the messages said, each once; what arrived meanwhile lies untouched beside what is invalid.
  const { gradeValues = [], enrollments = [], submissions = [] } = await controls.state();
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
  while ((await countsOf({ sqs, url: description.deadLetters })).visible < 2 * each) await sleep(50);
  expect(await lettersByKind()).toEqual({ invalid: 2 * each });

  // No letter was replayed twice, but for the canary that came too early.
  const replayed = attempts.filter(({ replays = 0 }) => replays > 0);
  const perMessage = Map.groupBy(replayed, ({ eventId, replays }) => `${eventId} ${replays}`);
  expect(
    [...perMessage.values()].filter(
      (all) => all.length > 1 && !all.some(({ outcome }) => outcome === 'waiting'),
    ),
  ).toEqual([]);
  expect(perMessage.size).toBe(9 * each + 5);
}, 1_200_000);
