import { expect, test } from 'vitest';
import { expectedSchema, isOverdue, localTimeIn, timeZoneSchema } from '../../../lib/stage/expected.ts';

const at = (text: string): number => Date.parse(text);
const overdue = (expected: string, last: string, now: string, timeZone = 'UTC'): boolean => {
  const [expectation] = expectedSchema.parse(expected);
  if (expectation === undefined) throw new Error('Nothing is expected.');
  return isOverdue(expectation, { lastMs: at(last), nowMs: at(now), timeAt: localTimeIn(timeZone) });
};

// 2026-11-27 is a Friday.
test.each([
  ['a 4h', '2026-11-27T08:00Z', '2026-11-27T11:45Z', false],
  ['a 4h', '2026-11-27T08:00Z', '2026-11-27T12:15Z', true],
  // Of Friday’s hours one is left, and the weekend has none.
  ['a 4h mon-fri 07-19', '2026-11-27T18:00Z', '2026-11-30T09:45Z', false],
  ['a 4h mon-fri 07-19', '2026-11-27T18:00Z', '2026-11-30T10:15Z', true],
  ['a 24h mon-fri', '2026-11-27T02:00Z', '2026-11-30T01:45Z', false],
  ['a 24h mon-fri', '2026-11-27T02:00Z', '2026-11-30T02:15Z', true],
  ['a 24h fri-sat', '2026-11-27T02:00Z', '2026-11-28T01:45Z', false],
  ['a 24h fri-sat', '2026-11-27T02:00Z', '2026-11-28T02:15Z', true],
  ['a 4h not 2026-11-27', '2026-11-26T23:00Z', '2026-11-28T02:45Z', false],
  ['a 4h not 2026-11-27', '2026-11-26T23:00Z', '2026-11-28T03:15Z', true],
  ['a 26h not 2026-12-24..2027-01-06', '2026-12-23T22:00Z', '2027-01-07T23:45Z', false],
  ['a 26h not 2026-12-24..2027-01-06', '2026-12-23T22:00Z', '2027-01-08T00:15Z', true],
])('%s, last at %s: at %s it is overdue: %s', (expected, last, now, is) => {
  expect(overdue(expected, last, now)).toBe(is);
});

test('hours are those of the time zone, in summer and in winter', () => {
  const late = (now: string) => overdue('a 1h 07-19', '2026-07-01T00:00Z', now, 'Europe/Vienna');
  expect([late('2026-07-01T05:45Z'), late('2026-07-01T06:15Z')]).toEqual([false, true]);
  const inWinter = (now: string) => overdue('a 1h 07-19', '2026-12-01T00:00Z', now, 'Europe/Vienna');
  expect([inWinter('2026-12-01T06:45Z'), inWinter('2026-12-01T07:15Z')]).toEqual([false, true]);
});

test.each([
  ['grade-push', '“grade-push” does not say within how many hours'],
  ['grade-push 24', '“24” of “grade-push 24” is not understood'],
  ['grade-push 0h', '“0h” of'],
  ['grade-push 999h', '“999h” of'],
  ['grade-push 4h mon-fry', '“mon-fry” of'],
  ['grade-push 4h 19-07', '“19-07” of'],
  ['grade-push 4h not 2026-13-01', '“2026-13-01” of'],
  ['grade-push 4h not 2027-01-06..2026-12-24', '“2027-01-06..2026-12-24” of'],
  ['grade-push 4h; grade-push 5h', 'grade-push is there twice'],
])('%s is refused, with an example', (expected, problem) => {
  const { error } = expectedSchema.safeParse(expected);
  expect(error?.issues[0]?.message).toContain(problem);
  expect(error?.issues[0]?.message).toContain('Write it as in grade-push 24h mon-fri 07-19');
});

test('a time zone is one that there is', () => {
  expect(timeZoneSchema.safeParse('Europe/Vienna').success).toBe(true);
  expect(timeZoneSchema.safeParse('Vienna').error?.issues[0]?.message).toContain('such as Europe/Vienna');
});
