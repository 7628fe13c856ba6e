/** The request cannot or must not be fulfilled: exit status 1. */
export class RefusedError extends Error {
  override name = 'RefusedError';
}

/** The request itself is wrong: exit status 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
