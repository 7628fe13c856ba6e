import { memoize } from './memoize.ts';

/** Creates a value from the environment at its first use, once per container. */
export const onceFromEnvironment = <Value>(
  make: (environment: Record<string, string | undefined>) => Value,
): (() => Value) => memoize(() => make(process.env));

/**
 * Runs work once Lambda has loaded the function of this name and before its first event. Failures are ignored, and nothing
 * happens if the file is loaded elsewhere.
 */
export const whileInitialising = (functionName: string, work: () => void): void => {
  if (process.env._HANDLER !== `functions/${functionName}.handler`) return;
  setImmediate(() => {
    try {
      work();
    } catch {
      // The first message reports it.
    }
  });
};
