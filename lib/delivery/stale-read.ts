import { MessageFailure } from '../failure.ts';
import type { Shown } from '../integration.ts';
import type { Digest } from '../ledger/digest.ts';
import { haveOneKey } from '../ledger/digest.ts';
import type { Field, Item } from '../ledger/table.ts';
import { digestsOf } from './ledger-entry.ts';
import { clockGrainMs } from './was-done.ts';

type Read = {
  resource: string;
  /** What the ledger knew of the resource before this attempt. */
  before: Item;
  digest: Digest | undefined;
  /** By how much the platform's clock is ahead of ours. */
  clockOffsetMs: number;
  /** What is not dated is believed where the ledger's last change is so long ago. */
  believedAfterMs: number;
  nowMs: number;
};

/**
 * What a cache or a replica shows may be older than what was done: it is no basis for a write. @throws MessageFailure of kind
 * `unavailable`, so that the message waits until the platform shows what was done.
 */
export const mustBeCurrent = async (
  { fields, changedMs }: Shown,
  { resource, before, digest, clockOffsetMs, believedAfterMs, nowMs }: Read,
): Promise<void> => {
  const digests = await digestsOf(resource, fields, digest);
  const isDated = !Number.isNaN(changedMs);
  const isOlder = ([field, state]: [string, Field]): boolean => {
    // Of what left no outcome nobody knows that it is newer: its own message sets it again.
    const wasDone = state.outcome === 'done' || state.outcome === 'claimed';
    if (!wasDone || fields[field] === undefined) return false;
    const shown = digests[field];
    if (shown !== undefined && shown === state.digest) return false;
    if (isDated) return changedMs - clockOffsetMs < state.claimedMs - clockGrainMs;
    const isComparable = shown !== undefined && state.digest !== undefined && haveOneKey(shown, state.digest);
    return isComparable && nowMs - state.claimedMs < believedAfterMs;
  };
  if (!Object.entries(before.fields).some(isOlder)) return;
  throw new MessageFailure(
    'unavailable',
    'The platform shows what was there before the last change: what it does not show would be lost',
    {
      remedy:
        'Compare what the platform shows with what was sent last. If a restore or a person has set it back, give all fields in data, so that nothing has to be read, then replay.',
    },
  );
};
