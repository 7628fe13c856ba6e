import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { resolve } from 'node:path';
import { type DeadLetter, sqsMessageOf } from '../../lib/delivery/letters/dead-letter.ts';
import { type FailureKind, type LetterKind, letterKinds } from '../../lib/message/failure-kinds.ts';
import { ownVersion } from '../../lib/stage/version.ts';
import type { Effect } from '../local/controls.ts';
import { brokenBy } from '../package/contract/released.ts';
import { useIdsInARow } from './clock.ts';
import { formatsOf } from './formats.ts';
import { type Stage, startStage } from './stage.ts';
import { keepState, type SisState, type State, takeState } from './state.ts';
import {
  drop,
  enroll,
  enrolled,
  enrollmentBody,
  gradeBody,
  graded,
  leave,
  lettersOf,
  students,
} from './term.ts';

const root = resolve(import.meta.dirname, '../..');
/** It keys nothing but grades that nobody was given. */
const ledgerKey = '0123456789abcdef'.repeat(4);
const lettersEach = 3;

type MakeOptions = {
  resources: number;
  /** So that it can be compressed. */
  idsInARow?: boolean;
};

/** `npm run freeze`, after the contract: the state of the version that is checked out, for the versions that come. */
export const command = async (): Promise<void> => {
  useIdsInARow(crypto, process.pid);
  syncBuiltinESMExports();
  const state = await makeState({ resources: 10_000, idsInARow: true });
  keepState(state);
  brokenBy('formats', await formatsOf(state));
};

/** Has the version that is checked out work on a new stage, and takes what it then holds: `resources` in its ledger, and more. */
export const makeState = async ({ resources, idsInARow = false }: MakeOptions): Promise<State> => {
  const stage = await startStage({ root, ledgerKey, aheadMs: 0, idsInARow });
  try {
    let sisState: SisState = {
      fromMs: Date.now() - 3 * 3_600_000,
      grades: {},
      owed: [],
      parked: [],
      letters: {},
      versions: 0,
    };
    await enrollByExport(stage);
    // What is digested cannot be compressed, and a grade has three digests.
    const users = graded(resources / 10);
    const joined = enrolled(resources - users.length);
    await enroll(stage, users);
    await stage.controls.seed({ users: joined.map((userId) => ({ userId })) });
    await stage.send(
      'enrollment-create',
      joined.map((userId) => enrollmentBody(sisState, userId)),
    );
    await stage.send(
      'grade-push',
      users.map((userId) => gradeBody(sisState, userId, { grade: 1 })),
    );
    await stage.quiet();
    for (const userId of users) sisState.grades[userId] = 1;
    sisState = { ...sisState, parked: await park(stage, sisState) };
    sisState = { ...sisState, letters: await lettersOf(stage) };
    sisState = await leave(stage, sisState, 1);
    if (stage.troubles.length > 0) throw new Error(stage.troubles.join('\n'));
    return await takeState(stage.stack, { by: ownVersion(), ledgerKey, told: sisState });
  } finally {
    await stage.close();
  }
};

/** Its names are unknown when it is put first, so what is sent for it has names, as 1.0.0 always sent. */
const enrollByExport = async (stage: Stage): Promise<void> => {
  await stage.controls.seed({ users: students });
  await stage.put(
    'snapshot-settings.json',
    JSON.stringify({ roles: { student: 110 }, user: { field: 'userName', column: 'username' } }),
  );
  await drop(stage, 0, 'accepted', 'by-names');
  await stage.put(
    'crosswalk/users.csv',
    ['userName,userId', ...students.map(({ userName, userId }) => `${userName},${userId}`), ''].join('\n'),
  );
  const filled = await stage.invoke('crosswalk-fill', {});
  if (!filled?.ok) throw new Error(`crosswalk-fill: ${JSON.stringify(filled)}`);
  await drop(stage, 0, 'accepted');
};

const problem = (anchor: string, title: string, detail: string) => ({
  status: 403,
  headers: { 'content-type': 'application/problem+json' },
  body: { type: `https://docs/apiprop.html#${anchor}`, title, status: 403, detail },
});
/** What the platform does to a grade, by the kind of its letter. */
const faults: Record<string, Effect> = {
  'missing-scope': problem(
    'not-authorized',
    'Not Authorized',
    'Insufficient scope to call API. Required: grades:gradevalues:write',
  ),
  'missing-permission': problem(
    'forbidden',
    'Forbidden',
    'Not authorized for [ orgUnitId: 2001, securityVariableName: EditGrades ]',
  ),
  rejected: { status: 200, body: { Errors: [{ Message: 'The grade book is closed' }] } },
  intercepted: { status: 403, headers: { 'content-type': 'text/html' }, body: '<title>Blocked</title>' },
};

/** Letters of each kind; those that the platform or the SIS causes are by the functions. Answers the users whose grade is one. */
const park = async (stage: Stage, sisState: SisState): Promise<number[]> => {
  // SQS alone can write what it moves by its own redrive.
  const kinds = letterKinds.filter((kind) => kind !== 'redriven');
  const usersOf = (kind: string): number[] =>
    Array.from({ length: lettersEach }, (_, at) => 50_001 + 10 * kinds.indexOf(kind as FailureKind) + at);
  await enroll(stage, kinds.flatMap(usersOf));
  const bodiesOf = (kind: string, more: object = {}): string[] =>
    usersOf(kind).map((userId) => gradeBody(sisState, userId, { grade: 1, ...more }));
  for (const [kind, effect] of Object.entries(faults))
    await stage.controls.fault(effect, {
      method: 'PUT',
      times: 100,
      path: `values/(?:${usersOf(kind).join('|')})$`,
    });
  const old = { ...sisState, fromMs: sisState.fromMs - 60 * 24 * 3_600_000 };
  await stage.send('grade-push', [
    ...Object.keys(faults).flatMap((kind) => bodiesOf(kind)),
    ...bodiesOf('invalid', { grade: 1, comments: 7 }),
    ...usersOf('outdated').map((userId) => gradeBody(old, userId, { grade: 1 })),
  ]);
  await stage.quiet();
  await stage.controls.clearFaults();
  const made = [...Object.keys(faults), 'invalid', 'outdated'];
  // The others are written by the version's own code.
  for (const kind of kinds.filter((each) => !made.includes(each)))
    for (const body of bodiesOf(kind)) await stage.park(sqsMessageOf(letterOf(kind, body)));
  await stage.typed('letters', 'reindex', '--json');
  return kinds.filter((kind) => kind !== 'unreadable').flatMap(usersOf);
};

const source = 'arn:aws:sqs:us-east-1:000000000000:sis-relay-local-grade-push';
const gone = 's3://sis-relay-uploads/letters/grade-push/gone';

const letterOf = (kind: LetterKind, body: string): DeadLetter => {
  const letter = { body, source, replays: 0, attributes: {}, failure: null };
  if (kind === 'no-details') return letter;
  if (kind === 'unknown-source') return { ...letter, source: '' };
  if (kind === 'unreadable') return { ...letter, body: JSON.stringify({ whole: gone }), storedAt: gone };
  const at = new Date().toISOString();
  const failure = {
    kind: kind as FailureKind,
    message: `It is ${kind}`,
    remedy: 'Replay it.',
    function: 'grade-push',
    attempts: 1,
    firstAt: at,
    lastAt: at,
  };
  return { ...letter, failure };
};
