import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { histories } from './history.ts';
import { kept } from './kept.ts';
import { live } from './live.ts';

// The proof of delivery. `prove` lives through as many histories as time allows; what it finds is kept in kept.ts.
const lives = 1_600;

describe('never twice, never stale, never lost', () => {
  test.each(kept)('$title', async ({ history }) => {
    expect((await live(history)).problems).toEqual([]);
  });

  test('whatever is sent, repeated, delayed, replayed and corrected, and whoever dies in between', {
    tags: ['long'],
  }, async () => {
    const reached = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const life = await live(history);
        for (const each of life.reached) reached.set(each, (reached.get(each) ?? 0) + 1);
        expect(life.problems).toEqual([]);
      }),
      { numRuns: lives },
    );
    // Histories in which nothing happens would prove nothing.
    const often = ['done', 'duplicate', 'superseded', 'waiting', 'waiting unavailable', 'waiting uncertain'];
    const letters = ['parked rejected', 'parked crashed', 'parked uncertain'];
    for (const each of [...often, ...letters])
      expect(reached.get(each) ?? 0, each).toBeGreaterThan(lives / 200);
  });
});
