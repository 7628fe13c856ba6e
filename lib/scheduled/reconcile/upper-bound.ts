/**
 * The share of faults in all of which a sample of `checked` was taken, found `faults` times, is below this with that confidence: the
 * exact bound of Clopper and Pearson. 1 where nothing was checked.
 */
export const upperBound = (faults: number, checked: number, confidence = 0.95): number => {
  if (faults >= checked) return 1;
  let [low, high] = [faults / checked, 1];
  // As near as a floating-point number tells.
  for (let step = 0; step < 100; step += 1) {
    const share = (low + high) / 2;
    if (atMost(faults, checked, share) > 1 - confidence) low = share;
    else high = share;
  }
  return high;
};

/** The probability that at most so many of a sample are faults, where this share of all is. */
const atMost = (faults: number, checked: number, share: number): number => {
  // By logarithms: the powers are too small for numbers. Each term comes from the one before it.
  let term = checked * Math.log1p(-share);
  let sum = Math.exp(term);
  for (let count = 1; count <= faults; count += 1) {
    term += Math.log((checked - count + 1) / count) + Math.log(share) - Math.log1p(-share);
    sum += Math.exp(term);
  }
  return sum;
};
