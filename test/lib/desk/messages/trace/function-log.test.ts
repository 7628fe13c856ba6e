import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { loggedOf } from '../../../../../lib/desk/messages/trace/function-log.ts';
import { safe } from '../../../../../lib/message/safe-text.ts';
import { createObserve } from '../../../../../lib/runtime/telemetry/observe.ts';
import type { Target } from '../../../../../lib/stage/target.ts';
import { localClient } from '../../../../local/aws/aws.ts';
import { never } from '../../cli/office.ts';

type FilterRequest = { logGroupName: string; filterPattern: string; startTime: number; nextToken?: string };

/** As CloudWatch Logs answers FilterLogEvents. */
let answer: (asked: FilterRequest) => object = () => ({ events: [] });
const asked: FilterRequest[] = [];
const server = createServer(async (request, response) => {
  const input = (await json(request)) as FilterRequest;
  asked.push(input);
  const events = answer(input);
  response
    .writeHead('__type' in events ? 400 : 200, { 'content-type': 'application/x-amz-json-1.1' })
    .end(JSON.stringify(events));
});
let folder = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(tmpdir(), 'sis-relay-log-'));
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});
afterEach(() => {
  asked.length = 0;
});

const onAws = (): Pick<Target, 'functionLog' | 'prefix'> => ({
  prefix: 'sis-relay-prod-',
  functionLog: {
    client: { ...localClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), maxAttempts: 1 },
  },
});
const read = (target: Pick<Target, 'functionLog' | 'prefix'>, ids: string[], functions = ['grade-push']) =>
  loggedOf(target as Target, { ids, functions, sinceMs: 1_000, signal: never });

/** What a function writes of these messages. */
const lines = (): string[] => {
  const written: string[] = [];
  const write = (line: string) => void written.push(line);
  const observe = createObserve({ function: 'grade-push', level: 'info', namespace: 'n', write });
  const report = { attempts: 1, replays: 0, durationMs: 5, platformMs: 3, requests: 2, status: 200 } as const;
  observe.begin('an invocation');
  observe.message({ ...report, messageId: safe`one`, eventId: safe`event-1`, outcome: 'done' });
  observe.message({ ...report, messageId: safe`two`, eventId: safe`event-2`, outcome: 'done' });
  observe.message({
    ...report,
    messageId: safe`three`,
    outcome: 'waiting',
    kind: 'unavailable',
    status: 503,
    reason: safe`The platform answered with 503`,
    operation: safe`PUT /grades`,
    waitSeconds: 30,
  });
  observe.warn(safe`what became of it could not be written`, {
    messageId: safe`three`,
    error: safe`AccessDenied`,
  });
  observe.flush();
  return written;
};

test('of a line that several messages share each is told its own part', async () => {
  answer = () => ({ events: lines().map((message) => ({ message: `${message}\n` })) });
  const { events, isWhole } = await read(onAws(), ['event-2']);
  expect(isWhole).toBe(true);
  expect(events).toEqual([
    expect.objectContaining({
      what: 'attempt',
      message: 'two',
      eventId: 'event-2',
      function: 'grade-push',
      outcome: 'done',
      status: 200,
      attempts: 1,
      requests: 2,
      durationMs: 5,
      at: expect.stringMatching(/Z$/),
    }),
  ]);
});

test('an attempt that waits is told with its reason, and a warning about the message, too', async () => {
  answer = () => ({ events: lines().map((message) => ({ message })) });
  expect((await read(onAws(), ['three'])).events).toMatchObject([
    { what: 'attempt', outcome: 'waiting', kind: 'unavailable', operation: 'PUT /grades', waitSeconds: 30 },
    { what: 'logged', error: 'warn: what became of it could not be written: AccessDenied' },
  ]);
});

test('each function’s group is asked for lines with one of the ids, page by page', async () => {
  answer = ({ nextToken }) => (nextToken === undefined ? { events: [], nextToken: 'more' } : { events: [] });
  await read(onAws(), ['one', 'event-2', 'no "id"'], ['grade-push', 'org-unit-move']);
  expect(asked).toMatchObject([
    {
      logGroupName: '/aws/lambda/sis-relay-prod-grade-push',
      filterPattern: '?"one" ?"event-2"',
      startTime: 1_000,
    },
    { logGroupName: '/aws/lambda/sis-relay-prod-grade-push', nextToken: 'more' },
    { logGroupName: '/aws/lambda/sis-relay-prod-org-unit-move' },
    { logGroupName: '/aws/lambda/sis-relay-prod-org-unit-move', nextToken: 'more' },
  ]);
});

test('many ids are asked for in patterns that CloudWatch takes', async () => {
  answer = () => ({ events: [] });
  await read(
    onAws(),
    Array.from({ length: 60 }, (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`),
  );
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.filter(({ filterPattern }) => filterPattern.length > 1_024)).toEqual([]);
});

test('a log that has no end is left, and said to be', async () => {
  answer = () => ({ events: [], nextToken: 'more' });
  expect(await read(onAws(), ['one'])).toEqual({ events: [], isWhole: false });
  expect(asked).toHaveLength(200);
});

test('a function that has never run has no log; a log that may not be read is an error', async () => {
  answer = () => ({ __type: 'ResourceNotFoundException', message: 'no group' });
  expect(await read(onAws(), ['one'])).toEqual({ events: [], isWhole: true });
  answer = () => ({ __type: 'AccessDeniedException', message: 'not yours' });
  await expect(read(onAws(), ['one'])).rejects.toMatchObject({ name: 'AccessDeniedException' });
});

test('on this machine it is a file, with each function’s name before its lines', async () => {
  const file = join(folder, 'functions.log');
  writeFileSync(
    file,
    lines()
      .map((line) => `grade-push ${line}\n`)
      .join(''),
  );
  const { events } = await read({ prefix: '', functionLog: { file } }, ['one']);
  expect(events).toMatchObject([{ what: 'attempt', message: 'one', outcome: 'done' }]);
});
