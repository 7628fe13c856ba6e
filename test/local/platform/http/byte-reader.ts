/** Reads a stream of chunks by marks and lengths; holds one chunk and a mark's length at most. */
export function byteReader(source: AsyncIterator<Buffer>) {
  let held: Buffer = Buffer.alloc(0);
  let ended = false;

  async function fill(): Promise<boolean> {
    if (ended) return false;
    const { done, value } = await source.next();
    if (done) ended = true;
    else held = held.length === 0 ? value : Buffer.concat([held, value]);
    return !ended;
  }

  function cut(bytes: number): Buffer {
    const piece = held.subarray(0, bytes);
    held = held.subarray(bytes);
    return piece;
  }

  return {
    /** The next bytes, fewer at the end of the stream. */
    async take(bytes: number): Promise<Buffer> {
      while (held.length < bytes && (await fill()));
      return cut(bytes);
    },

    /** The bytes before the mark, which is consumed; null if it does not come within the limit. */
    async upTo(mark: string, limit: number): Promise<Buffer | null> {
      while (!held.includes(mark)) {
        if (held.length > limit || !(await fill())) return null;
      }
      const piece = cut(held.indexOf(mark));
      cut(mark.length);
      return piece.length > limit ? null : piece;
    },

    /** The bytes before the mark, as they come; true at last if the mark was there, and is consumed. */
    async *through(mark: string): AsyncGenerator<Buffer, boolean> {
      for (;;) {
        const at = held.indexOf(mark);
        if (at >= 0) {
          if (at > 0) yield cut(at);
          cut(mark.length);
          return true;
        }
        // Only what may be the mark's beginning is held back: nearly always nothing, so that nearly nothing is copied.
        const begun = held.indexOf(mark.charAt(0), Math.max(0, held.length - mark.length + 1));
        const safe = begun === -1 ? held.length : begun;
        if (safe > 0) yield cut(safe);
        if (!(await fill())) return false;
      }
    },
  };
}
