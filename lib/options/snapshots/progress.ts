/** Called with the progress, from 0 to 1. */
export type OnProgress = (share: number) => void;

export type Progress = {
  /** Call this with the bytes read since the last call, and the number of all bytes to read. */
  onRead(bytes: number, of: number): void;
  /** Call this after each statement. */
  onRun(): void;
};

/** Half of the work is reading, by bytes; the other half is statements, of which this is the approximate number. */
export const createProgress = (onProgress: OnProgress | undefined, statements: number): Progress => {
  let [read, all, ran] = [0, 1, 0];
  const report = (): void => onProgress?.(Math.min(1, read / all) / 2 + Math.min(1, ran / statements) / 2);
  return {
    onRead: (bytes, of) => {
      read += bytes;
      all = Math.max(1, of);
      report();
    },
    onRun: () => {
      ran += 1;
      report();
    },
  };
};
