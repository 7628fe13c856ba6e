// @module-tag long
import { expect, test } from 'vitest';
import { isWell, linesOf, wreak } from './chaos.ts';

// The proof `chaos` does the same with as many messages as are asked for. This seed gives some of each kind.
test('sixty messages come to their ends, whatever is killed, cut off and refused meanwhile', async ({
  signal,
}) => {
  const result = await wreak({ seed: 13, messages: 60, signal });
  expect(isWell(result), linesOf(result).join('\n')).toBe(true);
  expect(result.kills).toBeGreaterThan(3);
  expect(result.outages.length).toBeGreaterThan(3);
  expect(result.letters.length).toBeGreaterThan(0);
});
