import { type Digest, haveOneKey } from '../ledger/digest.ts';
import type { Claim } from '../ledger/ledger.ts';
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

/** A value without a date may be older than what was done, or a person's change: it is trusted if what was done is this old. */
const believedAfterMs = 3_600_000;

/**
 * A cache, a replica or a restored platform shows an earlier state. To write it back would lose values that the ledger knows to be
 * newer. A person who replays an uncertain letter has looked.
 * @throws StaleReadError
 */
export const mustBeCurrent = async (
  { fields, changedMs }: Shown,
  { claim: { entry, fields: taken, before }, digest, clockOffsetMs, nowMs }: Read,
): Promise<void> => {
  if (entry.decidedMs !== undefined) return;
  // What left no outcome is set again by its own message.
  const kept = Object.entries(before.fields).filter(
    ([field, { outcome }]) =>
      (outcome === 'done' || outcome === 'claimed') && !taken.includes(field) && fields[field] !== undefined,
  );
  if (kept.length === 0) return;
  const digests = await digestsOf(entry.resource, fields, digest);
  for (const [field, { claimedMs, digest: done }] of kept) {
    const shown = digests[field];
    if (shown === undefined || done === undefined || shown === done || !haveOneKey(shown, done)) continue;
    const isOlder = Number.isNaN(changedMs)
      ? nowMs - claimedMs < believedAfterMs
      : changedMs - clockOffsetMs < claimedMs - clockGrainMs;
    if (isOlder) throw new StaleReadError('The platform shows what was there before the last change');
  }
};
