import { describe, expect, test } from 'vitest';
import type { Shown } from '../../../../lib/delivery/handle/integration.ts';
import { mustBeCurrent, StaleReadError } from '../../../../lib/delivery/handle/stale-read.ts';
import { digestBy } from '../../../../lib/delivery/ledger/digest.ts';
import type { Claim, Entry } from '../../../../lib/delivery/ledger/ledger.ts';
import type { Field } from '../../../../lib/delivery/ledger/table.ts';

const second = 1_000;
const hour = 3_600 * second;
const nowMs = Date.UTC(2026, 2, 1, 12);
const claimedMs = nowMs - 60 * second;
const resource = 'grade/1/2/3';
const [digest, anotherKey] = [digestBy('k'.repeat(32)), digestBy('a'.repeat(32))];

const written = (field: string, value: string, more: Partial<Field> = {}): Field => ({
  ...{ version: '1', messageId: 'm', outcome: 'done', claimedMs, attemptedMs: claimedMs },
  ...{ acceptedMs: 0, crashes: 0, replays: 0, digest: digest([resource, field, value]) },
  ...more,
});
/** What was done before, an hour before the last claim. */
const standing = (value: string, doneMs = claimedMs - hour) => ({
  ...{ claimedMs: doneMs, digest: digest([resource, 'comments', value]) },
});
type More = Partial<Field> & {
  clockOffsetMs?: number;
  decidedMs?: number;
  taken?: string[];
  hasKey?: boolean;
};

/** What becomes of a grade that keeps this comment, where the ledger knows of one called new. */
const judge = async (
  comments: string | undefined,
  changedMs: number,
  { clockOffsetMs = 0, decidedMs, taken = ['grade'], hasKey = true, ...more }: More = {},
): Promise<'is kept' | 'waits'> => {
  const claim = {
    fields: taken,
    entry: { resource, decidedMs } as Entry,
    before: { fields: { comments: written('comments', 'new', more), grade: written('grade', '7') } },
  } as unknown as Claim;
  const shown: Shown = { fields: { comments, grade: '5' }, changedMs };
  const read = {
    ...{ claim, clockOffsetMs, nowMs },
    digest: async (parts: readonly string[]) => (hasKey ? digest(parts) : undefined),
  };
  return mustBeCurrent(shown, read).then(
    () => 'is kept',
    (error: unknown) => {
      expect(error).toBeInstanceOf(StaleReadError);
      return 'waits';
    },
  );
};

const judged =
  (...given: Parameters<typeof judge>) =>
  () =>
    judge(...given);

describe('a comment that is read and written back', () => {
  test.each<[string, () => Promise<string>]>([
    ['is that of the ledger, however it is dated', judged('new', claimedMs - hour)],
    ['is dated since the ledger’s: somebody has changed it', judged('other', claimedMs + second)],
    ['is dated as the ledger’s, to a second', judged('other', claimedMs - second)],
    [
      'is dated since by the platform’s own clock',
      judged('other', claimedMs - 9 * second, { clockOffsetMs: -9 * second }),
    ],
    ['is not told', judged(undefined, claimedMs - hour)],
    ['cannot be compared, without the ledger’s key', judged('old', claimedMs - hour, { hasKey: false })],
    [
      'is not dated, and the ledger’s is an hour old',
      judged('other', Number.NaN, { claimedMs: nowMs - hour }),
    ],
    [
      'is not dated, and the ledger’s digest is by another key',
      judged('other', Number.NaN, { digest: anotherKey([resource, 'comments', 'new']) }),
    ],
    ['is not dated, and the ledger has no digest', judged('other', Number.NaN, { digest: undefined })],
    [
      'is older than one of which nobody knows whether it was done, before which nothing was',
      judged('other', claimedMs - hour, { outcome: 'unknown', stands: null }),
    ],
    [
      'is what was done before one of which nobody knows whether it was',
      judged('done', claimedMs - 2 * hour, { outcome: 'unknown', stands: standing('done') }),
    ],
    [
      'is dated since what was done before one of which nobody knows whether it was',
      judged('other', claimedMs - hour, { outcome: 'unknown', stands: standing('done') }),
    ],
    [
      'is not dated, and what was done before one of which nobody knows is an hour old',
      judged('', Number.NaN, { outcome: 'unknown', stands: standing('done') }),
    ],
    ...(['unknown', 'undone'] as const).map((outcome): [string, () => Promise<string>] => [
      `is older than one that was ${outcome} an hour ago, and nobody knows what was done before`,
      judged('other', claimedMs - 2 * hour, { outcome, attemptedMs: nowMs - hour }),
    ]),
    [
      'is dated since one of which nobody knows whether it was done, nor what was before',
      judged('other', claimedMs - second, { outcome: 'unknown' }),
    ],
    [
      'is older than one that a person could see for an hour before they decided on this message',
      judged('old', claimedMs - second - 1, { decidedMs: claimedMs + hour }),
    ],
  ])('is kept where it %s', async (_, outcome) => {
    expect(await outcome()).toBe('is kept');
  });

  test.each<[string, () => Promise<string>]>([
    ['is dated before the ledger’s', judged('old', claimedMs - second - 1)],
    ['the same, and that one has only been claimed', judged('old', claimedMs - hour, { outcome: 'claimed' })],
    ['is dated before by the platform’s own clock', judged('old', claimedMs, { clockOffsetMs: 9 * second })],
    ['is not dated, and differs from a younger one', judged('', Number.NaN)],
    [
      'is older than one that a cache may have hidden from the person who decided on this message',
      judged('old', claimedMs - second - 1, { decidedMs: claimedMs + hour - 1 }),
    ],
    [
      'is dated before what was done before one of which nobody knows whether it was',
      judged('other', claimedMs - hour - second - 1, { outcome: 'unknown', stands: standing('done') }),
    ],
    [
      'is not dated, and differs from what was done just before one that had no effect',
      judged('', Number.NaN, { outcome: 'undone', stands: standing('done', claimedMs - 1) }),
    ],
    [
      'is what one was to set of which nobody knows whether it was done, dated before what was',
      judged('new', claimedMs - 2 * hour, { outcome: 'unknown', stands: standing('done') }),
    ],
    ...(['unknown', 'undone'] as const).map((outcome): [string, () => Promise<string>] => [
      `is older than one that was ${outcome} within the hour, and nobody knows what was done before`,
      judged('other', claimedMs - hour, { outcome, attemptedMs: nowMs - hour + 1 }),
    ]),
  ])('makes the message wait where it %s', async (_, outcome) => {
    expect(await outcome()).toBe('waits');
  });

  test('a grade that a newer message gave is written back no more than a comment', async () => {
    expect(await judge('new', claimedMs - hour, { taken: ['comments'] })).toBe('waits');
  });
});
