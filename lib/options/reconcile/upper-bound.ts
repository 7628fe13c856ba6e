/**
 * The upper bound, at this confidence, of the share of faults in a population, if a sample of `checked` has `faults` faults: the exact
 * bound of Clopper and Pearson. 1 if nothing was checked.
 */
export const upperBound = (faults: number, checked: number, confidence = 0.95): number => {
  if (faults >= checked) return 1;
  let [low, high] = [faults / checked, 1];
  // To the precision of floating-point numbers.
  for (let step = 0; step < 100; step += 1) {
    const share = (low + high) / 2;
    if (atMost(faults, checked, share) > 1 - confidence) low = share;
    else high = share;
  }
  return high;
};

/** The probability that at most `faults` of a sample are faults, if this share of the population is. */
const atMost = (faults: number, checked: number, share: number): number => {
  // In logarithms: the powers are too small for numbers. Each term follows from the previous one.
  let term = checked * Math.log1p(-share);
  let sum = Math.exp(term);
  for (let count = 1; count <= faults; count += 1) {
    term += Math.log((checked - count + 1) / count) + Math.log(share) - Math.log1p(-share);
    sum += Math.exp(term);
  }
  return sum;
};
