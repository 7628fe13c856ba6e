import { describe, expect, test } from 'vitest';
import type { WaitReason } from '../../../../lib/delivery/handle/reasons.ts';
import type { Delivery } from '../../../../lib/delivery/handle/sqs-delivery.ts';
import {
  type AttemptFinding,
  afterUnwrittenLetter,
  waitOrPark,
} from '../../../../lib/delivery/handle/wait-or-park.ts';
import { MessageFailure } from '../../../../lib/message/failure.ts';
import { type FailureKind, failureKindNames, isRetried } from '../../../../lib/message/failure-kinds.ts';
import { safe } from '../../../../lib/message/safe-text.ts';
import { limitsForTests } from './services-for-tests.ts';

const hour = 3_600_000;
const day = 24 * hour;
const nowMs = Date.UTC(2026, 2, 1, 12);

const limits = limitsForTests({
  // After n receipts: 10, 20, 40 and so on, up to 900 seconds.
  backoff: { minimumSeconds: 10, maximumSeconds: 1_800, random: () => 0 },
  maxUnknownIdWaitMs: day,
  visibilityMs: 720_999,
});

const deliveryOf = (attempts: number, waitedMs = 0, ageMs = waitedMs): Delivery => ({
  sentMs: nowMs - ageMs,
  firstMs: nowMs - waitedMs,
  startedMs: nowMs,
  attempts,
  replays: 0,
});
const failureWith = (kind: FailureKind, retryAfterSeconds?: number) => ({
  kind,
  message: safe`why`,
  remedy: 'Do this.',
  ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
});

type Failed = Omit<Extract<AttemptFinding, { kind: 'fail' }>, 'kind'>;
const afterFailure = (failed: Failed, ...given: [Delivery, typeof limits]) =>
  waitOrPark({ kind: 'fail', ...failed }, ...given);
type Turn = { why: WaitReason; seconds: number };
const waitForTurn = (turn: Turn, ...given: [Delivery, typeof limits]) =>
  waitOrPark({ kind: 'wait', ...turn }, ...given);

/** As `waiting 20` or `parked throttled`. */
const wordFor = (result: ReturnType<typeof waitOrPark>): string => {
  if (result.outcome === 'waiting') return `waiting ${result.seconds}`;
  return result.outcome === 'parked' ? `parked ${result.failure.kind}` : result.outcome;
};
const fateOf = (failed: Failed, delivery: Delivery): string =>
  wordFor(afterFailure(failed, delivery, limits));

describe('a failure', () => {
  test.each(failureKindNames)('of kind %s has the fate of its row', (kind) => {
    const expected = isRetried(kind) ? 'waiting 20' : `parked ${kind}`;
    expect(fateOf({ failure: failureWith(kind) }, deliveryOf(2))).toBe(expected);
  });

  const throttled = { failure: failureWith('throttled', 77) };
  const uncertain = { failure: failureWith('uncertain'), lookUpSeconds: 61 };
  test.each<[string, Failed, Delivery, string]>([
    ['waits as the platform asks', throttled, deliveryOf(1), 'waiting 77'],
    ['waits longer after many receipts', throttled, deliveryOf(21), 'waiting 900'],
    ['waits on the last moment of its patience', throttled, deliveryOf(1, day - 1), 'waiting 77'],
    ['is parked after a day of waiting', throttled, deliveryOf(1, day), 'parked throttled'],
    ['waits after a day in the backlog', throttled, deliveryOf(1, 0, 12 * day), 'waiting 77'],
    ['waits just before it is 13 days old', throttled, deliveryOf(1, 0, 13 * day - 1), 'waiting 77'],
    ['is parked when it is 13 days old', throttled, deliveryOf(1, 0, 13 * day), 'parked throttled'],
    ['waits until it can be looked up', uncertain, deliveryOf(1), 'waiting 61'],
    [
      'waits until it can be looked up, whatever the platform asks',
      { ...throttled, lookUpSeconds: 61 },
      deliveryOf(1),
      'waiting 61',
    ],
    ['is looked up less often after many receipts', uncertain, deliveryOf(21), 'waiting 900'],
    ['is not looked up after a day', uncertain, deliveryOf(1, day), 'parked uncertain'],
    [
      'of which no outcome is recorded is never parked',
      { failure: failureWith('rejected'), isUnrecorded: true },
      deliveryOf(1, 2 * day),
      'waiting 10',
    ],
  ])('%s', (_, failed, delivery, expected) => {
    expect(fateOf(failed, delivery)).toBe(expected);
  });

  test.each<[FailureKind, number | undefined, number]>([
    ['throttled', 2, 7],
    ['throttled', 30, 45],
    ['throttled', 200, 230],
    ['throttled', undefined, 15],
    ['unavailable', 200, 200],
  ])('of kind %s that is to wait for %s seconds comes back after %s', (kind, asked, seconds) => {
    const halfway = { ...limits, backoff: { ...limits.backoff, random: () => 0.5 } };
    const decision = afterFailure({ failure: failureWith(kind, asked) }, deliveryOf(1), halfway);
    expect(decision).toMatchObject({ outcome: 'waiting', seconds });
  });

  test.each<[FailureKind, number, number, string]>([
    ['unknown-id', 3 * hour - 1, 3 * hour, 'waiting'],
    ['unknown-id', 3 * hour, 3 * hour, 'parked'],
    ['unknown-id', day, 2 * day, 'parked'],
    ['unavailable', 3 * hour, 3 * hour, 'waiting'],
  ])('of kind %s has the patience for it, after %s ms and with %s ms', (kind, waitedMs, maxMs, outcome) => {
    const patience = { ...limits, maxUnknownIdWaitMs: maxMs };
    const decision = afterFailure({ failure: failureWith(kind) }, deliveryOf(1, waitedMs), patience);
    expect(decision.outcome).toBe(outcome);
  });

  test('that waits tells which it is, in its own words', () => {
    const failure = failureWith('throttled', 77);
    const decision = afterFailure({ failure }, deliveryOf(1), limits);
    expect(decision).toEqual({ outcome: 'waiting', seconds: 77, reason: 'why', failure });
  });

  test.each<[FailureKind, string]>([
    ['rejected', 'Do this.'],
    ['throttled', 'The message waited for 25 h. When the cause is gone, replay this letter.'],
    ['unavailable', 'The message waited for 25 h. When the cause is gone, replay this letter.'],
    ['credentials', 'Do this. The message waited for 25 h. When the cause is gone, replay this letter.'],
    ['aws-refused', 'Do this. The message waited for 25 h. When the cause is gone, replay this letter.'],
  ])('of kind %s that is parked after 25 hours says what to do', (kind, remedy) => {
    const failure = failureWith(kind);
    const decision = afterFailure({ failure }, deliveryOf(1, 25 * hour), limits);
    expect(decision).toEqual({ outcome: 'parked', failure: { ...failure, remedy } });
  });
});

test('a letter of an overload says that a replay follows when the platform answers, and needs nobody', () => {
  const failure = { ...failureWith('throttled'), status: 429 };
  expect(afterFailure({ failure }, deliveryOf(1, 25 * hour), limits)).toMatchObject({
    failure: {
      remedy:
        'The message waited for 25 h. When the platform answers again, replay this letter, or leave it to the schedule.',
    },
  });
});

describe('a message whose turn has not come', () => {
  const of = (turn: Turn, delivery: Delivery): string => wordFor(waitForTurn(turn, delivery, limits));
  const noTime: Turn = { why: 'no-time', seconds: 1 };
  const busy: Turn = { why: 'busy', seconds: 105 };
  const newer: Turn = { why: 'newer', seconds: 3_420 };
  const pace: Turn = { why: 'pace', seconds: 42 };
  test.each<[string, Turn, Delivery, string]>([
    ['comes back at once', noTime, deliveryOf(2), 'waiting 1'],
    ['comes back later after many receipts', noTime, deliveryOf(21), 'waiting 900'],
    [
      'asks soon whether a resource is free: most attempts end within a second',
      busy,
      deliveryOf(1),
      'waiting 2',
    ],
    ['asks later each time', busy, deliveryOf(4), 'waiting 16'],
    ['asks no later than the lock ends', busy, deliveryOf(9), 'waiting 105'],
    ['asks for a copy by backoff', { ...newer, why: 'copy' }, deliveryOf(2), 'waiting 20'],
    ['asks for what is to be looked up by backoff', { ...newer, why: 'look' }, deliveryOf(2), 'waiting 20'],
    ['asks for a newer message’s outcome by backoff', newer, deliveryOf(1), 'waiting 10'],
    ['still waits after a day, within its first receipts', newer, deliveryOf(20, 2 * day), 'waiting 900'],
    ['still waits after many receipts, within a day', newer, deliveryOf(21, day - 1), 'waiting 900'],
    ['is parked after both', newer, deliveryOf(21, day), 'parked uncertain'],
    ['is parked after both as unavailable', busy, deliveryOf(21, day), 'parked unavailable'],
    ['is parked when it is 13 days old', noTime, deliveryOf(21, 0, 13 * day), 'parked unavailable'],
    ['still waits for its turn to call after a day', pace, deliveryOf(400, 2 * day), 'waiting 900'],
    ['is parked for that when it is 13 days old', pace, deliveryOf(400, day, 13 * day), 'parked throttled'],
  ])('%s', (_, turn, delivery, expected) => {
    expect(of(turn, delivery)).toBe(expected);
  });

  test.each([
    ['no-time', 'Too little time was left in this invocation. The next one handles the message'],
    [
      'busy',
      'Another attempt on the same resource may still take effect. The message waits until that is over',
    ],
    [
      'newer',
      'A newer message about the same resource has no outcome yet. It supersedes this one only if it is done',
    ],
    ['copy', 'Another delivery of this event has no outcome yet. The message waits for it'],
    [
      'look',
      'An earlier creation on the same resource has no outcome yet. The message waits until sis-relay has looked for its effect',
    ],
  ] as const)('says why, and has not failed: %s', (why, reason) => {
    const decision = waitForTurn({ why, seconds: 1 }, deliveryOf(1), limits);
    expect(decision).toEqual({ outcome: 'waiting', seconds: 1, reason, deferral: why });
  });

  test('as a letter says what to do', () => {
    const remedyOf = (why: WaitReason) => {
      const decision = waitForTurn({ why, seconds: 1 }, deliveryOf(21, day), limits);
      return decision.outcome === 'parked' ? decision.failure.remedy : undefined;
    };
    expect(remedyOf('newer')).toMatch(/^1\. Find the newer message about the same resource/);
    expect(remedyOf('busy')).toBe('The message waited for 24 h. When the cause is gone, replay this letter.');
  });
});

test('a message whose letter cannot be written waits by backoff, and tells of both failures', () => {
  const failure = { ...failureWith('throttled', 5), status: 429 };
  const unwritten = new MessageFailure('aws-refused', safe`SQS refuses`, { remedy: 'Allow it.' });
  expect(afterUnwrittenLetter({ failure, unwritten }, deliveryOf(3), limits)).toEqual({
    outcome: 'waiting',
    seconds: 40,
    reason: 'No letter could be written for this failure: why. SQS refuses',
    failure: {
      kind: 'aws-refused',
      remedy: 'Allow it.',
      status: 429,
      retryAfterSeconds: 5,
      message: 'No letter could be written for this failure: why. SQS refuses',
    },
  });
});

describe('where so many messages wait that their queue may soon hand out nothing', () => {
  const crowded = { ...limits, isCrowded: () => true };
  const failed = (kind: FailureKind, more: object = {}): AttemptFinding => ({
    kind: 'fail' as const,
    failure: failureWith(kind, 61),
    ...more,
  });
  const turn = (why: WaitReason): AttemptFinding => ({ kind: 'wait', why, seconds: 3_420 });
  test.each<[string, AttemptFinding, number, string]>([
    ['a failure that would wait longer than a minute', failed('throttled'), 1, 'parked throttled'],
    ['an unknown id', { kind: 'fail', failure: failureWith('unknown-id') }, 4, 'parked unknown-id'],
    ['one whose platform does not answer', failed('unavailable'), 1, 'parked unavailable'],
    ['an older message, which nobody must decide', turn('newer'), 4, 'parked unavailable'],
    ['one whose read is stale, which nobody must decide', turn('stale'), 4, 'parked unavailable'],
    [
      'a failure that waits for a minute',
      { kind: 'fail', failure: failureWith('throttled', 60) },
      1,
      'waiting 60',
    ],
    ['an older message that waits for less than a minute', turn('newer'), 2, 'waiting 20'],
    ['one that only waits for its turn to call', turn('pace'), 21, 'waiting 3420'],
    ['one whose effect is looked up', failed('uncertain', { lookUpSeconds: 61 }), 1, 'waiting 61'],
    ['one whose outcome is not recorded', failed('throttled', { isUnrecorded: true }), 1, 'waiting 61'],
  ])('%s', (_, decision, attempts, expected) => {
    expect(wordFor(waitOrPark(decision, deliveryOf(attempts), crowded))).toBe(expected);
  });

  test('a letter says why it did not wait, and what to do', () => {
    const remedyOf = (kind: FailureKind) => {
      const result = waitOrPark(failed(kind), deliveryOf(1), crowded);
      return result.outcome === 'parked' ? result.failure.remedy : undefined;
    };
    const why =
      'So many messages of this function wait that its queue could soon hand out no others: this one became a letter instead. When the cause is gone, replay this letter.';
    expect(remedyOf('unavailable')).toBe(why);
    expect(remedyOf('unknown-id')).toBe(`Do this. ${why}`);
  });
});
