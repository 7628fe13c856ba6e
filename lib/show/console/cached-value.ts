/** What takes long to read, read once for many requests. */
export type Kept<Value> = {
  /** @throws what the reading threw. */
  get(): Promise<{ value: Value; atMs: number }>;
  /** The next `get` reads anew: something was changed. */
  changed(): void;
};

/** Read within this time, in milliseconds, it is worth the wait. */
const shortMs = 300;
/** However long it takes to read, it is read again after so many milliseconds: that AWS is away must be seen. */
const maxRestMs = 30_000;
/** Nobody is shown what is older. */
const maxAgeMs = 60_000;

/**
 * What is older than `freshMs`, or than five times as long as it takes to read (30 s at most), is read again: whoever asks gets what was
 * read before where that takes long, and the time of it. A reading that fails is told, never the old in its place.
 */
export const createKept = <Value>(
  read: () => Promise<Value>,
  { freshMs }: { freshMs: number },
): Kept<Value> => {
  let kept: { value: Value; atMs: number; tookMs: number } | undefined;
  let reading: Promise<{ value: Value; atMs: number }> | undefined;
  const readAnew = (): Promise<{ value: Value; atMs: number }> => {
    const atMs = Date.now();
    const begun = read().then((value) => {
      // What was changed meanwhile may not be in it.
      if (reading === begun) kept = { value, atMs, tookMs: Date.now() - atMs };
      return { value, atMs };
    });
    reading = begun;
    begun
      .catch(() => {
        if (reading === begun) kept = undefined;
      })
      .finally(() => {
        if (reading === begun) reading = undefined;
      });
    return begun;
  };
  return {
    get: () => {
      if (kept === undefined) return reading ?? readAnew();
      const ageMs = Date.now() - kept.atMs;
      if (ageMs <= Math.max(freshMs, Math.min(5 * kept.tookMs, maxRestMs))) return Promise.resolve(kept);
      const anew = reading ?? readAnew();
      return kept.tookMs < shortMs || ageMs > maxAgeMs ? anew : Promise.resolve(kept);
    },
    changed: () => {
      kept = undefined;
      reading = undefined;
    },
  };
};
