import { expect, test } from 'vitest';
import {
  isOrgUnitDueTonight,
  reasonFor,
  type Selection,
  subjectOf,
} from '../../../lib/options/reconcile/selection.ts';

const written = (resource: string) => ({ resource, subject: subjectOf(resource)!, writtenMs: 1_000 });
const grades = Array.from({ length: 10_000 }, (_, at) => written(`grade/2001/5001/${at + 1}`));
const selection: Selection = { sinceMs: 2_000, nights: 28, night: 0, share: 0, runId: 'one' };
const chosen = (of: Partial<Selection>) => grades.filter((each) => reasonFor(each, { ...selection, ...of }));

test('what was written since is looked at, whatever chance says', () => {
  expect(reasonFor(written('grade/2001/5001/1'), { ...selection, sinceMs: 1_000 })).toBe('recent');
});

test('chance chooses about the share that is wanted, and another run others', () => {
  const one = grades.filter((each) => reasonFor(each, { ...selection, share: 0.3 }) === 'sample');
  const other = grades.filter(
    (each) => reasonFor(each, { ...selection, share: 0.3, runId: 'other' }) === 'sample',
  );
  expect(one.length).toBeGreaterThan(2_850);
  expect(one.length).toBeLessThan(3_150);
  const both = other.filter((each) => one.includes(each)).length;
  expect(both).toBeGreaterThan(800);
  expect(both).toBeLessThan(1_000);
});

test('each has its turn once in so many nights, and about as many in each of them', () => {
  const nights = Array.from({ length: 28 }, (_, night) => chosen({ night }));
  expect(nights.flat()).toHaveLength(grades.length);
  expect(new Set(nights.flat()).size).toBe(grades.length);
  for (const night of nights) expect(Math.abs(night.length - 10_000 / 28)).toBeLessThan(90);
  expect(chosen({ night: 28 })).toEqual(nights[0]);
});

test('the enrollments of an org unit have their turn together', () => {
  const enrollments = Array.from({ length: 100 }, (_, at) => written(`enrollment/2001/${at + 1}`));
  for (let night = 0; night < 28; night += 1)
    expect(new Set(enrollments.map((each) => reasonFor(each, { ...selection, night }))).size).toBe(1);
});

test('each org unit has its own turn, once in so many nights', () => {
  const orgUnits = Array.from({ length: 1_000 }, (_, at) => at + 1);
  const nights = Array.from({ length: 28 }, (_, night) =>
    orgUnits.filter((each) => isOrgUnitDueTonight(each, { ...selection, night })),
  );
  expect(nights.flat().toSorted((one, other) => one - other)).toEqual(orgUnits);
  for (const night of nights) expect(Math.abs(night.length - 1_000 / 28)).toBeLessThan(30);
});

test.each([
  'grade/0/5001/301',
  'grade/2001/5001/x',
  'enrollment/2001/-1',
  'enrollment/2001/1.5',
  'enrollment/2001/301/7',
])('%s is of no grade and no enrollment', (resource) => {
  expect(subjectOf(resource)).toBeUndefined();
});
