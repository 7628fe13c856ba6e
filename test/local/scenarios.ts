import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Controls, PlatformState } from './controls.ts';
import type { StackDescription } from './stack.ts';

/** A message, what befalls it, and how it must end. */
export type Scenario = {
  title: string;
  function: string;
  /** The bodies sent, in this order, each when the one before it has ended. */
  bodies: string[];
  prepare?(controls: Controls, description: StackDescription): Promise<unknown>;
  /** How the last one must end. */
  outcome: 'done' | 'duplicate' | 'superseded' | 'parked';
  /** Of its letter. */
  letter?: { kind: string; status?: number; says?: RegExp };
  /** The requests that the messages cost, as `METHOD status` of those whose path matches, in their order. */
  requests?: { path: RegExp; are: string[] };
  /** What the platform must hold at the end. */
  holds?(state: PlatformState): boolean;
};

const root = join(import.meta.dirname, '../..');
const learners = { first: 401, last: 440 };

/** The course of the scenarios: a learner for each, so that nothing of one touches another. */
export const scenarioSeed = {
  users: range(learners.first, learners.last).map((userId) => ({
    userId,
    userName: `learner.${userId}`,
    firstName: 'Learner',
    lastName: String(userId),
  })),
  enrollments: range(learners.first, learners.last).map((userId) => ({
    orgUnitId: 2001,
    userId,
    roleId: 110,
  })),
};

/** The messages of events/, as the SIS would send them. */
export const examples = async (): Promise<Scenario[]> => [
  {
    title: 'a grade',
    function: 'grade-push',
    bodies: [await example('grade-push')],
    outcome: 'done',
    holds: ({ gradeValues }) => has(gradeValues, { userId: 301, gradeObjectId: 5001 }),
  },
  {
    title: 'an enrollment',
    function: 'enrollment-create',
    bodies: [await example('enrollment-create')],
    outcome: 'done',
    holds: ({ enrollments }) => has(enrollments, { orgUnitId: 2001, userId: 303, roleId: 110 }),
  },
  {
    title: 'a submission with a PDF',
    function: 'submission-upload',
    bodies: [await example('submission-upload')],
    outcome: 'done',
    holds: ({ submissions }) => submissions?.filter(({ userId }) => userId === 301).length === 1,
  },
  {
    title: 'a profile image, PNG',
    function: 'profile-image-update',
    bodies: [await example('profile-image-update')],
    outcome: 'done',
    holds: ({ profileImages }) => has(profileImages, { contentType: 'image/png' }),
  },
];

/** What can befall a message, each alone. */
export const misfortunes: Scenario[] = [
  {
    title: 'the service’s key was rotated',
    ...grade(401, 1),
    prepare: async (controls, { secrets }) => {
      await controls.key(100, 'rotated-key');
      await controls.secret(secrets.service, serviceKey('rotated-key'));
    },
    outcome: 'done',
    requests: { path: /values\/401$/, are: ['PUT 403', 'PUT 200'] },
    holds: gradeIs(401, 1),
  },
  {
    title: 'the platform’s clock is 10 minutes off',
    ...grade(402, 2),
    prepare: (controls) => controls.clock(600),
    outcome: 'done',
    requests: { path: /values\/402$/, are: ['PUT 403', 'PUT 200'] },
    holds: gradeIs(402, 2),
  },
  {
    title: 'a null grade',
    function: 'grade-push',
    bodies: [event('grade-push', { ...gradeOf(403, 0), grade: null })],
    outcome: 'parked',
    letter: { kind: 'invalid', says: /data\.grade.*cannot clear a grade/ },
    requests: { path: /values\/403$/, are: [] },
  },
  {
    title: 'malformed JSON',
    function: 'grade-push',
    bodies: ['{"specversion":"1.0","data":{'],
    outcome: 'parked',
    letter: { kind: 'invalid', says: /not JSON/ },
  },
  {
    title: 'an unknown grade object',
    function: 'grade-push',
    bodies: [event('grade-push', { ...gradeOf(404, 4), gradeObjectId: 5999 })],
    outcome: 'parked',
    letter: { kind: 'rejected', status: 404 },
    requests: { path: /5999\/values\/404$/, are: ['PUT 404'] },
  },
  {
    title: 'a Learner role’s key',
    function: 'grade-push',
    bodies: [event('grade-push', { ...gradeOf(301, 5), orgUnitId: 2002, gradeObjectId: 5101 })],
    outcome: 'parked',
    letter: { kind: 'missing-permission', status: 403 },
    requests: { path: /2002\/grades\/5101/, are: ['PUT 403'] },
    holds: ({ gradeValues }) => !has(gradeValues, { gradeObjectId: 5101 }),
  },
  {
    title: 'three 503s and then success',
    ...grade(406, 6),
    prepare: (controls) =>
      controls.fault({ match: { path: 'values/406$' }, times: 3, then: { status: 503 } }),
    outcome: 'done',
    requests: { path: /values\/406$/, are: ['PUT 503', 'PUT 503', 'PUT 503', 'PUT 200'] },
    holds: gradeIs(406, 6),
  },
  {
    title: 'a 429 with Retry-After',
    ...grade(407, 7),
    prepare: (controls) =>
      controls.fault({
        match: { path: 'values/407$' },
        times: 1,
        then: { status: 429, headers: { 'retry-after': '2' } },
      }),
    outcome: 'done',
    requests: { path: /values\/407$/, are: ['PUT 429', 'PUT 200'] },
    holds: gradeIs(407, 7),
  },
  {
    title: 'an HTML error page',
    ...grade(408, 8),
    prepare: (controls) =>
      controls.fault({
        match: { path: 'values/408$' },
        times: 1,
        then: {
          status: 400,
          headers: { 'content-type': 'text/html' },
          body: '<html><head><title>Bad Request</title></head><body><h1>Bad Request</h1><p>No such site.</p></body></html>',
        },
      }),
    outcome: 'parked',
    letter: { kind: 'rejected', status: 400, says: /Bad Request/ },
    requests: { path: /values\/408$/, are: ['PUT 400'] },
  },
  {
    title: 'an answer that never comes',
    ...grade(409, 9),
    prepare: (controls) =>
      controls.fault({ match: { path: 'values/409$' }, times: 1, then: { delayMs: 8_000 } }),
    outcome: 'done',
    requests: { path: /values\/409$/, are: ['PUT null', 'PUT 200'] },
    holds: gradeIs(409, 9),
  },
  {
    title: 'a submission that was taken, and its answer cut off',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(301, 7002))],
    prepare: (controls) =>
      controls.fault({ match: { method: 'POST', path: 'folders/7002' }, times: 1, then: { reset: 'after' } }),
    outcome: 'done',
    requests: { path: /folders\/7002/, are: ['POST null', 'GET 200'] },
    holds: ({ submissions }) => submissions?.filter(({ folderId }) => folderId === 7002).length === 1,
  },
  {
    title: 'a submission of somebody without a credential',
    function: 'submission-upload',
    bodies: [event('submission-upload', submissionOf(302, 7001))],
    outcome: 'parked',
    letter: { kind: 'missing-credential', says: /users\/302/ },
    holds: ({ submissions }) => !has(submissions, { userId: 302 }),
  },
  {
    title: 'a PDF for a profile image',
    function: 'profile-image-update',
    bodies: [
      event('profile-image-update', {
        userId: 412,
        file: { uri: upload('essay.pdf'), contentType: 'image/png' },
      }),
    ],
    outcome: 'parked',
    letter: { kind: 'invalid', says: /not a PNG, JPEG or GIF/ },
    requests: { path: /user\/412/, are: [] },
  },
  {
    title: 'a JPEG that says it is a PNG',
    function: 'profile-image-update',
    bodies: [
      event('profile-image-update', {
        userId: 413,
        file: { uri: upload('portrait.jpg'), contentType: 'image/png' },
      }),
    ],
    outcome: 'done',
    holds: ({ profileImages }) => has(profileImages, { userId: 413, contentType: 'image/jpeg' }),
  },
  {
    title: 'an old grade after a new one',
    function: 'grade-push',
    bodies: [
      event('grade-push', gradeOf(414, 9.5), '2026-03-02T10:00:00Z'),
      event('grade-push', gradeOf(414, 3), '2026-03-01T10:00:00Z'),
    ],
    outcome: 'superseded',
    requests: { path: /values\/414$/, are: ['PUT 200'] },
    holds: gradeIs(414, 9.5),
  },
  {
    title: 'the same submission twice',
    function: 'submission-upload',
    bodies: twice(event('submission-upload', submissionOf(301, 7003))),
    prepare: (controls) =>
      controls.seed({ folders: [{ folderId: 7003, orgUnitId: 2001, name: 'Lab report 3' }] }),
    outcome: 'duplicate',
    holds: ({ submissions }) => submissions?.filter(({ folderId }) => folderId === 7003).length === 1,
  },
];

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

async function example(name: string): Promise<string> {
  const { Records } = JSON.parse(await readFile(join(root, 'events', `${name}.json`), 'utf8'));
  return Records[0].body;
}

/** The body of a message as the SIS sends it. */
export function event(name: string, data: object, time = '2026-03-01T09:00:00Z'): string {
  const id = randomUUID();
  return JSON.stringify({ specversion: '1.0', id, source: '/sis/local', type: `sis.${name}.v1`, time, data });
}

function gradeOf(userId: number, points: number) {
  const grade: { type: string; points: number } | null = { type: 'numeric', points };
  return { orgUnitId: 2001, gradeObjectId: 5001, userId, grade, comments: '', privateComments: '' };
}

function grade(userId: number, points: number) {
  return { function: 'grade-push', bodies: [event('grade-push', gradeOf(userId, points))] };
}

function gradeIs(userId: number, points: number) {
  return ({ gradeValues }: PlatformState) =>
    has(gradeValues, { userId, gradeObjectId: 5001, pointsNumerator: points });
}

function upload(name: string): string {
  return `s3://sis-relay-uploads/events/${name}`;
}

function submissionOf(userId: number, folderId: number) {
  const files = [{ uri: upload('essay.pdf'), name: 'lab report.pdf', contentType: 'application/pdf' }];
  return { orgUnitId: 2001, folderId, userId, files };
}

function serviceKey(userKey: string) {
  return { type: 'id-key', appId: 'local-app', appKey: 'local-app-key', userId: '100', userKey };
}

function twice(body: string): string[] {
  return [body, body];
}

function has(rows: Record<string, unknown>[] | undefined, wanted: Record<string, unknown>): boolean {
  return rows?.some((row) => Object.entries(wanted).every(([name, value]) => row[name] === value)) ?? false;
}
