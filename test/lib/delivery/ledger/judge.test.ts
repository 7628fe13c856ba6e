import { describe, expect, test } from 'vitest';
import { identityDigest, thingIn } from '../../../../lib/delivery/ledger/identity.ts';
import {
  type Entry,
  isOutdated,
  type Judgement,
  judge,
  lapsedFields,
  presumedDone,
} from '../../../../lib/delivery/ledger/rules.ts';
import type { Field, Item } from '../../../../lib/delivery/ledger/table.ts';

const second = 1_000;
const day = 24 * 3_600 * second;
const nowMs = Date.UTC(2026, 2, 1, 12);
const hiddenMs = 3_420 * second;
const leaseMs = 50 * second;
const graceMs = 60 * second;

const fieldOf = (version: string, more: Partial<Field> = {}): Field => ({
  ...{ version, messageId: `sqs ${version}`, outcome: 'claimed', replays: 0, crashes: 0, acceptedMs: 0 },
  ...{ claimedMs: nowMs, attemptedMs: nowMs },
  ...more,
});

/** As the ledger leaves it when the field was claimed so many seconds ago, and ended so. */
const itemOf = (
  version: string,
  outcome: Field['outcome'],
  { ago = 0, ...more }: Partial<Field> & { ago?: number } = {},
): Item => {
  const claimedMs = nowMs - ago * second;
  const isOpen = outcome === 'claimed';
  const actsMs = outcome === 'unknown' ? claimedMs + graceMs : 0;
  return {
    claimId: 'claim',
    leaseMs: isOpen ? claimedMs + leaseMs : 0,
    graceEndsMs: isOpen ? claimedMs + leaseMs + graceMs : actsMs,
    last: 'whole',
    ...{ heldMs: 0, seen: {} },
    fields: { whole: fieldOf(version, { claimedMs, attemptedMs: claimedMs, outcome, ...more }) },
  };
};

const nothing: Item = {
  ...{ claimId: '', leaseMs: 0, graceEndsMs: 0, heldMs: 0, last: '', fields: {}, seen: {} },
};

const entryOf = (version: string, more: Partial<Entry> = {}): Entry => ({
  ...{ resource: 'try-out/1', fields: ['whole'], version, timeMs: nowMs - day, messageId: `sqs ${version}` },
  ...{ replays: 0, decidedMs: undefined, repeatable: true, digests: {} },
  ...more,
});

const judged = (item: Item, entry: Entry, isolated = false): Judgement =>
  judge(item, entry, { nowMs, isolated, hiddenMs });

/** What is to be done, in a word. */
const told = (judgement: Judgement): string => {
  if (judgement.kind === 'wait') return `${judgement.why} ${judgement.seconds}`;
  return judgement.kind === 'send' && judgement.unresolved ? 'look' : judgement.kind;
};

const once = { repeatable: false };
/** Another SQS message of the same event. */
const copy = { messageId: 'sqs copy' };
const replay = { messageId: 'sqs replay', replays: 1 };
/** Of a letter that asked somebody to look, just now. */
const decided = { ...replay, decidedMs: nowMs };
const old = { timeMs: nowMs - 35 * day };

type Row = [what: string, item: Item, message: Partial<Entry>, expected: string];

describe('what becomes of message 2, by what is known of its resource', () => {
  test.each<Row>([
    ['nothing is known', nothing, {}, 'send'],
    ['nothing is known of what must not be sent twice', nothing, once, 'send'],

    ['an older one was done', itemOf('1', 'done'), {}, 'send'],
    ['an older one was undone', itemOf('1', 'undone'), {}, 'send'],
    ['an older one is at work, or was done: nothing tells', itemOf('1', 'claimed'), {}, 'busy 110'],
    [
      'the lease of an older one is over, what it sent may still act',
      itemOf('1', 'claimed', { ago: 60 }),
      {},
      'busy 50',
    ],
    ['nothing of an older one can act any more', itemOf('1', 'claimed', { ago: 110 }), {}, 'send'],
    ['an older one may have acted, or may yet', itemOf('1', 'unknown', { ago: 20 }), {}, 'busy 40'],
    ['an older one may have acted', itemOf('1', 'unknown', { ago: 60 }), {}, 'send'],

    ['a newer one was done', itemOf('3', 'done'), {}, 'superseded'],
    ['a newer one is claimed', itemOf('3', 'claimed'), {}, 'newer 3420'],
    [
      'a newer one is claimed, and its queue still hides it',
      itemOf('3', 'claimed', { ago: 3_419 }),
      {},
      'newer 1',
    ],
    [
      'a newer one did not come back for so long that it was done',
      itemOf('3', 'claimed', { ago: 3_420 }),
      {},
      'superseded',
    ],
    ['a newer one was undone, and nothing stood there before', itemOf('3', 'undone'), {}, 'newer 1800'],
    ['a newer one may have acted, ten days ago', itemOf('3', 'unknown', { ago: 864_000 }), {}, 'newer 1800'],
    [
      'the same, and a person looked before',
      itemOf('3', 'unknown', { ago: 60 }),
      { ...replay, decidedMs: nowMs - day },
      'newer 1800',
    ],
    [
      'the same, and a person looked a moment before its grace period was over',
      itemOf('3', 'unknown', { ago: 60 }),
      { ...replay, decidedMs: nowMs - 1 },
      'newer 1800',
    ],
    ['the same, and a person has looked since', itemOf('3', 'unknown', { ago: 60 }), decided, 'send'],
    [
      'a newer one was undone, and a person looked when it was claimed',
      itemOf('3', 'undone', { ago: 60 }),
      { ...replay, decidedMs: nowMs - 60 * second },
      'newer 1800',
    ],
    [
      'the same, and a person replayed another letter',
      itemOf('3', 'unknown', { ago: 60 }),
      replay,
      'newer 1800',
    ],
    [
      'a newer one was undone, and a person has looked since',
      itemOf('3', 'undone', { ago: 60 }),
      decided,
      'send',
    ],
    ['a newer one was done, whoever has looked', itemOf('3', 'done', { ago: 60 }), decided, 'superseded'],
    [
      'a newer one is claimed, whoever has looked',
      itemOf('3', 'claimed', { ago: 60 }),
      decided,
      'newer 3360',
    ],

    ['it was done', itemOf('2', 'done'), {}, 'duplicate'],
    ['it was done, as another SQS message', itemOf('2', 'done'), copy, 'duplicate'],
    ['it was done, and is replayed', itemOf('2', 'done'), replay, 'duplicate'],
    ['it was done, and must not be sent twice', itemOf('2', 'done'), { ...once, ...decided }, 'duplicate'],

    ['it is at work', itemOf('2', 'claimed'), {}, 'busy 50'],
    ['it is at work, as another SQS message', itemOf('2', 'claimed'), copy, 'busy 50'],
    [
      'it was claimed by another SQS message, whose business it is',
      itemOf('2', 'claimed', { ago: 50 }),
      copy,
      'duplicate',
    ],
    ['it was undone, as another SQS message', itemOf('2', 'undone'), copy, 'send'],
    [
      'it left no outcome, as another SQS message, which may come back',
      itemOf('2', 'unknown', { ago: 3_419 }),
      copy,
      'copy 1',
    ],
    [
      'the same, and that one is a letter, or gone: nobody knows of a duplicate',
      itemOf('2', 'unknown', { ago: 3_420 }),
      copy,
      'send',
    ],
    [
      'the same of what must not be sent twice',
      itemOf('2', 'unknown', { ago: 3_420 }),
      { ...once, ...copy },
      'look',
    ],
    [
      'the same, and the platform has said that it succeeded',
      itemOf('2', 'unknown', { ago: 3_420, acceptedMs: nowMs }),
      { ...once, ...copy },
      'look',
    ],
    [
      'the same, and the function died on the other one three times: it does not die a fourth time',
      itemOf('2', 'unknown', { ago: 3_420, crashes: 3 }),
      copy,
      'crashed',
    ],
    ['it left no outcome, and its letter is replayed', itemOf('2', 'unknown', { ago: 1 }), replay, 'send'],

    [
      'it was claimed by another SQS message, must not be sent twice, and that one may come back',
      itemOf('2', 'claimed', { ago: 3_419 }),
      { ...once, ...copy },
      'copy 1',
    ],
    [
      'the same, and that one is gone',
      itemOf('2', 'claimed', { ago: 3_420 }),
      { ...once, ...copy },
      'isolate',
    ],

    ['it was undone', itemOf('2', 'undone'), {}, 'send'],
    ['it may have acted, or may yet: again it does no harm', itemOf('2', 'unknown', { ago: 1 }), {}, 'send'],
    ['it comes back, as its attempt has died', itemOf('2', 'claimed', { ago: 50 }), {}, 'isolate'],
    ['it is replayed while its attempt is at work', itemOf('2', 'claimed'), replay, 'busy 50'],
    ['it is replayed after its attempt has died', itemOf('2', 'claimed', { ago: 50 }), replay, 'send'],

    ['it was undone, and must not be sent twice', itemOf('2', 'undone'), once, 'send'],
    ['it is at work, and must not be sent twice', itemOf('2', 'claimed'), once, 'busy 110'],
    ['it may still act, and must not be sent twice', itemOf('2', 'unknown', { ago: 59 }), once, 'busy 1'],
    ['it may have acted, and must not be sent twice', itemOf('2', 'unknown', { ago: 60 }), once, 'look'],

    ['it is five weeks old, and nothing is known', nothing, old, 'outdated'],
    ['the same, and a person decided', nothing, { ...old, ...decided }, 'send'],
    ['the same, replayed from a letter that asked nobody', nothing, { ...old, ...replay }, 'outdated'],
    ['it is five weeks old, and an older one is known', itemOf('1', 'done'), old, 'send'],
    ['it is five weeks old, and a newer one was done', itemOf('3', 'done'), old, 'superseded'],
    ['it is five weeks old, and was done', itemOf('2', 'done'), old, 'duplicate'],
  ])('%s', (_, item, message, expected) => {
    expect(told(judged(item, entryOf('2', message)))).toBe(expected);
  });
});

describe('the horizon', () => {
  test.each([
    [34 * day, false],
    [34 * day + 1, true],
  ])('lies a day before the ledger forgets: a message of %i ms is outdated: %s', (ageMs, expected) => {
    expect(isOutdated(entryOf('1', { timeMs: nowMs - ageMs }), nowMs)).toBe(expected);
  });
});

describe('a death', () => {
  const died = (crashes: number, outcome: Field['outcome'] = 'claimed') =>
    itemOf('2', outcome, { ago: 60, crashes });

  test.each<[string, Item, Partial<Entry>, boolean, string]>([
    ['the first is counted, and alone it is sent again', died(0), {}, true, 'send'],
    [
      'a message that died is isolated, also when that was written down before',
      died(1, 'unknown'),
      {},
      false,
      'isolate',
    ],
    ['the third is the last', died(2), {}, true, 'crashed'],
    ['the third is the last, beside others as well', died(2), {}, false, 'crashed'],
    ['what was written down is not counted again', died(2, 'unknown'), {}, true, 'send'],
    ['a replay is a new life', died(2), replay, false, 'send'],
  ])('%s', (_, item, message, isolated, expected) => {
    expect(told(judged(item, entryOf('2', message), isolated))).toBe(expected);
  });

  test('is read from the claim of this very SQS message alone, when its lease is over', () => {
    const lapsed = (item: Item, more: Partial<Entry> = {}) => lapsedFields(item, entryOf('2', more), nowMs);
    expect(lapsed(itemOf('2', 'claimed', { ago: 50 }))).toEqual(['whole']);
    expect(lapsed(itemOf('2', 'claimed', { ago: 49 }))).toEqual([]);
    expect(lapsed(itemOf('2', 'claimed', { ago: 50 }), copy)).toEqual([]);
    expect(lapsed(itemOf('2', 'unknown', { ago: 50 }))).toEqual([]);
    expect(lapsed(itemOf('1', 'claimed', { ago: 50 }))).toEqual([]);
  });
});

describe('what an attempt takes over from those before it', () => {
  const inherited = (item: Item, message: Partial<Entry>, isolated = true) => {
    const judgement = judged(item, entryOf('2', message), isolated);
    if (judgement.kind !== 'send') throw new Error(judgement.kind);
    return { ...judgement.inherited, unresolved: judgement.unresolved };
  };
  const since = { attemptedMs: nowMs - day, ago: 60 };

  test('is since when nothing is known, its crashes, and what the platform said first', () => {
    const refusal = '{"message":"no"}';
    expect(inherited(itemOf('2', 'claimed', { ...since, crashes: 1, refusal }), {})).toEqual({
      ...{ attemptedMs: nowMs - day, acceptedMs: 0, crashes: 2, refusal, unresolved: undefined },
    });
    expect(inherited(itemOf('2', 'unknown', { ...since, refusal }), once).unresolved).toEqual({
      ...{ sinceMs: nowMs - day, acceptedUnverified: false, decided: false, refusal, changedSince: [] },
    });
  });

  test.each<[string, Partial<Entry>, boolean]>([
    ['a letter that asked to look, after it could be seen', decided, true],
    ['such a letter, before it could be seen', { ...replay, decidedMs: nowMs - 1 }, false],
    ['a letter that asked nobody', replay, false],
  ])('is decided by the replay of %s', (_, message, expected) => {
    const item = itemOf('2', 'unknown', { ago: 60, acceptedMs: nowMs - day });
    expect(inherited(item, { ...once, ...message }).unresolved).toMatchObject({
      decided: expected,
      acceptedUnverified: !expected,
    });
  });
});

describe('what was created and left no outcome', () => {
  /** Message 1, so long ago, on the resource of which message 2 changes another field. */
  const created = (outcome: Field['outcome'], ago: number): Item => {
    const { fields, ...item } = itemOf('1', outcome, { ago, once: true });
    return { ...item, last: 'created', fields: { created: fields.whole as Field } };
  };

  test.each<Row>([
    ['is looked for before anything is changed there', created('unknown', 60), {}, 'look 3360'],
    ['as long as its message may come back', created('unknown', 3_419), {}, 'look 1'],
    ['and no longer', created('unknown', 3_420), {}, 'send'],
    ['also where its attempt has died', created('claimed', 110), {}, 'look 3310'],
    ['not where it was done', created('done', 60), {}, 'send'],
    ['nor where it was undone', created('undone', 60), {}, 'send'],
    ['nor before something else is created', created('unknown', 60), once, 'send'],
  ])('%s', (_, item, message, expected) => {
    expect(told(judged(item, entryOf('2', message)))).toBe(expected);
  });

  const changedSince = (other: Partial<Field>) => {
    const { fields, ...item } = created('unknown', 3_600);
    const object = fieldOf('9', { outcome: 'done', ...other });
    const judgement = judged(
      { ...item, fields: { ...fields, 'object/7/Name': object } },
      {
        ...entryOf('1', once),
        fields: ['created'],
      },
    );
    return judgement.kind === 'send' ? judgement.unresolved?.changedSince : judgement.kind;
  };

  test.each<[string, Partial<Field>, string[]]>([
    ['what was changed since', {}, ['object/7/Name']],
    ['nothing that was changed before', { claimedMs: nowMs - 3_601 * second }, []],
    ['nothing that was created since', { once: true }, []],
  ])('tells whoever looks for it %s', (_, other, expected) => {
    expect(changedSince(other)).toEqual(expected);
  });
});

test('another copy waits for the first also where others have claimed their part of the resource since', () => {
  const item = itemOf('2', 'unknown', { ago: 60 });
  const since = {
    ...item,
    last: 'other',
    fields: { ...item.fields, other: fieldOf('9', { outcome: 'done' }) },
  };
  expect(told(judged(since, entryOf('2', copy)))).toBe('copy 3360');
  expect(told(judged(since, entryOf('2', { ...once, ...copy })))).toBe('copy 3360');
});

describe('fields of one resource', () => {
  const both = { fields: ['grade', 'comments'] };
  const item = (grade: Field | undefined, comments: Field | undefined, more: Partial<Item> = {}): Item => ({
    ...{ claimId: 'claim', leaseMs: 0, graceEndsMs: 0, heldMs: 0, last: 'grade', seen: {} },
    fields: { ...(grade && { grade }), ...(comments && { comments }) },
    ...more,
  });
  const at = (version: string, outcome: Field['outcome'], more: Partial<Field> = {}) =>
    fieldOf(version, { outcome, claimedMs: nowMs - day, attemptedMs: nowMs - day, ...more });
  const sent = (known: Item, message: Partial<Entry>): string => {
    const judgement = judged(known, entryOf('2', { ...both, ...message }));
    return judgement.kind === 'send' ? judgement.fields.join() : told(judgement);
  };

  test.each<[string, Item, Partial<Entry>, string]>([
    [
      'a newer grade does not supersede the comment that it does not give',
      item(at('3', 'done'), undefined),
      {},
      'comments',
    ],
    ['a newer comment does not supersede the grade', item(at('1', 'done'), at('3', 'done')), {}, 'grade'],
    ['what is done of it is not sent again', item(at('2', 'done'), at('2', 'unknown')), {}, 'comments'],
    ['newer ones of all fields do', item(at('3', 'done'), at('4', 'done')), {}, 'superseded'],
    [
      'a grade alone is nothing to who gives a comment alone',
      item(at('3', 'done'), undefined),
      { fields: ['comments'] },
      'comments',
    ],
    [
      'what is done of it, and superseded of it, is nothing more to do',
      item(at('3', 'done'), at('2', 'done')),
      {},
      'duplicate',
    ],
    [
      'what is not known of a newer grade is waited for',
      item(at('3', 'unknown'), at('1', 'done')),
      {},
      'newer 1800',
    ],
    [
      'of a field that nobody knows, what is five weeks old is outdated',
      item(at('1', 'done'), undefined),
      old,
      'outdated',
    ],
    ['of fields that are known, it is not', item(at('1', 'done'), at('3', 'done')), old, 'grade'],
    [
      'the lock is of the resource: another field that is at work is waited for',
      item(at('1', 'claimed', { claimedMs: nowMs }), undefined, {
        leaseMs: nowMs + leaseMs,
        graceEndsMs: nowMs + 2 * leaseMs,
      }),
      { fields: ['comments'] },
      'busy 100',
    ],
  ])('%s', (_, known, message, expected) => {
    expect(sent(known, message)).toBe(expected);
  });
});

describe('a duplicate', () => {
  test.each<[string, Item, Partial<Entry>, string | undefined]>([
    ['itself', itemOf('2', 'done'), {}, undefined],
    ['another SQS message that was done', itemOf('2', 'done'), copy, 'sqs 2'],
    ['another one that is presumed done', itemOf('2', 'claimed', { ago: 60 }), copy, 'sqs 2'],
  ])('of %s says so', (_, item, message, of) => {
    expect(judged(item, entryOf('2', message))).toEqual({ kind: 'duplicate', of });
  });

  test('of which another SQS message has done a part is one of that', () => {
    const item = itemOf('2', 'done');
    const comments = fieldOf('2', { outcome: 'done', messageId: 'sqs copy' });
    const both = { ...item, fields: { ...item.fields, comments } };
    const entry = entryOf('2', { fields: ['whole', 'comments'] });
    expect(judged(both, entry)).toEqual({ kind: 'duplicate', of: 'sqs copy' });
  });
});

describe('a message that was claimed in part', () => {
  const entry = entryOf('2', { ...copy, fields: ['whole', 'comments'] });

  test('is sent whole, and goes on where its other SQS message died', () => {
    expect(judged(itemOf('2', 'claimed', { ago: 200 }), entry, true)).toMatchObject({
      ...{ kind: 'send', fields: ['whole', 'comments'] },
      inherited: { attemptedMs: nowMs - 200 * second, crashes: 1 },
    });
  });

  test('is not older than what it came before only because it was seen', () => {
    const item = itemOf('2', 'done');
    const known = {
      ...item,
      fields: { ...item.fields, comments: fieldOf('1', { outcome: 'done' }) },
      seen: { [thingIn('whole')]: [identityDigest('2')] },
    };
    expect(judged(known, entry)).toMatchObject({ kind: 'send', fields: ['comments'] });
  });
});

test('what is presumed done is what another SQS message, newer or of the same event, has claimed', () => {
  const presumed = (item: Item, message: Partial<Entry> = {}) => [
    ...presumedDone(item, entryOf('2', message), { nowMs, isolated: false, hiddenMs }),
  ];
  expect(presumed(itemOf('3', 'claimed'))).toEqual([['whole', 'sqs 3']]);
  expect(presumed(itemOf('2', 'claimed'), copy)).toEqual([['whole', 'sqs 2']]);
  for (const item of [itemOf('3', 'done'), itemOf('2', 'claimed'), itemOf('1', 'claimed'), nothing])
    expect(presumed(item)).toEqual([]);
});

test('what has changed since an attempt of which nothing is known is told with it', () => {
  const item = itemOf('2', 'unknown', { ago: 3_600, once: true });
  const since = nowMs - 3_600 * second;
  const at = (claimedMs: number, more: Partial<Field> = {}) => fieldOf('1', { claimedMs, ...more });
  const fields = {
    ...{ ...item.fields, before: at(since), name: at(since + 1) },
    ...{ created: at(nowMs, { once: true }), own: fieldOf('2', { claimedMs: nowMs }) },
  };
  expect(judged({ ...item, fields }, entryOf('2', once))).toMatchObject({
    unresolved: { sinceMs: since, changedSince: ['name'] },
  });
});

describe('a claim in the way is worth a look', () => {
  const digest = { digest: 'of the grade' };
  const rivalIn = (item: Item, entry = entryOf('2')) => {
    const judgement = judged(item, entry);
    return judgement.kind === 'wait' ? judgement.rival : undefined;
  };

  test('where it tells by digests what it was to do, be it older or newer', () => {
    for (const version of ['1', '3'])
      expect(rivalIn(itemOf(version, 'claimed', digest))).toEqual({
        claimedMs: nowMs,
        digests: { whole: 'of the grade' },
      });
  });

  test('by what it has claimed alone, and not by an earlier claim of its message or another claim of that moment', () => {
    const item = itemOf('1', 'claimed', digest);
    const earlier = fieldOf('1', { claimedMs: nowMs - 1 });
    const another = fieldOf('0', { claimedMs: nowMs });
    expect(rivalIn({ ...item, fields: { ...item.fields, earlier, another } })?.digests).toEqual({
      whole: 'of the grade',
    });
  });

  test('where it repeats the value of one of its fields alone: the other one tells', () => {
    const item = itemOf('1', 'claimed', digest);
    const same = fieldOf('1', { digest: 'of the comment', repeats: true });
    expect(rivalIn({ ...item, fields: { ...item.fields, same } })?.digests).toEqual({
      ...{ whole: 'of the grade', same: 'of the comment' },
    });
  });

  test.each<[string, Item, Entry?]>([
    ['where its field is forgotten', { ...itemOf('1', 'claimed', digest), last: 'other' }],
    ['where it tells none', itemOf('1', 'claimed')],
    ['where it has an ending that says more', itemOf('1', 'unknown', digest)],
    [
      'where it repeats an attempt whose call may yet act',
      itemOf('1', 'claimed', { ...digest, attemptedMs: nowMs - 1 }),
    ],
    ['where the one before it was to make the same', itemOf('1', 'claimed', { ...digest, repeats: true })],
    ['where it is of the same message', itemOf('2', 'claimed', digest), entryOf('2', copy)],
    [
      'where it tells them of one of its fields alone',
      { ...itemOf('1', 'claimed', digest), fields: { whole: fieldOf('1', digest), other: fieldOf('1') } },
    ],
  ])('but not %s', (_, item, entry) => {
    expect(rivalIn(item, entry)).toBeUndefined();
  });
});
