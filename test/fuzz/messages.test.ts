import { expect, test } from 'vitest';
import { seed } from '../seed.ts';
import { fuzzMessages } from './messages.ts';

/** `npm run proofs -- --only fuzz` plays a million. */
test('of generated messages none throws, none leaves a secret in its letter, and none tells whom it is about', async () => {
  const { problems, reached } = await fuzzMessages(1_000, seed * 1_000_000);
  expect(problems).toEqual([]);
  expect([...reached.keys()]).toEqual(
    expect.arrayContaining([
      'valid',
      'invalid: the body is nested deeper than 64 levels',
      'invalid: the body is not JSON',
      'invalid: is not a known field',
    ]),
  );
});
