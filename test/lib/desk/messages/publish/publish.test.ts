import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { publishMessages } from '../../../../../lib/desk/messages/publish/publish.ts';
import { openMapping } from '../../../../../lib/desk/messages/publish/rows.ts';
import { versionOf } from '../../../../../lib/message/version.ts';
import { openInput } from '../../../../../lib/stage/input.ts';
import { type Integrations, loadIntegrations } from '../../../../../lib/stage/integrations.ts';
import { localClient } from '../../../../local/aws/aws.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../../temporary-folder.ts';
import { eventBody, never, type Office, officesForTests } from '../../cli/office.ts';

const offices = officesForTests();
let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(removeTemporaryFolders);
let integrations: Integrations;
beforeAll(async () => {
  integrations = await loadIntegrations();
});

let files = 0;
const fileOf = (content: string | Buffer, ending: string): string => {
  files += 1;
  const file = join(folder, `${files}${ending}`);
  writeFileSync(file, content);
  return file;
};
const publish = async (
  office: Office,
  file: string,
  options: Partial<Parameters<typeof publishMessages>[1]> = {},
) =>
  publishMessages(office.target, {
    input: await openInput(file, Readable.from([])),
    integrations,
    dryRun: false,
    validOnly: false,
    bulk: false,
    audit: office.audit,
    signal: never,
    ...options,
  });
const sentTo = async (office: Office, name = 'grade-push') =>
  (await office.take(office.queueOf(name).url)).map(({ Body = '' }) => JSON.parse(Body));

describe('a file of JSON', () => {
  test('may hold one message, a list, or an event as Lambda receives it, with or without a byte order mark', async () => {
    const office = await offices.open();
    const one = eventBody();
    await publish(office, fileOf(`\uFEFF${one}\r\n`, '.json'));
    await publish(office, fileOf(`[${eventBody()},${eventBody('enrollment-create')}]`, '.json'));
    const event = { Records: [{ messageId: 'x', body: eventBody() }] };
    await publish(office, fileOf(JSON.stringify(event), '.json'));
    expect(await sentTo(office)).toContainEqual(JSON.parse(one));
    expect(await sentTo(office, 'enrollment-create')).toHaveLength(1);
  });

  test('with what SQS would not take sends nothing, and tells each by its line', async () => {
    const office = await offices.open();
    const lines = [
      eventBody('grade-push', { comments: 'line\nand \u0000, which JSON escapes' }),
      eventBody('grade-push', { comments: 'not \uFFFE' }),
      eventBody('grade-push', {}, { extension: 'x'.repeat(1_048_576) }),
      eventBody('grade-push', {}, { extension: 'x'.repeat(1_032_192) }),
    ];
    const { sent, problems } = await publish(office, fileOf(lines.join('\n'), '.jsonl'));
    expect({ sent, problems }).toEqual({
      sent: 0,
      problems: [
        { line: 2, problem: 'holds U+FFFE, a character that SQS does not accept' },
        { line: 3, problem: 'is larger than 1 MiB, the most that SQS accepts' },
        { line: 4, problem: 'is larger than 1,032,192 bytes, the most that its queue accepts' },
      ],
    });
  });

  test('that is a large load has a mark on each message, and none else has', async () => {
    const office = await offices.open();
    const marks = async () =>
      (await office.take(office.queueOf('grade-push').url)).map(({ MessageAttributes }) => MessageAttributes);
    await publish(office, fileOf(eventBody(), '.json'), { bulk: true });
    expect(await marks()).toEqual([{ priority: { DataType: 'String', StringValue: 'bulk' } }]);
    await publish(office, fileOf(eventBody(), '.json'));
    expect(await marks()).toEqual([undefined]);
  });

  test('of lines has a message on each', async () => {
    const office = await offices.open();
    const one = eventBody('grade-push', { comments: 'of two\u2028lines' });
    const other = eventBody('enrollment-create');
    const lines = [one, '', other].join('\r\n');
    const published = await publish(office, fileOf(`\uFEFF${lines}`, '.jsonl'));
    const idOf = async (name: string) => (await office.take(office.queueOf(name).url))[0]?.MessageId;
    expect(published).toEqual({
      valid: 2,
      invalid: 0,
      skipped: 0,
      outdated: 0,
      same: 2,
      sent: 2,
      functions: { 'grade-push': 1, 'enrollment-create': 1 },
      messages: [
        { line: 1, function: 'grade-push', eventId: JSON.parse(one).id, messageId: await idOf('grade-push') },
        {
          line: 3,
          function: 'enrollment-create',
          eventId: JSON.parse(other).id,
          messageId: await idOf('enrollment-create'),
        },
      ],
      problems: [],
    });
  });

  test('may leave the envelope out where the function is given: of two about one thing the later counts', async () => {
    const office = await offices.open();
    const lines = [1, 2].map((roleId) => JSON.stringify({ orgUnitId: 2001, userId: 303, roleId })).join('\n');
    const file = fileOf(lines, '.txt');
    await publish(office, file, { function: 'enrollment-create', format: 'jsonl' });
    const first = (await sentTo(office, 'enrollment-create')).sort((a, b) => a.sequence - b.sequence);
    expect(first).toMatchObject([
      { type: 'sis.enrollment-create.v1', sequence: '1', data: { roleId: 1 } },
      { sequence: '2', data: { roleId: 2 } },
    ]);
  });
});

describe('a table', () => {
  const grades = 'orgUnitId,gradeObjectId,userId,grade.type,grade.points,grade.pass,comments';

  test('has a message a row, its cells of the types that the function wants', async () => {
    const office = await offices.open();
    const rows = [
      '2001,5001,301,numeric,0,,"Well, ""done"""',
      '2001,5002,302,pass-fail,,true,""',
      '2001,5001,303,numeric,7.5,,',
    ];
    const { sent } = await publish(office, fileOf(`\uFEFF${[grades, ...rows].join('\r\n')}\r\n`, '.csv'), {
      function: 'grade-push',
    });
    expect(sent).toBe(3);
    const data = (await sentTo(office)).map((message) => message.data).sort((a, b) => a.userId - b.userId);
    expect(data).toEqual([
      {
        orgUnitId: 2001,
        gradeObjectId: 5001,
        userId: 301,
        grade: { type: 'numeric', points: 0 },
        comments: 'Well, "done"',
      },
      {
        orgUnitId: 2001,
        gradeObjectId: 5002,
        userId: 302,
        grade: { type: 'pass-fail', pass: true },
        comments: '',
      },
      { orgUnitId: 2001, gradeObjectId: 5001, userId: 303, grade: { type: 'numeric', points: 7.5 } },
    ]);
  });

  test('counts as said when it is published, but for rows with a time, which replace nothing newer', async () => {
    const office = await offices.open();
    const rows = ['2001,5001,301,numeric,1,2026-02-01T10:00:00Z', '2001,5001,302,numeric,2,'];
    const table = `orgUnitId,gradeObjectId,userId,grade.type,grade.points,time\n${rows.join('\n')}`;
    const before = new Date().toISOString();
    await publish(office, fileOf(table, '.csv'), { function: 'grade-push' });
    const [old, now] = (await sentTo(office)).sort((one, other) => one.data.userId - other.data.userId);
    const newer: typeof old = { ...old, id: 'of this week', time: '2026-02-03T10:00:00Z' };
    expect(versionOf(old, 'grade-push') < versionOf(newer, 'grade-push')).toBe(true);
    expect(now.time >= before && now.time <= new Date().toISOString()).toBe(true);
  });

  test('with what is older than the ledger remembers says so, and is sent all the same', async () => {
    const office = await offices.open();
    const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 3_600_000).toISOString();
    const table = (id: string) =>
      `orgUnitId,gradeObjectId,userId,grade.type,grade.points,id,time\n2001,5001,301,numeric,1,${id}1,${daysAgo(35)}\n2001,5001,302,numeric,2,${id}2,${daysAgo(33)}`;
    const given = { function: 'grade-push' };
    expect(await publish(office, fileOf(table('a'), '.csv'), given)).toMatchObject({ sent: 2, outdated: 1 });
    const now = await publish(office, fileOf(table('b'), '.csv'), { ...given, now: true });
    expect(now).toMatchObject({ sent: 2, outdated: 0 });
  });

  test('may be said now as a whole: what comes later in it is the newer', async () => {
    const office = await offices.open();
    const before = new Date().toISOString();
    const [one, other] = [eventBody(), eventBody('grade-push', { comments: 'b' }, { sequence: '99' })];
    const event = { Records: [{ body: one }, { body: other }] };
    await publish(office, fileOf(JSON.stringify(event), '.json'), { now: true });
    const [first, second] = (await sentTo(office)).sort((a, b) => a.sequence - b.sequence);
    const { id } = JSON.parse(one);
    expect(first).toEqual({
      ...JSON.parse(one),
      id: expect.stringMatching(`^${id}-\\d`),
      time: expect.any(String),
      sequence: '1',
    });
    expect(second).toMatchObject({ data: { comments: 'b' }, time: first.time, sequence: '2' });
    expect(first.time >= before).toBe(true);
  });

  test('may hold lists, be divided by semicolons, and give ids and times of its own', async () => {
    const office = await offices.open();
    const header =
      'id;time;orgUnitId;folderId;userId;files.0.uri;files.0.name;files.0.contentType;files.1.uri;files.1.name;files.1.contentType';
    const row =
      'my-id;2026-02-01T10:00:00Z;2001;7001;301;s3://a-bucket/1;a.pdf;application/pdf;s3://a-bucket/2;b.pdf;application/pdf';
    await publish(office, fileOf(`${header}\n${row}\n`, '.csv'), { function: 'submission-upload' });
    const [message] = await sentTo(office, 'submission-upload');
    expect(message).toMatchObject({
      id: 'my-id',
      time: '2026-02-01T10:00:00Z',
      type: 'sis.submission-upload.v1',
    });
    expect(message.data.files.map(({ name }: { name: string }) => name)).toEqual(['a.pdf', 'b.pdf']);
  });

  test.each([
    ['bars', '|', ''],
    ['tildes that its first line names', '~', 'sep=~\r\n'],
    ['semicolons that its first line names, as a spreadsheet needs it', ';', '"sep=;"\n'],
  ])('may have its cells between %s', async (_, sign, first) => {
    const office = await offices.open();
    const row = `2001,5001,301,numeric,7.5,,"a${sign}b"`.replaceAll(',', sign);
    const table = `${first}${grades.replaceAll(',', sign)}\n${row}\n`;
    const { sent, messages } = await publish(office, fileOf(table, '.csv'), { function: 'grade-push' });
    expect({ sent, line: messages[0]?.line }).toEqual({ sent: 1, line: first === '' ? 2 : 3 });
  });

  test('has each error told by its line', async () => {
    const office = await offices.open();
    const rows = [
      '2001,5001,x,numeric,1,,',
      '2001,5001,302,numeric,"many",,',
      '2001,5001,303,numeric,1,,"two',
      'lines"',
      '2001,5001',
      '2001,5001,,numeric,1,,',
      '2001,5001,3.01E+02,numeric,0x10,,',
    ];
    const { problems, valid, sent } = await publish(office, fileOf([grades, ...rows].join('\n'), '.csv'), {
      function: 'grade-push',
    });
    expect({ valid, sent }).toEqual({ valid: 1, sent: 0 });
    expect(problems.map(({ line, problem }) => `${line} ${problem}`)).toEqual([
      '2 data.userId: must be a positive whole number',
      '3 data.grade.points: must be a number',
      '6 has 2 cells, but the header has 7',
      expect.stringMatching(/^7 data\.userId: is missing/),
      '8 data.userId: must be a positive whole number; data.grade.points: must be a number',
    ]);
  });

  test('has its lines counted as an editor counts them: empty ones too, those within a cell, and of any ending', async () => {
    const office = await offices.open();
    const rows = [
      '',
      '2001,5001,303,numeric,1,,"two\r\nlines"',
      '',
      ',,,,,,',
      '2001,5001,303,numeric,1,,Well done\n2001,5001,x,numeric,1,,',
      '',
      '2001',
    ];
    const { problems } = await publish(office, fileOf([grades, ...rows, ''].join('\r\n'), '.csv'), {
      function: 'grade-push',
    });
    expect(problems.map(({ line }) => line)).toEqual([8, 10]);
  });

  test.each([
    [
      'a column that the function does not know',
      'orgUnitId,colour\n1,red',
      /columns that grade-push does not know: colour\. It knows orgUnitId,/,
    ],
    ['a column without a name', 'orgUnitId,\n1,', /does not know: one without a name\./],
    ['a column twice', 'userId,orgUnitId,userId\n1,2,3', /has the column userId twice/],
    ['text that is not UTF-8', Buffer.from(`${grades}\n2001,5001,301,numeric,7,é`, 'latin1'), /is not UTF-8/],
    ['text that ends within a character', Buffer.from([0x61, 0xc3]), /is not UTF-8/],
    [
      'a quotation mark that does not end',
      `${grades}\n2001,5001,301,numeric,1,,\n2001,5001,302,numeric,1,,"Well done`,
      /is not CSV from line 3 on: a quotation mark is not closed/,
    ],
    [
      'a quotation mark within a cell',
      `${grades}\n2001,5001,301,numeric,1,,5" long`,
      /is not CSV from line 2 on: a quotation mark is inside a cell/,
    ],
  ])('with %s is refused as a whole', async (_, content, reason) => {
    const office = await offices.open();
    await expect(publish(office, fileOf(content, '.csv'), { function: 'grade-push' })).rejects.toThrow(
      reason,
    );
  });
});

describe('the same file again', () => {
  const twice = async (file: string, options: Partial<Parameters<typeof publishMessages>[1]>) => {
    const office = await offices.open();
    const queue = options.function ?? 'grade-push';
    const first = await publish(office, file, options);
    const [before] = await sentTo(office, queue);
    const { same } = await publish(office, file, options);
    const [after] = await sentTo(office, queue);
    expect(first).toMatchObject({ same, sent: 1 });
    return { same, before, after, isNewer: versionOf(after, queue) > versionOf(before, queue) };
  };
  const table = (columns = '', cells = '') =>
    fileOf(
      `orgUnitId,gradeObjectId,userId,grade.type,grade.points${columns}\n2001,5001,301,numeric,1${cells}`,
      '.csv',
    );

  test.each([
    ['a table', () => table(), { function: 'grade-push' }],
    [
      'data without an envelope',
      () => fileOf('{"orgUnitId":2001,"userId":303,"roleId":1}', '.json'),
      { function: 'enrollment-create' },
    ],
    [
      'a table with times of its own that is said now',
      () => table(',time', ',2026-02-01T10:00:00Z'),
      { function: 'grade-push', now: true },
    ],
    ['an event that is said now', () => fileOf(eventBody(), '.json'), { now: true }],
  ])('replaces what was sent: %s', async (_, file, options) => {
    const { same, before, after, isNewer } = await twice(file(), options);
    expect({ same, isNewer }).toEqual({ same: 0, isNewer: true });
    expect(after.id).not.toBe(before.id);
  });

  test.each([
    ['an event', () => fileOf(eventBody(), '.json'), {}],
    [
      'a row with a time of its own',
      () => table(',time', ',2026-02-01T10:00:00Z'),
      { function: 'grade-push' },
    ],
    ['a row with an id of its own', () => table(',id', ',a'), { function: 'grade-push' }],
    [
      'what creates something',
      () => fileOf('{"orgUnitId":2001,"type":"text","name":"Essay"}', '.json'),
      { function: 'grade-object-create', now: true },
    ],
  ])('is the same message, which is done once: %s', async (_, file, options) => {
    const { same, before, after } = await twice(file(), options);
    expect(same).toBe(1);
    expect(after.id).toBe(before.id);
  });
});

describe('by an operator whose clock is wrong', () => {
  /** The queues behind a server that tells the real time, as this process believes in another. */
  const atRealTime = async (office: Office) => {
    const server = createServer(async (request, response) => {
      const kept = ['x-amz-target', 'content-type', 'authorization'];
      const headers = kept.map((name): [string, string] => [name, `${request.headers[name]}`]);
      const body = Buffer.concat(await Array.fromAsync(request));
      const answer = await fetch(`${offices.url()}${request.url}`, { method: 'POST', headers, body });
      response.setHeader('date', new Date(vi.getRealSystemTime()).toUTCString());
      response.end(Buffer.from(await answer.arrayBuffer()));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const sqs = new SQSClient(localClient(url));
    onTestFinished(() => {
      sqs.destroy();
      server.close();
    });
    const { target } = office;
    const there = (queueUrl = '') => queueUrl.replace(offices.url(), url);
    return {
      ...target,
      sqs: async () => sqs,
      deadLetterQueueUrl: async () => there(await target.deadLetterQueueUrl()),
      queueUrlOf: async (name: string) => there(await target.queueUrlOf(name)),
    };
  };

  test.each([50, -150])('messages are dated by AWS’ time: %i minutes', async (minutes) => {
    const office = await offices.open();
    const target = await atRealTime(office);
    const file = fileOf(
      'orgUnitId,gradeObjectId,userId,grade.type,grade.points\n2001,5001,301,numeric,1',
      '.csv',
    );
    const beforeMs = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: beforeMs + minutes * 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    const published = await publish({ ...office, target }, file, { function: 'grade-push' });
    vi.useRealTimers();
    expect(published).toMatchObject({ sent: 1, invalid: 0 });
    const [{ time }] = await sentTo(office);
    expect(Date.parse(time)).toBeGreaterThanOrEqual(beforeMs - 1_000);
    expect(Date.parse(time)).toBeLessThanOrEqual(Date.now() + 1_000);
  });
});

describe('nothing is sent', () => {
  const mixed = () =>
    [
      eventBody(),
      eventBody('grade-push', { grade: null }),
      '{',
      '{"type":"sis.unknown.v1"}',
      '{"type":{"toString":1}}',
    ].join('\n');

  test('unless every message is valid', async () => {
    const office = await offices.open();
    const { problems, ...counts } = await publish(office, fileOf(mixed(), '.jsonl'));
    expect(counts).toEqual({
      valid: 1,
      invalid: 4,
      skipped: 0,
      sent: 0,
      messages: [],
      outdated: 0,
      same: 1,
      functions: { 'grade-push': 1 },
    });
    expect(problems).toMatchObject([
      { line: 2, problem: expect.stringMatching(/^data\.grade: .*cannot clear a grade/) },
      { line: 3, problem: 'is not JSON' },
      { line: 4, problem: expect.stringMatching(/^type: must be one of .*sis\.grade-push\.v1/) },
      { line: 5, problem: expect.stringMatching(/^type: must be one of/) },
    ]);
    expect(await sentTo(office)).toEqual([]);
    expect(office.audited).toEqual([]);
  });

  test('or only valid ones are asked for', async () => {
    const office = await offices.open();
    expect(await publish(office, fileOf(mixed(), '.jsonl'), { validOnly: true })).toMatchObject({
      invalid: 4,
      sent: 1,
    });
    expect(await sentTo(office)).toHaveLength(1);
    expect(office.audited.at(-1)).toMatchObject({
      command: 'publish',
      filter: { function: ['grade-push'] },
      counts: { sent: 1, failed: 0 },
      file: expect.stringMatching(/^[^/]+\.jsonl$/),
    });
  });

  test('where two messages have one name, also at different times: one of them would be lost', async () => {
    const office = await offices.open();
    const body = eventBody();
    const other = JSON.stringify({ ...JSON.parse(body), time: '2026-03-02T10:00:00Z' });
    const { problems } = await publish(office, fileOf(`${body}\n${other}`, '.jsonl'));
    expect(problems).toEqual([
      { line: 2, problem: 'id: line 1 has the same id, and only one message of an id takes effect' },
    ]);
  });

  test('where a function has no queue', async () => {
    const office = await offices.open();
    const data = { userId: 1, file: { uri: 's3://a-bucket/k', contentType: 'image/png' } };
    const file = fileOf(eventBody('profile-image-update', data), '.json');
    await expect(publish(office, file)).rejects.toThrow(
      /there is no queue sis-relay-\w+-profile-image-update/,
    );
  });

  test.each([
    ['no such file', () => join(folder, 'nothing.json'), {}, /There is no file/],
    ['a file of no known kind', () => fileOf('', '.xml'), {}, /Pass --format json\|jsonl\|csv/],
    ['a table of no function', () => fileOf('a,b\n1,2', '.csv'), {}, /Pass --function/],
    [
      'a function that there is not',
      () => fileOf('{}', '.json'),
      { function: 'grade-pull' },
      /There is no function grade-pull: did you mean grade-push\? There are: /,
    ],
    [
      'a file that is not JSON',
      () => fileOf('{}{}', '.json'),
      {},
      /is not JSON \(its first fault is in line \d+, column \d+\)\. Correct it there/,
    ],
    [
      'a file of lines',
      () => fileOf('{}\n{}', '.json'),
      {},
      /holds more than one message, each on its line: pass --format jsonl/,
    ],
  ])('of %s', async (_, file, options, reason) => {
    const office = await offices.open();
    await expect(publish(office, file(), options)).rejects.toThrow(reason);
  });
});

test('messages that SQS does not take are told by their line', async () => {
  const office = await offices.open();
  const name = office.queueOf('grade-push').url.split('/').at(-1);
  await office.fault({ action: 'SendMessageBatch', name, failedEntries: 1 });
  const { sent, problems } = await publish(office, fileOf([eventBody(), eventBody()].join('\n'), '.jsonl'));
  await office.clearFaults();
  expect({ sent, problems }).toEqual({
    sent: 1,
    problems: [{ line: 1, problem: 'SQS refused it: InternalError' }],
  });
});

describe('a table with columns of its own', () => {
  const enroll = {
    function: 'enrollment-create',
    when: { STATUS: ['active'] },
    time: 'CHANGED',
    data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { from: 'ROLE', values: { S: 110 } } },
  };
  const mark = {
    function: 'grade-push',
    when: { GRADED: ['yes'] },
    data: {
      orgUnitCode: 'COURSE',
      userName: 'LOGIN',
      gradeObjectName: { value: 'Start' },
      'grade.type': { value: 'numeric' },
      'grade.points': 'POINTS',
    },
  };
  const mappingOf = (...messages: object[]) =>
    openMapping(fileOf(JSON.stringify({ messages }), '.json'), integrations);
  const header = 'COURSE,LOGIN,ROLE,STATUS,GRADED,POINTS,CHANGED,NOTE';

  test('becomes messages of several functions by a mapping', async () => {
    const office = await offices.open();
    const rows = [
      'MATH-101,007,S,active,yes,17.5,2026-11-20T08:00:00Z,x',
      'MATH-101,ann,S,gone,no,,,',
      'MATH-101,bob,S,active,no,,,',
    ];
    const mapping = await mappingOf(enroll, mark);
    const file = fileOf([header, ...rows].join('\r\n'), '.csv');
    expect(await publish(office, file, { mapping, dryRun: true })).toMatchObject({ valid: 3, sent: 0 });
    const published = await publish(office, file, { mapping });
    expect(published).toMatchObject({
      valid: 3,
      invalid: 0,
      skipped: 1,
      sent: 3,
      problems: [],
      functions: { 'enrollment-create': 2, 'grade-push': 1 },
    });
    const enrolled = await sentTo(office, 'enrollment-create');
    expect(enrolled).toMatchObject([
      {
        type: 'sis.enrollment-create.v1',
        time: '2026-11-20T08:00:00Z',
        sequence: '2',
        data: { orgUnitCode: 'MATH-101', userName: '007', roleId: 110 },
      },
      { sequence: '4', data: { userName: 'bob' } },
    ]);
    const graded = await sentTo(office);
    expect(graded).toMatchObject([{ data: { userName: '007', grade: { type: 'numeric', points: 17.5 } } }]);
    expect(new Set([...enrolled, ...graded].map(({ id }) => id)).size).toBe(3);
    // A row with a time of its own is the same message again; by a mapping that was corrected it is another.
    await publish(office, file, { mapping });
    expect((await sentTo(office, 'enrollment-create')).map(({ id }) => id)).toEqual([
      enrolled[0].id,
      expect.not.stringMatching(enrolled[1].id),
    ]);
    await publish(office, file, {
      mapping: await mappingOf({ ...enroll, data: { ...enroll.data } }, mark, mark),
    });
    expect((await sentTo(office, 'enrollment-create')).map(({ id }) => id)).not.toContain(enrolled[0]?.id);
  });

  test('has its shifted rows told as a comparison does, and sends none of them', async () => {
    const office = await offices.open();
    const rows = ['A-1,Ann,ann,S,', 'A-1,Lee, Bob,bob,S,', 'A-1,cy', '', 'A-1,Di,di,S,,'];
    const { sent, problems } = await publish(
      office,
      fileOf(['COURSE,NAME,LOGIN,ROLE,NOTE', ...rows].join('\n'), '.csv'),
      { mapping: await mappingOf({ ...enroll, when: undefined, time: undefined }) },
    );
    expect({ sent, problems }).toEqual({
      sent: 0,
      problems: [
        {
          line: 3,
          problem:
            'has 6 cells, and other rows have fewer: a separator may be inside a cell, which must then be quoted',
        },
        { line: 4, problem: 'has 2 cells, but the header has 5' },
      ],
    });
  });

  test('is told by line and column where it is wrong', async () => {
    const office = await offices.open();
    const rows = ['MATH-101,007,T,active,no,,,', 'MATH-101, x,S,active,yes,many,yesterday,'];
    const { sent, problems } = await publish(office, fileOf([header, ...rows].join('\n'), '.csv'), {
      mapping: await mappingOf(enroll, mark),
    });
    expect({ sent, problems }).toEqual({
      sent: 0,
      problems: [
        {
          line: 2,
          problem:
            'ROLE: has the value "T", which the mapping does not name. Add it to messages[0].data.roleId.values, or give a default there',
        },
        {
          line: 3,
          problem: expect.stringMatching(/^LOGIN: must be one line, .* \(data\.userName\)$/),
        },
        { line: 3, problem: expect.stringMatching(/^LOGIN: must be one line/) },
      ],
    });
    const late = await publish(office, fileOf(`${header}\nMATH-101,7,S,active,yes,many,yesterday,`, '.csv'), {
      mapping: await mappingOf(enroll, mark),
    });
    expect(late.problems).toEqual([
      { line: 2, problem: 'CHANGED: must be a time such as 2026-01-31T09:30:00Z (time)' },
      { line: 2, problem: expect.stringMatching(/^POINTS: must be a number \(data\.grade\.points\)$/) },
    ]);
  });

  test.each([
    [
      'lacks a column',
      'COURSE,LOGIN\n',
      {},
      /has no column STATUS \(which messages\[0\]\.when reads\), ROLE/,
    ],
    ['has a column twice', `${header},ROLE\n`, {}, /has the column ROLE twice/],
    ['is also for one function', header, { function: 'grade-push' }, /Pass --map or --function, not both/],
    ['is no table', header, { format: 'jsonl' as const }, /only for the rows of a CSV file, not for jsonl/],
  ])('is refused where it %s', async (_, content, options, sentence) => {
    const office = await offices.open();
    const mapping = await mappingOf(enroll);
    await expect(publish(office, fileOf(content, '.csv'), { mapping, ...options })).rejects.toThrow(sentence);
  });

  test('is refused where its mapping is wrong, which names all that is', async () => {
    await expect(mappingOf({ ...enroll, function: 'enrol', what: 1 })).rejects.toThrow(
      /is not a valid mapping file:\n {2}messages\[0\]\.what: is not a known field$/,
    );
    await expect(openMapping('none.json', integrations)).rejects.toThrow('There is no file none.json.');
  });
});
