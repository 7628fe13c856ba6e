import { expect, test } from 'vitest';
import { candidatesFor, differenceOf, nearestOf } from '../../../lib/crosswalk/near-names.ts';

test.each([
  ['Lena.Learner', 'lena.learner', 'case'],
  ['lena learner', 'lenalearner', 'spaces'],
  ['12345', '0012345', 'zeros'],
  ['BIO 0101', 'bio0101', 'several'],
  ['lena.lerner', 'lena.learner', 'letter'],
  ['lena.leanrer', 'lena.learner', 'letter'],
  ['lena.learnxr', 'lena.learner', 'letter'],
  // Other digits are other people and courses, and short names are all near.
  ['s1234567', 's1234568', undefined],
  ['BIO-101', 'BIO-1011', undefined],
  ['ann', 'anna', undefined],
  ['lena.learner', 'liam.learner', undefined],
  ['lena', 'lena', undefined],
])('%s differs from %s by: %s', (name, known, differs) => {
  expect(differenceOf(name, known)).toBe(differs);
  // What a search of the table finds, but for names whose form cannot be guessed.
  if (differs !== undefined && known !== 'bio0101') expect(candidatesFor(name)).toContain(known);
});

test('the nearest of several names is the one that differs least', () => {
  expect(nearestOf('Anna.Lee', ['anna.leé', 'annna.lee', 'anna.lee', 'Hanna.Lee'])).toEqual({
    name: 'anna.lee',
    differs: 'case',
  });
});
