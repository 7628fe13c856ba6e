import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { inTopic, noticeOf } from '../../envelopes.ts';
import { typed } from '../../lib/desk/cli/typed.ts';
import { registration } from '../../options/changes/changes.ts';
import { enrollment, entriesOfSis, result, type Sis, smallSis, zipOf } from '../../options/snapshots/sis.ts';
import { localClient } from '../aws/aws.ts';
import { eventOf } from '../examples.ts';
import type { Stack, StackDescription } from '../stack.ts';
import { event, held, type Invocation, type Row, type Scenario } from './scenarios.ts';

// The SIS' own words: its ids, its envelopes, its exports. Courses and people are not those of scenarios.ts.
const courses = { 'MATH-101': 2601, 'CHEM-201': 2603, 'ART-1': 2604 };
const copyOfMath = 2602;
const people = { ada: 601, ben: 602, cleo: 603, tess: 604, sam: 605, eve: 606, fay: 607, pol: 608 };
const newcomer = { name: 'noor', userId: 609 };
const learner = 110;
const teacher = 109;
const chemistry = courses['CHEM-201'];

const usersCsv = (all: [name: string, userId: number][]): string =>
  ['userName,userId', ...all.map((each) => each.join(',')), ''].join('\n');

const filled: Invocation = {
  title: 'the crosswalk is filled: the SIS’ names of courses and users',
  function: 'crosswalk-fill',
  event: {},
  prepare: async (controls, description) => {
    const all = Object.entries({ ...people, [newcomer.name]: newcomer.userId });
    await controls.seed({
      orgUnits: Object.entries(courses).map(([code, orgUnitId]) => ({ orgUnitId, code })),
      users: [
        ...all.map(([userName, userId]) => ({ userId, userName })),
        ...[611, 613, 614].map((userId) => ({ userId })),
      ],
      gradeObjects: [{ gradeObjectId: 5601, orgUnitId: chemistry, name: 'Quiz', maxPoints: 10 }],
    });
    await put(description, 'crosswalk/users.csv', usersCsv(Object.entries(people)));
  },
  answers: { outcome: 'filled' },
  tells: ({ message }) => `${message}`,
};

const enrollmentBySis = (orgUnitCode: string, userName: string) =>
  event('enrollment-create', { orgUnitCode, userName, roleId: learner });

const enrolled = (orgUnitId: number, ...userIds: number[]) =>
  held(
    'enrollments',
    { orgUnitId },
    ...userIds.map((userId) => ({ userId, roleId: userId === people.tess ? teacher : learner })),
  );

const ids: Scenario[] = [
  {
    title: 'a grade that names course, grade object and user as the SIS does',
    function: 'grade-push',
    bodies: [
      event('grade-push', {
        orgUnitCode: 'CHEM-201',
        gradeObjectName: 'Quiz',
        userName: 'sam',
        grade: { type: 'numeric', points: 9, outOf: 10 },
        comments: '',
        privateComments: '',
      }),
    ],
    needs: [filled],
    holds: held(
      'gradeValues',
      { userId: people.sam },
      { gradeObjectId: 5601, pointsNumerator: 9, writes: 1 },
    ),
  },
  {
    title: 'a user whom nobody knows, until the next fill',
    function: 'enrollment-create',
    bodies: [enrollmentBySis('ART-1', newcomer.name)],
    needs: [filled],
    whileWaiting: async (_, description, { lambda }) => {
      const all = [...Object.entries(people), [newcomer.name, newcomer.userId] as [string, number]];
      await put(description, 'crosswalk/users.csv', usersCsv(all));
      await lambda?.invoke('crosswalk-fill', {});
    },
    waits: 1,
    waitsFor: { kind: 'unknown-id', says: /does not know this data\.userName/ },
    holds: held('enrollments', { userId: newcomer.userId }, { orgUnitId: courses['ART-1'], writes: 1 }),
  },
];

const moved: Scenario = {
  title: 'a code that another course has now',
  function: 'enrollment-create',
  bodies: [enrollmentBySis('MATH-101', 'eve')],
  needs: [filled],
  prepare: async (controls, _, { lambda }) => {
    await controls.seed({
      orgUnits: [
        { orgUnitId: courses['MATH-101'], code: 'MATH-101-OLD' },
        { orgUnitId: copyOfMath, code: 'MATH-101' },
      ],
    });
    await lambda?.invoke('crosswalk-fill', {});
  },
  letter: {
    kind: 'ambiguous-id',
    says: /orgUnitCode stood for 2601, and now stands for 2602.*sis-relay crosswalk accept/,
  },
  holds: held('enrollments', { userId: people.eve }),
};

const accepted: Invocation = {
  title: 'sis-relay crosswalk accept MATH-101',
  function: 'crosswalk-fill',
  needs: [moved],
  does: async (stack) => {
    const listed = await command(stack, 'crosswalk moved --json');
    const said = await command(stack, 'crosswalk accept MATH-101 --yes --reason "a copy for the new term"');
    return { ...said, moved: JSON.parse(listed.out).moved.length };
  },
  answers: { status: 0, moved: 1 },
  tells: ({ out }) => `${out}`.split('. ')[0] ?? '',
  enables: {
    title: 'the same code, once the move is accepted',
    function: 'enrollment-create',
    bodies: [enrollmentBySis('MATH-101', 'fay')],
    holds: held('enrollments', { userId: people.fay }, { orgUnitId: copyOfMath, writes: 1 }),
  },
};

const plainEnrollment = (userId: number): string =>
  event('enrollment-create', { orgUnitId: courses['ART-1'], userId, roleId: learner });
const fileOfEvents = 'events/enrollment-create/of-tonight.jsonl';

const envelopes: Scenario[] = [
  {
    title: 'an event within SNS',
    function: 'enrollment-create',
    bodies: [inTopic(plainEnrollment(611))],
    needs: [filled],
    holds: held('enrollments', { userId: 611 }, { orgUnitId: courses['ART-1'], writes: 1 }),
  },
  {
    title: 'a notice of S3 that names a file of events',
    function: 'enrollment-create',
    bodies: [noticeOf({ bucket: 'sis-relay-uploads', key: fileOfEvents })],
    needs: [filled],
    prepare: (_, description) =>
      put(description, fileOfEvents, [613, 614].map((userId) => `${plainEnrollment(userId)}\n`).join('')),
    holdsLater: true,
    holds: [613, 614].map((userId) =>
      held('enrollments', { userId }, { orgUnitId: courses['ART-1'], writes: 1 }),
    ),
  },
];

/** What the source of changes has, to which `change-poll` is pointed. */
export const sisChanges = [
  registration(1, {
    published: new Date(Date.now() - 3_600_000).toISOString(),
    content: { section: 'ART-1', registrant: 'pol', status: 'registered' },
  }),
];

const polled: Invocation = {
  title: 'a change notice of the SIS, by the poller',
  function: 'change-poll',
  event: await eventOf('change-poll'),
  needs: [filled],
  prepare: (_, description) =>
    put(
      description,
      'change-poll/mapping.json',
      JSON.stringify({
        messages: [
          {
            function: 'enrollment-create',
            resource: 'section-registrations',
            operations: ['created', 'replaced'],
            when: { 'content.status': ['registered'] },
            data: {
              orgUnitCode: 'content.section',
              userName: 'content.registrant',
              roleId: { value: learner },
            },
          },
        ],
      }),
    ),
  answers: { outcome: 'done', pages: 1, sent: 1, refused: 0 },
  tells: ({ pages, sent }) => `pages: ${pages}, sent: ${sent}`,
  holdsLater: true,
  holds: held('enrollments', { userId: people.pol }, { orgUnitId: courses['ART-1'], writes: 1 }),
};

const monday: Required<Sis> = {
  ...smallSis(),
  classes: [
    { sourcedId: 'c-bio', title: 'Chemistry', classCode: 'CHEM-201' },
    { sourcedId: 'c-art', title: 'Art', classCode: 'ART-1' },
  ],
};
/** Ben drops, Cleo enrolls, and Ada’s essay is corrected. */
const tuesday: Required<Sis> = {
  ...monday,
  enrollments: [
    ...monday.enrollments.filter(({ sourcedId }) => sourcedId !== 'e-bio-ben'),
    enrollment('art', 'cleo'),
  ],
  results: [
    result('essay', 'ada', '18', { dateLastModified: '2026-02-02T08:00:00.000Z' }),
    ...monday.results.slice(1),
  ],
};
const half: Required<Sis> = { ...tuesday, enrollments: tuesday.enrollments.slice(3) };
const { ada, ben, cleo, tess } = people;

const first: Invocation = {
  title: 'a snapshot’s first night: all of it is sent',
  function: 'snapshot-import',
  needs: [filled],
  prepare: (_, description) =>
    put(
      description,
      'snapshot-settings.json',
      JSON.stringify({ roles: { student: learner, teacher }, maxRemovalsPercent: 25 }),
    ),
  does: async (stack) => imported(stack, monday, 'accepted'),
  answers: { state: 'accepted', sent: 9, counts: { created: 9, updated: 0, removed: 0, refused: 0 } },
  tells: countsText,
  holdsLater: true,
  holds: enrolled(chemistry, ada, ben, cleo, tess),
};

const second: Invocation = {
  title: 'its second night: what changed is sent',
  function: 'snapshot-import',
  needs: [first],
  does: (stack) => imported(stack, tuesday, 'accepted'),
  answers: {
    state: 'accepted',
    sent: 3,
    counts: { created: 1, updated: 1, removed: 1, unchanged: 7, refused: 0 },
  },
  tells: countsText,
  holdsLater: true,
  holds: [
    enrolled(chemistry, ada, cleo, tess),
    held('enrollments', { userId: cleo, orgUnitId: courses['ART-1'] }, { roleId: learner }),
    held('gradeValues', { userId: ada, orgUnitId: chemistry }, { pointsNumerator: 18 }),
    held('gradeValues', { userId: ben, orgUnitId: chemistry }, { pointsNumerator: 0 }),
  ],
};

const broken: Invocation = {
  title: 'half of the enrollments is missing: it waits, and is rejected',
  function: 'snapshot-import',
  needs: [second],
  does: async (stack) => {
    const { id, why } = await imported(stack, half, 'waiting-for-approval');
    const { status } = await command(stack, `snapshots reject ${id} --yes --reason "half is missing"`);
    return { ...(await newest(stack, 'rejected')), why, status };
  },
  answers: { status: 0, state: 'rejected', sent: 0 },
  tells: ({ why, sent }) => `${why}; rejected, sent: ${sent}`,
  holds: enrolled(chemistry, ada, cleo, tess),
};

/** What these have the functions warn of. */
export const expectedWarning = /codes have moved to other org units|waits for approval/;

export const sisSteps = {
  filled,
  messages: [...ids, ...envelopes, polled],
  moves: [moved, accepted],
  firstNight: first,
  /** The second ends only when nothing of the first can have an effect any more. */
  laterNights: [second, broken],
};

function countsText({ counts, sent }: Row): string {
  const countTexts = Object.entries(Object(counts)).map(([name, count]) => `${name}: ${count}`);
  return [...countTexts, `sent: ${sent}`].join(', ');
}

/** By HTTP, as S3 tells the functions of it. */
async function put({ s3, bucket }: StackDescription, Key: string, Body: string | Buffer): Promise<void> {
  const client = new S3Client({ ...localClient(s3), forcePathStyle: true });
  await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
  client.destroy();
}

/** What an operator types, on this stack. */
async function command({ description }: Stack, line: string): Promise<{ status: number; out: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'sis-relay-start-'));
  const file = join(folder, 'stack.json');
  await writeFile(file, JSON.stringify(description));
  const { status, out, err } = await typed(`${line} --stack ${file}`);
  await rm(folder, { recursive: true });
  return { status, out: out || err };
}

/** Drops an export into the bucket, which starts the import; its record once it is in this state. */
async function imported(stack: Stack, sis: Sis, state: string): Promise<Row> {
  // Snapshots are ordered by when they were dropped, of which S3 tells whole seconds.
  const { id = '' } = await newest(stack);
  const dropped = String(id).slice(0, 16);
  while (dropped === `${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`) await sleep(50);
  await put(stack.description, 'snapshots/export.zip', await zipOf(entriesOfSis(sis)));
  return newest(stack, state, `${id}`);
}

/** The newest snapshot’s record, once it is another one and in this state: as it is after 30 s, if it never is. */
async function newest(stack: Stack, state?: string, before?: string): Promise<Row> {
  const untilMs = Date.now() + 30_000;
  for (;;) {
    const { out } = await command(stack, 'snapshots list --json --limit 1');
    const [record = {}] = JSON.parse(out).snapshots as Row[];
    const isThere = record.id !== before && record.state === state;
    if (state === undefined || isThere || Date.now() > untilMs) return record;
    await sleep(100);
  }
}
