import { once } from '../aws/once.ts';

/** Makes something of the environment when it is first needed, and once per container. */
export const onceFromEnvironment = <Value>(
  make: (environment: Record<string, string | undefined>) => Value,
): (() => Value) => once(() => make(process.env));
