import { describe, expect, test } from 'vitest';
import type { PlatformState } from '../../../../lib/delivery/handle/integration.ts';
import { mustBeCurrent, StaleReadError } from '../../../../lib/delivery/handle/stale-read.ts';
import { digesterWith } from '../../../../lib/delivery/ledger/digest.ts';
import type { DoneChange, FieldState } from '../../../../lib/delivery/ledger/item.ts';
import type { LedgerMessage } from '../../../../lib/delivery/ledger/judge.ts';
import type { LockedResource } from '../../../../lib/delivery/ledger/ledger.ts';

const second = 1_000;
const hour = 3_600 * second;
const nowMs = Date.UTC(2026, 2, 1, 12);
const begunMs = nowMs - 60 * second;
const resource = 'grade/1/2/3';
const [digest, anotherKey] = [digesterWith('k'.repeat(32)), digesterWith('a'.repeat(32))];

const done = (field: string, value: string, more: Partial<DoneChange> = {}): FieldState => ({
  done: { version: '1', messageId: 'm', begunMs, digest: digest([resource, field, value]), ...more },
});
type More = Partial<DoneChange> & {
  isOpen?: boolean;
  clockOffsetMs?: number;
  decidedMs?: number;
  taken?: string[];
  hasKey?: boolean;
};

/** What becomes of a grade that keeps this comment, where the ledger knows of one called new. */
const judge = async (
  comments: string | undefined,
  changedMs: number,
  { clockOffsetMs = 0, decidedMs, taken = ['grade'], hasKey = true, isOpen = false, ...more }: More = {},
): Promise<'is kept' | 'waits'> => {
  const comment = isOpen ? {} : done('comments', 'new', more);
  const sent = {
    fields: taken,
    entry: { resource, decidedMs } as LedgerMessage,
    item: { fields: { comments: comment, grade: done('grade', '7') } },
  } as unknown as LockedResource;
  const shown: PlatformState = { fields: { comments, grade: '5' }, changedMs };
  const read = {
    taken: sent,
    clockOffsetMs,
    nowMs,
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
    ['is that of the ledger, however it is dated', judged('new', begunMs - hour)],
    ['is dated since the ledger’s: somebody has changed it', judged('other', begunMs + second)],
    ['is dated as the ledger’s, to a second', judged('other', begunMs - second)],
    [
      'is dated since by the platform’s own clock',
      judged('other', begunMs - 9 * second, { clockOffsetMs: -9 * second }),
    ],
    ['is not told', judged(undefined, begunMs - hour)],
    ['cannot be compared, without the ledger’s key', judged('old', begunMs - hour, { hasKey: false })],
    ['is not dated, and the ledger’s is an hour old', judged('other', Number.NaN, { begunMs: nowMs - hour })],
    [
      'is not dated, and the ledger’s digest is by another key',
      judged('other', Number.NaN, { digest: anotherKey([resource, 'comments', 'new']) }),
    ],
    ['is not dated, and the ledger has no digest', judged('other', Number.NaN, { digest: undefined })],
    [
      'is older than what is open, before which nothing was done',
      judged('other', begunMs - hour, { isOpen: true }),
    ],
    [
      'is older than one that a person could see for an hour before they decided on this message',
      judged('old', begunMs - second - 1, { decidedMs: begunMs + hour }),
    ],
  ])('is kept where it %s', async (_, outcome) => {
    expect(await outcome()).toBe('is kept');
  });

  test.each<[string, () => Promise<string>]>([
    ['is dated before the ledger’s', judged('old', begunMs - second - 1)],
    ['is dated before by the platform’s own clock', judged('old', begunMs, { clockOffsetMs: 9 * second })],
    ['is not dated, and differs from a younger one', judged('', Number.NaN)],
    [
      'is older than one that a cache may have hidden from the person who decided on this message',
      judged('old', begunMs - second - 1, { decidedMs: begunMs + hour - 1 }),
    ],
  ])('makes the message wait where it %s', async (_, outcome) => {
    expect(await outcome()).toBe('waits');
  });

  test('a grade that a newer message gave is written back no more than a comment', async () => {
    expect(await judge('new', begunMs - hour, { taken: ['comments'] })).toBe('waits');
  });
});
