import { closest, distance } from 'fastest-levenshtein';

/** The name that was probably meant; undefined if none is similar. */
export const nearest = (typed: string, names: readonly string[]): string | undefined => {
  if (names.length === 0) return undefined;
  const name = closest(typed, names);
  return distance(typed, name) <= Math.max(2, name.length * 0.4) ? name : undefined;
};

/** As in `There is no function grade-pish: did you mean grade-push? There are: …`. */
export const unknownName = (what: string, typed: string, names: readonly string[]): string => {
  const near = nearest(typed, names);
  const meant = near === undefined ? '.' : `: did you mean ${near}?`;
  return `There is no ${what} ${typed}${meant} There are: ${names.join(', ')}.`;
};
