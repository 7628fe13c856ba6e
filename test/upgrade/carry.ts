import { isDeepStrictEqual } from 'node:util';
import type { Version } from '../../lib/stage/version.ts';
import { bodiesOn } from '../local/queues.ts';
import { liveAt, liveNow } from './clock.ts';
import { type Stage, startStage } from './stage.ts';
import { type SisState, type State, takeState } from './state.ts';
import {
  course,
  enrolled,
  enrollmentBody,
  gradeBody,
  graded,
  leave,
  lettersOf,
  pointsOf,
  removedBy,
  snapshotIs,
} from './term.ts';

type Carried = {
  /** None, if all is well. */
  problems: string[];
  figures: string;
  /** What the next version finds. */
  state: State;
};

/** What waits, waits no longer, and what 1.0.0 has claimed counts as done: the next version comes so much later. */
const pauseMs = 65 * 60_000;
/** Of those who have a grade, or are enrolled, so many meet traffic. */
const busyEach = 100;

/** Has the version in this folder carry on what another one left, under traffic, and looks whether all is right afterwards. */
export const carryOn = async (
  state: State,
  { root, by }: { root: string; by: Version },
): Promise<Carried> => {
  const { ledgerKey, told } = state;
  const aheadMs = liveAt(state.ms + pauseMs);
  const stage = await startStage({ root, ledgerKey, aheadMs, state });
  const problems: string[] = [];
  const expect = (fact: string, actual: unknown, wanted: unknown): void => {
    if (isDeepStrictEqual(actual, wanted)) return;
    problems.push(`${fact}: ${JSON.stringify(actual)}, and not ${JSON.stringify(wanted)}`);
  };
  try {
    expect('letters', await lettersOf(stage), told.letters);
    expect('letters on the queue', await lettersRead(stage), told.letters);
    const busy = await meetTraffic(stage, told);
    await approve(stage, told);
    await stage.quiet();
    await judgeGrades(stage, { ...told, grades: busy.grades }, [...told.owed, ...busy.graded], problems);
    await judgeEnrollments(stage, told, problems);
    const parked = await replay(stage, told, problems);
    await judgeLedger(stage, state, problems);
    for (const [id, all] of stage.outcomes)
      if (all.filter((each) => each.startsWith('done')).length > 1) problems.push(`${id} was done twice`);
    const counts = countsOf(stage);
    const next = await leave(stage, { ...told, grades: busy.grades, parked }, told.versions + 1);
    problems.push(...stage.troubles);
    return {
      problems,
      figures: `${state.tables.table.length} resources, ${counts}; ${told.parked.length - parked.length} of ${told.parked.length} letters replayed`,
      state: await takeState(stage.stack, { by, ledgerKey, told: next }),
    };
  } catch (error) {
    // What is cut off may end the process when the stage is closed.
    console.error([...problems.slice(0, 20), ...stage.troubles.slice(0, 5)].join('\n'), error);
    throw error;
  } finally {
    await stage.close();
    liveNow();
  }
};

/** How many letters of each kind there are, as this version reads the queue itself. */
const lettersRead = async (stage: Stage): Promise<SisState['letters']> => {
  const kinds = (await stage.exported())
    .trim()
    .split('\n')
    .map((line): string => JSON.parse(line).kind);
  const groups = Object.entries(Object.groupBy(kinds, (kind) => kind));
  return Object.fromEntries(groups.map(([kind, each = []]) => [kind, each.length] as const).sort());
};

const countsOf = ({ outcomes }: Stage): string => {
  const counts: Record<string, number> = {};
  for (const each of [...outcomes.values()].flat()) {
    const [outcome = ''] = each.split(' ');
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return Object.entries(counts)
    .sort()
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ');
};

/**
 * Of grades: the last one once more, one older than all, and a newer one, by the user's id and by the SIS' name. Of enrollments: a
 * second copy, and a removal that is older.
 */
const meetTraffic = async (stage: Stage, told: SisState) => {
  const grades = { ...told.grades };
  const owed = new Set(told.owed);
  const usersOf = graded(Object.keys(grades).length).filter((id) => id in grades && !owed.has(id));
  const busy = usersOf.slice(0, busyEach);
  const named = removedBy(5).map(({ userId, userName }) => ({ userId, userName }));
  const newer = [...busy, ...named.map(({ userId }) => userId)];
  const bodies = busy.flatMap((userId) => [
    gradeBody(told, userId, { grade: grades[userId] ?? 0 }),
    gradeBody(told, userId, { grade: 0 }),
  ]);
  for (const userId of newer) grades[userId] = (grades[userId] ?? 0) + 1;
  bodies.push(
    ...busy.map((userId) => gradeBody(told, userId, { grade: grades[userId] ?? 0 })),
    ...named.map(({ userId, userName }) =>
      gradeBody(told, userId, {
        grade: grades[userId] ?? 0,
        userId: undefined,
        orgUnitId: undefined,
        userName,
        orgUnitCode: 'BIO-101',
      }),
    ),
  );
  // In an order that is always the same, and none.
  const mixed = bodies.map((body, at) => ({ body, at: (at * 7_919) % bodies.length }));
  await stage.send(
    'grade-push',
    mixed.sort((one, other) => one.at - other.at).map(({ body }) => body),
  );
  const joined = enrolled(busyEach);
  await stage.send(
    'enrollment-create',
    joined.map((userId) => enrollmentBody(told, userId)),
  );
  await stage.send(
    'enrollment-remove',
    joined.map((userId) =>
      JSON.stringify({
        ...JSON.parse(enrollmentBody({ ...told, fromMs: told.fromMs - 60_000 }, userId)),
        id: `removal-${userId}-${told.versions}`,
        type: 'sis.enrollment-remove.v1',
        data: { orgUnitId: course, userId },
      }),
    ),
  );
  return { grades, graded: newer };
};

/** The import that the version before began. */
const approve = async (stage: Stage, { versions }: SisState): Promise<void> => {
  const id = await snapshotIs(stage, `night-${versions}`, 'waiting-for-approval');
  await stage.typed('snapshots', 'approve', id, '--reason', 'the courses end', '--yes');
  await snapshotIs(stage, `night-${versions}`, 'accepted');
};

type Grade = { userId: number; pointsNumerator: number; writes: number };

/** `changed`: those who have one more grade than the platform had. */
const judgeGrades = async (
  stage: Stage,
  { grades, owed, fromMs: _ }: SisState,
  changed: readonly number[],
  problems: string[],
): Promise<void> => {
  const { gradeValues = [] } = await stage.controls.state('gradeValues');
  const values = new Map((gradeValues as Grade[]).map((value) => [value.userId, value]));
  const isChanged = new Set(changed);
  // An older message of theirs, of which nothing is known, may come first.
  const isOwed = new Set(owed);
  for (const [user, grade] of Object.entries(grades)) {
    const userId = Number(user);
    const { pointsNumerator, writes } = values.get(userId) ?? {};
    const wanted = pointsOf(userId, grade);
    if (pointsNumerator !== wanted)
      problems.push(`user ${userId} has ${pointsNumerator} points, and not ${wanted} of grade ${grade}`);
    const most = isOwed.has(userId) && grade > 1 ? 2 : 1;
    const isRight = isChanged.has(userId) ? writes && writes <= most : writes === 0;
    if (!isRight) problems.push(`the grade of user ${userId} was written ${writes} times`);
  }
};

const judgeEnrollments = async (stage: Stage, { versions }: SisState, problems: string[]): Promise<void> => {
  const { enrollments = [] } = await stage.controls.state('enrollments');
  const held = new Set(
    enrollments.flatMap(({ orgUnitId, userId }) => (orgUnitId === course ? [userId] : [])),
  );
  for (const userId of enrolled(busyEach))
    if (!held.has(userId)) problems.push(`user ${userId} is not enrolled any more`);
  for (const { userId } of removedBy(versions))
    if (held.has(userId)) problems.push(`user ${userId} is enrolled, and not in the export`);
  for (const { userId } of removedBy(5))
    if (!held.has(userId)) problems.push(`user ${userId} is not enrolled, though in the export`);
};

/** Each letter has its effect once, or is there as before. Answers the users of those that are there. */
const replay = async (stage: Stage, { parked }: SisState, problems: string[]): Promise<number[]> => {
  await stage.typed('letters', 'replay', '--yes', '--json', '--rate', '500', '--reason', 'an upgrade');
  await stage.quiet();
  const { gradeValues = [] } = await stage.controls.state('gradeValues');
  const writes = new Map((gradeValues as Grade[]).map((value) => [value.userId, value.writes]));
  const bodies = bodiesOn(stage.stack, 'sis-relay-local-dead-letters');
  return parked.filter((userId) => {
    const letters = bodies.filter((body) => body.includes(`"grade-${userId}-1"`)).length;
    const written = writes.get(userId) ?? 0;
    if (letters + written !== 1)
      problems.push(`of user ${userId} there are ${letters} letters, and ${written} writes`);
    return letters > 0;
  });
};

/** What no message was about is as it was. */
const judgeLedger = async (stage: Stage, state: State, problems: string[]): Promise<void> => {
  const now = await takeState(stage.stack, state);
  const items = new Map(now.tables.table.map((item) => [item.resource?.S ?? '', item]));
  const missing = state.tables.table.filter(({ resource }) => !items.has(resource?.S ?? ''));
  if (missing.length > 0)
    problems.push(
      `${missing.length} resources are not in the ledger any more, as ${missing[0]?.resource?.S}`,
    );
  const quiet = new Set(enrolled(state.tables.table.length).slice(busyEach));
  const changed = state.tables.table.filter(({ resource, ...item }) => {
    const [kind, , userId] = resource?.S?.split('/') ?? [];
    const { resource: _, ...is } = items.get(resource?.S ?? '') ?? {};
    return kind === 'enrollment' && quiet.has(Number(userId)) && !isDeepStrictEqual(is, item);
  });
  if (changed.length > 0)
    problems.push(
      `${changed.length} resources changed of which no message was, as ${changed[0]?.resource?.S}`,
    );
};
