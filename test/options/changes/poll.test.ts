import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { KeptRemovals } from '../../../lib/options/changes/events.ts';
import { type PollParts, pollChanges } from '../../../lib/options/changes/poll.ts';
import { pollSettings } from '../../../lib/options/changes/poll-settings.ts';
import { Source } from '../../../lib/options/changes/source.ts';
import type { ReadSecret } from '../../../lib/platform/auth/secret-reader.ts';
import { readSettings } from '../../../lib/runtime/aws/setting.ts';
import { createObserve } from '../../../lib/runtime/telemetry/observe.ts';
import { loadIntegrations } from '../../../lib/stage/integrations.ts';
import { mapping, registration, startChanges } from './changes.ts';

let changes: Awaited<ReturnType<typeof startChanges>>;
beforeAll(async () => {
  changes = await startChanges();
});
afterAll(() => changes.close());

let sent: { queue: string; body: { id: string; [name: string]: unknown } }[] = [];
let refused: Record<string, unknown> = {};
let lines: string[] = [];
let last: string | undefined;
let refusedInARow = 0;
let overtaken = false;
const removals = new Map<string, KeptRemovals>();
beforeEach(() => {
  [sent, refused, lines, last, overtaken] = [[], {}, [], undefined, false];
  refusedInARow = 0;
  removals.clear();
});

type More = {
  settings?: Record<string, string>;
  secret?: object;
  parts?: Partial<PollParts>;
  timeMs?: number;
  pass?: string;
};

const poll = async ({ settings = {}, secret, parts = {}, timeMs = 60_000, pass }: More = {}) => {
  const { changes: source } = readSettings(pollSettings, {
    SECRET_PREFIX: 'sis',
    DEAD_LETTER_QUEUE_URL: 'https://sqs/1/sis-dead-letters',
    LEDGER_TABLE: 'ledger',
    CHANGES_BUCKET: 'files',
    CHANGES_URL: changes.url,
    CHANGES_PRIVATE: 'true',
    CHANGES_LIMIT: '3',
    CHANGES_TIMEOUT_MS: '1000',
    ...(secret && { CHANGES_SECRET: 'changes' }),
    ...settings,
  });
  const readSecret: ReadSecret = async (_name, shape) => shape.parse(secret) as never;
  const whole: PollParts = {
    source: new Source({ ...source, url: source.url ?? '' }, { readSecret }),
    place: {
      read: async () => ({ lastId: last, refused: refusedInARow }),
      move: async (from, to) => {
        if (overtaken || from !== last) return false;
        last = to.lastId;
        refusedInARow = to.refused;
        return true;
      },
    },
    readMappingFile: async () => JSON.stringify(mapping),
    keepRefused: async (id, text) => {
      refused[id] = JSON.parse(text);
    },
    removals: {
      read: async (subject) => removals.get(subject),
      keep: async (subject, kept) => void removals.set(subject, kept),
    },
    send: async (messages) =>
      void sent.push(
        ...messages.map((each) => ({ queue: each.function, body: JSON.parse(each.message.body) })),
      ),
    integrations: loadIntegrations,
    observe: createObserve({
      function: 'change-poll',
      level: 'info',
      namespace: 'n',
      write: (line) => lines.push(line),
    }),
    from: source.from,
    limit: source.limit,
    nowMs: Date.now,
    ...parts,
  };
  const summary = await pollChanges(whole, Date.now() + timeMs, { pass });
  whole.observe.flush();
  return summary;
};
const ids = () => sent.map(({ body }) => body.id);

describe('notices of changes', () => {
  test('become events, page by page, up to where there are no more', async () => {
    changes.has([7, 8, 9, 10].map((id) => registration(id)));
    expect(await poll()).toEqual({ outcome: 'done', pages: 2, sent: 4, skipped: 0, refused: 0 });
    expect(sent[0]).toEqual({
      queue: 'enrollment-create',
      body: {
        specversion: '1.0',
        id: '7',
        source: '/sis-relay/changes/section-registrations',
        type: 'sis.enrollment-create.v1',
        time: '2026-03-17T14:05:00Z',
        sequence: '00000000000000000007',
        data: { orgUnitId: 2001, userId: 303, roleId: 110 },
      },
    });
    expect([ids(), last]).toEqual([['7', '8', '9', '10'], '10']);
    expect(changes.asked.map(({ query }) => query)).toEqual([
      { limit: '3' },
      { limit: '3', lastProcessedID: '9' },
    ]);
    // Nothing new.
    expect(await poll()).toMatchObject({ outcome: 'done', pages: 0, sent: 0 });
  });

  test('have ids that are texts, in the order of the page, and parameters of other names', async () => {
    changes.has(['b/2', 'a 1', 'ü'].map((id) => registration(id)));
    const settings = { CHANGES_AFTER_PARAMETER: 'since', CHANGES_LIMIT_PARAMETER: 'max', CHANGES_FROM: 'x' };
    changes.answers((_, response) =>
      response.end(JSON.stringify(['b/2', 'a 1', 'ü'].map((id) => registration(id)))),
    );
    changes.answers((_, response) => response.end('[]'));
    expect(await poll({ settings })).toMatchObject({ outcome: 'done', sent: 3 });
    expect(sent.every(({ body }) => !('sequence' in body))).toBe(true);
    expect(changes.asked.map(({ query }) => query)).toEqual([
      { since: 'x', max: '3' },
      { since: 'ü', max: '3' },
    ]);
  });

  test('that the mapping does not name are passed by, and those that make no message are kept', async () => {
    changes.has([
      registration(1, { resource: { name: 'persons' } }),
      registration(2, { content: { section: { code: 'MATH' }, registrant: {}, status: 'registered' } }),
      registration(3, { published: 'yesterday' }),
      registration(4, { operation: 'deleted' }),
      registration(5),
    ]);
    const summary = await poll({ settings: { CHANGES_LIMIT: '10' } });
    expect(summary).toMatchObject({ outcome: 'done', sent: 2, skipped: 1, refused: 2 });
    expect(new Map(sent.map(({ queue, body }) => [queue, body.id]))).toEqual(
      new Map([
        ['enrollment-create', '5'],
        ['enrollment-remove', '4'],
      ]),
    );
    expect(Object.keys(refused)).toEqual(['2', '3']);
    expect(refused['3']).toMatchObject({
      problem: expect.stringContaining('time: must be a time'),
      notice: { id: '3', published: 'yesterday' },
    });
    expect(lines.filter((line) => line.includes('"WARN"'))).toHaveLength(2);
    expect(lines.join()).toMatch(/"ChangeNotices":\[?2/);
    expect(last).toBe('5');
  });
});

const everyNotice = {
  function: 'enrollment-create',
  data: {
    orgUnitId: 'content.section.code',
    userId: 'content.registrant.platformId',
    roleId: { value: 110 },
  },
};
/** `String` of it throws. */
const unprintable = { toString: 1, valueOf: 1 };
test.each<[string, object, object]>([
  ['a name that is no Unicode', everyNotice, { resource: { name: 'half \ud83c' } }],
  [
    'an object for its operation',
    { ...everyNotice, resource: 'section-registrations', operations: ['created'] },
    { operation: unprintable },
  ],
  [
    'an object for its status',
    { ...everyNotice, when: { 'content.status': ['registered'] } },
    { content: { status: unprintable } },
  ],
  [
    'a list of objects for its status',
    { ...everyNotice, when: { 'content.status': ['registered'] } },
    { content: { status: [unprintable] } },
  ],
  ['an object for its time', { ...everyNotice, time: 'published' }, { published: unprintable }],
])('%s stops no notice after it', async (_, message, foreign) => {
  changes.has([registration(1, foreign), registration(2)]);
  const parts = { readMappingFile: async () => JSON.stringify({ messages: [message] }) };
  expect(await poll({ parts })).toMatchObject({ outcome: 'done', pages: 1 });
  expect([ids().at(-1), last]).toEqual(['2', '2']);
});

test.each([
  ['section-registrations', true],
  ['Jane Doe has failed', false],
])('of a refused notice of %s the log tells what the mapping names: %s', async (name, isTold) => {
  changes.has([registration(1, { resource: { name }, content: {} })]);
  const named = { ...everyNotice, resource: 'section-registrations' };
  const parts = {
    readMappingFile: async () => JSON.stringify({ messages: isTold ? [named] : [everyNotice] }),
  };
  expect(await poll({ parts })).toMatchObject({ refused: 1 });
  expect(lines.join().includes(name)).toBe(isTold);
});

describe('the last id stays, and why is told, where', () => {
  const json = (value: unknown) => (_: unknown, response: import('node:http').ServerResponse) =>
    void response.end(JSON.stringify(value));
  const cases: [string, Parameters<typeof changes.answers>[0], RegExp][] = [
    ['a page is no JSON', (_, response) => void response.end('<html>'), /is not JSON/],
    ['a page is no list', json({ error: 'no' }), /is not a list of notices/],
    [
      'a page is cut off',
      (_, response) => void response.writeHead(200, { 'content-length': 9 }).end('[{}'),
      /gave no answer/,
    ],
    ['a page is an error', (_, response) => void response.writeHead(500).end('[]'), /answered with 500/],
    ['a page is missing', (_, response) => void response.writeHead(404).end('[]'), /answered with 404/],
    [
      'a page is a login',
      (_, response) => void response.writeHead(307, { location: '/login' }).end(),
      /answered with a redirect \(307\), which sis-relay does not follow/,
    ],
    [
      'a page is too large',
      (_, response) => void response.end(' '.repeat(2_000_000)),
      /more than 1000000 bytes/,
    ],
    [
      'a page does not end',
      (_, response) => {
        const timer = setInterval(() => response.write(' '), 5);
        response.on('close', () => clearInterval(timer));
      },
      /gave no answer/,
    ],
    ['no answer comes', () => {}, /gave no answer/],
    [
      'a page is compressed',
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
      /in the encoding gzip/,
    ],
    [
      'a page says something else where its encoding is to be',
      (_, response) => void response.writeHead(200, { 'content-encoding': 'for Jane Doe' }).end('x'),
      /answered in an unknown encoding/,
    ],
    ['a page is not UTF-8', (_, response) => void response.end(Buffer.from([0x22, 0xff, 0x22])), /not UTF-8/],
    ['a notice has no id', json([registration(11), {}]), /Notice 2 of the page has no valid id/],
    [
      'an id is larger than a number holds',
      (_, response) => void response.end('[{"id":9007199254740993}]'),
      /has no valid id: it must be text or a safe whole number/,
    ],
    ['ids go back', json([registration(12), registration(11)]), /The ids of the page are not in order/],
    ['ids go back behind the last one', json([registration(9)]), /The ids of the page are not in order/],
    ['ids repeat', json([registration('b'), registration('b')]), /The page repeats an id/],
    ['a page comes again', json([registration(10)]), /The page repeats an id/],
    [
      'a page has many more than were asked for',
      json(Array.from({ length: 31 }, (_, at) => registration(at + 11))),
      /has 31 notices, but at most 3 were requested/,
    ],
    [
      'a page is counted before anything is parsed',
      (_, response) => void response.end(`[${'{},'.repeat(300_000)}`),
      /has 300001 notices, but at most 3 were requested/,
    ],
  ];
  test.each(cases)('%s', async (_, answer, problem) => {
    changes.has([]);
    changes.answers(answer);
    last = '10';
    const summary = await poll({ settings: { CHANGES_MAXIMUM_BYTES: '1000000' } });
    expect(summary).toMatchObject({ outcome: 'failed', pages: 0, problem: expect.stringMatching(problem) });
    expect([last, sent, changes.asked.length]).toEqual(['10', [], 1]);
    expect(lines.join('\n')).toMatch(/"ERROR".*no more changes can be read/);
    expect(lines.join('\n')).toContain('"ChangePollsFailed":[1]');
  });

  test('SQS or the bucket does not take something', async () => {
    changes.has([registration(1, { published: '' }), registration(2)]);
    const fail = async () => {
      throw Object.assign(new Error('no'), { name: 'ServiceUnavailable', $metadata: {} });
    };
    expect(await poll({ parts: { send: fail } })).toMatchObject({ outcome: 'failed' });
    expect(await poll({ parts: { keepRefused: fail } })).toMatchObject({ outcome: 'failed' });
    expect(last).toBeUndefined();
  });

  test('another run has gone on meanwhile', async () => {
    changes.has([1, 2, 3, 4].map((id) => registration(id)));
    overtaken = true;
    expect(await poll()).toMatchObject({ outcome: 'overtaken', pages: 0 });
  });

  test.each([
    ['there is no mapping', undefined, /mapping\.json cannot be used: it does not exist/],
    [
      'the mapping is wrong',
      '{"messages":[{"function":"nothing","data":{}}]}',
      /there is no function nothing/,
    ],
  ])('%s', async (_, text, problem) => {
    changes.has([registration(1)]);
    const summary = await poll({ parts: { readMappingFile: async () => text } });
    expect(summary).toMatchObject({ outcome: 'failed', problem: expect.stringMatching(problem) });
    expect(changes.asked).toEqual([]);
  });
});

test('with little time, a page is sent, and the next one is left to the next run', async () => {
  changes.has([1, 2, 3, 4, 5].map((id) => registration(id)));
  expect(await poll({ timeMs: 15_000 })).toMatchObject({ outcome: 'done', pages: 1, sent: 3 });
  expect(await poll({ timeMs: 15_000 })).toMatchObject({ outcome: 'done', pages: 1, sent: 2 });
  expect(ids()).toEqual(['1', '2', '3', '4', '5']);
});

describe('notices of which none makes a message', () => {
  const bad = (id: number) => registration(id, { content: { status: 'registered' } });

  test('stop it where they are, and say how to go on; a single one does not', async () => {
    changes.has([bad(1)]);
    expect(await poll()).toMatchObject({ outcome: 'done', refused: 1 });
    changes.has([bad(1), bad(2), registration(3, { resource: { name: 'persons' } })]);
    const stopped = await poll();
    expect(stopped).toMatchObject({
      outcome: 'failed',
      pages: 0,
      problem: expect.stringMatching(
        /no message of 1 notices in a row.*invoke change-poll with \{"pass": "3"\}/,
      ),
    });
    expect([last, Object.keys(refused), sent]).toEqual(['1', ['1', '2'], []]);
    // The page is longer meanwhile.
    changes.has([bad(1), bad(2), registration(3, { resource: { name: 'persons' } }), bad(4)]);
    expect(await poll({ pass: '3' })).toMatchObject({ outcome: 'done' });
    expect(last).toBe('4');
  });

  test('do not stop it if one in between is sent', async () => {
    changes.has([bad(1), registration(2), bad(3)]);
    expect(await poll()).toMatchObject({ outcome: 'done', sent: 1, refused: 2 });
    changes.has([bad(1), registration(2), bad(3), bad(4)]);
    expect(await poll()).toMatchObject({ outcome: 'done', refused: 1 });
  });
});

describe('notices as an SDK of a vendor writes them', () => {
  const person = {
    credentials: [
      { type: 'bannerId', value: 'A001' },
      { type: 'login', value: 'Ada.Lee' },
    ],
  };
  const paths: Record<string, object> = {
    '/api/sections/s-1': { course: { id: 'k-1' }, number: '432' },
    '/api/courses/k-1': { code: 'BIO-101' },
    '/api/persons/p-1': person,
  };
  const answerAll = (...asked: string[]) =>
    changes.answers(
      ...asked.map(
        () =>
          (request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => {
            const found = paths[request.url ?? ''];
            response.writeHead(found ? 200 : 404).end(JSON.stringify(found ?? {}));
          },
      ),
    );
  const notice = (id: number, more: object = {}) => ({
    id,
    published: '2026-03-17 19:36:45.834467+00',
    operation: 'created',
    resource: { name: 'section-registrations', id: '0f6c1a52-58e1-4a0c-9d55-6a3d0b7e21c4' },
    content: { section: { id: 's-1' }, registrant: { id: 'p-1' } },
    ...more,
  });
  const names = {
    orgUnitCode: '{lookUp.course.code}.{lookUp.section.number}',
    userName: { from: 'lookUp.person.credentials[type=login].value', case: 'lower' },
  };
  const parts = {
    readMappingFile: async () =>
      JSON.stringify({
        lookUp: {
          section: '/api/sections/{content.section.id}',
          course: '/api/courses/{lookUp.section.course.id}',
          person: '/api/persons/{content.registrant.id}',
        },
        messages: [
          {
            function: 'enrollment-create',
            resource: 'section-registrations',
            operations: ['created'],
            data: { ...names, roleId: { value: 110 } },
            removed: { function: 'enrollment-remove', data: names },
          },
        ],
      }),
  };
  const first = (_: unknown, response: import('node:http').ServerResponse) =>
    void response.end(JSON.stringify([notice(1), notice(2)]));

  test('have ids that are looked up, each once, a time with a space and a short offset, and are deleted without content', async () => {
    changes.has([]);
    changes.answers(first);
    answerAll('section', 'course', 'person');
    expect(await poll({ parts })).toMatchObject({ outcome: 'done', sent: 2 });
    expect(sent[0]).toMatchObject({
      queue: 'enrollment-create',
      body: {
        time: '2026-03-17T19:36:45.834467Z',
        data: { orgUnitCode: 'BIO-101.432', userName: 'ada.lee', roleId: 110 },
      },
    });
    expect(
      changes.asked
        .slice(1)
        .map(({ path }) => path)
        .sort(),
    ).toEqual(Object.keys(paths).sort());
    changes.has([notice(3, { operation: 'deleted', content: undefined })]);
    expect(await poll({ parts })).toMatchObject({ outcome: 'done', sent: 1 });
    expect(sent.at(-1)).toMatchObject({
      queue: 'enrollment-remove',
      body: { id: '3', data: { orgUnitCode: 'BIO-101.432', userName: 'ada.lee' } },
    });
  });

  test('are refused if what they name is not there, or nothing is known of what is deleted', async () => {
    changes.has([]);
    changes.answers(
      (_, response) =>
        void response.end(
          JSON.stringify([
            notice(1, { content: { section: { id: 's-2' }, registrant: { id: 'p-1' } } }),
            notice(2, { operation: 'deleted', content: {} }),
          ]),
        ),
    );
    answerAll('section');
    await poll({ parts });
    expect(Object.values(refused)).toMatchObject([
      { problem: 'the source does not know what lookUp.section asks for' },
      { problem: 'says that it is deleted, without content, and no earlier notice of it made a message' },
    ]);
  });

  test('stay where they are while a look-up is not answered', async () => {
    changes.has([]);
    changes.answers(first, (_, response) => void response.writeHead(503).end());
    answerAll('person', 'section', 'course');
    expect(await poll({ parts })).toMatchObject({ outcome: 'failed', problem: expect.stringMatching(/503/) });
    expect([last, sent]).toEqual([undefined, []]);
  });
});

describe('what signs in', () => {
  test('is a header as it stands in the secret', async () => {
    changes.has([]);
    await poll({
      secret: { header: 'X-API-Key', value: 'k-1' },
      settings: { CHANGES_ACCEPT: 'application/vnd.x+json' },
    });
    expect(changes.asked[0]?.headers).toMatchObject({ 'x-api-key': 'k-1', accept: 'application/vnd.x+json' });
  });
  test.each([
    ['as it is', 'ey.to.ken'],
    ['as OAuth has it', '{"access_token":"ey.to.ken","expires_in":300}'],
  ])('is a token of short life that a key is exchanged for, told %s', async (_, told) => {
    changes.has([]);
    changes.answers(
      (_request, response) => void response.end(told),
      (_request, response) => void response.writeHead(401).end(),
      (_request, response) => void response.end(told),
    );
    const secret = { tokenUrl: changes.url.replace('changes', 'auth'), apiKey: 'k-2' };
    expect(await poll({ secret })).toMatchObject({ outcome: 'done' });
    // A token that has ended meanwhile is asked for anew, once.
    expect(changes.asked.map(({ method, path, headers }) => [method, path, headers.authorization])).toEqual([
      ['POST', '/auth', 'Bearer k-2'],
      ['GET', '/changes', 'Bearer ey.to.ken'],
      ['POST', '/auth', 'Bearer k-2'],
      ['GET', '/changes', 'Bearer ey.to.ken'],
    ]);
  });
  test.each<[string, object, RegExp]>([
    ['is refused', { header: 'X-API-Key', value: 'key-of-secret' }, /refuses the key of sis-relay \(401\)/],
    ['has wrong fields', { header: 'X-API-Key' }, /has missing or wrong fields/],
    [
      'would break its header',
      { header: 'X-API-Key', value: 'a\r\nb: key-of-secret' },
      /has missing or wrong fields/,
    ],
  ])('and %s is told without what it is', async (_, secret, problem) => {
    changes.has([]);
    const refuse = vi.fn(
      (_request: unknown, response: import('node:http').ServerResponse) => void response.writeHead(401).end(),
    );
    changes.answers(refuse, refuse);
    const { problem: told } = await poll({ secret });
    expect(told).toMatch(problem);
    expect(`${told}${lines}`).not.toContain('key-of-secret');
  });
});

describe('an address that is not public', () => {
  // By its address, and by its name.
  test.each(['https://127.0.0.1/changes', 'https://localhost/changes'])('%s is not asked', async (url) => {
    const summary = await poll({ settings: { CHANGES_URL: url, CHANGES_PRIVATE: 'false' } });
    expect(summary).toMatchObject({ outcome: 'failed', problem: expect.stringMatching(/not public/) });
  });
  test('is asked where whoever deploys says so, but for that of the container’s own credentials', async () => {
    changes.has([]);
    expect(await poll()).toMatchObject({ outcome: 'done' });
    const summary = await poll({ settings: { CHANGES_URL: 'http://169.254.169.254/latest' } });
    expect(summary.problem).toMatch(/not public \(linkLocal\)/);
  });
  test('is not asked by plain http otherwise', () => {
    expect(() =>
      readSettings(pollSettings, {
        SECRET_PREFIX: 'sis',
        DEAD_LETTER_QUEUE_URL: 'https://sqs/1/x',
        LEDGER_TABLE: 'l',
        CHANGES_BUCKET: 'b',
        CHANGES_URL: 'http://sis.example.edu/changes',
      }),
    ).toThrow('CHANGES_URL: must be https, unless CHANGES_PRIVATE is true');
  });
});
