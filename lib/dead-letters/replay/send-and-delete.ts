import { sendAll } from '../../aws/batches.ts';
import { bytesOf, maxAttributes, maxBytes, type Outgoing } from '../../aws/sqs-limits.ts';
import type { DeadLetter } from '../../dead-letter.ts';
import { needsDecision } from '../../failure.ts';
import type { Letter } from '../reading/letter.ts';
import type { Session } from '../reading/session.ts';
import { leaseEnded } from '../reading/visibility-lease.ts';

export type SendOutcome = {
  /** The letters whose messages are on their queues again. */
  sent: Letter[];
  /** Why the others are not, by id: they stay letters. */
  failed: Map<string, string>;
  /** Sent, but not deleted, so still letters: if they are sent again, the ledger knows the second copies as duplicates. */
  undeleted: string[];
};

/** Sends the letters' messages back to their queues, then deletes the letters: a crash in between leaves both, never neither. */
export const sendAndDelete = async (session: Session, letters: Letter[]): Promise<SendOutcome> => {
  const failed = new Map<string, string>();
  const sent: Letter[] = [];
  for (const [url, each] of Map.groupBy(letters, ({ queueUrl }) => queueUrl)) {
    const current = each.filter(({ id }) => session.lease.isCurrent(id));
    for (const letter of each) if (!current.includes(letter)) failed.set(letter.id, leaseEnded);
    if (url === undefined) for (const { id } of each) failed.set(id, 'it has no queue');
    if (url === undefined) continue;
    const { failures } = await sendAll({ sqs: session.queue.sqs, url }, current.map(messageFor));
    for (const [at, letter] of current.entries()) {
      const reason = failures.get(at);
      if (reason === undefined) sent.push(letter);
      else failed.set(letter.id, reason);
    }
  }
  const undeleted = await session.lease.deleteLetters(sent.map(({ id }) => id));
  return { sent, failed, undeleted: [...undeleted.keys()] };
};

/**
 * The message, byte for byte, and the number of this replay: by it the ledger knows that the message is to be done again, and is
 * no second copy. `kind` tells the ledger that a person has decided: whoever replays such a letter has looked at the platform.
 */
export const messageFor = ({ body, attributes, replays, failure }: DeadLetter): Outgoing => {
  const counted = {
    replays: { DataType: 'Number', StringValue: String(replays + 1) },
    ...(failure &&
      needsDecision(failure.kind) && { kind: { DataType: 'String', StringValue: failure.kind } }),
  };
  const room = maxAttributes - Object.keys(counted).length;
  const carried = Object.fromEntries(Object.entries(attributes).slice(0, room));
  const fitting = [{ ...carried, ...counted }, counted, {}].find(
    (each) => bytesOf({ body, attributes: each }) <= maxBytes,
  );
  return { body, attributes: fitting ?? {} };
};
