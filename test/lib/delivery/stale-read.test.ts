import { describe, expect, test } from 'vitest';
import { mustBeCurrent } from '../../../lib/delivery/stale-read.ts';
import { failureOf } from '../../../lib/failure.ts';
import type { Shown } from '../../../lib/integration.ts';
import { digestBy } from '../../../lib/ledger/digest.ts';
import type { Field, Item } from '../../../lib/ledger/table.ts';

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
const itemWith = (fields: Item['fields']): Item => ({
  ...{ claimId: 'c', leaseMs: 0, graceEndsMs: 0, heldMs: 0, last: '', seen: {} },
  fields,
});

/** What becomes of a grade that keeps this comment, where the ledger knows of one called new. */
const judged = async (
  comments: string | undefined,
  changedMs: number,
  { clockOffsetMs = 0, ...more }: Partial<Field> & { clockOffsetMs?: number } = {},
): Promise<string> => {
  const before = itemWith({ comments: written('comments', 'new', more) });
  const shown: Shown = { fields: { comments }, changedMs };
  const by = async (parts: readonly string[]) => digest(parts);
  const read = { resource, before, digest: by, clockOffsetMs, believedAfterMs: hour, nowMs };
  return mustBeCurrent(shown, read).then(
    () => 'is kept',
    (error: unknown) => failureOf(error).kind,
  );
};

describe('a comment that is read and written back', () => {
  test.each<[string, Promise<string>]>([
    ['is that of the ledger, however it is dated', judged('new', claimedMs - hour)],
    ['is dated since the ledger’s: somebody has changed it', judged('other', claimedMs + second)],
    ['is dated as the ledger’s, to a second', judged('other', claimedMs - second)],
    [
      'is dated since by the platform’s own clock',
      judged('other', claimedMs - 9 * second, { clockOffsetMs: -9 * second }),
    ],
    ['is not told', judged(undefined, claimedMs - hour)],
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
      'is older than one of which nobody knows whether it was done',
      judged('other', claimedMs - hour, { outcome: 'unknown' }),
    ],
    ['is older than one that was not done', judged('other', claimedMs - hour, { outcome: 'undone' })],
  ])('is kept where it %s', async (_, outcome) => {
    expect(await outcome).toBe('is kept');
  });

  test.each<[string, Promise<string>]>([
    ['is dated before the ledger’s', judged('old', claimedMs - second - 1)],
    ['the same, and that one has only been claimed', judged('old', claimedMs - hour, { outcome: 'claimed' })],
    [
      'the same, and its digest is by another key',
      judged('new', claimedMs - hour, { digest: anotherKey(['x']) }),
    ],
    ['the same, and it has no digest', judged('new', claimedMs - hour, { digest: undefined })],
    ['is dated before by the platform’s own clock', judged('old', claimedMs, { clockOffsetMs: 9 * second })],
    ['is not dated, and differs from a younger one', judged('', Number.NaN)],
  ])('makes the message wait where it %s', async (_, outcome) => {
    expect(await outcome).toBe('unavailable');
  });

  test('is older where another field of the same read is', async () => {
    const before = itemWith({ comments: written('comments', 'same'), grade: written('grade', '7') });
    const shown = { fields: { comments: 'same', grade: '5' }, changedMs: claimedMs - hour };
    const by = async (parts: readonly string[]) => digest(parts);
    const read = { resource, before, digest: by, clockOffsetMs: 0, believedAfterMs: hour, nowMs };
    await expect(mustBeCurrent(shown, read)).rejects.toThrow('shows what was there before the last change');
  });
});
