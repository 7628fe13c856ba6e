import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LambdaClient, ListEventSourceMappingsCommand } from '@aws-sdk/client-lambda';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Status } from '../../../lib/desk/stage-state/status.ts';
import { pausedText } from '../../../lib/desk/views/pause.ts';
import { readPause, writePause } from '../../../lib/runtime/telemetry/pauses.ts';
import { createAudit } from '../../../lib/stage/audit.ts';
import {
  type PauseChange,
  pausedFunctions,
  pauseFunctions,
  resumeFunctions,
} from '../../../lib/stage/pause.ts';
import { localOffice } from '../desk/cli/local-office.ts';
import { eventBody, never, officesForTests } from '../desk/cli/office.ts';
import { documentsIn, typed } from '../desk/cli/typed.ts';
import { park } from '../desk/console/played.ts';

const office = localOffice({ inProcess: ['grade-push'] });
const offices = officesForTests();
const command = (line: string) => typed(`${line} --stack ${office.file} --as jane`);
/** Nothing brings messages to them, so that they are paused without waiting. */
const functions = ['enrollment-create', 'enrollment-remove'];
const paused = (names = functions) => pausedFunctions(office.target(), names);
const access = () => {
  const { dynamodb, ledgerTable: table = '' } = office.target();
  return { dynamodb, table, nowMs: Date.now };
};
const request = (name: string, more: object = {}) => {
  const target = office.target();
  const said: string[] = [];
  const audit = createAudit(target, ({ line }) => said.push(line));
  const asked = { functions: [name], known: [name], reason: 'a reason', audit, signal: never, ...more };
  return { target, asked, said };
};
const stateOf = async (name: string) => {
  const lambda = new LambdaClient(office.target().lambdaOptions ?? {});
  const list = new ListEventSourceMappingsCommand({ FunctionName: `sis-relay-local-${name}` });
  const { EventSourceMappings = [] } = await lambda.send(list);
  lambda.destroy();
  return EventSourceMappings.map(({ State }) => State);
};

let stop = Promise.withResolvers<void>();
/** A mapping that no function is behind; what it has in hand comes to its end when it is told so. */
const mapOnly = (functionName: string) => {
  stop = Promise.withResolvers<void>();
  office.stack().executions.mappings.add({
    functionName: `sis-relay-local-${functionName}`,
    queueArn: `arn:aws:sqs:us-east-1:000000000000:sis-relay-local-${functionName}`,
    batchSize: 1,
    start: () => ({ stop: () => stop.promise }),
  });
};

beforeAll(() => {
  for (const name of functions) {
    mapOnly(name);
    stop.resolve();
  }
});
afterEach(async () => {
  // Else the stack waits for it when it ends.
  stop.resolve();
  await command(`resume ${functions.join(' ')}`);
});

describe('a function that is paused', () => {
  test('gets nothing and loses nothing: what is published meanwhile waits, and is done after', async () => {
    const { sqs, description } = office.stack();
    const userIds = [901, 902, 903, 904, 905];
    await office.controls().seed({
      users: userIds.map((userId) => ({ userId, userName: `u${userId}`, firstName: 'L', lastName: 'L' })),
      enrollments: userIds.map((userId) => ({ orgUnitId: 2001, userId, roleId: 110 })),
    });
    const graded = async () =>
      ((await office.controls().state()).gradeValues ?? [])
        .map(({ userId }) => Number(userId))
        .filter((userId) => userIds.includes(userId))
        .sort();
    const stopped = await command('pause grade-push --reason "grades are recalculated"');
    expect(stopped.status).toBe(0);
    expect(stopped.out).toMatch(/^grade-push is paused: .* was Enabled and is Disabled\.$/m);
    expect(stopped.out).toMatch(/stay on the queue. SQS deletes a message 14 days after it was sent\./);
    expect(stopped.out).toMatch(/To resume: sis-relay resume grade-push --stack /m);

    const file = join(office.folder, 'grades.jsonl');
    writeFileSync(file, userIds.map((userId) => eventBody('grade-push', { userId })).join('\n'));
    expect(await command(`publish ${file} --now`)).toMatchObject({ status: 0 });
    // Whoever still polled would have them at once.
    await sleep(500);
    expect(await graded()).toEqual([]);
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: description.queues['grade-push'], AttributeNames: ['All'] }),
    );
    expect(Attributes).toMatchObject({
      ApproximateNumberOfMessages: '5',
      ApproximateNumberOfMessagesNotVisible: '0',
    });

    const resumed = await command('resume grade-push');
    expect(resumed.status).toBe(0);
    expect(resumed.out.replace(/\s+/g, ' ')).toMatch(
      /grade-push receives messages again: .* was Disabled and is Enabled\. It was paused since .* UTC by jane: grades are recalculated $/,
    );
    await expect.poll(graded, { interval: 200 }).toEqual(userIds);
    expect(await paused(['grade-push'])).toEqual([]);
  });

  test('is shown by `status` with who, since when and why, and others run on', async () => {
    const beforeMs = Date.now();
    await command('pause enrollment-create --reason "the grade book is moved"');
    const [document] = documentsIn<Status>((await command('status --json')).out);
    expect(document?.paused).toEqual([
      {
        function: 'enrollment-create',
        state: 'Disabled',
        sinceMs: expect.any(Number),
        who: 'jane',
        reason: 'the grade book is moved',
      },
    ]);
    expect(document?.paused?.[0]?.sinceMs).toBeGreaterThanOrEqual(beforeMs);
    const { out } = await command('status');
    expect(out).toMatch(/^enrollment-create .* paused$/m);
    expect(out).toMatch(/^enrollment-remove /m);
    expect(out).toMatch(
      /^✗ enrollment-create is paused \(Disabled\) since \d{4}-\d\d-\d\d \d\d:\d\d UTC by jane: the grade book is moved$/m,
    );
    // Where the stack's description lies may need a line of its own.
    expect(out).toMatch(/^To resume: sis-relay resume enrollment-create --stack\s/m);
    expect(await stateOf('enrollment-remove')).toEqual(['Enabled']);
  });

  test('is told in the plan of a replay or an edit that would send to it, with the command that resumes it', async () => {
    await park(office, [{ function: 'enrollment-create' }]);
    const plan = async () => (await command('letters replay --dry-run')).out;
    expect(await plan()).not.toMatch(/is paused/);
    await command('pause enrollment-create --reason "the grade book is moved"');
    const warning =
      /^✗ enrollment-create is paused .* by jane: the grade book is moved\nTo resume: sis-relay resume enrollment-create --stack \S+.*\nThe letters of enrollment-create would wait/m;
    expect(await plan()).toMatch(warning);
    const edit = 'letters edit --function enrollment-create --set data.roleId=111 --reason r';
    expect((await command(edit)).out).toMatch(warning);
    await command('letters discard --function enrollment-create --reason "a test" --yes');
  });

  test('is paused already for who pauses it again, and keeps who did it first and why', async () => {
    await command('pause enrollment-create --reason first');
    const again = await typed(`pause enrollment-create --reason second --as joe --stack ${office.file}`);
    expect(again.status).toBe(0);
    expect(again.out).toMatch(/^enrollment-create was paused already \(Disabled\) since .* by jane: first$/m);
    expect(again.err).toBe('');
    expect(await readPause(access(), 'enrollment-create')).toMatchObject({ who: 'jane', reason: 'first' });
  });

  test('is in the audit log, at the beginning and at the end of both', async () => {
    const { target, asked, said } = request('enrollment-create');
    await pauseFunctions(target, asked);
    const resumed = request('enrollment-create', { reason: undefined });
    await resumeFunctions(resumed.target, resumed.asked);
    expect([...said, ...resumed.said].map((line) => JSON.parse(line))).toMatchObject([
      { audit: 'begin', command: 'pause', reason: 'a reason', filter: { function: ['enrollment-create'] } },
      { audit: 'end', command: 'pause', counts: { done: 1, notYet: 0 } },
      { audit: 'begin', command: 'resume', who: 'a test' },
      { audit: 'end', command: 'resume', counts: { done: 1, notYet: 0 } },
    ]);
  });

  test('is one of several that are paused at once, and JSON tells of each', async () => {
    const { out } = await command(
      'pause enrollment-create enrollment-remove enrollment-create --reason "both" --json',
    );
    const { functions: changes } = documentsIn<{ functions: PauseChange[] }>(out).at(-1)!;
    const report = { was: 'Enabled', state: 'Disabled', done: true, who: 'jane', reason: 'both' };
    expect(changes).toMatchObject(functions.map((name) => ({ function: name, ...report })));
    expect(await paused()).toHaveLength(2);
  });
});

describe('where AWS and the record differ', () => {
  test('a function that somebody disabled on AWS is paused, though nobody knows why, until it is written down', async () => {
    await command('pause enrollment-create --reason any');
    await writePause(access(), 'enrollment-create', undefined);
    const [found] = (await paused()) ?? [];
    expect(found).toMatchObject({ function: 'enrollment-create', state: 'Disabled', who: undefined });
    expect(found && pausedText(found)).toMatch(
      /^enrollment-create is paused \(Disabled\) since .* UTC: its event-source mapping was changed on AWS, and no reason was recorded\./,
    );
    await command('pause enrollment-create --reason "now it is known"');
    expect(await paused()).toMatchObject([{ who: 'jane', reason: 'now it is known' }]);
  });

  test('a function that somebody enabled on AWS runs, and its record goes with the next resume', async () => {
    await writePause(access(), 'enrollment-create', { sinceMs: Date.now(), who: 'joe', reason: 'long ago' });
    const { out } = await command('status');
    expect(out).toMatch(/^enrollment-create .* on$/m);
    expect(out.replace(/\s+/g, ' ')).toContain(
      'by joe: long ago; but its event-source mapping is Enabled. It was changed on AWS',
    );
    const resumed = await command('resume enrollment-create');
    expect(resumed.status).toBe(0);
    expect(resumed.out).toMatch(
      /^enrollment-create is not paused \(Enabled\)\. It was paused since .* by joe/m,
    );
    expect(await paused()).toEqual([]);
  });

  test('the record alone tells where Lambda cannot be asked, and nothing is known where there is none', async () => {
    await writePause(access(), 'enrollment-create', { sinceMs: 1, who: 'joe', reason: 'unseen' });
    const target = { ...office.target(), lambdaOptions: undefined };
    expect(await pausedFunctions(target, functions)).toEqual([
      { function: 'enrollment-create', state: undefined, sinceMs: 1, who: 'joe', reason: 'unseen' },
    ]);
    const { target: bare } = await offices.open();
    expect(await pausedFunctions(bare, functions)).toBeUndefined();
  });
});

describe('what AWS takes its time for', () => {
  test('is waited for, but not for ever: what was seen last is told, and that it is not done', async () => {
    mapOnly('org-unit-move');
    const { target, asked } = request('org-unit-move', { patienceMs: 200 });
    expect(await pauseFunctions(target, asked)).toMatchObject([
      { was: 'Enabled', state: 'Disabling', done: false },
    ]);
    expect(await paused(['org-unit-move'])).toMatchObject([{ state: 'Disabling', who: 'a test' }]);
    // A second one finds it half done, and sees the end.
    const waiting = pauseFunctions(target, { ...asked, patienceMs: 300_000 });
    stop.resolve();
    expect(await waiting).toMatchObject([{ state: 'Disabled', done: true, who: 'a test' }]);
  });

  test('is let come to its end before the opposite is asked for', async () => {
    mapOnly('news-item-create');
    const { target, asked, said } = request('news-item-create', { patienceMs: 200 });
    await pauseFunctions(target, asked);
    const before = said.length;
    const waiting = resumeFunctions(target, { ...asked, patienceMs: 300_000 });
    // It writes that down after it has read the state.
    await expect.poll(() => said.length).toBeGreaterThan(before);
    stop.resolve();
    expect(await waiting).toMatchObject([{ was: 'Disabling', state: 'Enabled', done: true }]);
  });

  test('ends at Ctrl-C with what was seen', async () => {
    mapOnly('lti-link-update');
    const interrupted = new AbortController();
    const { target, asked } = request('lti-link-update', { signal: interrupted.signal });
    const pausing = pauseFunctions(target, asked);
    await expect.poll(() => stateOf('lti-link-update')).toEqual(['Disabling']);
    interrupted.abort();
    expect(await pausing).toMatchObject([{ state: 'Disabling', done: false }]);
  });
});

test('a filter that somebody gave a mapping on AWS is reported, as it deletes messages', async () => {
  const server = createServer((_, response) => {
    const EventSourceArn = 'arn:aws:sqs:us-east-1:000000000000:sis-relay-local-grade-push';
    const FilterCriteria = { Filters: [{ Pattern: '{"body":{"data":{"userId":[301]}}}' }] };
    const EventSourceMappings = [{ UUID: 'a', State: 'Enabled', EventSourceArn, FilterCriteria }];
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ EventSourceMappings }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { target } = request('grade-push');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const elsewhere = { ...target, lambdaOptions: { ...target.lambdaOptions, endpoint } };
  const [found] = (await pausedFunctions(elsewhere, ['grade-push'])) ?? [];
  expect(found).toMatchObject({ function: 'grade-push', state: 'Enabled', isFiltered: true });
  expect(found && pausedText(found)).toMatch(/^The event-source mapping of grade-push has a filter/);
  server.close();
  server.closeAllConnections();
});

describe('one sentence tells', () => {
  test('which functions there are, where there is none of that name', async () => {
    const { status: exit, err, out } = await command('pause grade-psh --reason any');
    expect([exit, out]).toEqual([2, '']);
    expect(err.replace(/\s+/g, ' ')).toMatch(
      /^There is no function with a queue named grade-psh: did you mean grade-push\? There are: .*grade-push.*, user-attributes-update\. $/,
    );
  });

  test('that a reason is needed', async () => {
    expect(await command('pause grade-push')).toMatchObject({ status: 2 });
    expect((await command('pause grade-push --reason " "')).err).toContain('It must not be empty: say why.');
    expect(await stateOf('grade-push')).toEqual(['Enabled']);
  });

  test('that this is not the account or the region of the function', async () => {
    const { status: exit, err } = await command('pause submission-upload --reason any');
    expect(exit).toBe(1);
    expect(err.replace(/\s+/g, ' ')).toBe(
      'The function sis-relay-local-submission-upload has no event-source mapping in this account and region. Check the stage, the region and the profile. ',
    );
  });

  test('the same where Lambda says that there is no such function', async () => {
    const server = createServer((_, response) => {
      response.writeHead(404, { 'x-amzn-errortype': 'ResourceNotFoundException' }).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { target, asked } = request('grade-push');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const elsewhere = { ...target, lambdaOptions: { ...target.lambdaOptions, endpoint } };
    await expect(pauseFunctions(elsewhere, asked)).rejects.toThrow(
      /^The function sis-relay-local-\S+ has no event-source mapping/,
    );
    server.close();
    server.closeAllConnections();
  });

  test('that the local stack is too old for it', async () => {
    const { lambda: _, ...older } = JSON.parse(readFileSync(office.file, 'utf8'));
    const file = join(office.folder, 'older.json');
    writeFileSync(file, JSON.stringify(older));
    const { status: exit, err } = await typed(`pause grade-push --reason any --stack ${file}`);
    expect([exit, err]).toEqual([
      1,
      'The local stack is of an older version. Stop it, and start `npm run local` again.\n',
    ]);
  });
});
