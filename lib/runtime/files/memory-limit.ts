/** Loaded when needed: most functions never need them, and would start later. */
const v8 = () => process.getBuiltinModule('node:v8');
const vm = () => process.getBuiltinModule('node:vm');

type Collect = (options: { type: 'minor' | 'major' }) => void;

let collect: Collect | undefined;

/** Collects young garbage (`minor`) or all garbage (`major`). */
export const collectGarbage = (type: 'minor' | 'major'): void => {
  if (!collect) {
    // This way needs no flag on the command line, so it works in every runtime.
    v8().setFlagsFromString('--expose-gc');
    collect = (vm().runInNewContext('globalThis.gc') as Collect | undefined) ?? (() => undefined);
    v8().setFlagsFromString('--no-expose-gc');
  }
  collect({ type });
};

const mebibyte = 1024 ** 2;
let maxBytes = 0;

/**
 * Collects garbage once more memory than this is in use. V8 lets garbage grow up to the memory of the machine, and not of
 * the function.
 */
export const keepMemoryBelow = (limitMb: number): void => {
  const bytesInUse = (): number => {
    const { used_heap_size, external_memory } = v8().getHeapStatistics();
    return used_heap_size + external_memory;
  };
  const limit = Math.max(maxBytes, limitMb * mebibyte);
  if (bytesInUse() < limit) return;
  // Most of it is young, which takes a tenth of the time.
  collectGarbage('minor');
  if (bytesInUse() < 0.9 * limit) return;
  collectGarbage('major');
  // Memory that is really in use must not cause one collection after the other.
  maxBytes = 1.5 * bytesInUse();
};
