/** Loaded when they are needed: most functions never are in want of memory, and each of them would start later. */
const v8 = () => process.getBuiltinModule('node:v8');
const vm = () => process.getBuiltinModule('node:vm');

type Collect = (options: { type: 'minor' | 'major' }) => void;

let collect: Collect | undefined;

/** Collects what was left behind since the last time, or everything. */
export const collectGarbage = (type: 'minor' | 'major'): void => {
  if (!collect) {
    // The way to it that needs no flag on the command line, and so works wherever the function runs.
    v8().setFlagsFromString('--expose-gc');
    collect = (vm().runInNewContext('globalThis.gc') as Collect | undefined) ?? (() => undefined);
    v8().setFlagsFromString('--no-expose-gc');
  }
  collect({ type });
};

const mebibyte = 1024 ** 2;
let maxBytes = 0;

/**
 * Collects everything once there is more than so much of it. V8 lets garbage pile up as long as the machine has memory,
 * not as long as the function has been given it.
 */
export const keepMemoryBelow = (limitMb: number): void => {
  const bytesInUse = (): number => {
    const { used_heap_size, external_memory } = v8().getHeapStatistics();
    return used_heap_size + external_memory;
  };
  if (bytesInUse() < Math.max(maxBytes, limitMb * mebibyte)) return;
  collectGarbage('major');
  // What is in use and no garbage must not be collected over and over again.
  maxBytes = 1.5 * bytesInUse();
};
