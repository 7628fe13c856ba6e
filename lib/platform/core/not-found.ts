import { absentIn, isApiOwn, PlatformError } from './platform-error.ts';

/** The API itself says, in one of its own forms, that there is no such thing, or that it knows no such path. */
export const isAbsence = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && error.refused?.status === 404 && error.refused.form === 'error';

/**
 * Undefined where the platform says that there is no such thing (404), for calls of which that is an answer. `thing`: how it is
 * named, where what is not there is then taken for empty and written over.
 */
export const unlessAbsent = async <Answer>(
  call: Promise<Answer>,
  thing?: RegExp,
): Promise<Answer | undefined> => {
  try {
    return await call;
  } catch (error) {
    if (error instanceof PlatformError && isTold(error, thing)) return undefined;
    throw error;
  }
};

/**
 * A path that the platform does not know is answered with 404, too. Of what is only read that comes to light with the call
 * that follows; else it is believed only where the API says in so many words what is not there.
 */
const isTold = (error: PlatformError, thing: RegExp | undefined): boolean => {
  const { operation, refused } = error;
  if (refused?.status !== 404) return false;
  if (operation.method === 'GET' && thing === undefined) return isApiOwn(refused);
  return isAbsence(error) && (thing ?? /./).test(absentIn(refused));
};
