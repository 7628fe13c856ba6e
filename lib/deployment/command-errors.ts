/** What was asked for cannot or must not be done: exit status 1. */
export class RefusedError extends Error {
  override name = 'RefusedError';
}

/** What was asked for makes no sense as it was asked: exit status 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
