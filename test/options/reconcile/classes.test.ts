import { describe, expect, test } from 'vitest';
import { digesterWith } from '../../../lib/delivery/ledger/digest.ts';
import {
  judgeEffect,
  type PlatformValue,
  type WrittenField,
} from '../../../lib/options/reconcile/classes.ts';

const second = 1_000;
const writtenMs = Date.UTC(2026, 2, 1, 12);
const nowMs = writtenMs + 3_600 * second;
const key = digesterWith('k'.repeat(32));
const oldKey = digesterWith('o'.repeat(32));
const goneKey = digesterWith('g'.repeat(32));

const field = (name: string, value: string, change: Partial<WrittenField> = {}, by = key): WrittenField => ({
  messageId: 'm',
  outcome: 'done',
  begunMs: writtenMs,
  digest: by([name, value]),
  ...change,
});

const verdict = (fields: Record<string, WrittenField>, shown: PlatformValue | undefined) =>
  judgeEffect({
    fields,
    shown,
    nothing: { comments: '' },
    attemptMs: 50 * second,
    digestsOf: (name, value) => [key([name, value]), oldKey([name, value])],
  });
const shownAt = (changedMs: number | undefined, fields: PlatformValue['fields']): PlatformValue => ({
  changedMs,
  fields,
});
const both = { grade: field('grade', '7'), comments: field('comments', 'well done') };
const asSent = { grade: ['7'], comments: ['well done'] };

describe('a write', () => {
  test('is the same where the platform shows all of it, whenever it was changed', () => {
    for (const changedMs of [undefined, 0, writtenMs, nowMs])
      expect(verdict(both, shownAt(changedMs, asSent))).toEqual({ class: 'same', fields: [], writtenMs });
  });
  test.each([
    ['older', -second - 1],
    ['different', -second],
    ['different', 51 * second],
    ['changed', 51 * second + 1],
  ])('that differs is %s by when the platform changed it: %d ms after it', (expected, afterMs) => {
    const shown = shownAt(writtenMs + afterMs, { ...asSent, grade: ['6'] });
    expect(verdict(both, shown)).toEqual({ class: expected, fields: ['grade'], writtenMs });
  });
  test('that differs, of which the platform does not tell when it was changed, is different', () => {
    expect(
      verdict({ whole: field('whole', 'role 110') }, shownAt(undefined, { whole: ['role 109'] })),
    ).toMatchObject({ class: 'different' });
  });
  test('is missing where there is nothing, but for what has nothing to show', () => {
    expect(verdict(both, undefined)).toEqual({ class: 'missing', fields: ['grade', 'comments'], writtenMs });
    expect(verdict({ comments: field('comments', '') }, undefined)).toMatchObject({ class: 'same' });
  });
  test('of which a comment alone is lost is found by that', () => {
    const shown = shownAt(writtenMs - 9 * second, { ...asSent, comments: [''] });
    expect(verdict(both, shown)).toEqual({ class: 'older', fields: ['comments'], writtenMs });
  });
  test('is not judged by a field that the platform does not show', () => {
    const all = { ...both, privateComments: field('privateComments', 'secret') };
    expect(verdict(all, shownAt(writtenMs, { ...asSent, privateComments: undefined }))).toMatchObject({
      class: 'same',
    });
    expect(verdict({ whole: field('whole', 'x') }, shownAt(undefined, { whole: undefined }))).toEqual({
      class: undefined,
      why: 'not shown',
    });
  });
  test('that changed with a later one of another field was not changed by a person', () => {
    const later = {
      ...both,
      comments: field('comments', 'well done', { begunMs: writtenMs + 90 * second }),
    };
    const shown = shownAt(writtenMs + 91 * second, { ...asSent, grade: ['6'] });
    expect(verdict(later, shown)).toMatchObject({ class: 'different', fields: ['grade'] });
  });
  test('may be one of several types', () => {
    expect(verdict(both, shownAt(writtenMs, { ...asSent, grade: ['pass', '7'] }))).toMatchObject({
      class: 'same',
    });
  });
});

describe('nothing is said of a write', () => {
  test('that is being sent, or has no outcome', () => {
    const fields = { ...both, grade: field('grade', '7', { outcome: 'open' }) };
    expect(verdict(fields, undefined)).toEqual({ class: undefined, why: 'in progress' });
  });
  test('that has no digest', () => {
    const { digest: _, ...without } = field('grade', '7');
    expect(verdict({ grade: without }, undefined)).toEqual({ class: undefined, why: 'no digest' });
  });
  test('of which only a part can be compared, and that part is there', () => {
    const { digest: _, ...without } = field('grade', '7');
    const shown = shownAt(writtenMs, { ...asSent, grade: ['6'] });
    for (const grade of [without, field('grade', '7', {}, goneKey)])
      expect(verdict({ ...both, grade }, shown)).toEqual({ class: undefined, why: 'no digest' });
    const spoilt = shownAt(writtenMs - 9 * second, { grade: ['6'], comments: [''] });
    expect(verdict({ ...both, grade: without }, spoilt)).toMatchObject({
      class: 'older',
      fields: ['comments'],
    });
  });
});

describe('a rotation of the key', () => {
  test('makes no finding: what was digested by the former one is compared by it', () => {
    expect(verdict({ grade: field('grade', '7', {}, oldKey) }, shownAt(0, asSent))).toMatchObject({
      class: 'same',
    });
    expect(verdict({ grade: field('grade', '6', {}, oldKey) }, shownAt(0, asSent))).toMatchObject({
      class: 'older',
    });
  });
  test('before that one leaves what nobody can compare', () => {
    expect(verdict({ grade: field('grade', '7', {}, goneKey) }, shownAt(0, { grade: ['6'] }))).toEqual({
      class: undefined,
      why: 'no digest',
    });
  });
});
