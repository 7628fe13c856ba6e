/** `3 h`: an age in a single unit. */
export const ageOf = (ms: number, nowMs: number = Date.now()): string => {
  const minutes = Math.floor(Math.max(0, nowMs - ms) / 60_000);
  if (minutes < 1) return '<1 min';
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} d`;
};

/** `80 s`, `12 min`, `1.5 h`. */
export const durationOf = (seconds: number): string => {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
};

/** `1,204`. */
export const numberOf = (count: number): string => count.toLocaleString('en-US');

/** `1 letter`, `1,204 letters`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${numberOf(count)} ${count === 1 ? one : many}`;

/** `3 (0.1 %)`. */
export const shareText = ({ count, of }: { count: number; of: number }): string =>
  count === 0 ? '–' : `${numberOf(count)} (${partOf(count, of)})`;

/** `12.5 %`. */
export const partOf = (part: number, whole: number): string =>
  `${Math.round((1_000 * part) / Math.max(1, whole)) / 10} %`;
