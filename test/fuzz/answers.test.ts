import { expect, test } from 'vitest';
import { seed } from '../seed.ts';
import { answerOf, check } from './answers.ts';
import { randomFrom } from './random.ts';

// `npm run proofs -- --only fuzz` reads a million of them.
test('no generated answer is done by an error, is a defect, or brings a proof into a letter', () => {
  const random = randomFrom(seed);
  const came = new Set(Array.from({ length: 3_000 }, () => check(answerOf(random))));
  expect([...came].sort()).toEqual([
    'credentials',
    'done',
    'intercepted',
    'missing-permission',
    'missing-scope',
    'rejected',
    'throttled',
    'unavailable',
    'uncertain',
    'unexpected-answer',
  ]);
});
