import { sendAll } from '../../aws/batches.ts';
import { bytesOf, maxAttributes, maxBytes, type Outgoing } from '../../aws/sqs-limits.ts';
import type { DeadLetter } from '../../dead-letter.ts';
import { needsDecision } from '../../failure.ts';
import type { Letter } from '../reading/letter.ts';
import type { Desk } from '../reading/session.ts';

export type SentBack = {
  /** The letters whose messages are on their queues again. */
  sent: Letter[];
  /** Why the others are not, by id: they stay letters. */
  failed: Map<string, string>;
  /** Sent, and still letters, as they could not be deleted: the ledger knows their second copies as duplicates. */
  undeleted: string[];
};

/** Sends letters' messages back to their queues and deletes the letters: a death between the two leaves both, never none. */
export const sendBack = async (desk: Desk, letters: Letter[]): Promise<SentBack> => {
  const failed = new Map<string, string>();
  const sent: Letter[] = [];
  for (const [url, each] of Map.groupBy(letters, ({ queueUrl }) => queueUrl)) {
    const safe = each.filter(({ id }) => desk.hold.isSafe(id));
    for (const { id } of each)
      if (!desk.hold.isSafe(id)) failed.set(id, 'held for too long: others may have it now');
    if (url === undefined) for (const { id } of each) failed.set(id, 'it has no queue');
    if (url === undefined) continue;
    const failures = await sendAll({ sqs: desk.queue.sqs, url }, safe.map(messageFor));
    for (const [at, letter] of safe.entries()) {
      const reason = failures.get(at);
      if (reason === undefined) sent.push(letter);
      else failed.set(letter.id, reason);
    }
  }
  const undeleted = await desk.hold.remove(sent.map(({ id }) => id));
  return { sent, failed, undeleted: [...undeleted.keys()] };
};

/**
 * The message as it was, byte for byte, one replay later: by that number the ledger knows that it is meant to be done again.
 * One that needs a person's decision says so by its kind: who replays it has looked what the platform holds.
 */
export const messageFor = ({ body, attributes, replays, failure }: DeadLetter): Outgoing => {
  const counted = {
    replays: { DataType: 'Number', StringValue: String(replays + 1) },
    ...(failure &&
      needsDecision(failure.kind) && { kind: { DataType: 'String', StringValue: failure.kind } }),
  };
  const room = maxAttributes - Object.keys(counted).length;
  const carried = Object.fromEntries(Object.entries(attributes).slice(0, room));
  const tellings = [{ ...carried, ...counted }, counted, {}];
  const fitting = tellings.find((each) => bytesOf({ body, attributes: each }) <= maxBytes);
  return { body, attributes: fitting ?? {} };
};
