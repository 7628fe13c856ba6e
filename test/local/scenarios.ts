import { randomUUID } from 'node:crypto';
import type { Controls } from './controls.ts';
import { eventOf, example } from './examples.ts';
import { integrationNames, type Stack, type StackDescription, type StackOptions } from './stack.ts';

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
  /** How each of them must end. */
  outcomes: ('done' | 'duplicate' | 'superseded' | 'parked')[];
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
  /** It mostly waits: what follows need not wait for it. */
  isSlow?: true;
  /** What must have happened before. */
  needs?: (Scenario | Invocation)[];
};

const course = 2001;
const section = 3001;
const yesterdayMs = Date.now() - 24 * 3_600_000;
const learner = 110;
const instructor = 109;
const learners = range(401, 440);

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

/** The messages of events/, as the SIS would send them. */
const examples = (): Promise<Scenario[]> =>
  Promise.all([
    played('grade-push', 'a grade', {
      requests: { path: /5001\/values\/301$/, are: ['GET 404', 'PUT 200'] },
      holds: held('gradeValues', { userId: 301 }, { gradeObjectId: 5001, pointsNumerator: 8.5, writes: 1 }),
    }),
    played('enrollment-create', 'an enrollment', {
      requests: { path: /enrollments\/$/, are: ['POST 200'] },
      holds: held('enrollments', { userId: 303 }, { orgUnitId: course, roleId: learner, writes: 1 }),
    }),
    played('enrollment-remove', 'a removal', {
      requests: { path: /orgUnits\/2001\/users\/302$/, are: ['DELETE 200'] },
      holds: held('enrollments', { orgUnitId: course, userId: 302 }),
    }),
    played('submission-upload', 'a submission with a PDF', {
      requests: { path: /whoami$|folders\/7001/, userId: 301, are: ['GET 200', 'POST 200', 'GET 200'] },
      holds: held('submissions', { userId: 301 }, { folderId: 7001 }),
    }),
    played('profile-image-update', 'a profile image, PNG', {
      requests: { path: /user\/301\/image$/, are: ['POST 200'] },
      holds: held('profileImages', { userId: 301 }, { contentType: 'image/png', writes: 1 }),
    }),
    played('grade-object-create', 'a grade object for a folder', {
      requests: {
        path: /2001\/grades\/$|folders\/7001$/,
        are: ['GET 200', 'GET 200', 'POST 200', 'GET 200', 'PUT 200'],
      },
      holds: held('gradeObjects', { name: 'Lab report 1' }, { orgUnitId: course, maxPoints: 20 }),
    }),
    played('grade-object-update', 'a grade object that is renamed', {
      requests: { path: /2001\/grades\/5001$/, are: ['GET 200', 'PUT 200'] },
      holds: held('gradeObjects', { gradeObjectId: 5001 }, { name: 'Midterm exam', maxPoints: 10 }),
    }),
    played('org-unit-move', 'a section that moves to another course', {
      requests: { path: /orgstructure\/3001/, are: ['POST 200', 'DELETE 200'] },
      holds: held('orgUnits', { orgUnitId: 3001 }, { parents: [2002] }),
    }),
    played('content-topic-update', 'a topic that is a file', {
      requests: { path: /modules\/8001\/structure\/$/, are: ['POST 200'] },
      holds: held(
        'topics',
        { title: 'Lab safety' },
        { moduleId: 8001, topicType: 1, url: '/content/enforced/2001-BIO-101/lab-safety.pdf', writes: 1 },
      ),
    }),
    played('news-item-create', 'news with a picture', {
      requests: { path: /2001\/news\/$/, are: ['POST 200'] },
      holds: held('newsItems', {}, { orgUnitId: course }),
    }),
    played('lti-link-update', 'an LTI link, its secret from Secrets Manager', {
      requests: { path: /lti\/link\/9001$/, are: ['PUT 200'] },
      holds: held('ltiLinks', { linkId: 9001 }, { writes: 1 }),
    }),
    played('user-attributes-update', 'the attributes of a user', {
      requests: { path: /attributes\/users\/301$/, are: ['PUT 200'] },
      holds: held('userAttributes', { userId: 301 }, { writes: 1 }),
    }),
  ]);

/** The example of a function, of which all is done. */
const played = async (
  name: string,
  title: string,
  ends: Pick<Scenario, 'requests' | 'holds'> = {},
): Promise<Scenario> => ({
  ...{ title, function: name, outcomes: ['done'], ...ends },
  bodies: [await example(name)],
});

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
      outcomes: ['done'],
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
  ...{ type: 'oauth', grant: 'client_credentials' },
  ...{ clientId: 'local-client', clientSecret: 'local-client-secret' },
};

/** Of the functions without a scenario of their own: whoever adds one finds its message played. */
const furtherExamples = async (): Promise<Scenario[]> => {
  const known = (await examples()).map((scenario) => scenario.function);
  const names = (await integrationNames()).filter((name) => !known.includes(name));
  return Promise.all(names.map((name) => played(name, `the example of ${name}`)));
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
  outcomes: ['done'],
  requests: { path: /values\/402$/, are: ['PUT 403', 'PUT 200'] },
  holds: gradeHeld(402, 2),
};

const refusedChanges: Scenario = {
  title: 'a key that is refused for changes, and answered when it reads',
  function: 'grade-push',
  // A comment that the message does not give is read, and sent again.
  bodies: [event('grade-push', { ...gradeOf(428, 7), privateComments: undefined })],
  prepare: async (controls) => {
    await controls.settings({ invalidTokenReads: 'answer' });
    await controls.key(100, 'another-key');
  },
  whileWaiting: async (controls, description) => {
    await controls.secret(description.secrets.service, keyOf(100, 'another-key'));
    await controls.settings({ invalidTokenReads: 'refuse' });
  },
  waits: 1,
  waitsFor: { kind: 'credentials', says: /refuses the credential in the secret sis-relay/ },
  outcomes: ['done'],
  requests: { path: /values\/428$/, are: ['GET 404', 'PUT 403', 'GET 404', 'PUT 200'] },
  holds: gradeHeld(428, 7),
};

const unknownGradeObject: Scenario = {
  title: 'an unknown grade object',
  function: 'grade-push',
  bodies: [event('grade-push', { ...gradeOf(404, 4), gradeObjectId: 5999 })],
  outcomes: ['parked'],
  letter: { kind: 'rejected', status: 404, says: /Resource Not Found.*Grade object not found/ },
  requests: { path: /5999\/values\/404$/, are: ['PUT 404'] },
  holds: held('gradeValues', { userId: 404 }),
};

const misfortunes: Scenario[] = [
  {
    title: 'a null grade',
    ...ofGrade(403, []),
    bodies: [event('grade-push', { ...gradeOf(403, 0), grade: null })],
    outcomes: ['parked'],
    letter: { kind: 'invalid', says: /data\.grade: must not be null: the platform cannot clear a grade/ },
  },
  {
    title: 'malformed JSON',
    ...ofGrade(405, []),
    bodies: ['{"specversion":"1.0","data":{"userId":405'],
    outcomes: ['parked'],
    letter: { kind: 'invalid', says: /the body is not JSON.*Have the producer correct the message/ },
  },
  unknownGradeObject,
  {
    title: 'a Learner role’s key',
    function: 'grade-push',
    // In this course the service user is a Learner.
    bodies: [event('grade-push', { ...gradeOf(406, 5), orgUnitId: 2002, gradeObjectId: 5101 })],
    outcomes: ['parked'],
    letter: { kind: 'missing-permission', status: 403, says: /Give .* the permission EditGradeValues/ },
    requests: { path: /2002\/grades\/5101\/values\/406$/, are: ['PUT 403'] },
    holds: held('gradeValues', { gradeObjectId: 5101 }),
  },
  {
    title: 'three 503s and then success',
    ...ofGrade(407, ['PUT 503', 'PUT 503', 'PUT 503', 'PUT 200'], 6),
    bodies: [gradeEvent(407, 6)],
    prepare: (controls) => controls.fault({ status: 503 }, { path: 'values/407$', times: 3 }),
    outcomes: ['done'],
  },
  {
    title: 'a 429 with Retry-After',
    // No other message of this function has a second call, which would be held back as well.
    function: 'profile-image-update',
    bodies: [event('profile-image-update', imageOf(408, 'portrait.jpg'))],
    prepare: (controls) =>
      controls.fault({ status: 429, headers: { 'retry-after': '2' } }, { path: 'user/408/image$' }),
    outcomes: ['done'],
    requests: { path: /user\/408\/image$/, are: ['POST 429', 'POST 200'] },
    holds: held('profileImages', { userId: 408 }, { contentType: 'image/jpeg', writes: 1 }),
  },
  {
    title: 'a firewall’s page in the place of the platform',
    ...ofGrade(409, ['PUT 403']),
    bodies: [gradeEvent(409, 8)],
    prepare: (controls) =>
      controls.fault(page(403, 'Blocked', 'Your request looks odd.'), { path: 'values/409$' }),
    outcomes: ['parked'],
    letter: {
      ...{ kind: 'intercepted', status: 403 },
      says: /Something in front of the platform’s API.*403 text\/html.*Blocked.*looks odd.*a proxy, a firewall, a login/,
    },
  },
  {
    title: 'a login page that says 200',
    ...ofGrade(410, ['PUT 200']),
    bodies: [gradeEvent(410, 8)],
    prepare: (controls) =>
      controls.fault(page(200, 'Sign in', 'Your session ended.'), { path: 'values/410$' }),
    outcomes: ['parked'],
    letter: { kind: 'intercepted', status: 200, says: /200 text\/html.*Sign in.*Your session ended/ },
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
    outcomes: ['parked'],
    letter: { kind: 'rejected', status: 200, says: /with 200 Errors.*The grade book is closed/ },
  },
  {
    title: 'a success that says 503',
    ...ofGrade(416, ['PUT 200', 'PUT 200'], 7.5),
    bodies: [gradeEvent(416, 7.5)],
    prepare: (controls) =>
      controls.fault(
        { status: 200, body: { title: 'Service Unavailable', status: 503 } },
        { path: 'values/416$' },
      ),
    outcomes: ['done'],
  },
  {
    title: 'a success in words that nobody knows',
    ...ofGrade(417, ['PUT 200', 'GET 404']),
    bodies: [gradeEvent(417, 8)],
    prepare: (controls) => controls.fault({ status: 200, body: 'It was noted.' }, { path: 'values/417$' }),
    outcomes: ['parked'],
    letter: {
      ...{ kind: 'unexpected-answer', status: 200 },
      says: /in words that match no known error.*It was noted.*Check on the platform whether it was done/,
    },
  },
  {
    title: 'an enrollment whose answer is empty: the classlist shows it',
    function: 'enrollment-create',
    bodies: [event('enrollment-create', { orgUnitId: course, userId: 418, roleId: instructor })],
    prepare: (controls) =>
      controls.fault({ status: 200, body: '', when: 'after' }, { method: 'POST', path: 'enrollments/$' }),
    outcomes: ['done'],
    requests: { path: /2001\/classlist\/paged\/$/, are: ['GET 200'] },
    holds: held('enrollments', { userId: 418 }, { orgUnitId: course, roleId: instructor, writes: 1 }),
  },
  {
    title: 'an answer that never comes',
    ...ofGrade(411, ['PUT null', 'PUT 200'], 9),
    bodies: [gradeEvent(411, 9)],
    prepare: (controls) => controls.fault({ delayMs: 8_000 }, { path: 'values/411$' }),
    outcomes: ['done'],
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
    outcomes: ['parked'],
    letter: { kind: 'outdated', says: /older than the ledger remembers.*Check what the platform holds/ },
  },
  {
    title: 'a removal of whoever is not enrolled',
    function: 'enrollment-remove',
    bodies: [event('enrollment-remove', { orgUnitId: section, userId: 415 })],
    outcomes: ['done'],
    requests: { path: /orgUnits\/3001\/users\/415$|3001\/classlist/, are: ['DELETE 404', 'GET 200'] },
    holds: held('enrollments', { orgUnitId: section, userId: 415 }),
  },
  {
    title: 'an old enrollment after a new removal',
    function: 'enrollment-create',
    bodies: [
      event('enrollment-remove', { orgUnitId: course, userId: 416 }, 10),
      event('enrollment-create', { orgUnitId: course, userId: 416, roleId: learner }, 9),
    ],
    outcomes: ['done', 'superseded'],
    isSlow: true,
    // Another container has removed, which is known for done when its message does not come back.
    waits: 1,
    requests: { path: /users\/416$/, are: ['DELETE 200'] },
    holds: held('enrollments', { userId: 416 }),
  },
  {
    title: 'a PDF for a profile image',
    function: 'profile-image-update',
    bodies: [event('profile-image-update', imageOf(413, 'essay.pdf'))],
    outcomes: ['parked'],
    letter: { kind: 'invalid', says: /data\.file: its content is not a PNG, JPEG or GIF/ },
    requests: { path: /user\/413\/image/, are: [] },
    holds: held('profileImages', { userId: 413 }),
  },
  {
    title: 'a JPEG that says it is a PNG',
    function: 'profile-image-update',
    bodies: [event('profile-image-update', imageOf(414, 'portrait.jpg'))],
    outcomes: ['done'],
    requests: { path: /user\/414\/image/, are: ['POST 200'] },
    holds: held('profileImages', { userId: 414 }, { contentType: 'image/jpeg', writes: 1 }),
  },
  {
    title: 'a submission taken, and its answer cut off',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(421))],
    prepare: async (controls, description) => {
      await controls.secret(secretOf(421, description), keyOf(421));
      await controls.fault({ reset: 'after' }, { method: 'POST', path: 'folders/7421' });
    },
    outcomes: ['done'],
    requests: { path: /whoami$|folders\/7421/, userId: 421, are: ['GET 200', 'POST null', 'GET 200'] },
    holds: held('submissions', { userId: 421 }, { folderId: 7421 }),
  },
  {
    title: 'a submission whose answer never comes',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(422))],
    prepare: async (controls, description) => {
      await controls.secret(secretOf(422, description), keyOf(422));
      await controls.fault({ delayMs: 8_000 }, { method: 'POST', path: 'folders/7422' });
    },
    outcomes: ['done'],
    requests: {
      path: /whoami$|folders\/7422/,
      userId: 422,
      are: ['GET 200', 'POST null', 'GET 200', 'GET 200', 'POST 200', 'GET 200'],
    },
    holds: held('submissions', { userId: 422 }, { folderId: 7422 }),
  },
  {
    title: 'a submission of somebody without a credential',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(423))],
    outcomes: ['parked'],
    letter: { kind: 'missing-credential', says: /Create the secret sis-relay\/local\/users\/423/ },
    requests: { path: /folders\/7423/, are: [] },
    holds: held('submissions', { folderId: 7423 }),
  },
  {
    title: 'a secret that holds somebody else’s key',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(424))],
    prepare: (controls, description) => controls.secret(secretOf(424, description), keyOf(425)),
    outcomes: ['parked'],
    letter: { kind: 'missing-credential', says: /holds the credential of user 425\. Nothing was sent/ },
    requests: { path: /whoami$|folders\/7424/, userId: 425, are: ['GET 200'] },
    holds: held('submissions', { folderId: 7424 }),
  },
  {
    title: 'a refused key, corrected while the message waits',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(426))],
    prepare: (controls, description) => controls.secret(secretOf(426, description), keyOf(426, 'revoked')),
    whileWaiting: (controls, description) => controls.secret(secretOf(426, description), keyOf(426)),
    outcomes: ['done'],
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
    bodies: twice(event('submission-upload', submissionOf(427))),
    prepare: (controls, description) => controls.secret(secretOf(427, description), keyOf(427)),
    outcomes: ['done', 'duplicate'],
    requests: { path: /whoami$|folders\/7427/, userId: 427, are: ['GET 200', 'POST 200', 'GET 200'] },
    holds: held('submissions', { userId: 427 }, { folderId: 7427 }),
  },
];

/** All of them: those of one act may happen at once. What changes the world for everybody comes last. */
export const acts = async (): Promise<Scenario[][]> => [
  [...(await examples()), ...(await furtherExamples())],
  misfortunes,
  [rotation],
  [refusedChanges],
  [clock],
];

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

export function keyOf(userId: number, userKey = `local-key-${userId}`) {
  const app = { type: 'id-key', appId: 'local-app', appKey: 'local-app-key' };
  return { ...app, userId: String(userId), userKey };
}

export function secretOf(userId: number, { secrets }: StackDescription): string {
  return `${secrets.userPrefix}${userId}`;
}

function page(status: number, title: string, text: string) {
  const body = `<html><head><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p></body></html>`;
  return { status, headers: { 'content-type': 'text/html' }, body };
}

function twice(body: string): string[] {
  return [body, body];
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
