import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { PurgeQueueCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import type { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { movedKey } from '../../../../lib/delivery/crosswalk/moved.ts';
import { bucketOf, createCrosswalkTable } from '../../../../lib/delivery/crosswalk/table.ts';
import { type LetterFailure, sqsMessageOf } from '../../../../lib/delivery/letters/dead-letter.ts';
import { failureKindNames, letterKinds } from '../../../../lib/message/failure-kinds.ts';
import { listLetters } from '../../../../lib/operate/messages/letters/list.ts';
import { reindexLetters } from '../../../../lib/operate/messages/letters/reindex.ts';
import { loadIntegrations } from '../../../../lib/operate/stage/integrations.ts';
import { groupIdOf } from '../../../../lib/options/reconcile/desk/groups.ts';
import { loadOptionDesks } from '../../../../lib/options.ts';
import { createQuickDynamoDb } from '../../../../lib/runtime/aws/dynamodb-quick.ts';
import { readSettings } from '../../../../lib/runtime/aws/setting.ts';
import { resendResultKey } from '../../../../lib/scheduled/reconcile/record.ts';
import { programOf } from '../../../../lib/show/cli/cli.ts';
import { importJob } from '../../../../lib/sources/snapshots/import.ts';
import { importSettings } from '../../../../lib/sources/snapshots/import-settings.ts';
import { createSnapshotServices } from '../../../../lib/sources/snapshots/services.ts';
import { passedKey } from '../../../../lib/sources/snapshots/state/passed-names.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { answerOf, executionHere } from '../../../local/in-this-process.ts';
import { durableOptionsOf, settingsOf } from '../../../local/stack.ts';
import { findingOf, reportOf, writeRun } from '../../../options/reconcile/desk/runs.ts';
import { putText, waitingImport } from '../../../options/snapshots/desk/waiting-import.ts';
import { brokenBy, type Json } from '../../../package/contract/released.ts';
import { joined, shapeOf } from '../../../package/contract/shape.ts';
import { entriesOfSis, smallSis, zipOf } from '../../sources/snapshots/sis.ts';
import { localOffice } from './local-office.ts';
import { eventBody, failureOf, never } from './office.ts';
import { quietTerminal, typed } from './typed.ts';

/** The operators' runbook: what it says is typed here as it stands. */
const file = process.env.RUNBOOK ?? resolve(import.meta.dirname, '../../../../lib/show/cli/README.md');
const text = readFileSync(file, 'utf8').replaceAll('\r', '');
const typedBefore = new Set<string>();
/** What it says twice is typed once. */
const isNew = (line: string): boolean => !typedBefore.has(line) && typedBefore.add(line).has(line);
const situations = text
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    title: section.split('\n')[0] ?? '',
    commands: [...section.matchAll(/^npx sis-relay .*$|(?<=`)npx sis-relay [^`]*(?=`)/gm)]
      .map(([command]) => command)
      .filter(isNew),
  }));

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
    ...{
      body: eventBody('grade-push', { userId, ...more }),
      replays: kind === 'rejected' ? 5 : 0,
      attributes: {},
    },
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

beforeAll(async () => {
  for (const name of ['export-of-the-sis.csv', 'registrations.csv'])
    writeFileSync(join(office.folder, name), 'COURSE_ID,LOGIN,ROLE\nMATH-101,ann,S\n');
  const roleId = { from: 'ROLE', values: { S: 110 } };
  const data = { orgUnitCode: 'COURSE_ID', userName: 'LOGIN', roleId };
  const mapping = { messages: [{ function: 'enrollment-create', data, key: ['COURSE_ID', 'LOGIN'] }] };
  writeFileSync(join(office.folder, 'mapping.json'), JSON.stringify(mapping));
  writeFileSync(join(office.folder, 'tonight.zip'), await zipOf(entriesOfSis(smallSis())));
  const bucket = { s3: await office.target().s3(), bucket: office.stack().description.bucket };
  await putText(bucket, 'snapshot-settings.json', JSON.stringify({ roles: { student: 110, teacher: 109 } }));
});

const idOf = async (command: string): Promise<string> => {
  if (command.includes('sis-relay snapshots')) {
    const { executions, description } = office.stack();
    const bucket = { s3: await office.target().s3(), bucket: description.bucket };
    return (await waitingImport(executions, bucket)).record.id;
  }
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

/** A code that has moved, as a fill tells it, and a user name that passed: each time from elsewhere, as nobody has accepted that yet. */
let moves = 0;
const codeThatMoved = async () => {
  const { description } = office.stack();
  moves += 1;
  const [code, moved] = ['MATH-101', { ids: [2002], was: [3000 + moves] }] as const;
  const dynamodb = createQuickDynamoDb(localClient(description.dynamodb));
  const table = createCrosswalkTable({ dynamodb, table: description.crosswalkTable, nowMs: Date.now });
  const bucket = bucketOf('orgUnitCode', 'platform', code);
  await table.put([{ bucket, entries: new Map([[code, { ids: [...moved.ids], was: [...moved.was] }]]) }]);
  const s3 = new S3Client({ ...localClient(description.s3), forcePathStyle: true });
  const Body = JSON.stringify({ codes: [{ code, ...moved, sinceMs: Date.now() }] });
  const Bucket = description.bucket;
  await s3.send(new PutObjectCommand({ Bucket, Key: movedKey('platform'), Body }));
  const passed = {
    ...{ name: 'lena.learner', userId: firstUser, record: `u-${moves}`, sinceMs: Date.now() },
    ...{ enrollments: 2, results: 1, courses: [code] },
  };
  const names = JSON.stringify({ field: 'userName', names: [passed] });
  await s3.send(new PutObjectCommand({ Bucket, Key: passedKey, Body: names }));
  s3.destroy();
};

/** The function that fills the crosswalk, when it is invoked. */
const fillThatEnds = (): void => {
  const { executions } = office.stack();
  const result = { outcome: 'filled', message: 'The crosswalk is filled.' };
  executions.serve((name, event, execution) =>
    executions.run(
      event,
      {
        functionArn: `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
        executionTimeoutMs: 60_000,
        name: execution,
      },
      async () => ({ ok: true, payload: { Status: 'SUCCEEDED', Result: JSON.stringify(result) } }),
    ),
  );
};

/** Files that were accepted and come no more, and the function that ends them. Imports that others left waiting would be in the way. */
const filesThatComeNoMore = async () => {
  const stack = office.stack();
  const { executions, description } = stack;
  const name = 'snapshot-import';
  const { functionArn } = durableOptionsOf(name);
  for (const { arn, status } of executions.of(functionArn)) if (status === 'RUNNING') executions.stop(arn);
  const environment = { ...settingsOf(description, name), LOG_LEVEL: 'silent' };
  Object.assign(process.env, environment);
  const services = {
    ...(await createSnapshotServices(readSettings(importSettings, environment), loadIntegrations)),
    running: executions.running,
  };
  const imported = (event: unknown, execution?: string) =>
    executionHere(
      stack,
      importJob(async () => services),
      { name, event, execution },
    );
  executions.serve((_, event, execution) => imported(event, execution));
  const bucket = { s3: await office.target().s3(), bucket: description.bucket };
  const data = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
  const message = {
    ...{ function: 'enrollment-create', key: ['COURSE', 'LOGIN'], data: { ...data, roleId: { value: 110 } } },
    removed: { function: 'enrollment-remove', data },
  };
  await putText(bucket, 'snapshot-mapping.json', JSON.stringify({ messages: [message] }));
  for (const file of ['last-term.csv', 'backfill-1.csv']) {
    await putText(bucket, `snapshots/${file}`, `COURSE,LOGIN\nBIO-101,${file.split('.')[0]}\n`);
    expect(answerOf(await imported({ key: `snapshots/${file}` }))).toMatchObject({ outcome: 'accepted' });
  }
};

/** A comparison that has found one fault, and the function that answers whatever is asked of it. */
const comparison = async (command: string): Promise<string> => {
  const { description, executions } = office.stack();
  const bucket = { s3: await office.target().s3(), bucket: description.bucket };
  const fault = findingOf();
  const isToDecide = / (accept|resend) /.test(command);
  await writeRun(bucket, reportOf(), isToDecide ? [fault] : []);
  executions.serve(async (_, event) => {
    const { id = '', resend } = event as { id?: string; resend?: string };
    if (resend === undefined) await writeRun(bucket, { ...reportOf(), id });
    else {
      const outcomes = [{ resource: fault.resource, outcome: 'sent', messageId: 'm' }];
      await putText(bucket, resendResultKey(resend), JSON.stringify({ id: resend, state: 'done', outcomes }));
    }
    return { ok: true, payload: undefined };
  });
  return groupIdOf(fault);
};

/** Types a command of the runbook, with what it leaves open filled in; whoever is asked agrees. `more`: what is typed besides. */
const followed = async (command: string, more = '') => {
  if (isUsed) await renewLetters();
  isUsed = /letters (replay|edit|discard|verify)/.test(command) && !command.includes('--dry-run');
  if (command.includes('sis-relay waiting')) await messageThatWaits();
  if (command.includes('sis-relay crosswalk')) await codeThatMoved();
  if (command.includes('crosswalk fill')) fillThatEnds();
  if (command.includes('snapshots end')) await filesThatComeNoMore();
  const group = command.includes('sis-relay reconcile') ? await comparison(command) : '';
  const line = command
    .replace('npx sis-relay ', '')
    .replace('<group>', group)
    .replace('<id>', command.includes('<id>') ? await idOf(command) : '')
    .replace(/s3:\/\/<bucket>\S+/, archives[0] ?? '')
    .replace(
      /\b(grades\.csv|letters\.jsonl|unknown\.jsonl|export-of-the-sis\.csv|registrations\.csv|mapping\.json|tonight\.zip|november\.html)/g,
      (name) => join(office.folder, name),
    )
    // Here no letter is twelve days old.
    .replace('--until 12d', '--until 0m');
  const ending = new AbortController();
  const serves = line.startsWith('console');
  const said = await typed(`${line}${more} --stack ${office.file}${serves ? ' --no-open --port 0' : ''}`, {
    answers: ['y', 'y'],
    // It serves until Ctrl-C.
    ...(serves && { signal: ending.signal, onOut: () => ending.abort() }),
  });
  archives.push(...(said.out.match(/s3:\/\/[^\s"]+discarded[^\s"]+/g) ?? []));
  return said;
};

const expectAnswer = async (command: string): Promise<void> => {
  const { status, out, err } = await followed(command);
  // Letters stay that no look decides, and nothing was put under snapshots/.
  const expected = /(letters verify|snapshots list)$/.test(command) ? 1 : 0;
  expect({ status, err: status === expected ? '' : err + out }).toEqual({ status: expected, err: '' });
  expect(out).not.toBe('');
};

test('the runbook has a heading for each situation, and an answer under each', () => {
  expect(situations.length).toBeGreaterThan(10);
  for (const kind of letterKinds) expect(text).toContain(`\`${kind}\``);
});

const isReplay = (command: string) => command.includes('letters replay') && !command.includes('--dry-run');
const replays = situations.flatMap(({ commands }) => commands.filter(isReplay));

describe.each(situations.filter(({ commands }) => commands.length > 0))('“$title”', ({ commands }) => {
  test.each(commands)('%s', async (command) => {
    // What a replay does is the same each time: of all but one the plan tells whether it is understood, and finds letters.
    const isRepeated = isReplay(command) && command !== replays[0];
    await expectAnswer(isRepeated ? `${command} --dry-run` : command);
  });
});

test.each(replays.slice(1))('%s, as it stands', { tags: ['long'] }, expectAnswer);

const program = programOf({
  terminal: quietTerminal,
  desks: await loadOptionDesks(),
  finish: () => {},
  collect: () => {},
});
/** As in `sis-relay letters list`, and its own options. */
const commandIn = (line: string) => {
  let at = program;
  const names = ['sis-relay'];
  for (const word of line.replace('npx sis-relay ', '').split(' ')) {
    const next = at.commands.find((each) => each.name() === word);
    if (next === undefined) break;
    at = next;
    names.push(word);
  }
  return { name: names.join(' '), options: at.options.map(({ long }) => long) };
};

test('with --json, each command prints what it printed in the last release', { tags: ['long'] }, async () => {
  // No command writes over what one before has written.
  for (const name of ['letters.jsonl', 'unknown.jsonl', 'november.html'])
    rmSync(join(office.folder, name), { force: true });
  const shapes: Record<string, Json> = {};
  const others = [
    'check-message events/grade-push.json',
    'scopes grade-push',
    'completion bash',
    'doctor redrive',
  ];
  const commands = situations.flatMap((situation) => situation.commands);
  for (const command of [...commands, ...others.map((line) => `npx sis-relay ${line}`)]) {
    // A replay of all is of the same form as that of one.
    if (isReplay(command) && command !== replays[0]) continue;
    const { name, options } = commandIn(command);
    if (name === 'sis-relay console') continue;
    const yes = options.includes('--yes') && !command.includes('--yes') ? ' --yes' : '';
    const { out, err } = await followed(command, ` --json${yes}`);
    expect(out, `${command}: ${err}`).toMatch(/^\{[\s\S]*\}\n$/);
    shapes[name] = joined(shapes[name] ?? {}, shapeOf(JSON.parse(out)));
  }
  const all = (at: Command, name: string): string[] =>
    at.commands.length === 0 ? [name] : at.commands.flatMap((each) => all(each, `${name} ${each.name()}`));
  expect(all(program, 'sis-relay').filter((name) => !(name in shapes))).toEqual([
    // As `waiting`; and those that no script runs, which ask, serve or help.
    ...['waiting list', 'auth-url', 'init', 'console', 'complete', 'help'].map((name) => `sis-relay ${name}`),
  ]);
  expect(brokenBy('json', shapes)).toEqual([]);
});
