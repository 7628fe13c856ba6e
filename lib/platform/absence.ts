import { isApiOwn, PlatformError } from './error.ts';

/** The platform says that there is no such thing, or knows no such path. */
export const isAbsence = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && error.refused?.status === 404;

/** Undefined where the platform says that there is no such thing (404), for calls of which that is an answer. */
export const unlessAbsent = async <Answer>(call: Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await call;
  } catch (error) {
    if (isAbsence(error) && isTold(error)) return undefined;
    throw error;
  }
};

/**
 * A path that the platform does not know is answered with 404, too. Of what is only read that comes to light with the call
 * that follows; that there is nothing to remove is believed only where the API says it in so many words.
 */
const isTold = ({ operation, refused }: PlatformError): boolean =>
  refused !== undefined && isApiOwn(refused) && (operation.method === 'GET' || refused.form === 'error');
