import { describe, expect, test } from 'vitest';
import type { PlatformState } from '../../../local/controls.ts';
import { seed } from '../../../seed.ts';
import { differencesIn, type Writes } from './judge.ts';
import { liveTerm } from './live.ts';
import { week } from './nights.ts';
import type { Truth } from './truth.ts';

test('a university’s nightly exports have the platform hold exactly what it knows', {
  tags: ['long'],
}, async () => {
  const results = await liveTerm({ students: 300, seed, nights: week });
  expect(results.map(({ title, problems }) => ({ title, problems }))).toEqual(
    week.map(({ title }) => ({ title, problems: [] })),
  );
  // Otherwise, nothing is proved of what a killed import leaves.
  expect(new Set(results.flatMap(({ killed }) => killed))).toEqual(new Set(['compare', 'send']));
});

describe('the judge of the platform', () => {
  const text = (content: string) => ({ content, type: 'Text' });
  const enrollment = { orgUnitId: 10_001, userId: 100_001, roleId: 110, writes: 1 };
  const gradeObject = {
    gradeObjectId: 1,
    orgUnitId: 10_001,
    name: 'Quiz',
    maxPoints: 10,
    gradeObjectType: 1,
  };
  const grade = {
    gradeObjectId: 1,
    orgUnitId: 10_001,
    userId: 100_001,
    pointsNumerator: 0,
    writes: 1,
    comments: text('Late'),
    privateComments: text(''),
  };
  const platform: PlatformState = {
    enrollments: [enrollment],
    gradeObjects: [gradeObject],
    gradeValues: [grade],
  };
  const truth: Truth = {
    enrollments: new Map([['c u', { orgUnitId: 10_001, userId: 100_001, roleId: 110, as: 'ada' }]]),
    gradeObjects: new Map([['i', { orgUnitId: 10_001, name: 'Quiz', maxPoints: 10 }]]),
    grades: new Map([['i u', { lineItemId: 'i', userId: 100_001, points: 0, comment: 'Late', as: 'ada' }]]),
  };
  const writes: Writes = { enrollments: new Map([['c u', 1]]), grades: new Map([['i u', 1]]) };
  const judged = (state: PlatformState): string[] => differencesIn(state, { truth, writes, before: {} });

  test('finds nothing where all is well', () => {
    expect(judged(platform)).toEqual([]);
  });

  test.each<[string, PlatformState, RegExp]>([
    ['an enrollment that is missing', { enrollments: [] }, /enrollment 10001\/100001 is missing/],
    ['one too much', { enrollments: [enrollment, { ...enrollment, userId: 7 }] }, /10001\/7 is too much/],
    ['another role', { enrollments: [{ ...enrollment, roleId: 109 }] }, /role 109/],
    ['one that was written again', { enrollments: [{ ...enrollment, writes: 2 }] }, /written 2 times/],
    [
      'another maximum',
      { gradeObjects: [{ ...gradeObject, maxPoints: 20 }] },
      /of 20, and not numeric, of 10/,
    ],
    [
      'two of one name',
      { gradeObjects: [gradeObject, { ...gradeObject, gradeObjectId: 2 }] },
      /another grade/,
    ],
    ['other points', { gradeValues: [{ ...grade, pointsNumerator: 1 }] }, /1 points/],
    ['another comment', { gradeValues: [{ ...grade, comments: text('') }] }, /“”, “”, written/],
    ['a grade that is missing', { gradeValues: [] }, /grade 10001\/Quiz\/100001 is missing/],
  ])('finds %s', (_, change, problem) => {
    const found = judged({ ...platform, ...change });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(problem);
  });
});
