import { MessageFailure } from '../../message/failure.ts';
import { safe } from '../../message/safe-text.ts';
import type { ItemFull } from '../ledger/item-capacity.ts';

// Why a message is not done although the platform has not refused it.

/** A message waits without a failure. `kind` and `remedy` are those of its letter if it waits too long. */
export const waitReasons = {
  'no-time': {
    kind: 'unavailable',
    reason: safe`Too little time was left in this invocation. The next one handles the message`,
    remedy: undefined,
  },
  pace: {
    kind: 'throttled',
    reason: safe`The rate limiter did not admit the call in this invocation. The message comes back for it`,
    remedy: undefined,
  },
  busy: {
    kind: 'unavailable',
    reason: safe`Another attempt on the same resource may still take effect. The message waits until that is over`,
    remedy: undefined,
  },
  copy: {
    kind: 'unavailable',
    reason: safe`Another delivery of this event has no outcome yet. The message waits for it`,
    remedy: undefined,
  },
  look: {
    kind: 'unavailable',
    reason: safe`An earlier creation on the same resource has no outcome yet. The message waits until sis-relay has looked for its effect`,
    remedy: undefined,
  },
  stale: {
    kind: 'uncertain',
    reason: safe`The platform still returns the previous value, and sending now would overwrite the last change. The message waits until the platform shows that change`,
    remedy:
      '1. Compare the resource on the platform with what was last sent for it. 2. If a restore has set the platform back, send the lost values again (`sis-relay reconcile resend`), or have the producer send a message with all fields. 3. Replay this letter. It keeps the values that the platform shows at that time.',
  },
  newer: {
    kind: 'uncertain',
    reason: safe`A newer message about the same resource has no outcome yet. It supersedes this one only if it is done`,
    remedy:
      '1. Find the newer message about the same resource: a letter, or a message on its queue. 2. Replay it or discard it. 3. Replay this letter: it is superseded if the newer one was done. To apply this message instead: 1. Check what the platform holds. 2. Replay this letter. 3. Discard the newer one.',
  },
} as const;

export type WaitReason = keyof typeof waitReasons;

/** A message fails before or after its calls of the platform. */
export const failures = {
  crashed: new MessageFailure('crashed', safe`The function died three times while it handled this message`),
  outdated: new MessageFailure(
    'outdated',
    safe`The message is older than the ledger remembers. Something newer may have been done since`,
  ),
  unrecorded: new MessageFailure(
    'unavailable',
    safe`The ledger did not record what became of the message. The message comes back`,
  ),
  pointsElsewhere: new MessageFailure(
    'rejected',
    safe`SQS’ own redrive sent this letter back, but its message is in the bucket, so there was nothing to send`,
    {
      remedy:
        'Replay it (`sis-relay letters replay`): that sends the message from the bucket. If it was not kept there, have the producer send it again, and discard this letter.',
    },
  ),
  stoodForOther: new MessageFailure(
    'unknown-id',
    safe`The platform does not know the id that an id of the SIS stood for: the message is sent again with the current id`,
    {
      remedy:
        'Do nothing at first: the message is sent again by itself. If this lasts, find out why the ids of the SIS that it gives change their meaning again and again.',
    },
  ),
} as const;

/** Nothing was sent. A replay states that a person has looked, so the ledger may forget. */
export const itemFull = ({ fields, open }: ItemFull): MessageFailure =>
  new MessageFailure(
    'uncertain',
    safe`The ledger has no room for one more change of this resource: it remembers ${fields} changes, ${open} of them without an outcome. Nothing was sent`,
    {
      remedy:
        'One resource has too many changes. 1. Find out who sends them. 2. Replay or discard its other uncertain letters. 3. Check on the platform whether this message was done. 4. If it was, discard this letter. 5. If it was not, replay it an hour after the last change or later. The replay drops the older half of the history: if the SIS sends one of those changes again, it counts as new.',
    },
  );
