import { isApiOwn, notFoundWords, PlatformError } from './platform-error.ts';

/** The API itself answered 404, in one of its own forms: the resource or the path does not exist. */
export const isNotFound = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && error.refused?.status === 404 && error.refused.form === 'error';

/**
 * Undefined if the platform answers that the resource does not exist (404). `resource` matches its words for the resource: pass
 * it if the caller treats a missing resource as an empty one and overwrites it.
 */
export const undefinedIfNotFound = async <Answer>(
  call: Promise<Answer>,
  resource?: RegExp,
): Promise<Answer | undefined> => {
  try {
    return await call;
  } catch (error) {
    if (error instanceof PlatformError && isCertain(error, resource)) return undefined;
    throw error;
  }
};

/**
 * An unknown path is answered with 404, too. After a mere read, the next call shows that the path was wrong. Otherwise a 404
 * counts only if the API says in words which resource does not exist.
 */
const isCertain = (error: PlatformError, resource: RegExp | undefined): boolean => {
  const { operation, refused } = error;
  if (refused?.status !== 404) return false;
  if (operation.method === 'GET' && resource === undefined) return isApiOwn(refused);
  return isNotFound(error) && (resource ?? /./).test(notFoundWords(refused));
};
