/** What this thread has computed: what else the machine does meanwhile is no answer's fault. */
const computedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** The worst of a run, for a line at its end. */
export const createMeasure = () => {
  let worstMs = 0;
  let worst = '';
  let maxBytes = 0;
  const startedMs = performance.now();
  return {
    /** Times a piece of work, which `what` names if it is the slowest. Only one may run at a time. */
    time: <Result>(what: () => string, work: () => Result): Result => {
      const sinceMs = computedMs();
      const end = (): void => {
        const tookMs = computedMs() - sinceMs;
        if (tookMs > worstMs) [worstMs, worst] = [tookMs, what()];
      };
      const result = work();
      if (result instanceof Promise) return result.finally(end) as Result;
      end();
      return result;
    },
    sampleMemory: (): void => {
      maxBytes = Math.max(maxBytes, process.memoryUsage.rss());
    },
    worstMs: () => worstMs,
    maxMegabytes: () => Math.round(maxBytes / 1e6),
    told: (count: number, what: string): string =>
      `${count} ${what} in ${((performance.now() - startedMs) / 1000).toFixed(0)} s; the slowest computed for ${worstMs.toFixed(1)} ms (${worst}); most memory ${Math.round(maxBytes / 1e6)} MB`,
  };
};
