import type { SetEngine } from '../../runtime/files/tables/engine.ts';

/** Hears how far the work is, from 0 to 1. */
export type OnProgress = (share: number) => void;

export type Progress = {
  /** Hears of all bytes that are to be read, and of those that have been since the last time. */
  onRead(bytes: number, of: number): void;
  /** The same engine; the statements that it runs count. */
  watched(sets: SetEngine): SetEngine;
};

/** Reading is half of the work, by bytes; the other half are statements, of which there are about so many. */
export const createProgress = (onProgress: OnProgress | undefined, statements: number): Progress => {
  let [read, all, ran] = [0, 1, 0];
  const tell = (): void => onProgress?.(Math.min(1, read / all) / 2 + Math.min(1, ran / statements) / 2);
  return {
    onRead: (bytes, of) => {
      read += bytes;
      all = Math.max(1, of);
      tell();
    },
    watched: (sets) => ({
      ...sets,
      run: async (...given) => {
        await sets.run(...given);
        ran += 1;
        tell();
      },
    }),
  };
};
