import {
  DeleteMessageCommand,
  type Message,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { handlerOf } from '../../../../lib/delivery/handle/handler.ts';
import type { Integration, IntegrationContext } from '../../../../lib/delivery/handle/integration.ts';
import { createQueues, type Delay, type Queues } from '../../../../lib/delivery/handle/queues.ts';
import { createServices, type Services } from '../../../../lib/delivery/handle/services.ts';
import type { LedgerMessage } from '../../../../lib/delivery/ledger/judge.ts';
import type { Ledger, Verdict } from '../../../../lib/delivery/ledger/ledger.ts';
import { type DeadLetter, letterOf } from '../../../../lib/delivery/letters/dead-letter.ts';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import { isRetried } from '../../../../lib/message/failure-kinds.ts';
import { ownText, safe } from '../../../../lib/message/safe-text.ts';
import type { CallContext } from '../../../../lib/platform/client/call.ts';
import type { Platform } from '../../../../lib/platform/client/client.ts';
import { acknowledged, type Operation } from '../../../../lib/platform/client/operation.ts';
import { parseRefusal } from '../../../../lib/platform/client/parse-refusal.ts';
import { PlatformError, type RefusedCall } from '../../../../lib/platform/client/platform-error.ts';
import type { RateLimiter } from '../../../../lib/platform/rate-limit/rate-limiter.ts';
import { readSettings } from '../../../../lib/runtime/aws/setting.ts';
import { messageSettings } from '../../../../lib/runtime/aws/settings.ts';
import { createObserve } from '../../../../lib/runtime/telemetry/observe.ts';
import { queuesAndFilesForTests } from '../../../local/aws/for-tests.ts';
import { attemptsIn } from '../../../local/scenarios/play.ts';
import { runs } from '../../../seed.ts';
import { freeTurn, unpaced } from '../../platform/rate-limit/unpaced.ts';
import { limitsForTests, servicesForTests } from './services-for-tests.ts';

const second = 1_000;
const hour = 3_600 * second;

const putThing = acknowledged({
  name: 'put-thing',
  call: 'PUT /le/things/{id}',
  scope: undefined,
  repeatable: true,
});

type Data = { say: string };
type Run = (say: string, context: IntegrationContext) => Promise<unknown>;

const integrationOf = (run: Run, more: Partial<Integration<Data>> = {}): Integration<Data> => ({
  name: 'try-out',
  data: z.strictObject({ say: z.string() }),
  resource: ({ say }) => `try-out/${say}`,
  changes: ['try-out'],
  operations: [putThing],
  repeatable: true,
  run: ({ say }, context) => run(say, context),
  ...more,
});

const bodyOf = (say: unknown, more: object = {}): string =>
  JSON.stringify({
    specversion: '1.0',
    id: `event-${say}`,
    source: 'https://sis.example.edu',
    type: 'sis.try-out.v1',
    time: '2026-01-31T09:30:00Z',
    data: { say },
    ...more,
  });

const contextWith = (remainingMs: number): Context =>
  ({ getRemainingTimeInMillis: () => remainingMs }) as Context;
const plentyOfTime = contextWith(60 * second);

const limits = limitsForTests({ reserveMs: 5 * second, maxUnknownIdWaitMs: 24 * hour });

/** What went through queues that take everything. */
const fakeQueues = (more: Partial<Queues> = {}) => {
  const letters: DeadLetter[] = [];
  const delays: Delay[] = [];
  const queues: Queues = {
    writeLetter: async (letter) => void letters.push(letter),
    delay: async (some) => void delays.push(...some),
    ...more,
  };
  return { letters, delays, queues };
};

/** A world whose platform answers 200 to everything, and whose lines of log are kept. */
const worldWith = (more: Partial<Services>) => {
  const lines: string[] = [];
  const attempts: CallContext[] = [];
  const services = servicesForTests({
    platform: {
      for: (attempt) => {
        attempts.push(attempt);
        const call: Platform['call'] = async <Answer>({ name, method }: Operation<Answer>) => {
          const said = safe`${method} /svc/api/le/1.82/things/1`;
          attempt.onCall({
            operation: ownText(name),
            call: said,
            status: 200,
            durationMs: 12,
            mayHaveActed: true,
            priority: 'normal',
          });
          return undefined as Answer;
        };
        return { call } as Platform;
      },
    },
    queues: fakeQueues().queues,
    observe: createObserve({
      function: 'try-out',
      namespace: 'sis-relay',
      level: 'info',
      write: (line) => lines.push(line),
    }),
    limits,
    ...more,
  });
  const logged = () => lines.map((line) => JSON.parse(line));
  return {
    services,
    lines,
    attempts,
    /** What the log tells of each message. */
    reports: () => lines.flatMap(attemptsIn),
    logged,
  };
};

const recordOf = (body: string, more: Partial<SQSRecord> = {}): SQSRecord => ({
  messageId: `id of ${body}`,
  receiptHandle: `handle of ${body}`,
  body,
  attributes: {
    ApproximateReceiveCount: '1',
    SentTimestamp: String(Date.now() - 2 * second),
    SenderId: 'sis',
    ApproximateFirstReceiveTimestamp: String(Date.now()),
  },
  messageAttributes: {},
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: 'arn:aws:sqs:eu-west-1:123456789012:sis-relay-try-out',
  awsRegion: 'eu-west-1',
  ...more,
});

const failedIds = ({ batchItemFailures }: SQSBatchResponse) =>
  batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);

const refusedBy = (refused: RefusedCall) =>
  new PlatformError({
    operation: putThing,
    call: safe`PUT /svc/api/le/1.82/things/1`,
    message: safe`answered with ${refused.status}`,
    refused,
    sent: true,
  });

const throwing =
  (error: unknown): Run =>
  async () => {
    throw error;
  };

/** Handles one message, in a world that keeps what comes of it. */
const handleOne = async (
  run: Run,
  { record = {}, ...more }: Partial<Services> & { record?: Partial<SQSRecord> } = {},
) => {
  const fakes = fakeQueues();
  const world = worldWith({ queues: fakes.queues, ...more });
  const event = { Records: [recordOf(bodyOf('hello'), record)] };
  const response = await handlerOf(integrationOf(run), () => world.services)(event, plentyOfTime);
  return { ...fakes, ...world, response };
};

describe('a batch', () => {
  const runsByName: Record<string, Run> = {
    done: async (_, { platform }) => platform.call(putThing),
    rejected: throwing(refusedBy({ status: 404, type: 'not-found', title: 'Not Found' })),
    throttled: throwing(refusedBy({ status: 429, retryAfterSeconds: 7 })),
    unavailable: throwing(refusedBy({ status: 503 })),
    credentials: throwing(refusedBy({ status: 401 })),
    defect: throwing(undefined),
    invalid: throwing(new MessageFailure('invalid', safe`a file is not what it says`)),
  };
  const run: Run = (say, context) => runsByName[say.split(' ')[0]!]!(say, context);
  const waits = (fate: string) => isRetried(fate);
  const parks = (fate: string) => fate === 'malformed' || (fate !== 'done' && !waits(fate));

  test('brings each of its messages to the end that it would have alone, whatever the others are', async () => {
    const anyFate = fc.constantFrom(...Object.keys(runsByName), 'malformed');
    await fc.assert(
      fc.asyncProperty(fc.array(anyFate, { maxLength: 30 }), async (given) => {
        const fakes = fakeQueues();
        const { services, reports } = worldWith({ queues: fakes.queues });
        const bodies = given.map((fate, at) =>
          fate === 'malformed' ? `{"say":${at}` : bodyOf(`${fate} ${at}`),
        );
        const records = bodies.map((body, at) =>
          recordOf(body, { messageId: `m${at}`, receiptHandle: `r${at}` }),
        );
        const answer = await handlerOf(integrationOf(run), () => services)(
          { Records: records },
          plentyOfTime,
        );
        const those = (is: (fate: string) => boolean) => given.flatMap((fate, at) => (is(fate) ? [at] : []));
        expect(failedIds(answer)).toEqual(those(waits).map((at) => `m${at}`));
        expect(fakes.delays.map(({ receiptHandle }) => receiptHandle)).toEqual(
          those(waits).map((at) => `r${at}`),
        );
        expect(fakes.letters.map(({ body }) => body).sort()).toEqual(
          those(parks)
            .map((at) => bodies[at])
            .sort(),
        );
        expect(reports()).toHaveLength(given.length);
      }),
      { numRuns: runs(100) },
    );
  });

  test('handles its messages at the same time', async () => {
    const { promise: lastBegan, resolve } = Promise.withResolvers<void>();
    const waitForLast: Run = async (say) => (say === 'last' ? resolve() : lastBegan);
    const { services, reports } = worldWith({});
    const event = { Records: ['first', 'second', 'last'].map((say) => recordOf(bodyOf(say))) };
    await handlerOf(integrationOf(waitForLast), () => services)(event, plentyOfTime);
    expect(reports().map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done']);
  });

  test('ends with those on which the function has died most often, and among them with the longest', async () => {
    const died: Record<string, number> = { often: 2, once: 1, 'once, and long': 1, 'has no text': 1 };
    const story: string[] = [];
    const isReceipt = ({ resource }: Pick<LedgerMessage, 'resource'>) => resource.startsWith('receipt/');
    const ledger: Ledger = {
      lateEffectMs: 0,
      take: async (entry, { isolated }) => {
        const crashes = died[entry.messageId] ?? 0;
        if (isReceipt(entry) && crashes > 0 && !isolated) return { kind: 'isolate', crashes: crashes };
        if (isReceipt(entry)) story.push(`${entry.messageId} begins`);
        return { kind: 'send', fields: [], entry } as unknown as Verdict;
      },
      settle: async ({ entry }) => {
        if (isReceipt(entry)) story.push(`${entry.messageId} ended`);
        return true;
      },
    };
    const { services } = worldWith({
      queues: fakeQueues({ writeLetter: async ({ letterId }) => void story.push(`${letterId} is parked`) })
        .queues,
      ledger,
    });
    const attributes = {
      ...recordOf('').attributes,
      ApproximateReceiveCount: '2',
      ApproximateFirstReceiveTimestamp: String(Date.now() - limits.visibilityMs),
    };
    const Records = ['often', 'once, and long', 'once', 'has no text', 'never'].map((messageId) => ({
      ...recordOf(bodyOf(messageId), { messageId, attributes }),
      ...(messageId === 'has no text' && { body: undefined as unknown as string }),
    }));
    const run: Run = async (say) => void story.push(say);
    await handlerOf(integrationOf(run), () => services)({ Records }, plentyOfTime);
    expect(story).toEqual([
      'never begins',
      'never',
      'never ended',
      'has no text begins',
      'has no text is parked',
      'has no text ended',
      'once begins',
      'once',
      'once ended',
      'once, and long begins',
      'once, and long',
      'once, and long ended',
      'often begins',
      'often',
      'often ended',
    ]);
  });

  test('of which none can finish in the time left is not started, and comes back at once', async () => {
    const began: string[] = [];
    const batch = async (remainingMs: number) => {
      const { queues, delays, letters } = fakeQueues();
      const { services, reports, logged } = worldWith({ queues, nowMs: () => 1_800_000_000_000 });
      const event = { Records: [recordOf(bodyOf('a')), recordOf('malformed')] };
      const handler = handlerOf(
        integrationOf(async (say) => void began.push(say)),
        () => services,
      );
      return { response: await handler(event, contextWith(remainingMs)), delays, letters, reports, logged };
    };
    const late = await batch(limits.attemptTimeoutMs + limits.reserveMs - 1);
    expect(began).toEqual([]);
    expect(failedIds(late.response)).toHaveLength(2);
    expect(late.delays.map(({ seconds }) => seconds)).toEqual([1, 1]);
    expect(late.letters).toEqual([]);
    const waiting = { outcome: 'waiting', requests: 0, reason: expect.stringContaining('time was left') };
    expect(late.reports()).toMatchObject([waiting, waiting]);
    expect(late.logged()[0]).toMatchObject({
      level: 'ERROR',
      message: expect.stringContaining('raise its timeout'),
      remainingMs: limits.attemptTimeoutMs + limits.reserveMs - 1,
    });
    const inTime = await batch(limits.attemptTimeoutMs + limits.reserveMs);
    expect(began).toEqual(['a']);
    expect(failedIds(inTime.response)).toEqual([]);
    expect(inTime.letters).toHaveLength(1);
    expect(JSON.stringify(inTime.logged())).not.toContain('raise its timeout');
  });
});

describe('a message that is not valid', () => {
  test('reaches neither the platform nor a file, and its letter names the field', async () => {
    const { letters, reports, response, attempts, lines } = await handleOne(throwing(new Error('was run')), {
      record: { body: bodyOf(['geheim'], { id: 'e' }) },
    });
    expect(response).toEqual({ batchItemFailures: [] });
    expect(attempts).toEqual([]);
    const reason = 'The message is not valid: data.say: expected string, received array';
    expect(letters.map(({ failure }) => failure)).toMatchObject([{ kind: 'invalid', message: reason }]);
    expect(reports()).toMatchObject([{ outcome: 'parked', kind: 'invalid', reason, requests: 0 }]);
    expect(lines.join('\n')).not.toContain('geheim');
  });

  test.each<[string, string, string | undefined]>([
    ['the field that is wrong is another one', bodyOf('a', { time: 'yesterday' }), 'event-a'],
    ['it has nothing else', '{"id":"alone"}', 'alone'],
    ['it is empty', bodyOf('a', { id: '' }), undefined],
    ['it is longer than an id may be', bodyOf('a', { id: 'x'.repeat(257) }), undefined],
    ['it is no text', bodyOf('a', { id: { name: 'geheim' } }), undefined],
    ['the body is not JSON', '{"id":"event-a"', undefined],
  ])('is told by its id wherever that can be read: %s', async (_, body, eventId) => {
    const { reports } = await handleOne(throwing(new Error('was run')), { record: { body } });
    expect(reports().map((report: { eventId?: string }) => report.eventId)).toEqual([eventId]);
  });
});

test('what comes of a message is told of its invocation, and to the incidents, which are written before that ends', async () => {
  const written: unknown[][] = [];
  const heard: unknown[] = [];
  const incidents = {
    record: (fate: object) => void heard.push(fate),
    write: async () => void written.push([...heard]),
  };
  const { services, reports } = worldWith({ incidents });
  const run = throwing(new MessageFailure('rejected', safe`no`));
  const context = { ...plentyOfTime, awsRequestId: 'invocation-1' };
  await handlerOf(integrationOf(run), () => services)({ Records: [recordOf(bodyOf('a'))] }, context);
  expect(reports()).toMatchObject([{ invocationId: 'invocation-1' }]);
  expect(reports()[0]!.durationMs).toBeLessThan(60 * second);
  expect(written).toMatchObject([[{ outcome: 'parked', failure: { kind: 'rejected' } }]]);
});

describe('what an integration throws', () => {
  const itsOwnCause = new Error('geheim');
  itsOwnCause.cause = itsOwnCause;
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['an object', { kind: 'invalid', message: 'geheim' }],
    ['an error that is its own cause', itsOwnCause],
  ])('is a defect, parked and logged as such: %s', async (_, error) => {
    const { letters, response, logged, reports } = await handleOne(throwing(error));
    expect(response).toEqual({ batchItemFailures: [] });
    expect(letters).toHaveLength(1);
    expect(letters[0]?.failure).toMatchObject({ kind: 'defect', attempts: 1 });
    expect(JSON.stringify(letters[0]?.failure)).not.toContain('geheim');
    expect(reports()).toMatchObject([{ outcome: 'parked', kind: 'defect' }]);
    const { messageId } = recordOf(bodyOf('hello'));
    expect(logged()).toContainEqual(expect.objectContaining({ message: 'a defect of sis-relay', messageId }));
  });

  const broken = (): never => {
    throw new Error('x');
  };
  test.each<[string, Partial<Integration<Data>>]>([
    ['actor', { actor: broken }],
    ['run', { run: broken }],
    ['data', { data: z.strictObject({ say: z.string().transform(broken) }) }],
  ])('before it is asked to run is a defect as well: %s', async (_, more) => {
    const { letters, queues } = fakeQueues();
    const { services } = worldWith({ queues });
    const handler = handlerOf(
      integrationOf(async () => undefined, more),
      () => services,
    );
    expect(await handler({ Records: [recordOf(bodyOf('a'))] }, plentyOfTime)).toEqual({
      batchItemFailures: [],
    });
    expect(letters.map(({ failure }) => failure?.kind)).toEqual(['defect']);
  });

  test('is told in the log without the words of the platform, which may repeat the message', async () => {
    const { lines, letters } = await handleOne(
      throwing(
        refusedBy({ status: 400, title: 'JSON Binding Error', detail: 'Provided JSON is invalid: geheim' }),
      ),
    );
    expect(lines.join('\n')).toContain('JSON Binding Error');
    expect(lines.join('\n')).not.toContain('geheim');
    expect(letters[0]?.failure?.detail).toContain('geheim');
  });

  test.each([
    ['Jane Doe', undefined, ''],
    ['JANE DOE IS ABSENT', undefined, ''],
    ['Яна Новакова', undefined, ''],
    ['Not Found', undefined, ' Not Found'],
    ['Jane Doe', 'a:b:c', ': it requires a:b:c'],
    ['Jane Doe', 'Jane', ''],
  ])('is told in the log without a title that is no known one: %s, %s', async (title, required, told) => {
    const body = bodyOf('Dear Jane Doe, nothing was not found', { id: 'e-1' });
    const missing = required === undefined ? {} : { missing: 'scope' as const, required };
    const status = required === undefined ? 400 : 403;
    const { lines, reports, letters } = await handleOne(
      throwing(refusedBy({ status, title, detail: 'x', ...missing })),
      { record: { body } },
    );
    expect(reports()).toMatchObject([
      { reason: expect.stringMatching(new RegExp(` with ${status}${told}$`)) },
    ]);
    expect(lines.join('\n')).not.toMatch(/Jane|JANE|王小明|Новакова/);
    expect(letters[0]?.failure?.title).toBe(title);
  });

  test.each([
    'Rejected: Jane Doe',
    'REJECTED: JANE DOE IS ABSENT',
    `Rejected: the argument comments with the value ${'Jane Doe '.repeat(20)}`,
    'Яна Новакова',
    '8.5 points of user 3',
  ])('is told in the log without the title of a page: %j', async (title) => {
    const refused = parseRefusal({
      status: 403,
      headers: { 'content-type': 'text/html' },
      text: `<html><head><title>${title}</title></head><body>x</body></html>`,
    });
    const { reports, letters } = await handleOne(throwing(refusedBy(refused)));
    const reason = expect.stringMatching(
      /^Something in front of the platform’s API answered .*: 403 text\/html$/,
    );
    expect(reports()).toMatchObject([{ outcome: 'parked', kind: 'intercepted', reason }]);
    expect(letters[0]?.failure?.title).toBe(refused.title);
  });
});

describe('the line of a message', () => {
  const always = [
    'level',
    'timestamp',
    'message',
    'function',
    'messageId',
    'outcome',
    'attempts',
    'replays',
    'requests',
    'durationMs',
    'platformMs',
    'ageSeconds',
    'waitedSeconds',
  ];
  const keys = (line: object) => Object.keys(line).sort();

  test('that is done tells how, how long and how old', async () => {
    const call: Run = async (_, { platform }) => {
      await platform.call(putThing);
      await platform.call(putThing);
    };
    const { reports } = await handleOne(call);
    expect(keys(reports()[0]!)).toEqual([...always, 'eventId', 'operation', 'status'].sort());
    expect(reports()).toMatchObject([
      {
        level: 'INFO',
        message: 'message done',
        function: 'try-out',
        messageId: recordOf(bodyOf('hello')).messageId,
        eventId: 'event-hello',
        operation: 'PUT /svc/api/le/1.82/things/1',
        status: 200,
        attempts: 1,
        replays: 0,
        requests: 2,
        platformMs: 24,
        ageSeconds: 2,
        waitedSeconds: 0,
      },
    ]);
  });

  test('does not count the wait for its turn as its duration, and tells of it beside', async () => {
    let nowMs = Date.parse('2026-03-01T09:00:00Z');
    const heard: unknown[] = [];
    const { services, logged } = worldWith({
      nowMs: () => nowMs,
      callUsage: {
        record: (calls) => void heard.push(...calls),
        write: async () => void heard.push('written'),
      },
    });
    const requestSlot: RateLimiter['requestSlot'] = (priority, _untilMs, settle) => {
      const go = () => settle({ slot: freeTurn });
      if (priority !== 'bulk') go();
      else
        setImmediate(() => {
          nowMs += 7 * second;
          go();
        });
      return () => {};
    };
    const platform = { ...services.platform, rateLimiter: { ...unpaced, requestSlot } };
    const run: Run = async (_say, { platform: called }) => {
      await called.call(putThing, { path: { id: 1 } });
      nowMs += 250;
    };
    const marked = { priority: { dataType: 'String', stringValue: 'bulk' } };
    for (const messageAttributes of [marked, {}] as SQSRecord['messageAttributes'][])
      await handlerOf(integrationOf(run), () => ({ ...services, platform }))(
        { Records: [recordOf(bodyOf('a'), { messageAttributes })] },
        plentyOfTime,
      );
    const lines = logged().filter(({ outcome, _aws }) => outcome && !_aws);
    expect(lines).toMatchObject([{ durationMs: 250, turnMs: 7_000 }, { durationMs: 250 }]);
    expect(lines[1]).not.toHaveProperty('turnMs');
    const metrics = logged().filter((line) => '_aws' in line);
    expect(metrics.flatMap(({ PaceWait = [] }) => PaceWait)).toEqual([7_000]);
    expect(metrics.flatMap(({ MessageDuration = [] }) => MessageDuration)).toEqual([250, 250]);
    expect(heard).toEqual([
      expect.objectContaining({ status: 200 }),
      'written',
      expect.anything(),
      'written',
    ]);
  });
});

describe('a handler', () => {
  test('never throws, whatever is in its event', async () => {
    const odd = fc.oneof(
      fc.string(),
      fc.constant(undefined),
      fc.constant(null),
      fc.integer(),
      fc.jsonValue(),
    );
    const record = fc.record(
      {
        messageId: fc.string(),
        receiptHandle: fc.string(),
        body: odd,
        attributes: fc.oneof(
          fc.constant(undefined),
          fc.record({ SentTimestamp: odd, ApproximateReceiveCount: odd }),
        ),
        messageAttributes: fc.oneof(
          fc.constant(undefined),
          fc.dictionary(
            fc.constantFrom('replays', 'trace', '__proto__'),
            fc.record({ dataType: fc.string(), stringValue: odd as fc.Arbitrary<string> }),
          ),
        ),
        eventSourceARN: odd,
      },
      { requiredKeys: ['messageId'] },
    );
    // What JSON can hold, and what throws where a text or a number is asked of it.
    const objection = { toString: 1 };
    const unaskable = {
      messageId: 'm',
      body: objection,
      attributes: { SentTimestamp: objection, ApproximateReceiveCount: objection },
      messageAttributes: { replays: { dataType: 'Number', stringValue: objection as unknown as string } },
      eventSourceARN: objection,
    };
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 5 }), fc.boolean(), async (Records, parks) => {
        const refuse = { writeLetter: () => Promise.reject(new Error('no letter today')) };
        const { services } = worldWith({ queues: fakeQueues(parks ? {} : refuse).queues });
        const event = { Records } as unknown as SQSEvent;
        const response = await handlerOf(
          integrationOf(async () => undefined),
          () => services,
        )(event, plentyOfTime);
        expect(failedIds(response)).toEqual(parks ? [] : Records.map(({ messageId }) => messageId));
      }),
      { numRuns: runs(300), examples: [[[unaskable], true]] },
    );
  });

  const usable = {
    PLATFORM_URL: 'https://platform.example.edu',
    SECRET_PREFIX: 'sis-relay/test',
    QUEUE_URL: 'https://sqs.example/1/a',
    DEAD_LETTER_QUEUE_URL: 'https://sqs.example/1/b',
  };

  test('throws where its environment is unusable, each time, and names every setting that is missing or wrong', async () => {
    for (const name of Object.keys(usable)) vi.stubEnv(name, '');
    vi.stubEnv('WAIT_MINIMUM_SECONDS', 'soon');
    vi.stubEnv('FILE_HOSTS', 'https://files.example.edu/');
    try {
      const handler = handlerOf(integrationOf(async () => undefined));
      for (const _ of [1, 2])
        await expect(handler({ Records: [] }, plentyOfTime)).rejects.toThrow(
          /PLATFORM_URL is missing; .*QUEUE_URL is missing; .*FILE_HOSTS: .*WAIT_MINIMUM_SECONDS: /,
        );
      for (const [name, value] of Object.entries({ ...usable, WAIT_MINIMUM_SECONDS: '5', FILE_HOSTS: '' }))
        vi.stubEnv(name, value);
      vi.stubEnv('AWS_REGION', 'eu-west-1');
      vi.stubEnv('LOG_LEVEL', 'silent');
      expect(await handler({ Records: [] }, plentyOfTime)).toEqual({ batchItemFailures: [] });
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('asks for its services once an invocation, and is ready for services that are made anew', async () => {
    const settings = readSettings(messageSettings, { ...usable, LOG_LEVEL: 'silent' });
    const made: Services[] = [];
    const handler = handlerOf(
      integrationOf(async () => undefined),
      () => {
        const services = createServices('try-out', settings);
        made.push(services);
        return services;
      },
    );
    await handler({ Records: [recordOf(bodyOf('a')), recordOf(bodyOf('b'))] }, plentyOfTime);
    expect(made).toHaveLength(1);
    await made[0]?.platform.close();
  });
});

describe('through SQS', () => {
  const { sqs, fault, clearFaults, createQueue } = queuesAndFilesForTests();
  let queue: { url: string; arn: string };
  let letters: { url: string; arn: string };
  let made = 0;

  beforeEach(async () => {
    made += 1;
    queue = await createQueue(`sis-relay-try-out-${made}`);
    letters = await createQueue(`sis-relay-dead-letters-${made}`);
  });

  const send = (body: string, attributes?: Record<string, MessageAttributeValue>) =>
    sqs.send(
      new SendMessageCommand({ QueueUrl: queue.url, MessageBody: body, MessageAttributes: attributes }),
    );
  const receive = async (url: string): Promise<Message[]> => {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ['All'],
        MessageSystemAttributeNames: ['All'],
      }),
    );
    return Messages;
  };
  const parked = async () => (await receive(letters.url)).map(letterOf);

  const asRecord = (message: Message): SQSRecord =>
    recordOf(message.Body ?? '', {
      messageId: message.MessageId!,
      receiptHandle: message.ReceiptHandle!,
      attributes: message.Attributes as unknown as SQSRecord['attributes'],
      messageAttributes: Object.fromEntries(
        Object.entries(message.MessageAttributes ?? {}).map(([name, value]) => [
          name,
          {
            dataType: value.DataType as 'String',
            ...(value.StringValue && { stringValue: value.StringValue }),
            ...(value.BinaryValue && { binaryValue: Buffer.from(value.BinaryValue).toString('base64') }),
            stringListValues: [],
            binaryListValues: [],
          },
        ]),
      ),
      eventSourceARN: queue.arn,
    });

  /** One poll of the event-source mapping: what the function does not report is deleted. */
  const poll = async (run: Run) => {
    const world = worldWith({
      queues: createQueues({
        sqs: async () => sqs,
        queueUrl: queue.url,
        deadLetterQueueUrl: letters.url,
        warn: () => undefined,
      }),
    });
    const records = (await receive(queue.url)).map(asRecord);
    const response = await handlerOf(integrationOf(run), () => world.services)(
      { Records: records },
      plentyOfTime,
    );
    const failed = new Set(failedIds(response));
    for (const { messageId, receiptHandle } of records)
      if (!failed.has(messageId))
        await sqs.send(new DeleteMessageCommand({ QueueUrl: queue.url, ReceiptHandle: receiptHandle }));
    return { ...world, records, failed };
  };

  test('a letter has the body byte for byte, what the message carried, and the whole story', async () => {
    const body = `\t${bodyOf('ä😀\u2028')}\r\n `;
    const carried: Record<string, MessageAttributeValue> = {
      trace: { DataType: 'String.w3c', StringValue: '00-ä😀' },
      weight: { DataType: 'Number', StringValue: '1.50' },
      picture: { DataType: 'Binary.png', BinaryValue: Uint8Array.from([0, 255, 128]) },
    };
    await send(body, { ...carried, replays: { DataType: 'Number', StringValue: '2' } });
    const refused = { status: 400, type: 'json-binding-error', title: 'JSON Binding Error', detail: 'no' };
    const { records } = await poll(throwing(refusedBy({ ...refused, requestId: '0f6c1a52' })));
    const { ApproximateFirstReceiveTimestamp } = records[0]!.attributes;
    expect(await parked()).toEqual([
      {
        body,
        source: queue.arn,
        replays: 2,
        letterId: records[0]!.messageId,
        attributes: carried,
        failure: {
          ...refused,
          kind: 'rejected',
          message: 'The platform answered PUT /svc/api/le/1.82/things/1 with 400 JSON Binding Error',
          remedy: expect.stringContaining('replay'),
          operation: 'PUT /svc/api/le/1.82/things/1',
          requestId: '0f6c1a52',
          function: 'try-out',
          attempts: 1,
          firstAt: new Date(Number(ApproximateFirstReceiveTimestamp)).toISOString(),
          lastAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        },
      },
    ]);
    expect(await receive(queue.url)).toEqual([]);
  });

  test('a message whose letter cannot be written stays on its queue, as waiting, until one can be', async () => {
    await send(bodyOf('a'));
    await fault({ action: 'SendMessage', reset: true });
    const run = throwing(refusedBy({ status: 404, type: 'not-found', title: 'Not Found' }));
    const { failed, reports, records } = await poll(run);
    expect([...failed]).toEqual(records.map(({ messageId }) => messageId));
    const reason = expect.stringMatching(
      /^No letter could be written for this failure: .* with 404 Not Found\. AWS did not answer/,
    );
    expect(reports()).toMatchObject([{ outcome: 'waiting', kind: 'unavailable', reason }]);
    expect(reports()[0]!.waitSeconds).toBeGreaterThanOrEqual(5);
    expect(await parked()).toEqual([]);

    await clearFaults();
    await showAgain(records);
    expect((await poll(run)).failed.size).toBe(0);
    expect((await parked()).map(({ failure }) => failure?.attempts)).toEqual([2]);
    expect(await receive(queue.url)).toEqual([]);
  });

  /** As if the time of the messages were over. */
  const showAgain = async (records: SQSRecord[]) =>
    createQueues({
      sqs: async () => sqs,
      queueUrl: queue.url,
      deadLetterQueueUrl: '',
      warn: () => undefined,
    }).delay(records.map(({ messageId, receiptHandle }) => ({ messageId, receiptHandle, seconds: 0 })));

  test('a message of 1 MiB is parked like any other', async () => {
    const empty = bodyOf('a', { extension: '' });
    const body = bodyOf('a', { extension: 'x'.repeat(1024 ** 2 - empty.length) });
    await send(body);
    const { failed } = await poll(throwing(refusedBy({ status: 404 })));
    expect(failed.size).toBe(0);
    const [letter] = await parked();
    expect(letter?.body === body).toBe(true);
  });
});
