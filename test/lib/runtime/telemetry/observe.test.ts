import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { messageIdText, ownText, safe } from '../../../../lib/message/safe-text.ts';
import {
  createObserve,
  type MessageReport,
  type ObserveOptions,
} from '../../../../lib/runtime/telemetry/observe.ts';

const report: MessageReport = {
  messageId: safe`059f36b4-87a3-44ab-83d2-661975830a7d`,
  eventId: safe`evt-1`,
  outcome: 'done',
  operation: safe`PUT /svc/api/le/1.82/2001/grades/3001/values/41`,
  status: 200,
  attempts: 1,
  replays: 0,
  durationMs: 23.456,
  platformMs: 20.04,
  requests: 2,
  ageSeconds: 1.2,
  waitedSeconds: 0.7,
  requestId: '0f6c1a52',
};

const observing = (level: ObserveOptions['level'] = 'info') => {
  const lines: string[] = [];
  const observe = createObserve({
    function: 'grade-push',
    namespace: 'sis-relay',
    level,
    write: (line) => lines.push(line),
  });
  const entries = (): Record<string, unknown>[] => lines.map((line) => JSON.parse(line));
  return {
    observe,
    lines,
    logs: () => entries().filter((entry) => !('_aws' in entry)),
    metrics: () => entries().filter((entry) => '_aws' in entry),
  };
};

describe('a log line', () => {
  test('names the invocation that wrote it', () => {
    const { observe, logs } = observing();
    observe.info(safe`before any`);
    observe.begin('c6af9ac6-7b61-11e6-9a41-93e8deadbeef');
    observe.message(report);
    observe.begin('d7b0abd7-7b61-11e6-9a41-93e8deadbeef');
    observe.warn(safe`of the next one`);
    expect(logs().map(({ invocationId }) => invocationId)).toEqual([
      undefined,
      'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
      'd7b0abd7-7b61-11e6-9a41-93e8deadbeef',
    ]);
  });

  test('tells of one message with its outcome, operation, attempts and durations', () => {
    const { observe, logs } = observing();
    observe.message({
      ...report,
      outcome: 'waiting',
      kind: 'throttled',
      reason: safe`asked to wait`,
      waitSeconds: 30,
    });
    expect(logs()).toEqual([
      {
        level: 'WARN',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        message: 'message waiting',
        function: 'grade-push',
        messageId: report.messageId,
        eventId: 'evt-1',
        outcome: 'waiting',
        kind: 'throttled',
        reason: 'asked to wait',
        operation: report.operation,
        status: 200,
        attempts: 1,
        replays: 0,
        requests: 2,
        durationMs: 23.5,
        platformMs: 20,
        waitSeconds: 30,
        ageSeconds: 1.2,
        waitedSeconds: 0.7,
        requestId: '0f6c1a52',
      },
    ]);
  });

  test('has the level of its outcome; of a success it waits for the end of the invocation', () => {
    const { observe, logs } = observing();
    observe.message(report);
    observe.message({ ...report, outcome: 'duplicate' });
    observe.message({ ...report, outcome: 'superseded' });
    expect(logs()).toEqual([]);
    observe.message({ ...report, outcome: 'waiting' });
    observe.message({ ...report, outcome: 'parked', kind: 'rejected' });
    const atOnce = [
      { level: 'WARN', outcome: 'waiting' },
      { level: 'ERROR', outcome: 'parked' },
    ];
    expect(logs()).toMatchObject(atOnce);
    observe.flush();
    const outcomes = ['done', 'duplicate', 'superseded'];
    expect(logs()).toMatchObject([...atOnce, ...outcomes.map((outcome) => ({ level: 'INFO', outcome }))]);
  });

  test.each<[ObserveOptions['level'], string[]]>([
    ['debug', ['DEBUG', 'INFO', 'WARN', 'ERROR']],
    ['error', ['ERROR']],
    ['silent', []],
  ])('is written at the level %s or above, and metrics at each but silent', (level, written) => {
    const { observe, logs, metrics } = observing(level);
    observe.call({ priority: 'normal', operation: safe`grades.put`, status: 200, durationMs: 20 });
    observe.message(report);
    observe.warn(safe`a warning`);
    observe.error(safe`an error`);
    observe.flush();
    expect(new Set(logs().map((entry) => entry.level))).toEqual(new Set(written));
    expect(logs()).toHaveLength(written.length);
    expect(metrics().length > 0).toBe(level !== 'silent');
  });

  test('is not held without end where an invocation does not end', () => {
    const { observe, lines } = observing();
    for (let at = 0; at < 100 * 60; at += 1) observe.message(report);
    expect(lines).toHaveLength(100);
  });

  test('goes to stdout by itself', async () => {
    const script = `
      import { createObserve } from './lib/runtime/telemetry/observe.ts';
      const observe = createObserve({ function: 'grade-push', namespace: 'sis-relay', level: 'info' });
      observe.message(${JSON.stringify(report)});
      observe.warn('a warning', { count: 2 });
      observe.message(${JSON.stringify(report)});
      observe.flush();`;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module-typescript', '--eval', script],
      { cwd: `${import.meta.dirname}/../../../..`, env: {} },
    );
    expect(stderr).toBe('');
    expect(stdout).toMatch(/\n$/);
    const entries = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries).toMatchObject([
      { level: 'WARN', message: 'a warning', count: 2 },
      { level: 'INFO', outcome: 'done', count: 2 },
      { Messages: [2] },
    ]);
  });
});

describe('the line of several messages', () => {
  const reported = (more: Partial<MessageReport> & { at: number }) => {
    const { at, ...rest } = more;
    return {
      ...report,
      messageId: safe`sqs-${at}`,
      eventId: safe`event-${at}`,
      durationMs: 200 + at,
      ...rest,
    };
  };

  test('says once what they share, and of each its ids and its duration', () => {
    const { observe, logs } = observing();
    observe.begin('invocation-1');
    for (let at = 0; at < 50; at += 1) observe.message(reported({ at }));
    observe.flush();
    expect(logs()).toEqual([
      {
        level: 'INFO',
        timestamp: expect.any(String),
        message: 'messages done',
        function: 'grade-push',
        invocationId: 'invocation-1',
        outcome: 'done',
        status: 200,
        attempts: 1,
        replays: 0,
        requests: 2,
        count: 50,
        messages: Array.from({ length: 50 }, (_, at) => ({
          messageId: `sqs-${at}`,
          eventId: `event-${at}`,
          durationMs: 200 + at,
        })),
      },
    ]);
  });

  test('tells of each for how long it waited for its turn, where it did, and has fewer then', () => {
    const { observe, logs } = observing();
    for (let at = 0; at < 50; at += 1) observe.message(reported({ at, turnMs: 1_000 + at }));
    observe.flush();
    expect(logs().map(({ count }) => count)).toEqual([45, 5]);
    expect(logs()[1]?.messages).toMatchObject([
      { eventId: 'event-45', durationMs: 245, turnMs: 1_045 },
      {},
      {},
      {},
      {},
    ]);
  });

  test('is only of those that fared alike; one that fared as no other did has a line with all its facts', () => {
    const { observe, logs } = observing();
    observe.message(reported({ at: 1 }));
    observe.message(reported({ at: 2, attempts: 2, requests: 3 }));
    observe.message(reported({ at: 3 }));
    observe.message(reported({ at: 4, outcome: 'superseded', reason: safe`a newer one was done` }));
    observe.flush();
    expect(logs()).toMatchObject([
      { message: 'messages done', attempts: 1, messages: [{ eventId: 'event-1' }, { eventId: 'event-3' }] },
      { message: 'message done', eventId: 'event-2', attempts: 2, requests: 3, operation: report.operation },
      { message: 'message superseded', eventId: 'event-4', reason: 'a newer one was done' },
    ]);
  });

  test('has no more fields than CloudWatch Logs Insights finds, nor more bytes than an event may have', () => {
    const { observe, logs, lines } = observing();
    const eventId = messageIdText('\u0001'.repeat(256));
    for (let at = 0; at < 250; at += 1) observe.message(reported({ at, eventId, reason: safe`why` }));
    observe.begin('invocation-1');
    observe.flush();
    expect(logs().map(({ count }) => count)).toEqual([60, 60, 60, 60, 10]);
    for (const entry of logs()) {
      const { messages, ...shared } = entry as { messages: object[] };
      const fields = messages.reduce((sum, each) => sum + Object.keys(each).length, 0);
      expect(Object.keys(shared).length + fields).toBeLessThanOrEqual(200);
    }
    expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThan(256 * 1024);
  });

  test('answers the query of the runbook, by either id, as does the line of one message', async () => {
    const runbook = await readFile(`${import.meta.dirname}/../../../../lib/desk/cli/README.md`, 'utf8');
    const query = /^fields @timestamp, [^`]*/m.exec(runbook)?.[0] ?? '';
    const asked = /^fields @timestamp, (.*)$/m.exec(query)?.[1]?.split(', ') ?? [];
    const patterns = [...query.matchAll(/parse @message \/(.*)\/$/gm)].map(([, pattern = '']) => pattern);
    expect(query).toContain('| filter @message like "<id>" and ispresent(outcome)\n');

    const { observe, lines } = observing();
    for (let at = 10; at < 60; at += 1) observe.message(reported({ at }));
    observe.message(
      reported({ at: 60, outcome: 'waiting', kind: 'throttled', reason: safe`it {asked} us`, requests: 1 }),
    );
    observe.flush();
    const answer = (id: string) =>
      lines
        .filter((line) => line.includes(id) && 'outcome' in JSON.parse(line))
        .map((line) => {
          const shown = Object.fromEntries(asked.map((name) => [name, JSON.parse(line)[name]]));
          const parsed = patterns.map((each) => new RegExp(each.replaceAll('<id>', id)).exec(line)?.groups);
          return Object.assign(shown, ...parsed);
        });
    const ids = '"messageId":"sqs-27","eventId":"event-27","durationMs":227';
    const done = { outcome: 'done', status: 200, attempts: 1, requests: 2, ids, tookMs: '227' };
    expect([answer('sqs-27'), answer('event-27')]).toEqual([[done], [done]]);
    expect(answer('event-60')).toEqual([
      expect.objectContaining({ outcome: 'waiting', kind: 'throttled', requests: 1, tookMs: '260' }),
    ]);
  });

  test('is no line of its own at the level debug, where each message has all its facts', () => {
    const { observe, logs } = observing('debug');
    for (let at = 0; at < 3; at += 1) observe.message(reported({ at }));
    observe.flush();
    expect(logs()).toMatchObject(
      [0, 1, 2].map((at) => ({ message: 'message done', eventId: `event-${at}` })),
    );
  });
});

describe('the metrics of an invocation', () => {
  test('count and time messages, letters and calls of the platform', () => {
    const { observe, metrics } = observing();
    const call = { operation: safe`grades.put`, priority: 'urgent' } as const;
    observe.call({ ...call, status: 200, durationMs: 15 });
    observe.call({ ...call, status: 429, durationMs: 25 });
    observe.call({ ...call, priority: 'bulk', durationMs: 15_000 });
    observe.slotWait('bulk', 1_500);
    observe.slotWait('bulk', 20);
    observe.slotWait('urgent', 0);
    observe.message(report);
    observe.message({ ...report, durationMs: 30, ageSeconds: 2 });
    observe.message({ ...report, outcome: 'parked', kind: 'rejected', ageSeconds: 86_400, durationMs: 9 });
    // A backlog is no failure: only the time since the first receipt tells of waiting.
    observe.message({ ...report, outcome: 'waiting', kind: 'unavailable', waitedSeconds: 0, durationMs: 8 });
    observe.flush();
    expect(metrics().flatMap(pointsOf).map(lineOf).toSorted()).toEqual(
      [
        'Letters kind=rejected: 1',
        'Letters kind=rejected,function: 1',
        'Letters responsible=producer: 1',
        'MessageAge function: 1.2, 2, 86400',
        'MessageDuration outcome=done,function: 23.456, 30',
        'MessageDuration outcome=parked,function: 9',
        'MessageDuration outcome=waiting,function: 8',
        'Messages outcome=done,kind=none,function: 2',
        'Messages outcome=parked,kind=rejected,function: 1',
        'Messages outcome=waiting,kind=unavailable,function: 1',
        'PaceCalls priority=bulk: 1',
        'PaceCalls priority=urgent: 2',
        'PaceRefused priority=urgent: 1',
        'PaceWait priority=bulk: 20, 1500',
        'PlatformAnswers status=200,function: 1',
        'PlatformAnswers status=429,function: 1',
        'PlatformAnswers status=none,function: 1',
        'PlatformLatency function: 15, 25, 15000',
        'PlatformLatency operation=grades.put,function: 15, 25, 15000',
        'WaitingAge : 0',
        'WaitingAge function: 0',
      ].toSorted(),
    );
  });

  test('count what waits until a person acts, of messages and of whatever else fails, by function and in all', () => {
    const { observe, metrics } = observing();
    observe.message({ ...report, outcome: 'waiting', kind: 'credentials' });
    observe.message({ ...report, outcome: 'parked', kind: 'credentials' });
    observe.message({ ...report, outcome: 'waiting', kind: 'throttled' });
    observe.failed('aws-refused');
    observe.failed('unavailable');
    observe.flush();
    const points = metrics().flatMap(pointsOf).map(lineOf);
    expect(points.filter((line) => line.startsWith('Refusals'))).toEqual([
      'Refusals kind=credentials,function: 2',
      'Refusals kind=credentials: 2',
      'Refusals kind=aws-refused,function: 1',
      'Refusals kind=aws-refused: 1',
    ]);
  });

  test('carry the function of the report where one process serves several', () => {
    const { observe, logs, metrics } = observing();
    observe.message({ ...report, function: safe`enrollment-create` });
    observe.flush();
    expect(logs()).toMatchObject([{ function: 'enrollment-create' }]);
    for (const { dimensions } of metrics().flatMap(pointsOf))
      expect(dimensions.function).toBe('enrollment-create');
  });

  test('go out once', () => {
    const { observe, lines } = observing('error');
    observe.message(report);
    observe.flush();
    expect(lines).toHaveLength(1);
    observe.flush();
    expect(lines).toHaveLength(1);
  });
});

describe('by contract', () => {
  const secrets = {
    signature: 'eInA7Qr4HYQn8b8x6RoMPioxftBYbRsa3oiIFCZFTgU',
    token: 'tok_9f8e7d6c5b4a39281706f5e4',
    userKey: 'uK-0123456789abcdef',
    learner: 'Ada Lovelace',
    grade: '87.25',
    comment: 'Well argued, but late',
    fileName: 'essay-final.pdf',
  };
  const signed = `https://platform.example/svc/api/lp/1.49/users/whoami?x_a=app&x_c=${secrets.signature}&x_t=1`;
  /** Objects that carry more than their type says, as a spread or a client's error would. */
  const poison = {
    data: { grade: { type: 'numeric', points: secrets.grade }, comments: secrets.comment },
    body: JSON.stringify({ points: secrets.grade }),
    headers: { authorization: `Bearer ${secrets.token}` },
    query: { x_c: secrets.signature },
    name: secrets.learner,
    files: [{ name: secrets.fileName }],
    grade: secrets.grade,
    // Listed names with what does not belong there:
    status: secrets.grade,
    attempts: { grade: secrets.grade },
    code: [secrets.grade],
  };
  const poisoned = (fields: object) => ({ ...poison, ...fields }) as never;

  const failing = Object.assign(
    new TypeError(`sending ${signed} with Bearer ${secrets.token} failed`, {
      cause: Object.assign(new Error(`{"userKey":"${secrets.userKey}"}`), { ...poison, code: 'ECONNRESET' }),
    }),
    {
      ...poison,
      name: 'TypeError',
      code: 'UND_ERR_SOCKET',
      config: { headers: { authorization: `Bearer ${secrets.token}` }, url: signed },
      input: { MessageBody: JSON.stringify(poison.data) },
      $response: { body: secrets.comment },
      $metadata: { requestId: '1' },
    },
  );

  test('neither content of a message nor a proof gets through, whatever objects are given', () => {
    const { observe, lines, logs } = observing('debug');
    observe.call(poisoned({ operation: `grades.put?x_c=${secrets.signature}`, status: 200, durationMs: 1 }));
    observe.message(
      poisoned({
        ...report,
        status: secrets.grade,
        attempts: { grade: secrets.grade },
        operation: `PUT /svc/api/le/1.82/1/grades/2/values/3?x_c=${secrets.signature}`,
        reason: `answered to Authorization: Bearer ${secrets.token}`,
        outcome: 'parked',
        kind: 'rejected',
      }),
    );
    observe.warn(
      ownText(`refused ${signed}`),
      poisoned({ secret: `prefix/service {"appKey": "${secrets.userKey}"}` }),
    );
    observe.error(ownText(`no answer of ${signed}`), poisoned({ messageId: 'm-1' }), failing);
    observe.error(safe`thrown`, poisoned({}), poison);
    observe.error(safe`thrown`, poisoned({}), `Bearer ${secrets.token} ${secrets.grade}`);
    observe.flush();
    for (const [what, secret] of Object.entries(secrets))
      expect(lines.join('\n'), what).not.toContain(secret);
    expect(logs()).toHaveLength(6);
    for (const name of ['data', 'body', 'headers', 'query', 'name', 'files', 'grade', 'code', 'attempts'])
      for (const entry of logs()) expect(entry).not.toHaveProperty(name);
  });

  test('nor through the line of several messages', () => {
    const { observe, lines, logs } = observing();
    for (const at of [1, 2])
      observe.message(
        poisoned({ ...report, reason: signed, eventId: `Bearer ${secrets.token}`, durationMs: at }),
      );
    observe.flush();
    for (const [what, secret] of Object.entries(secrets))
      expect(lines.join('\n'), what).not.toContain(secret);
    expect(logs()[0]?.messages).toEqual(
      [1, 2].map((durationMs) => ({ messageId: report.messageId, eventId: 'Bearer …', durationMs })),
    );
  });

  test('metrics carry only numbers and our own words', () => {
    const { observe, metrics } = observing();
    observe.call(poisoned({ operation: 'grades.put', status: 200, durationMs: 1 }));
    observe.message(poisoned({ ...report, outcome: 'parked', kind: 'rejected' }));
    observe.flush();
    const written = JSON.stringify(metrics());
    for (const [what, secret] of Object.entries(secrets)) expect(written, what).not.toContain(secret);
    expect(written).not.toContain(report.messageId);
  });

  test('an error is logged by name, code, message and stack, and its cause without stack', () => {
    const { observe, logs } = observing();
    observe.error(safe`the letter could not be written`, { messageId: safe`m-1` }, failing);
    expect(logs()).toEqual([
      {
        level: 'ERROR',
        timestamp: expect.any(String),
        message: 'the letter could not be written',
        function: 'grade-push',
        messageId: 'm-1',
        error: {
          name: 'TypeError',
          message: 'sending https://platform.example/svc/api/lp/1.49/users/whoami?… with Bearer … failed',
          code: 'UND_ERR_SOCKET',
          stack: expect.stringMatching(/^ {4}at .*observe\.test\.ts/),
          cause: { name: 'Error', message: '{"userKey":"…"}', code: 'ECONNRESET' },
        },
      },
    ]);
  });
});

type Point = { metric: string; dimensions: Record<string, string>; values: number[] };

/** Reads a line as CloudWatch does: one point for each metric and set of dimensions. */
const pointsOf = (entry: Record<string, unknown>): Point[] => {
  const { CloudWatchMetrics } = entry._aws as {
    CloudWatchMetrics: { Dimensions: string[][]; Metrics: { Name: string }[] }[];
  };
  return CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) =>
    Metrics.flatMap(({ Name }) =>
      Dimensions.map((set) => ({
        metric: Name,
        dimensions: Object.fromEntries(set.map((each) => [each, entry[each] as string])),
        values: [entry[Name]].flat() as number[],
      })),
    ),
  );
};

/** In one line; the function is always the same. */
const lineOf = ({ metric, dimensions: { function: name, ...others }, values }: Point): string => {
  const set = Object.entries(others).map(([key, value]) => `${key}=${value}`);
  if (name !== undefined) set.push('function');
  return `${metric} ${set.join()}: ${values.toSorted((a, b) => a - b).join(', ')}`;
};
