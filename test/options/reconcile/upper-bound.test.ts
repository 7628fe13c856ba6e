import { describe, expect, test } from 'vitest';
import { upperBound } from '../../../lib/options/reconcile/upper-bound.ts';

describe('what a sample says of all', () => {
  // scipy.stats.beta.ppf(0.95, faults + 1, checked - faults)
  test.each([
    [0, 1, 0.95],
    [0, 29_956, 0.0001],
    [0, 100, 0.02951],
    [1, 100, 0.0466],
    [10, 1_000, 0.01689],
    [50, 100, 0.5864],
    [99, 100, 0.9995],
  ])('%d faults of %d: below %d with 95 %% confidence', (faults, checked, share) => {
    expect(upperBound(faults, checked)).toBeCloseTo(share, 4);
  });
  test.each([
    [0, 0],
    [5, 5],
  ])('%d of %d: nothing', (faults, checked) => {
    expect(upperBound(faults, checked)).toBe(1);
  });
  test('of a large sample with many faults is a number', () => {
    expect(upperBound(5_000, 512_340)).toBeCloseTo(0.00999, 4);
  });
});
