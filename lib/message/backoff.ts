export type BackoffLimits = {
  minimumSeconds: number;
  maximumSeconds: number;
  /** No wait is longer, whatever the platform asks for; default: what a queue can hide a message for. */
  longestSeconds?: number;
  /** From 0 to 1. */
  random?: () => number;
};

/** The visibility of a message can last 12 hours from its receipt; a little is left for the time that the attempt took. */
const longestVisibilitySeconds = 11 * 3600;

/**
 * After this many receipts a short Retry-After no longer shortens the backoff: otherwise a platform that keeps asking for one
 * second would exhaust the message's receive count long before its day of waiting is over.
 */
export const patientReceipts = 20;

/** How long a message waits, in whole seconds: as the platform asks, otherwise longer with each receipt, with jitter. */
export const waitSeconds = (
  message: { receiveCount: number; retryAfterSeconds?: number | undefined },
  {
    minimumSeconds,
    maximumSeconds,
    longestSeconds = longestVisibilitySeconds,
    random = Math.random,
  }: BackoffLimits,
): number => {
  const ceiling = Math.min(maximumSeconds, minimumSeconds * 2 ** message.receiveCount);
  // Equal jitter: never before half the time, so that the receipts of a day stay countable, and no two messages in step.
  const backoff = Math.max(minimumSeconds, Math.round(ceiling / 2 + (random() * ceiling) / 2));
  return Math.min(longestSeconds, waitAsked(message, backoff));
};

const waitAsked = (
  { receiveCount, retryAfterSeconds }: { receiveCount: number; retryAfterSeconds?: number | undefined },
  backoff: number,
): number => {
  if (retryAfterSeconds === undefined) return backoff;
  const asked = Math.max(1, Math.ceil(retryAfterSeconds));
  return receiveCount > patientReceipts ? Math.max(asked, backoff) : asked;
};
