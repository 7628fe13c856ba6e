/** A value that takes long to read, read once for many requests. */
export type CachedValue<Value> = {
  /** @throws the error of the reading. */
  get(): Promise<{ value: Value; atMs: number }>;
  /** False: there is none yet, so `get` takes as long as a reading. */
  isThere(): boolean;
  /** Something was changed: the next `get` reads again. */
  changed(): void;
};

/** A reading that takes less than this, in milliseconds, is awaited. */
const shortMs = 300;
/** A value is read again after this many milliseconds, however long reading takes: a failure of AWS must become visible. */
const maxRestMs = 30_000;
/** Older values are never returned. */
const maxAgeMs = 60_000;

/**
 * A value older than `freshMs`, or than five times its reading time (30 s at most), is read again. If reading takes long, the caller gets
 * the previous value with its time. If a reading fails, the error is thrown; the old value is not returned in its place.
 */
export const createCachedValue = <Value>(
  read: () => Promise<Value>,
  { freshMs }: { freshMs: number },
): CachedValue<Value> => {
  let kept: { value: Value; atMs: number; tookMs: number } | undefined;
  let reading: Promise<{ value: Value; atMs: number }> | undefined;
  const readAnew = (): Promise<{ value: Value; atMs: number }> => {
    const atMs = Date.now();
    const begun = read().then((value) => {
      // The reading may lack a change that was made meanwhile.
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
    isThere: () => kept !== undefined,
    changed: () => {
      kept = undefined;
      reading = undefined;
    },
  };
};
