import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' | 'major' }) => void;

let collect: Collect | undefined;

/** Collects what was left behind since the last time, or everything. */
export const collectGarbage = (type: 'minor' | 'major'): void => {
  if (!collect) {
    // The way to it that needs no flag on the command line, and so works wherever the function runs.
    setFlagsFromString('--expose-gc');
    collect = (runInNewContext('globalThis.gc') as Collect | undefined) ?? (() => undefined);
    setFlagsFromString('--no-expose-gc');
  }
  collect({ type });
};

const mebibyte = 1024 ** 2;
let mostBytes = 0;

/**
 * Collects everything once there is more than so much of it. V8 lets garbage pile up as long as the machine has memory,
 * not as long as the function has been given it.
 */
export const keepMemoryBelow = (limitMb: number): void => {
  const bytesInUse = (): number => {
    const { used_heap_size, external_memory } = getHeapStatistics();
    return used_heap_size + external_memory;
  };
  if (bytesInUse() < Math.max(mostBytes, limitMb * mebibyte)) return;
  collectGarbage('major');
  // What is in use and no garbage must not be collected over and over again.
  mostBytes = 1.5 * bytesInUse();
};
