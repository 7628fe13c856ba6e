import { type Digest, haveOneKey } from '../ledger/digest.ts';
import type { Claim } from '../ledger/ledger.ts';
import { standingIn } from '../ledger/rules.ts';
import type { Shown } from './integration.ts';
import { digestsOf } from './ledger-entry.ts';
import { clockGrainMs } from './verify-attempt.ts';

/** What was read is older than what was done; nothing was sent. */
export class StaleReadError extends Error {}

type Read = {
  claim: Claim;
  digest: Digest | undefined;
  /** How far the platform's clock is ahead of ours. */
  clockOffsetMs: number;
  nowMs: number;
};

/** No cache and no replica shows an earlier state for longer. */
const believedAfterMs = 3_600_000;

/**
 * A cache, a replica or a restored platform shows an earlier state. To write it back would lose values that the ledger knows to be
 * newer. A person who replays an uncertain letter has looked, but a cache may have deceived them about what was done shortly before.
 * @throws StaleReadError
 */
export const mustBeCurrent = async (
  { fields, changedMs }: Shown,
  { claim: { entry, fields: taken, before }, digest, clockOffsetMs, nowMs }: Read,
): Promise<void> => {
  // What left no outcome is set again by its own message. What was done before it is not.
  const kept = Object.entries(before.fields).flatMap(([field, state]) => {
    const done = standingIn(state);
    return done === null || taken.includes(field) || fields[field] === undefined
      ? []
      : [{ field, done, sinceMs: done?.claimedMs ?? state.attemptedMs }];
  });
  if (kept.length === 0) return;
  const digests = await digestsOf(entry.resource, fields, digest);
  for (const { field, done, sinceMs } of kept) {
    const shown = digests[field];
    if (shown === undefined) continue;
    if (entry.decidedMs !== undefined && entry.decidedMs - sinceMs >= believedAfterMs) continue;
    if (done && (shown === done.digest || !haveOneKey(shown, done.digest))) continue;
    if (changedMs - clockOffsetMs >= sinceMs - clockGrainMs) continue;
    // A value without a date may be a person's change. If it is not known what was done, there may be nothing to lose.
    const mayBeCurrent = Number.isNaN(changedMs) || done === undefined;
    if (mayBeCurrent && nowMs - sinceMs >= believedAfterMs) continue;
    throw new StaleReadError('The platform shows what was there before the last change');
  }
};
