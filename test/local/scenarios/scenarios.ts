import { randomUUID } from 'node:crypto';
import type { Controls } from '../controls.ts';
import { eventOf, example } from '../examples.ts';
import { integrationNames, keyOf, type Stack, type StackDescription, type StackOptions } from '../stack.ts';

type Intervention = (controls: Controls, description: StackDescription, stack: Stack) => Promise<unknown>;
export type Row = Record<string, unknown>;

/** In the table, those like `where` must be these rows and no others, in any order. */
type Held = { table: string; where: Row; rows: Row[] };

/** A message or two, what befalls them, and how they must end. */
export type Scenario = {
  title: string;
  /** Of the last message: others may be of others, each of that of its type. */
  function: string;
  /** The bodies sent, in this order, each when the one before it has ended. */
  bodies: string[];
  prepare?: Intervention;
  /** What happens between the last message and the one before it. */
  beforeLast?: Intervention;
  /** What somebody does once a message waits. */
  whileWaiting?: Intervention;
  /** How each of them must end; default: as a letter or none says of one. */
  outcomes?: ('done' | 'duplicate' | 'superseded' | 'parked')[];
  /** How often, at least, the last one must have waited before. */
  waits?: number;
  /** What it must have waited for, by the log. */
  waitsFor?: { kind: string; says: RegExp };
  /** What the one letter must tell, of a last message that is parked. */
  letter?: { kind: string; status?: number; says: RegExp };
  /**
   * The requests whose path matches, of one signer if it is named, as `METHOD status`: those that change the platform in this order,
   * no more and no fewer; those that read at least once each.
   */
  requests?: { path: RegExp; userId?: number; are: string[] };
  /** What the platform must hold in the end. */
  holds?: Held | Held[];
  /** It comes by further messages, and is waited for. */
  holdsLater?: boolean;
  /** What must have happened before. */
  needs?: (Scenario | Invocation)[];
};

const course = 2001;
const yesterdayMs = Date.now() - 24 * 3_600_000;
const learner = 110;
const learners = Array.from({ length: 40 }, (_, at) => 401 + at);

/**
 * What the scenarios are played on: messages are hidden for little longer than their functions may work on them, which is not
 * long, as some scenarios end only when a message would have come back.
 */
export const scenarioStack = {
  containersPerFunction: 1,
  functionTimeoutMs: 12_000,
  visibilitySeconds: 14,
  settings: { WAIT_MAXIMUM_SECONDS: '2', QUEUE_BACKLOG_SECONDS: '3' },
} satisfies StackOptions;

/** A learner for each scenario, so that nothing of one touches another. */
export const scenarioSeed = {
  users: learners.map((userId) => ({ userId, firstName: 'Learner', lastName: String(userId) })),
  enrollments: learners.map((userId) => ({ orgUnitId: course, userId, roleId: learner })),
  folders: learners.map((userId) => ({ folderId: folderOf(userId), orgUnitId: course })),
};

/** What the messages of events/ are about, and what the platform must hold in the end. */
const ends: Record<string, [title: string, held: Held]> = {
  'grade-push': [
    'a grade',
    held('gradeValues', { userId: 301 }, { gradeObjectId: 5001, pointsNumerator: 8.5, writes: 1 }),
  ],
  'enrollment-create': [
    'an enrollment',
    held('enrollments', { userId: 303 }, { orgUnitId: course, roleId: learner, writes: 1 }),
  ],
  'enrollment-remove': ['a removal', held('enrollments', { orgUnitId: course, userId: 302 })],
  'submission-upload': ['a submission with a PDF', held('submissions', { userId: 301 }, { folderId: 7001 })],
  'profile-image-update': [
    'a profile image, PNG',
    held('profileImages', { userId: 301 }, { contentType: 'image/png', writes: 1 }),
  ],
  'grade-object-create': [
    'a grade object for a folder',
    held('gradeObjects', { name: 'Lab report 1' }, { orgUnitId: course, maxPoints: 20 }),
  ],
  'grade-object-update': [
    'a grade object that is renamed',
    held('gradeObjects', { gradeObjectId: 5001 }, { name: 'Midterm exam', maxPoints: 10 }),
  ],
  'org-unit-move': [
    'a section that moves to another course',
    held('orgUnits', { orgUnitId: 3001 }, { parents: [2002] }),
  ],
  'content-topic-update': [
    'a topic that is a file',
    held('topics', { title: 'Lab safety' }, { moduleId: 8001, topicType: 1, writes: 1 }),
  ],
  'news-item-create': ['news with a picture', held('newsItems', {}, { orgUnitId: course })],
  'lti-link-update': [
    'an LTI link, its secret from Secrets Manager',
    held('ltiLinks', { linkId: 9001 }, { writes: 1 }),
  ],
  'user-attributes-update': [
    'the attributes of a user',
    held('userAttributes', { userId: 301 }, { writes: 1 }),
  ],
};

/** The messages of events/, as the SIS would send them: whoever adds a function finds its own played. */
const examples = async (): Promise<Scenario[]> =>
  Promise.all(
    (await integrationNames()).map(async (name) => {
      const [title, holds] = ends[name] ?? [`the example of ${name}`, []];
      return { title, function: name, bodies: [await example(name)], holds };
    }),
  );

/** A function that no queue triggers, and what it must answer. */
export type Invocation = Pick<
  Scenario,
  'title' | 'function' | 'prepare' | 'holds' | 'holdsLater' | 'needs'
> & {
  event?: unknown;
  /** What somebody does instead of invoking it. */
  does?(stack: Stack): Promise<Row>;
  /** The scenario whose letter lies in the dead-letter queue. */
  letterOf?: Scenario;
  answers: Row;
  /** What its answer says, in a few words. */
  tells(answer: Row): string;
  /** What is possible because of it. */
  enables?: Scenario;
};

type InvocationName = 'courseExport' | 'comparison' | 'connection' | 'tokens' | 'replay';

export const invocations = async (): Promise<Record<InvocationName, Invocation>> => ({
  courseExport: {
    title: 'an export of two courses',
    function: 'course-export',
    event: await eventOf('course-export'),
    answers: { outcome: 'complete', message: '2 of 2 org units are complete.' },
    tells: ({ message, files }) => `${message} ${files}`,
  },
  comparison: {
    title: 'the platform, compared with what was sent',
    function: 'reconcile',
    event: await eventOf('reconcile'),
    answers: { state: 'whole' },
    tells: ({ entries, findings }) => `known: ${entries}, found: ${findings}`,
  },
  connection: {
    title: 'whether the platform takes us, on schedule',
    function: 'connection-check',
    event: await eventOf('connection-check'),
    prepare: (controls) => controls.clock(0),
    answers: { reachable: true, credentialAccepted: true, changes: { refused: 'no' }, problems: [] },
    tells: ({ reachable, credentialAccepted }) =>
      `reachable: ${reachable}, credential accepted: ${credentialAccepted}`,
  },
  tokens: {
    title: 'tokens for a new OAuth client, on schedule',
    function: 'token-refresh',
    event: await eventOf('token-refresh'),
    // The old key is taken back, so that nothing else can prove a call.
    prepare: async (controls, { secrets, platform }) => {
      await controls.key(100, 'taken back');
      await controls.secret(secrets.service, {
        ...oauthClient,
        tokenUrl: `${platform}/core/connect/token`,
      });
    },
    answers: { refreshed: 1, correct: 0, authorize: 0 },
    tells: ({ refreshed, authorize }) =>
      `refreshed: ${refreshed}, to be authorized by a person: ${authorize}`,
    enables: {
      title: 'attributes, proved by the new token',
      function: 'user-attributes-update',
      bodies: [
        event('user-attributes-update', {
          userId: 403,
          attributes: [{ attributeId: 'campus', value: ['North'] }],
        }),
      ],
      requests: { path: /attributes\/users\/403$/, are: ['PUT 403', 'PUT 200'] },
      holds: held('userAttributes', { userId: 403 }, { writes: 1 }),
    },
  },
  replay: {
    title: 'a replay: the unknown grade object is there now',
    function: 'dead-letter-replay',
    event: {
      filter: { kind: ['rejected'], status: ['404'] },
      reason: 'the grade object exists now',
      as: 'npm start',
    },
    prepare: (controls) =>
      controls.seed({ gradeObjects: [{ gradeObjectId: 5999, orgUnitId: course, maxPoints: 10 }] }),
    letterOf: unknownGradeObject,
    needs: [unknownGradeObject],
    answers: { ended: 'done', counts: { sent: 1, cameBack: 0 } },
    tells: ({ counts }) => `sent: ${Object(counts).sent}, came back: ${Object(counts).cameBack}`,
    // Clock and key are others than the function knows: it learns of one, waits, and learns of the other.
    holdsLater: true,
    holds: held('gradeValues', { userId: 404 }, { gradeObjectId: 5999, pointsNumerator: 4, writes: 1 }),
  },
});

const oauthClient = {
  type: 'oauth',
  grant: 'client_credentials',
  clientId: 'local-client',
  clientSecret: 'local-client-secret',
};

const rotation: Scenario = {
  title: 'the service’s key was rotated',
  function: 'grade-push',
  bodies: [gradeEvent(401, 1, 9), gradeEvent(401, 2, 10)],
  beforeLast: async (controls, { secrets }) => {
    await controls.key(100, 'rotated-key');
    await controls.secret(secrets.service, keyOf(100, 'rotated-key'));
  },
  outcomes: ['done', 'done'],
  requests: { path: /values\/401$/, are: ['PUT 200', 'PUT 403', 'PUT 200'] },
  holds: gradeHeld(401, 2, 2),
};

const clock: Scenario = {
  title: 'the platform’s clock is 10 minutes off',
  function: 'grade-push',
  bodies: [gradeEvent(402, 2)],
  prepare: (controls) => controls.clock(600),
  requests: { path: /values\/402$/, are: ['PUT 403', 'PUT 200'] },
  holds: gradeHeld(402, 2),
};

const unknownGradeObject: Scenario = {
  title: 'an unknown grade object',
  function: 'grade-push',
  bodies: [event('grade-push', { ...gradeOf(404, 4), gradeObjectId: 5999 })],
  letter: { kind: 'rejected', status: 404, says: /Resource Not Found.*Grade object not found/ },
  requests: { path: /5999\/values\/404$/, are: ['PUT 404'] },
  holds: held('gradeValues', { userId: 404 }),
};

const misfortunes: Scenario[] = [
  {
    title: 'a null grade',
    ...ofGrade(403, []),
    bodies: [event('grade-push', { ...gradeOf(403, 0), grade: null })],
    letter: { kind: 'invalid', says: /data\.grade: must not be null: the platform cannot clear a grade/ },
  },
  {
    title: 'malformed JSON',
    ...ofGrade(405, []),
    bodies: ['{"specversion":"1.0","data":{"userId":405'],
    letter: { kind: 'invalid', says: /the body is not JSON.*Have the producer correct the message/ },
  },
  unknownGradeObject,
  {
    title: 'a Learner role’s key',
    function: 'grade-push',
    // In this course the service user is a Learner.
    bodies: [event('grade-push', { ...gradeOf(406, 5), orgUnitId: 2002, gradeObjectId: 5101 })],
    letter: { kind: 'missing-permission', status: 403, says: /Give .* the permission EditGradeValues/ },
    requests: { path: /2002\/grades\/5101\/values\/406$/, are: ['PUT 403'] },
    holds: held('gradeValues', { gradeObjectId: 5101 }),
  },
  {
    title: 'three 503s and then success',
    ...ofGrade(407, ['PUT 503', 'PUT 503', 'PUT 503', 'PUT 200'], 6),
    bodies: [gradeEvent(407, 6)],
    prepare: (controls) => controls.fault({ status: 503 }, { path: 'values/407$', times: 3 }),
  },
  {
    title: 'a 429 with Retry-After',
    // No other message of this function has a second call, which would be held back as well.
    function: 'profile-image-update',
    bodies: [event('profile-image-update', imageOf(408, 'portrait.jpg'))],
    prepare: (controls) =>
      controls.fault({ status: 429, headers: { 'retry-after': '2' } }, { path: 'user/408/image$' }),
    requests: { path: /user\/408\/image$/, are: ['POST 429', 'POST 200'] },
    holds: held('profileImages', { userId: 408 }, { contentType: 'image/jpeg', writes: 1 }),
  },
  {
    title: 'a firewall’s page in the place of the platform',
    ...ofGrade(409, ['PUT 403']),
    bodies: [gradeEvent(409, 8)],
    prepare: (controls) =>
      controls.fault(page(403, 'Blocked', 'Your request looks odd.'), { path: 'values/409$' }),
    letter: {
      kind: 'intercepted',
      status: 403,
      says: /Something in front of the platform’s API.*403 text\/html.*Blocked.*looks odd.*a proxy, a firewall, a login/,
    },
  },
  {
    title: 'a success that is an error',
    ...ofGrade(415, ['PUT 200']),
    bodies: [gradeEvent(415, 8)],
    prepare: (controls) =>
      controls.fault(
        { status: 200, body: { Errors: [{ Message: 'The grade book is closed' }] } },
        { path: 'values/415$' },
      ),
    letter: { kind: 'rejected', status: 200, says: /with 200 Errors.*The grade book is closed/ },
  },
  {
    title: 'an answer that never comes',
    ...ofGrade(411, ['PUT null', 'PUT 200'], 9),
    bodies: [gradeEvent(411, 9)],
    prepare: (controls) => controls.fault({ delayMs: 8_000 }, { path: 'values/411$' }),
  },
  {
    title: 'an old grade after a new one',
    ...ofGrade(412, ['PUT 200'], 9.5),
    bodies: [gradeEvent(412, 9.5, 10), gradeEvent(412, 3, 9)],
    outcomes: ['done', 'superseded'],
  },
  {
    title: 'a grade of two months ago',
    ...ofGrade(419, []),
    bodies: [gradeEvent(419, 8, -60 * 24)],
    letter: { kind: 'outdated', says: /older than the ledger remembers.*Check what the platform holds/ },
  },
  {
    title: 'an old enrollment after a new removal',
    function: 'enrollment-create',
    bodies: [
      event('enrollment-remove', { orgUnitId: course, userId: 416 }, 10),
      event('enrollment-create', { orgUnitId: course, userId: 416, roleId: learner }, 9),
    ],
    outcomes: ['done', 'superseded'],
    requests: { path: /users\/416$/, are: ['DELETE 200'] },
    holds: held('enrollments', { userId: 416 }),
  },
  {
    title: 'a PDF for a profile image',
    function: 'profile-image-update',
    bodies: [event('profile-image-update', imageOf(413, 'essay.pdf'))],
    letter: { kind: 'invalid', says: /data\.file: its content is not a PNG, JPEG or GIF/ },
    requests: { path: /user\/413\/image/, are: [] },
    holds: held('profileImages', { userId: 413 }),
  },
  {
    title: 'a submission taken, and its answer cut off',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(421))],
    prepare: async (controls, description) => {
      await controls.secret(secretOf(421, description), keyOf(421));
      await controls.fault({ reset: 'after' }, { method: 'POST', path: 'folders/7421' });
    },
    requests: { path: /whoami$|folders\/7421/, userId: 421, are: ['GET 200', 'POST null', 'GET 200'] },
    holds: held('submissions', { userId: 421 }, { folderId: 7421 }),
  },
  {
    title: 'a submission of somebody without a credential',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(423))],
    letter: { kind: 'missing-credential', says: /Create the secret sis-relay\/local\/users\/423/ },
    requests: { path: /folders\/7423/, are: [] },
    holds: held('submissions', { folderId: 7423 }),
  },
  {
    title: 'a refused key, corrected while the message waits',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(426))],
    prepare: (controls, description) => controls.secret(secretOf(426, description), keyOf(426, 'revoked')),
    whileWaiting: (controls, description) => controls.secret(secretOf(426, description), keyOf(426)),
    requests: {
      path: /whoami$|folders\/7426/,
      userId: 426,
      are: ['GET 403', 'GET 200', 'POST 200', 'GET 200'],
    },
    holds: held('submissions', { userId: 426 }, { folderId: 7426 }),
  },
  {
    title: 'the same submission twice',
    function: 'submission-upload',
    bodies: Array(2).fill(event('submission-upload', submissionOf(427))),
    prepare: (controls, description) => controls.secret(secretOf(427, description), keyOf(427)),
    outcomes: ['done', 'duplicate'],
    requests: { path: /whoami$|folders\/7427/, userId: 427, are: ['GET 200', 'POST 200', 'GET 200'] },
    holds: held('submissions', { userId: 427 }, { folderId: 7427 }),
  },
];

/** What befalls AWS itself, so one after the other. */
// The SDK tries each call again by itself, so that one fault alone would not be noticed.
export const outages: Scenario[] = [
  {
    title: 'a dead-letter queue that takes nothing for a while',
    ...ofGrade(431, []),
    bodies: [event('grade-push', { ...gradeOf(431, 0), grade: null })],
    prepare: (controls) =>
      controls.awsFault('sqs', {
        action: 'SendMessage',
        name: 'sis-relay-local-dead-letters',
        times: 6,
        status: 500,
      }),
    waits: 1,
    letter: { kind: 'invalid', says: /cannot clear a grade/ },
  },
  {
    title: 'a ledger that cannot be written: nothing is sent unprotected',
    ...ofGrade(432, ['PUT 200'], 6),
    bodies: [gradeEvent(432, 6)],
    prepare: (controls) => controls.awsFault('dynamodb', { action: 'UpdateItem', times: 3, status: 500 }),
    waits: 1,
  },
  {
    title: 'a ledger that may not be written: nothing is sent, and who must act is told',
    ...ofGrade(438, ['PUT 200'], 6),
    bodies: [gradeEvent(438, 6)],
    prepare: (controls) =>
      controls.awsFault('dynamodb', { action: 'UpdateItem', times: 2, type: 'AccessDeniedException' }),
    waits: 1,
    waitsFor: {
      kind: 'aws-refused',
      says: /AWS refuses dynamodb:UpdateItem on the table sis-relay-local-ledger-by-resource .* an administrator/,
    },
  },
];

/** All of them: those of one act may happen at once. What changes the world for everybody comes last. */
export const acts = async (): Promise<Scenario[][]> => [await examples(), misfortunes, [rotation], [clock]];

/** The body of a message as the SIS sends it; a later hour makes it newer. */
export function event(name: string, data: object, hour = 9): string {
  const id = randomUUID();
  const time = new Date(yesterdayMs + hour * 3_600_000).toISOString();
  return JSON.stringify({ specversion: '1.0', id, source: '/sis/local', type: `sis.${name}.v1`, time, data });
}

export function gradeOf(userId: number, points: number) {
  const grade = { type: 'numeric', points };
  return { orgUnitId: course, gradeObjectId: 5001, userId, grade, comments: '', privateComments: '' };
}

function gradeEvent(userId: number, points: number, hour?: number) {
  return event('grade-push', gradeOf(userId, points), hour);
}

/** What is asked of the platform about one learner's grade, and which one it holds in the end. */
function ofGrade(userId: number, are: string[], points?: number, writes?: number) {
  return {
    function: 'grade-push',
    requests: { path: new RegExp(`values/${userId}$`), are },
    holds: points === undefined ? held('gradeValues', { userId }) : gradeHeld(userId, points, writes),
  };
}

function gradeHeld(userId: number, pointsNumerator: number, writes = 1) {
  return held('gradeValues', { userId }, { gradeObjectId: 5001, pointsNumerator, writes });
}

export function submissionOf(userId: number) {
  const files = [{ uri: upload('essay.pdf'), name: 'lab report.pdf', contentType: 'application/pdf' }];
  return { orgUnitId: course, folderId: folderOf(userId), userId, files };
}

function folderOf(userId: number) {
  return 7000 + userId;
}

function imageOf(userId: number, name: string) {
  return { userId, file: { uri: upload(name), contentType: 'image/png' } };
}

function upload(name: string): string {
  return `s3://sis-relay-uploads/events/${name}`;
}

export function held(table: string, where: Row, ...rows: Row[]): Held {
  return { table, where, rows };
}

export function secretOf(userId: number, { secrets }: StackDescription): string {
  return `${secrets.userPrefix}${userId}`;
}

function page(status: number, title: string, text: string) {
  const body = `<html><head><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p></body></html>`;
  return { status, headers: { 'content-type': 'text/html' }, body };
}
