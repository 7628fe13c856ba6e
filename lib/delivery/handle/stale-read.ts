import { type Digester, haveSameKey } from '../ledger/digest.ts';
import type { LockedResource } from '../ledger/ledger.ts';
import type { PlatformState } from './integration.ts';
import { digestsOf } from './ledger-message.ts';

/** The platform showed a value that is older than the recorded change; nothing was sent. */
export class StaleReadError extends Error {}

type Reader = {
  taken: LockedResource;
  digest: Digester | undefined;
  /** How far the platform's clock is ahead of ours. */
  clockOffsetMs: number;
  nowMs: number;
};

/** No cache and no replica shows an earlier state for longer. */
const believedAfterMs = 3_600_000;
/** A change may be dated this much earlier than the attempt that made it: the platform's clock is known to a second. */
const clockGrainMs = 1_000;

/**
 * Never write back a value that is older than what the ledger recorded: a cache, a replica or a restored platform shows an earlier
 * state. A person who replays an uncertain letter has looked, but a cache may have deceived them about what was done shortly before.
 * @throws StaleReadError
 */
export const mustBeCurrent = async (
  { fields, changedMs }: PlatformState,
  { taken: { entry, fields: sent, item }, digest, clockOffsetMs, nowMs }: Reader,
): Promise<void> => {
  // An open change is set again by its own message. A change that was done before it is not.
  const kept = Object.entries(item.fields).filter(
    ([field, { done }]) => done && !sent.includes(field) && fields[field] !== undefined,
  );
  if (kept.length === 0) return;
  const digests = await digestsOf(entry.resource, fields, digest);
  for (const [field, { done }] of kept) {
    const shown = digests[field];
    if (shown === undefined || done?.digest === undefined) continue;
    const { begunMs } = done;
    const isEqual = shown === done.digest || !haveSameKey(shown, done.digest);
    const isDecided = entry.decidedMs !== undefined && entry.decidedMs - begunMs >= believedAfterMs;
    const isChanged = changedMs - clockOffsetMs >= begunMs - clockGrainMs;
    // A value without a date may be a person's change.
    const isBelieved = Number.isNaN(changedMs) && nowMs - begunMs >= believedAfterMs;
    if (!isEqual && !isDecided && !isChanged && !isBelieved)
      throw new StaleReadError('The platform shows what was there before the last change');
  }
};
