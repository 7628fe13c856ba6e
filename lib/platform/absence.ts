import { PlatformError } from './error.ts';

/** Undefined where the platform says that there is no such thing (404), for calls of which that is an answer. */
export const unlessAbsent = async <Answer>(call: Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await call;
  } catch (error) {
    if (error instanceof PlatformError && error.refused?.status === 404) return undefined;
    throw error;
  }
};
