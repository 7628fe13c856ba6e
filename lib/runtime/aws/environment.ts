import { once } from './once.ts';

/** Makes something of the environment when it is first needed, and once per container. */
export const onceFromEnvironment = <Value>(
  make: (environment: Record<string, string | undefined>) => Value,
): (() => Value) => once(() => make(process.env));

/**
 * Does something once Lambda has loaded the function of this name, while nothing is asked of it yet. That it fails is nobody's
 * concern, and whoever loads the file elsewhere sees nothing of it.
 */
export const whileInitialising = (functionName: string, work: () => void): void => {
  if (process.env._HANDLER !== `functions/${functionName}.handler`) return;
  setImmediate(() => {
    try {
      work();
    } catch {
      // The first message tells.
    }
  });
};
