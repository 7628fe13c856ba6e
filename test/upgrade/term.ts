import { setTimeout as sleep } from 'node:timers/promises';
import { entriesOfSis, type Sis, zipOf } from '../options/snapshots/sis.ts';
import type { Stage } from './stage.ts';
import type { SisState } from './state.ts';

// What the SIS tells, and what must come of it. Nothing here is of `lib`: it judges each version alike.

export const course = 2001;
const midterm = 5001;

/** Those of whom a grade stands on the platform. */
export const graded = (count: number): number[] => Array.from({ length: count }, (_, at) => 20_001 + at);
/** Those whom the exports enroll, by their names. */
export const students = Array.from({ length: 100 }, (_, at) => ({
  userName: `student.${at}`,
  userId: 40_001 + at,
}));
/** Those who are enrolled by messages. */
export const enrolled = (count: number): number[] => Array.from({ length: count }, (_, at) => 100_001 + at);

export const pointsOf = (userId: number, grade: number): number => (userId * 7 + grade * 3) % 11;

/** `grade` counts the grades of a user; one that is newer has a later time. */
export const gradeBody = (
  { fromMs }: SisState,
  userId: number,
  { grade, ...more }: { grade: number; [name: string]: unknown },
): string =>
  JSON.stringify({
    specversion: '1.0',
    id: `grade-${userId}-${grade}`,
    source: '/sis',
    type: 'sis.grade-push.v1',
    time: new Date(fromMs + grade * 60_000).toISOString(),
    data: {
      orgUnitId: course,
      gradeObjectId: midterm,
      userId,
      grade: { type: 'numeric', points: pointsOf(userId, grade) },
      comments: '',
      privateComments: '',
      ...more,
    },
  });

export const enrollmentBody = ({ fromMs }: SisState, userId: number): string =>
  JSON.stringify({
    specversion: '1.0',
    id: `enrollment-${userId}`,
    source: '/sis',
    type: 'sis.enrollment-create.v1',
    time: new Date(fromMs).toISOString(),
    data: { orgUnitId: course, userId, roleId: 110 },
  });

/** So many are removed by each export after the first: a person must approve it. */
const removedEach = 20;
const studentsIn = (night: number) => students.slice(night * removedEach);
export const removedBy = (night: number) => students.slice((night - 1) * removedEach, night * removedEach);

const exportOf = (night: number): Promise<Buffer> => {
  const sis: Sis = {
    users: students.map(({ userName }) => ({
      sourcedId: `u-${userName}`,
      username: userName,
      identifier: userName,
    })),
    classes: [{ sourcedId: 'c-bio', title: 'Biology', classCode: 'BIO-101' }],
    lineItems: [],
    enrollments: studentsIn(night).map(({ userName }) => ({
      sourcedId: `e-${userName}`,
      classSourcedId: 'c-bio',
      userSourcedId: `u-${userName}`,
      role: 'student',
    })),
    results: [],
  };
  return zipOf(entriesOfSis(sis));
};

/** Drops an export, and waits until its import is in this state. */
export const drop = async (
  stage: Stage,
  night: number,
  state: string,
  name = `night-${night}`,
): Promise<void> => {
  const key = `snapshots/${name}.zip`;
  await stage.put(key, await exportOf(night));
  stage.invoke('snapshot-import', { key })?.catch(({ message }) => stage.troubles.push(message));
  await snapshotIs(stage, name, state);
};

export const snapshotIs = (stage: Stage, name: string, state: string): Promise<string> =>
  stage.until(`the import of ${name}, ${state}`, async () => {
    const found = (await stage.snapshots()).find(({ key }) => key.endsWith(`/${name}.zip`));
    if (found?.state === 'failed') throw new Error(`The import failed: ${JSON.stringify(found)}`);
    return found?.state === state ? found.id : undefined;
  });

const waiting = 40;
const queuedEach = 100;
const parkedEach = 10;
const refusals = [400, 403, 404, 409];

/**
 * Leaves work undone, for the version that comes next: letters of several kinds; messages that wait, half of them older than what is done
 * meanwhile; messages that nobody has received; and an import that waits for a person.
 */
export const leave = async (stage: Stage, told: SisState, versions: number): Promise<SisState> => {
  const { controls, outcomes } = stage;
  const grades = { ...told.grades };
  const newUsers = (from: number, count: number): number[] =>
    Array.from({ length: count }, (_, at) => from + 1_000 * versions + at);
  const parked = newUsers(80_001, parkedEach * (refusals.length + 1));
  const waits = newUsers(60_001, waiting);
  const news = newUsers(70_001, queuedEach);
  await enroll(stage, [...waits, ...news, ...parked]);

  await leaveLetters(stage, told, parked);
  await drop(stage, versions, 'waiting-for-approval');
  await controls.fault(
    { status: 503, headers: { 'retry-after': '240' } },
    { method: 'PUT', path: `values/6${versions}\\d{3}$`, times: waiting },
  );
  const first = waits.map((userId) => gradeBody(told, userId, { grade: 1 }));
  await stage.send('grade-push', first);
  await stage.until('messages that wait', async () =>
    waits.every((userId) => outcomes.has(`grade-${userId}-1`)) ? true : undefined,
  );
  await controls.clearFaults();
  const [late, alone] = [waits.filter((id) => id % 2 === 0), waits.filter((id) => id % 2 === 1)];
  for (const userId of late) grades[userId] = 2;
  for (const userId of alone) grades[userId] = 1;
  await stage.stop();
  // Each of them is newer than what is on the platform, if anything is.
  const again = graded(Object.keys(grades).length)
    .filter((userId) => userId in grades)
    .slice(-queuedEach);
  for (const userId of news) grades[userId] = 1;
  for (const userId of again) grades[userId] = (grades[userId] ?? 0) + 1;
  await stage.send(
    'grade-push',
    [...news, ...again, ...late].map((userId) => gradeBody(told, userId, { grade: grades[userId] ?? 0 })),
  );
  await sleep(100);
  const owed = [...waits, ...news, ...again];
  return {
    ...told,
    grades,
    versions,
    owed,
    parked: [...told.parked, ...parked],
    letters: await lettersOf(stage),
  };
};

/** The last of the users have messages that are invalid. */
const leaveLetters = async (stage: Stage, told: SisState, users: readonly number[]): Promise<void> => {
  const bodies = users.map((userId, at) =>
    gradeBody(told, userId, { grade: 1, ...(at >= parkedEach * refusals.length && { comments: 7 }) }),
  );
  for (const [at, status] of refusals.entries()) {
    const those = users.slice(at * parkedEach, (at + 1) * parkedEach);
    await stage.controls.fault(
      { status },
      { method: 'PUT', path: `values/(${those.join('|')})$`, times: parkedEach },
    );
  }
  await stage.send('grade-push', bodies);
  await stage.until('letters', async () =>
    users.every((userId) => stage.outcomes.has(`grade-${userId}-1`)) ? true : undefined,
  );
  await stage.controls.clearFaults();
};

export const enroll = (stage: Stage, userIds: readonly number[]) =>
  stage.controls.seed({
    users: userIds.map((userId) => ({ userId })),
    enrollments: userIds.map((userId) => ({ orgUnitId: course, userId, roleId: 110 })),
  });

/** How many letters of each kind the version's command lists. */
export const lettersOf = async (stage: Stage): Promise<Record<string, number>> => {
  const { groups } = JSON.parse(await stage.typed('letters', 'groups', '--json'));
  const counts: Record<string, number> = {};
  for (const { kind, letters } of groups) counts[kind] = (counts[kind] ?? 0) + letters;
  return Object.fromEntries(Object.entries(counts).sort());
};
