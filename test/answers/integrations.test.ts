// @module-tag long
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Context, SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { platformOptionsOf, settingsFrom } from '../../lib/config/settings.ts';
import { type DeadLetter, letterOf, sqsMessageOf } from '../../lib/dead-letter.ts';
import { handlerOf } from '../../lib/delivery/handler.ts';
import { createServices } from '../../lib/delivery/services.ts';
import { dispositions } from '../../lib/failure.ts';
import type { Integration } from '../../lib/integration.ts';
import { createAuthenticator } from '../../lib/platform/auth/auth.ts';
import { createPlatformClient } from '../../lib/platform/client.ts';
import { operations } from '../../lib/platform/resources/operations.ts';
import { keysOf } from '../lib/platform/local-client.ts';
import { controlsOf, type PlatformState } from '../local/controls.ts';
import { startPlatform } from '../local/platform/server.ts';
import { integrationNames, type Stack, settingsOf, startStack } from '../local/stack.ts';
import { addLedgerTable } from '../local/tables.ts';
import { type Answer, answers, sortOf, wordsOf } from './answers.ts';

/**
 * Every integration × whatever may come for an answer to each of its calls: what becomes of the message, which is delivered
 * until it has ended. Each cell has a platform and a container of its own, so that all of them happen at once.
 */

type Row = {
  integration: string;
  /** The call that is answered so, by its operation. */
  call: string;
  /** Over the data of the example event. */
  data?: object;
  settings?: object;
  /** What the platform must hold if the message is done, and no more than once. */
  effect(state: PlatformState): unknown[];
  /** Its effect can be looked for. */
  looks?: true;
  /** Where a call is more to its message than its operation tells: by the answers' titles. */
  but?: Record<string, string>;
};

const rows = (table: string, like: object) => (state: PlatformState) =>
  (state[table] ?? []).filter((row) => Object.entries(like).every(([name, value]) => row[name] === value));

const grade = rows('gradeValues', { userId: 301, pointsNumerator: 8.5 });
const submission = rows('submissions', { userId: 301, folderId: 7001 });
const linkedGradeObject = (state: PlatformState) => {
  const made = rows('gradeObjects', { name: 'Lab report 1' })(state);
  const folder = rows('folders', { folderId: 7001 })(state)[0];
  return made.filter(({ gradeObjectId }) => folder?.gradeItemId === gradeObjectId || made.length > 1);
};
const moved = (state: PlatformState) =>
  rows('orgUnits', { orgUnitId: 3001 })(state).filter(({ parents }) => String(parents) === '2002');
const field = {
  field: { name: 'Origin', description: '', dataTypeId: '6d0b3e5c-5a0b-4c9e-9b6f-0c8f3a1d2e01' },
};
const instead = (given: object, of: string[]) => ({
  ...Object.fromEntries(of.map((name) => [name, undefined])),
  ...given,
});

/** It was taken, so that whatever then becomes of the looking, it is looked for again, and found. */
const found = Object.fromEntries(answers.map(({ title }) => [title, 'waiting uncertain, done']));
/** What the platform shows tells that it was done. */
const shown = Object.fromEntries(
  ['200 with JSON of another shape', '200 with nothing', '202 with nothing', '204'].map((title) => [
    title,
    'done',
  ]),
);
/** There is no grade yet, and so no comment. */
const absent = { '404 that says that there is no grade': 'done' };
/** There is nothing to remove, if the API says so. */
const removed = { '404 that says what is not there': 'done', ...absent };

const table: Row[] = [
  { integration: 'grade-push', call: 'set-grade-value', effect: grade, but: shown },
  { integration: 'grade-push', call: 'read-grade-value', effect: grade, but: absent },
  {
    ...{ integration: 'enrollment-create', call: 'create-enrollment', but: shown },
    effect: rows('enrollments', { userId: 303, roleId: 110 }),
  },
  {
    ...{ integration: 'enrollment-remove', call: 'delete-enrollment', but: shown },
    effect: (state) => (rows('enrollments', { userId: 302 })(state).length === 0 ? [{ userId: 302 }] : []),
  },
  { integration: 'submission-upload', call: 'upload-my-submission', effect: submission, looks: true },
  { integration: 'submission-upload', call: 'who-am-i', effect: submission },
  { integration: 'submission-upload', call: 'read-my-submissions', effect: submission, but: found },
  {
    ...{ integration: 'profile-image-update', call: 'update-profile-image' },
    effect: rows('profileImages', { userId: 301 }),
  },
  ...['create-grade-object', 'list-grade-objects', 'update-dropbox-folder'].map(
    (call): Row => ({
      ...{ integration: 'grade-object-create', call, effect: linkedGradeObject, looks: true },
      ...(call === 'update-dropbox-folder' && { but: shown }),
    }),
  ),
  ...['read-grade-object', 'update-grade-object'].map(
    (call): Row => ({
      ...{ integration: 'grade-object-update', call },
      effect: rows('gradeObjects', { gradeObjectId: 5001, name: 'Midterm exam', maxPoints: 10 }),
    }),
  ),
  { integration: 'org-unit-move', call: 'add-parent', effect: moved },
  { integration: 'org-unit-move', call: 'remove-parent', effect: moved, but: removed },
  ...['read-org-unit', 'add-topic'].map(
    (call): Row => ({
      ...{ integration: 'content-topic-update', call },
      effect: rows('topics', { title: 'Lab safety' }),
    }),
  ),
  {
    ...{ integration: 'content-topic-update', call: 'replace-topic-file' },
    data: instead(
      {
        ...{ action: 'replace-file', topicId: 8101 },
        file: {
          uri: 's3://sis-relay-uploads/events/essay.pdf',
          name: 'a.pdf',
          contentType: 'application/pdf',
        },
      },
      ['moduleId', 'topic'],
    ),
    effect: rows('topics', { topicId: 8101, writes: 1 }),
  },
  { integration: 'news-item-create', call: 'create-news-item', effect: rows('newsItems', {}) },
  {
    ...{ integration: 'lti-link-update', call: 'update-lti-link' },
    effect: rows('ltiLinks', { linkId: 9001, writes: 1 }),
  },
  {
    ...{ integration: 'user-attributes-update', call: 'update-user-attributes' },
    effect: rows('userAttributes', { userId: 301 }),
  },
  {
    ...{ integration: 'user-attributes-update', call: 'create-demographics-field' },
    ...{ data: instead(field, ['userId', 'attributes']), settings: { demographicsFields: 'create' } },
    effect: rows('demographicsFields', { name: 'Origin' }),
  },
];

const operationOf = ({ call }: Row) => {
  const operation = operations.find(({ name }) => name === call);
  if (operation === undefined) throw new Error(`no operation ${call}`);
  return operation;
};

/** What must become of a message whose call is answered so. */
const expectedOf = (row: Row, { title, is }: Answer): string => {
  const verdict = is[sortOf(operationOf(row))];
  const own = row.but?.[title];
  if (own !== undefined) return own;
  if (verdict === 'success') return 'done';
  if (verdict === 'uncertain') return `waiting uncertain, ${row.looks ? 'done' : 'parked uncertain'}`;
  return dispositions[verdict] === 'wait' ? `waiting ${verdict}, done` : `parked ${verdict}`;
};

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ functions: false });
  // The SDK's clients read them by themselves.
  for (const [name, value] of Object.entries(settingsOf(stack.description, 'grade-push')))
    if (name.startsWith('AWS_')) process.env[name] = value;
});
afterAll(() => stack.close());

/** So many at once as do not keep each other waiting for their servers. */
const places: Promise<unknown>[] = Array.from({ length: 24 }, async () => {});
let taken = 0;
const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
  const at = taken % places.length;
  taken += 1;
  const done = (places[at] ?? Promise.resolve()).then(work);
  places[at] = done.catch(() => {});
  return done;
};

/** A message of an integration, whose first such call is answered so, until it has ended. */
const live = async (row: Row, answer: Answer) => {
  const { title, effect } = answer;
  const platform = await startPlatform();
  const { integration }: { integration: Integration<unknown> } = await import(
    `../../functions/${row.integration}.ts`
  );
  // What may be repeated is repeated with a ledger as without one.
  const ledger = integration.repeatable === true ? '' : randomUUID();
  if (ledger) await addLedgerTable(stack.description.dynamodb, ledger);
  const controls = controlsOf({ ...stack.description, platform: platform.url });
  if (row.settings) await controls.settings(row.settings);
  const { method, path } = operationOf(row);
  const pattern = `${path.replace(/\{\w+\}/g, '[^/]+')}$`;
  // What certainly was not taken is proved again at once.
  const times = answer.twice && answer.is[sortOf(operationOf(row))] === 'credentials' ? 2 : 1;
  // That there is nothing to remove is true after the removal.
  const isTrue = row.but === removed && title in removed;
  await controls.fault(isTrue ? { ...effect, when: 'after' } : effect, { method, path: pattern, times });

  const settings = settingsFrom({
    ...settingsOf(stack.description, row.integration),
    ...{
      PLATFORM_URL: platform.url,
      LEDGER_TABLE: ledger,
      LEDGER_GRACE_SECONDS: '1',
      LOG_LEVEL: 'silent',
    },
    // Nothing here is about time, and a busy machine has little.
    ...{
      PLATFORM_HEADERS_TIMEOUT_MS: '20000',
      PLATFORM_BODY_TIMEOUT_MS: '20000',
      ATTEMPT_TIMEOUT_MS: '30000',
    },
  });
  const services = createServices(row.integration, settings);
  const client = createPlatformClient(
    { ...platformOptionsOf(settings), maxAnswerBytes: 256 * 1024 },
    createAuthenticator({
      read: async (actor) => ({ credential: keysOf(Number(actor ?? 100)), version: '1' }),
      refuse: () => {},
    }),
  );
  const story: string[] = [];
  const letters: DeadLetter[] = [];
  const handler = handlerOf(integration, () => ({
    ...services,
    platform: client,
    queues: { park: async (letter) => void letters.push(letter), delay: async () => {} },
    observe: {
      ...services.observe,
      message: ({ outcome, kind }) => void story.push([outcome, kind].filter(Boolean).join(' ')),
    },
  }));
  const record = await recordOf(row);
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    record.attributes.ApproximateReceiveCount = String(attempt);
    const context = { getRemainingTimeInMillis: () => 50_000 } as Context;
    const { batchItemFailures } = await handler({ Records: [record] }, context);
    if (batchItemFailures.length === 0) break;
    // What may still act is given its time.
    if (!operationOf(row).repeatable || row.looks || row.but === found) await delay(1_100);
  }
  const effects = row.effect(await controls.state()).length;
  await client.close();
  await platform.close();
  return { story: story.join(', '), effects, letters };
};

const recordOf = async ({ integration, data = {} }: Row): Promise<SQSRecord> => {
  const file = resolve(import.meta.dirname, '../../events', `${integration}.json`);
  const [record] = JSON.parse(await readFile(join(file), 'utf8')).Records;
  const event = JSON.parse(record.body);
  // A comment that is given need not be read.
  const given = { ...event.data, ...(integration === 'grade-push' ? { privateComments: '' } : {}), ...data };
  // Of long ago it would wait for a person.
  const time = new Date().toISOString();
  record.body = JSON.stringify({ ...event, id: randomUUID(), time, data: given });
  record.attributes.SentTimestamp = String(Date.now());
  record.attributes.ApproximateFirstReceiveTimestamp = String(Date.now());
  return record;
};

test('every integration is in the table, with each of its calls that changes anything', async () => {
  for (const name of await integrationNames()) {
    const { integration }: { integration: Integration<unknown> } = await import(`../../functions/${name}.ts`);
    const changing = integration.operations.filter(({ method }) => method !== 'GET').map((each) => each.name);
    const tabled = table.filter((row) => row.integration === name).map(({ call }) => call);
    expect(tabled).toEqual(expect.arrayContaining(changing));
  }
});

test.concurrent.each(table)('$integration, by what answers $call', async (row) => {
  const reading = row.call === 'read-grade-value' ? { ...row, data: { privateComments: undefined } } : row;
  const cells = await Promise.all(
    answers.map(async (answer) => ({ answer, ...(await inTurn(() => live(reading, answer))) })),
  );
  expect(cells.map(({ answer, story }) => `${answer.title}: ${story}`)).toEqual(
    answers.map((answer) => `${answer.title}: ${expectedOf(row, answer)}`),
  );
  for (const { answer, story, effects, letters } of cells) {
    // None is done without an effect, nor with two.
    if (story.endsWith('done')) expect([answer.title, effects]).toEqual([answer.title, 1]);
    expect(letters).toHaveLength(story.endsWith('done') ? 0 : 1);
    for (const letter of letters) {
      const { MessageBody: Body, MessageAttributes } = sqsMessageOf(letter);
      const { failure } = letterOf({ Body, MessageAttributes });
      expect(failure?.remedy).toMatch(/replay|discard/i);
      // Of what was looked up in vain, the letter tells the looking.
      if (failure?.kind !== 'uncertain') expect(failure).toEqual(wordsOf(answer));
    }
  }
});
