import { describe, expect, test } from 'vitest';
import {
  type DoneChange,
  emptyItem,
  type FieldState,
  type Lock,
  type OpenChange,
  type ResourceState,
  shortId,
  withCrash,
} from '../../../../lib/delivery/ledger/item.ts';
import {
  type Judgement,
  judge,
  type LedgerMessage,
  type RowName,
  rowFor,
  rows,
} from '../../../../lib/delivery/ledger/judge.ts';
import { outdatedAfterDays } from '../../../../lib/message/retention.ts';
import { identityDigest, shortVersion, versionOf } from '../../../../lib/message/version.ts';

const second = 1_000;
const day = 24 * 3_600 * second;
const nowMs = Date.UTC(2026, 2, 1, 12);

/** The version of message N of the SIS, which happened in minute N. */
const at = (minute: number, id = `${minute}`): string =>
  versionOf(
    { id, source: '/sis', time: new Date(nowMs - day + minute * 60_000).toISOString(), sequence: undefined },
    'try-out',
  );

const done = (minute: number, more: Partial<DoneChange> = {}): DoneChange => ({
  version: at(minute),
  messageId: `sqs ${minute}`,
  begunMs: nowMs - 3_600 * second,
  ...more,
});
const open = (minute: number, more: Partial<OpenChange> = {}): OpenChange => ({
  version: at(minute),
  messageId: `sqs ${minute}`,
  replays: 0,
  sinceMs: nowMs - 600 * second,
  begunMs: nowMs - 600 * second,
  crashes: 0,
  acceptedMs: 0,
  isNonRepeatable: false,
  isParked: false,
  ...more,
});
const itemWith = (whole: FieldState, more: Partial<ResourceState> = {}): ResourceState => ({
  ...emptyItem,
  lockId: 'before',
  fields: { whole },
  ...more,
});
const lockOf = (minute: number, more: Partial<Lock> = {}): Lock => ({
  id: 'before',
  holder: shortId(`sqs ${minute}`),
  replays: 0,
  version: shortVersion(at(minute)),
  fields: ['whole'],
  ...more,
});
const entryOf = (minute: number, more: Partial<LedgerMessage> = {}): LedgerMessage => ({
  resource: 'try-out/1',
  fields: ['whole'],
  version: at(minute),
  timeMs: nowMs - day,
  messageId: `sqs ${minute}`,
  replays: 0,
  decidedMs: undefined,
  repeatable: true,
  digests: {},
  ...more,
});

/** Another SQS message of the same event. */
const copy = { messageId: 'sqs copy' };
const replay = { messageId: 'sqs replay', replays: 1 };
/** Of a letter that asked somebody to look, just now. */
const decided = { ...replay, decidedMs: nowMs };
const old = { timeMs: nowMs - 35 * day };
const oldestKnown = { timeMs: nowMs - outdatedAfterDays * day };
const nonRepeatable = { repeatable: false };
const running = { lock: lockOf(9), busyUntilMs: nowMs + 60 * second };
const free: RowName = 'nothing is in its way';
const grace = { busyUntilMs: nowMs + 60 * second, busyField: 'whole' };

/** What is known of the resource, what is special about message 2, and the word for what becomes of it. */
type Example = [what: string, item: ResourceState, message: Partial<LedgerMessage>, expected: string];

/** Each row of the judge's table with examples, at its borders. */
const examples: Record<RowName, Example[]> = {
  'newer messages have done all of it': [
    ['a newer one was done', itemWith({ done: done(3) }), {}, 'superseded'],
    ['while another attempt is running', itemWith({ done: done(3) }, running), {}, 'superseded'],
    ['though a still newer one is open', itemWith({ done: done(3), open: open(4) }), {}, 'superseded'],
    ['however often it is replayed', itemWith({ done: done(3) }), decided, 'superseded'],
    ['though it was begun', itemWith({ done: done(3), open: open(2) }), {}, 'superseded'],
    ['though it is old', itemWith({ done: done(3) }), old, 'superseded'],
    [
      'and it comes again with a later time',
      itemWith({ done: done(3) }, { recentMessages: { '': [identityDigest(at(3)), identityDigest(at(2))] } }),
      { version: at(5, '2') },
      'superseded',
    ],
  ],
  'it was done, or newer messages have done the rest': [
    ['it was done', itemWith({ done: done(2) }), {}, 'duplicate'],
    ['another SQS message has done it', itemWith({ done: done(2) }), copy, 'duplicate of sqs 2'],
    ['it is replayed', itemWith({ done: done(2) }), decided, 'duplicate of sqs 2'],
    ['it gives another time', itemWith({ done: done(2) }), { version: at(7, '2') }, 'duplicate'],
    ['while another attempt is running', itemWith({ done: done(2) }, running), {}, 'duplicate'],
    ['it must not be sent twice', itemWith({ done: done(2) }), nonRepeatable, 'duplicate'],
    [
      'a newer one has done a part',
      itemWith({}, { fields: { grade: { done: done(2) }, comments: { done: done(3) } } }),
      { fields: ['grade', 'comments'] },
      'duplicate',
    ],
  ],
  'a newer change has no outcome': [
    ['a newer one is open', itemWith({ open: open(3) }), {}, 'newer 1800'],
    ['it is a letter', itemWith({ open: open(3, { isParked: true }) }), {}, 'newer 1800'],
    ['its function died', withCrash(itemWith({}, { lock: lockOf(3) })), {}, 'newer 1800'],
    [
      'its function died, and what was done was done before both',
      withCrash(
        itemWith(
          { done: done(1), open: open(2) },
          {
            lock: lockOf(3),
            recentMessages: { '': [identityDigest(at(2)), identityDigest(at(1))] },
          },
        ),
      ),
      {},
      'newer 1800',
    ],
    [
      'of the same time, its function died',
      withCrash(itemWith({}, { lock: { ...lockOf(3), version: shortVersion(at(2, '1')) } })),
      {},
      'newer 1800',
    ],
    [
      'in one of its fields',
      itemWith({}, { fields: { grade: {}, comments: { open: open(3) } } }),
      { fields: ['grade', 'comments'] },
      'newer 1800',
    ],
    [
      'a person decided before it was begun',
      itemWith({ open: open(3) }),
      { ...decided, decidedMs: nowMs - 700 * second },
      'newer 1800',
    ],
    [
      'a person decided while its call could still act',
      itemWith({ open: open(3) }, { busyUntilMs: nowMs + 1 }),
      decided,
      'newer 1800',
    ],
  ],
  'another SQS message of its event has no outcome': [
    ['one is open', itemWith({ open: open(2) }), copy, 'copy 1800'],
    ['its function died', withCrash(itemWith({}, { lock: lockOf(2) })), copy, 'copy 1800'],
    ['a replay is open', itemWith({ open: open(2, replay) }), {}, 'copy 1800'],
  ],
  'it is older than the memory, and nothing is known': [
    ['nothing is known', emptyItem, { timeMs: oldestKnown.timeMs - 1 }, 'outdated'],
    [
      'nothing is known of one of its fields',
      itemWith({}, { fields: { grade: { done: done(1) } } }),
      { ...old, fields: ['grade', 'comments'] },
      'outdated',
    ],
  ],
  'an attempt is running, or may still act': [
    ['another is running', itemWith({}, running), {}, 'busy 60'],
    ['it is running itself', itemWith({}, { ...running, lock: lockOf(2) }), {}, 'busy 60'],
    ['a call of an older one may act', itemWith({ open: open(1) }, grace), {}, 'busy 60'],
    ['a call may act whose outcome is known', itemWith({ done: done(1) }, grace), {}, 'busy 60'],
    [
      'another is running, though only its own call may act',
      itemWith({ open: open(2) }, { ...running, busyField: 'whole' }),
      {},
      'busy 60',
    ],
    [
      'its own call may act, and must not be sent twice',
      itemWith({ open: open(2, { isNonRepeatable: true }) }, grace),
      nonRepeatable,
      'busy 60',
    ],
  ],
  'it could hide a creation that has no outcome': [
    [
      'a creation is open',
      itemWith({}, { fields: { 'created/1': { open: open(1, { isNonRepeatable: true }) } } }),
      {},
      'look 1800',
    ],
  ],
  'the function crashed on it too often': [
    ['three times', itemWith({ open: open(2, { crashes: 3 }) }), {}, 'crashed'],
    [
      'the third time just now',
      withCrash(itemWith({ open: open(2, { crashes: 2 }) }, { lock: lockOf(2) })),
      {},
      'crashed',
    ],
    [
      'another SQS message of it, which is a letter',
      itemWith({ open: open(2, { crashes: 3, isParked: true }) }),
      copy,
      'crashed',
    ],
    ['its replay', itemWith({ open: open(2, { ...replay, crashes: 3 }) }), replay, 'crashed'],
  ],
  'the function crashed on it': [
    ['once', withCrash(itemWith({}, { lock: lockOf(2) })), {}, 'isolate 1'],
    ['twice', itemWith({ open: open(2, { crashes: 2 }) }), {}, 'isolate 2'],
  ],
  'an attempt of it has no outcome, and it must not be sent twice': [
    [
      'its call got no answer',
      itemWith({ open: open(2, { isNonRepeatable: true }) }),
      nonRepeatable,
      'look for it',
    ],
    [
      'its letter is replayed',
      itemWith({ open: open(2, { isParked: true }) }),
      { ...nonRepeatable, ...replay },
      'look for it',
    ],
    [
      'it is a letter, and comes again',
      itemWith({ open: open(2, { isParked: true }) }),
      { ...nonRepeatable, ...copy },
      'look for it',
    ],
    [
      'a person has looked',
      itemWith({ open: open(2) }),
      { ...nonRepeatable, ...decided },
      'look for it, decided',
    ],
    [
      'a person has looked as soon as no call could act',
      itemWith({ open: open(2) }, { busyUntilMs: nowMs }),
      { ...nonRepeatable, ...decided },
      'look for it, decided',
    ],
    [
      'a person has looked, and its replay was begun since',
      itemWith({ open: open(2, replay) }),
      { ...nonRepeatable, ...decided },
      'look for it',
    ],
    [
      'a person has looked too early',
      itemWith({ open: open(2) }, { busyUntilMs: nowMs - 1 }),
      { ...nonRepeatable, ...decided, decidedMs: nowMs - 2 },
      'look for it',
    ],
    [
      'SQS’ redrive has looked at nothing',
      itemWith({ open: open(2) }),
      { ...nonRepeatable, ...replay },
      'look for it',
    ],
  ],
  [free]: [
    ['nothing is known', emptyItem, {}, 'send'],
    ['nothing is known, and it must not be sent twice', emptyItem, nonRepeatable, 'send'],
    ['an older one was done', itemWith({ done: done(1) }), {}, 'send'],
    ['an older one was done, and it is old', itemWith({ done: done(1) }), old, 'send'],
    ['nothing is known, and it is as old as the memory', emptyItem, oldestKnown, 'send'],
    ['an older one is open', itemWith({ open: open(1) }), {}, 'send'],
    ['an older one is open, and it is old', itemWith({ open: open(1) }), old, 'send'],
    ['its own call got no answer', itemWith({ open: open(2) }), {}, 'send'],
    [
      'its own call may still act: the same twice does no harm',
      itemWith({ open: open(2) }, grace),
      {},
      'send',
    ],
    ['it is a letter, and comes again', itemWith({ open: open(2, { isParked: true }) }), copy, 'send'],
    ['its replay is a new life', itemWith({ open: open(2, { crashes: 3 }) }), replay, 'send'],
    [
      'a person has put it over a newer letter',
      itemWith({ open: open(3, { isParked: true }) }),
      decided,
      'send',
    ],
    ['a person has looked, and it is old', emptyItem, { ...old, ...decided }, 'send'],
    [
      'a creation is a letter',
      itemWith({}, { fields: { 'created/1': { open: open(1, { isNonRepeatable: true, isParked: true }) } } }),
      {},
      'send',
    ],
    [
      'another creation is open',
      itemWith({}, { fields: { 'created/1': { open: open(1, { isNonRepeatable: true }) } } }),
      { ...nonRepeatable, fields: ['created/2'] },
      'send',
    ],
  ],
};

/** What becomes of it, in a word. */
const wordFor = (judgement: Judgement): string => {
  if (judgement.kind === 'wait') return `${judgement.why} ${judgement.seconds}`;
  if (judgement.kind === 'isolate') return `isolate ${judgement.crashes}`;
  if (judgement.kind === 'duplicate') return judgement.of ? `duplicate of ${judgement.of}` : 'duplicate';
  if (judgement.kind !== 'send' || !judgement.unresolved) return judgement.kind;
  return judgement.unresolved.decided ? 'look for it, decided' : 'look for it';
};

describe.each(Object.keys(rows) as RowName[])('%s', (row) => {
  test.each(examples[row])('%s', (_, item, message, expected) => {
    const input = { item, entry: entryOf(2, message), nowMs, isolated: false };
    expect([rowFor(input), wordFor(judge(input))]).toEqual([row, expected]);
  });
});

describe('a message on which the function died', () => {
  test('goes on alone', () => {
    const item = itemWith({ open: open(2, { crashes: 2 }) });
    expect(judge({ item, entry: entryOf(2), nowMs, isolated: true })).toMatchObject({ kind: 'send' });
  });

  test('is open in the fields that it gave, and in no other', () => {
    const fields = { grade: { done: done(1) }, comments: { done: done(1) } };
    const died = withCrash(itemWith({}, { fields, lock: lockOf(2, { fields: ['grade'] }) }));
    expect(died.fields.comments).toEqual({ done: done(1) });
    expect(died.fields.grade).toMatchObject({ done: done(1), open: { crashes: 1 } });
  });

  test.each([
    ['done before', { done: done(2) }],
    ['superseded before', { done: done(3) }],
  ])('is not open if it was %s: its function died before it gave the lock back', (_, whole) => {
    expect(withCrash(itemWith(whole, { lock: lockOf(2) })).fields.whole).toEqual(whole);
  });

  test('keeps what is known of its earlier attempts', () => {
    const before = open(2, { acceptedMs: 7, refusal: '{}', isNonRepeatable: true, crashes: 1 });
    expect(withCrash(itemWith({ open: before }, { lock: lockOf(2) })).fields.whole?.open).toEqual({
      ...before,
      messageId: shortId('sqs 2'),
      crashes: 2,
    });
  });
});

describe('what is sent', () => {
  test('is what no newer message has done, all of it together', () => {
    const fields = { grade: { done: done(3) }, comments: { done: done(1) } };
    const entry = entryOf(2, { fields: ['grade', 'comments', 'privateComments'] });
    const judgement = judge({ item: itemWith({}, { fields }), entry, nowMs, isolated: false });
    expect(judgement).toMatchObject({ kind: 'send', fields: ['comments', 'privateComments'] });
  });

  test('is no part that it has done before', () => {
    const fields = { grade: { done: done(2) }, comments: { done: done(1) } };
    const entry = entryOf(2, { fields: ['grade', 'comments'] });
    const judgement = judge({ item: itemWith({}, { fields }), entry, nowMs, isolated: false });
    expect(judgement).toMatchObject({ kind: 'send', fields: ['comments'] });
  });

  test.each([
    ['the platform has not accepted it', 0, {}, false],
    ['the platform has accepted it', 1, {}, true],
    ['the platform has accepted it, and a person has looked since', 1, decided, false],
  ])('is looked up, and %s', (_, acceptedMs, message, acceptedUnverified) => {
    const item = itemWith({ open: open(2, { acceptedMs }) });
    const entry = entryOf(2, { ...nonRepeatable, ...message });
    expect(judge({ item, entry, nowMs, isolated: false })).toMatchObject({
      unresolved: { acceptedUnverified },
    });
  });

  test('has the time that the message gave first', () => {
    const entry = entryOf(2, { version: at(9, '2') });
    const item = itemWith({ open: open(2) });
    expect(judge({ item, entry, nowMs, isolated: false })).toMatchObject({ version: at(2) });
  });

  test('is looked up with what others have begun since', () => {
    const sinceMs = nowMs - 600 * second;
    const fields = {
      whole: { open: open(2, { acceptedMs: 1, refusal: '{"status":500}' }) },
      'object/1/Name': { done: done(1, { begunMs: sinceMs + 1 }) },
      'object/2/Name': { done: done(1, { begunMs: sinceMs }) },
      'object/3/Name': { open: open(3, { begunMs: sinceMs + 1 }) },
    };
    const entry = entryOf(2, nonRepeatable);
    expect(judge({ item: itemWith({}, { fields }), entry, nowMs, isolated: false })).toMatchObject({
      unresolved: {
        sinceMs,
        acceptedUnverified: true,
        decided: false,
        refusal: '{"status":500}',
        changedSince: ['object/1/Name', 'object/3/Name'],
      },
    });
  });
});
