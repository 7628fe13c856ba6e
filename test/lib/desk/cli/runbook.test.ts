import { existsSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PurgeQueueCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import type { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { type LetterFailure, sqsMessageOf } from '../../../../lib/delivery/letters/dead-letter.ts';
import { listLetters } from '../../../../lib/desk/messages/letters/list.ts';
import { reindexLetters } from '../../../../lib/desk/messages/letters/reindex.ts';
import { failureKindNames, letterKinds } from '../../../../lib/message/failure-kinds.ts';
import { documentOf } from '../../../documents.ts';
import { observedOf } from '../../../package/contract/released.ts';
import { localOffice } from './local-office.ts';
import { eventBody, failureOf, never } from './office.ts';
import { typed } from './typed.ts';
import {
  commandsIn,
  expectAnswer,
  type Follow,
  program,
  shapeNameOf,
  situationsIn,
  typeEachCommand,
  typeFor,
} from './typed-runbook.ts';

/** The operators' runbook: what it says is typed here as it stands. */
const root = resolve(import.meta.dirname, '../../../..');
const runbook = 'lib/desk/cli/README.md';

const office = localOffice({
  inProcess: ['grade-push', 'submission-upload'],
  // What waits is tried once, and not again while all else is typed.
  settings: { WAIT_MINIMUM_SECONDS: '600', WAIT_MAXIMUM_SECONDS: '900' },
});
const archives: string[] = [];

const send = async (messages: object[]) => {
  const { sqs, description } = office.stack();
  const Entries = messages.map((message, at) => ({ Id: String(at), MessageBody: '', ...message }));
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: description.deadLetters, Entries }));
};
const parked = (kind: LetterFailure['kind'], userId: number, more: object = {}) =>
  sqsMessageOf({
    body: eventBody('grade-push', { userId, ...more }),
    replays: kind === 'rejected' ? 5 : 0,
    attributes: {},
    source: 'arn:aws:sqs:us-east-1:000000000000:sis-relay-local-grade-push',
    failure: failureOf('grade-push', kind),
  });

/** Users of their own for all letters that are made at once: what one command has sent must not be in the way of the next. */
let firstUser = 800;
let isUsed = true;

/** A letter of each kind, two that are uncertain, one that is wrong in its points, and one that is not ours. */
const renewLetters = async () => {
  const { sqs, description } = office.stack();
  await sqs.send(new PurgeQueueCommand({ QueueUrl: description.deadLetters }));
  firstUser += 40;
  const users = Array.from({ length: 40 }, (_, at) => firstUser + at);
  await office.controls().seed({
    users: users.map((userId) => ({ userId, userName: `u${userId}`, firstName: 'L', lastName: 'L' })),
    enrollments: users.map((userId) => ({ orgUnitId: 2001, userId, roleId: 110 })),
  });
  const wrong = { grade: { type: 'numeric', points: null } };
  const letters = failureKindNames.map((kind, at) =>
    parked(kind, firstUser + at, kind === 'invalid' ? wrong : {}),
  );
  // SQS takes ten at once.
  await send(letters.slice(0, 10));
  await send(letters.slice(10));
  await send([parked('uncertain', firstUser + 37), { MessageBody: 'garbage' }]);
  await reindexLetters(office.target(), { signal: never, settleMs: 0 });
  writeFileSync(
    join(office.folder, 'grades.csv'),
    `orgUnitId,gradeObjectId,userId,grade.type,grade.points,comments\n2001,5001,${firstUser + 38},numeric,8.5,Well done\n`,
  );
  isUsed = false;
};

beforeAll(() => {
  writeFileSync(join(office.folder, 'export-of-the-sis.csv'), 'COURSE_ID,LOGIN,ROLE\nMATH-101,ann,S\n');
  const roleId = { from: 'ROLE', values: { S: 110 } };
  const data = { orgUnitCode: 'COURSE_ID', userName: 'LOGIN', roleId };
  const mapping = { messages: [{ function: 'enrollment-create', data, key: ['COURSE_ID', 'LOGIN'] }] };
  writeFileSync(join(office.folder, 'mapping.json'), JSON.stringify(mapping));
});

const idOf = async (command: string): Promise<string> => {
  const kind = /letters (edit)/.test(command)
    ? 'invalid'
    : /uncertain|discard/.test(command)
      ? 'uncertain'
      : 'rejected';
  const { letters } = await listLetters(office.target(), { filter: {}, limit: 100 }, { signal: never });
  return letters.find((letter) => letter.kind === kind)?.id.slice(0, 8) ?? letters[0]?.id ?? '';
};

/** A submission of somebody whose key is wrong. */
const messageThatWaits = async () => {
  const { description } = office.stack();
  const userId = firstUser + 19;
  const key = { type: 'id-key', appId: 'local-app', appKey: 'local-app-key', userKey: 'a wrong one' };
  await office
    .controls()
    .secret(`${description.secrets.userPrefix}${userId}`, { ...key, userId: String(userId) });
  await office.send('submission-upload', { userId });
  const waiting = () => typed(`waiting --kind credentials --user ${userId} --stack ${office.file}`);
  await expect.poll(waiting).toMatchObject({ status: 0 });
};

/** What writes it refuses to write over what one before has written. */
const removeOutput = (command: string): void => {
  const [, name] = /--to (\S+)/.exec(command) ?? [];
  if (name !== undefined) rmSync(join(office.folder, name), { force: true });
};

const files = ['grades.csv', 'unknown.jsonl', 'letters.jsonl', 'export-of-the-sis.csv', 'mapping.json'];

const follow: Follow = async (command, more) => {
  if (isUsed) await renewLetters();
  isUsed = /letters (replay|edit|discard|verify)/.test(command) && !command.includes('--dry-run');
  if (command.includes('sis-relay waiting')) await messageThatWaits();
  removeOutput(command);
  const open = {
    '<id>': command.includes('<id>') ? await idOf(command) : '',
    's3://<bucket>/discarded/<run>/': archives[0] ?? '',
    // Here no letter is twelve days old.
    '--until 12d': '--until 0m',
  };
  const result = await typeFor(office, command, { open, files, more });
  archives.push(...(result.out.match(/s3:\/\/[^\s"]+discarded[^\s"]+/g) ?? []));
  return result;
};

test('the runbook has a heading for each situation, and an answer under each', () => {
  expect(situationsIn(runbook).length).toBeGreaterThan(10);
  const text = documentOf(runbook);
  for (const kind of letterKinds) expect(text).toContain(`\`${kind}\``);
});

const isReplay = (command: string) => command.includes('letters replay') && !command.includes('--dry-run');
const replays = commandsIn(runbook).filter(isReplay);

const others = [
  'check-message events/grade-push.json',
  'scopes grade-push',
  'completion bash',
  'doctor redrive',
].map((line) => `npx sis-relay ${line}`);

typeEachCommand(runbook, follow, {
  // What a replay does is the same each time: of all but one the plan tells whether it is understood, and finds letters.
  shortened: (command) => (isReplay(command) && command !== replays[0] ? `${command} --dry-run` : command),
  // Letters stay that no look decides.
  endsWith1: /letters verify( --kind outdated .*)?$/,
  others,
});

test.each(replays.slice(1))('%s, as it stands', { tags: ['long'] }, async (command) =>
  expectAnswer(await follow(command)),
);

describe('over all documents', () => {
  const ofOptions = globSync('lib/options/*/README.md', { cwd: root }).map((path) =>
    path.replaceAll('\\', '/'),
  );
  const shapesIn = (document: string, commands = commandsIn(document)): string[] =>
    commands.map((command) => shapeNameOf(document, command));
  const tried = new Set([
    ...shapesIn(runbook),
    ...shapesIn(runbook, others),
    ...ofOptions.flatMap((each) => shapesIn(each)),
  ]);
  const namesOf = (at: Command, name: string): string[] =>
    at.commands.length === 0
      ? [name]
      : at.commands.flatMap((each) => namesOf(each, `${name} ${each.name()}`));
  const names = namesOf(program, 'sis-relay');

  test('each document of an option with a command has a test that types it', () => {
    const typedOnes = ofOptions.filter((document) => commandsIn(document).length > 0);
    const testOf = (document: string): string =>
      join(root, document.replace(/^lib/, 'test').replace('README.md', 'desk/runbook.test.ts'));
    expect(typedOnes.filter((document) => !existsSync(testOf(document)))).toEqual([]);
  });

  test('each command is tried', () => {
    expect(names.filter((name) => !tried.has(name))).toEqual([
      // As `waiting`; and those that no script runs, which ask or help.
      ...['waiting list', 'auth-url', 'init', 'complete', 'help'].map((name) => `sis-relay ${name}`),
    ]);
  });

  test('each command of the last release that there is still is tried', () => {
    // One that is gone is named by the test of all that others depend on.
    const isThere = (shape: string): boolean => names.includes(shape.replace(/ \(.*\)$/, ''));
    expect(Object.keys(observedOf('json')).filter((shape) => isThere(shape) && !tried.has(shape))).toEqual(
      [],
    );
  });
});
