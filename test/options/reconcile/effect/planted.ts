import { integration as enrollmentCreate } from '../../../../functions/enrollment-create.ts';
import { integration as gradePush } from '../../../../functions/grade-push.ts';
import type { EffectClass } from '../../../../lib/options/reconcile/classes.ts';
import type { Finding, Report } from '../../../../lib/options/reconcile/record.ts';
import { type Random, randomFrom } from '../../../fuzz/random.ts';
import { controlsOf } from '../../../local/controls.ts';
import { type Stack, startStack } from '../../../local/stack.ts';
import { compare, send } from './stage.ts';

/** What is done behind the back of sis-relay, and the class in which it must be found. */
const kinds = {
  'a grade is removed': 'missing',
  'a grade is rolled back': 'older',
  'a person changes a grade': 'changed',
  'a grade is answered with a success and not written': 'missing',
  'two users’ grades are swapped': 'different',
  'a comment is lost with the last hour': 'older',
  'a grade cannot be read': 'unreadable',
  'an enrollment is removed': 'missing',
  'another role is given': 'different',
} as const satisfies Record<string, EffectClass>;
export type PlantedKind = keyof typeof kinds;
export const plantedKinds = Object.keys(kinds) as PlantedKind[];

type Options = {
  /** In all, of which one in five is an enrollment. */
  writes: number;
  faults: number;
  seed: number;
  progress(text: string): void;
};

export type Outcome = {
  report: Report;
  /** By kind: how many were planted, and how many were found in their class. */
  found: Record<PlantedKind, { planted: number; found: number }>;
  /** What is wrong: faults that were not found, or in another class, and findings where nothing was planted. */
  problems: string[];
  seconds: { writing: number; comparing: number };
};

const usersEach = 500;
const role = { learner: 110, instructor: 109 };

type Write = { orgUnitId: number; userId: number; gradeObjectId?: number };
const resourceOf = ({ orgUnitId, gradeObjectId, userId }: Write): string =>
  gradeObjectId === undefined
    ? `enrollment/${orgUnitId}/${userId}`
    : `grade/${orgUnitId}/${gradeObjectId}/${userId}`;

/** Writes grades and enrollments by the real handlers, plants faults on the platform, and has reconcile look for them. */
export const plantAndFind = async ({ writes, faults, seed, progress }: Options): Promise<Outcome> => {
  const stack = await startStack({ functions: false });
  try {
    const world = worldOf(writes);
    const plan = planOf(world, { faults, chance: randomFrom(seed) });
    const { controls } = await seeded(stack, world);
    const startedMs = performance.now();
    const falseSuccesses = plan.get('a grade is answered with a success and not written') ?? [];
    await controls.fault(
      { status: 200 },
      { method: 'PUT', path: pathOf(falseSuccesses), times: 2 * falseSuccesses.length },
    );
    await writeAll(stack, world, progress);
    const writing = (performance.now() - startedMs) / 1_000;
    await controls.clearFaults();
    await plant(stack, plan);
    const { report, findings } = await compare({ stack }, { whole: true });
    const seconds = { writing, comparing: (performance.now() - startedMs) / 1_000 - writing };
    return { report, seconds, ...judged(plan, findings) };
  } finally {
    await stack.close();
  }
};

type World = { orgUnits: number[]; grades: Write[]; enrollments: Write[] };

const worldOf = (writes: number): World => {
  const [enrollmentCount, gradeCount] = [Math.floor(writes / 5), writes - Math.floor(writes / 5)];
  const orgUnits = Array.from({ length: Math.ceil(gradeCount / usersEach) }, (_, at) => 20_001 + at);
  const place = (at: number): { orgUnitId: number; userId: number } => ({
    orgUnitId: orgUnits[Math.floor(at / usersEach)] ?? 0,
    userId: 100_001 + (at % usersEach),
  });
  return {
    orgUnits,
    grades: Array.from({ length: gradeCount }, (_, at) => {
      const { orgUnitId, userId } = place(at);
      return { orgUnitId, userId, gradeObjectId: orgUnitId + 100_000 };
    }),
    enrollments: Array.from({ length: enrollmentCount }, (_, at) => place(at)),
  };
};

type Plan = Map<PlantedKind, Write[]>;

/** No write is met by two faults. Of swapped grades there are always two. */
const planOf = (
  { grades, enrollments }: World,
  { faults, chance }: { faults: number; chance: Random },
): Plan => {
  const taken = new Set<Write>();
  const take = (from: readonly Write[]): Write => {
    for (;;) {
      const one = chance.one(from);
      if (taken.has(one)) continue;
      taken.add(one);
      return one;
    }
  };
  const plan: Plan = new Map(plantedKinds.map((kind) => [kind, []]));
  for (let at = 0, planted = 0; planted < faults; at += 1) {
    const kind = plantedKinds[at % plantedKinds.length] as PlantedKind;
    const isOfEnrollments = kind === 'an enrollment is removed' || kind === 'another role is given';
    const isSwap = kind === 'two users’ grades are swapped';
    if (isSwap && faults - planted < 2) continue;
    const writes = plan.get(kind);
    const first = take(isOfEnrollments ? enrollments : grades);
    writes?.push(first);
    planted += 1;
    if (!isSwap) continue;
    writes?.push(take(grades.filter((each) => each.orgUnitId === first.orgUnitId)));
    planted += 1;
  }
  return plan;
};

/** Each is another user's, so that swapping them is seen. */
const pointsOf = ({ userId }: Write): number => (userId % 1_000) / 10;
const commentOf = ({ userId }: Write): string => `comment for ${userId}`;

const seeded = async (stack: Stack, { orgUnits, grades }: World) => {
  const controls = controlsOf(stack.description);
  const users = Math.min(usersEach, grades.length);
  await controls.seed({ users: Array.from({ length: users }, (_, at) => ({ userId: 100_001 + at })) });
  await controls.seed({ orgUnits: orgUnits.map((orgUnitId) => ({ orgUnitId })) });
  await controls.seed({
    gradeObjects: orgUnits.map((orgUnitId) => ({ orgUnitId, gradeObjectId: orgUnitId + 100_000 })),
  });
  return { controls };
};

const writeAll = async (stack: Stack, { grades, enrollments }: World, progress: Options['progress']) => {
  const all = grades.length + enrollments.length;
  let done = 0;
  const report = (): void => {
    done += 10;
    if (done % 10_000 < 10) progress(`${done} of ${all} writes`);
  };
  const grade = (write: Write): object => ({
    ...write,
    grade: { type: 'numeric', points: pointsOf(write) },
    comments: commentOf(write),
    privateComments: '',
  });
  const enrollment = (write: Write): object => ({ ...write, roleId: role.learner });
  await send({ stack }, { integration: gradePush, data: grades.map(grade), told: report });
  await send({ stack }, { integration: enrollmentCreate, data: enrollments.map(enrollment), told: report });
};

/** One path for all of them. */
const pathOf = (writes: readonly Write[]): string =>
  writes.length === 0
    ? '^never$'
    : `/(${writes.map(({ gradeObjectId, userId }) => `${gradeObjectId}/values/${userId}`).join('|')})$`;

const minuteMs = 60_000;

const plant = async (stack: Stack, plan: Plan): Promise<void> => {
  const controls = controlsOf(stack.description);
  const of = (kind: PlantedKind): Write[] => plan.get(kind) ?? [];
  const value = ({ gradeObjectId = 0, userId }: Write) => ({ gradeObjectId, userId });
  const at = (offsetMs: number): string => new Date(Date.now() + offsetMs).toISOString();
  const swapped = of('two users’ grades are swapped');
  await controls.remove({
    gradeValues: of('a grade is removed').map(value),
    enrollments: of('an enrollment is removed').map(({ orgUnitId, userId }) => ({ orgUnitId, userId })),
  });
  await controls.change({
    gradeValues: [
      ...of('a grade is rolled back').map((write) => ({
        ...value(write),
        pointsNumerator: 77.7,
        lastModified: at(-60 * minuteMs),
      })),
      ...of('a person changes a grade').map((write) => ({
        ...value(write),
        pointsNumerator: 88.8,
        lastModified: at(60 * minuteMs),
      })),
      ...of('a comment is lost with the last hour').map((write) => ({
        ...value(write),
        comments: { content: '', type: 'Text' as const },
        lastModified: at(-60 * minuteMs),
      })),
      // When the platform changed it is as it was: with the write.
      ...swapped.map((write, place) => ({
        ...value(write),
        pointsNumerator: pointsOf(swapped[place % 2 === 0 ? place + 1 : place - 1] ?? write),
      })),
    ],
    enrollments: of('another role is given').map(({ orgUnitId, userId }) => ({
      orgUnitId,
      userId,
      roleId: role.instructor,
    })),
  });
  const unreadable = of('a grade cannot be read');
  await controls.fault({ status: 403 }, { method: 'GET', path: pathOf(unreadable), times: 1_000_000 });
};

const judged = (plan: Plan, findings: readonly Finding[]): Pick<Outcome, 'found' | 'problems'> => {
  const problems: string[] = [];
  const classOf = new Map(findings.map((finding) => [finding.resource, finding.class]));
  if (classOf.size < findings.length) problems.push('something is found twice');
  const found = {} as Outcome['found'];
  for (const [kind, writes] of plan) {
    found[kind] = { planted: writes.length, found: 0 };
    for (const write of writes) {
      const resource = resourceOf(write);
      if (classOf.get(resource) === kinds[kind]) found[kind].found += 1;
      else problems.push(`${kind}: ${resource} is ${classOf.get(resource) ?? 'not found'}`);
      classOf.delete(resource);
    }
  }
  for (const [resource, itsClass] of classOf)
    problems.push(`nothing was planted: ${resource} is ${itsClass}`);
  return { found, problems };
};
