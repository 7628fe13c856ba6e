import { type DeadLetter, fitting } from '../../../delivery/letters/dead-letter.ts';
import { historyIn, type OperatorAction, withOperatorAction } from '../../../delivery/letters/history.ts';
import { mergedWithinLimit } from '../../../delivery/letters/letter-attributes.ts';
import { needsDecision } from '../../../message/failure-kinds.ts';
import { maxMessageBytes, type OutgoingMessage, withoutRefused } from '../../../message/sqs-limits.ts';
import { sendAll } from '../../../runtime/aws/sqs.ts';
import { actorOf } from '../../../stage/actor.ts';
import type { Letter } from '../letters/letter.ts';
import { endRecords, letterIndexOf } from '../letters/list.ts';
import type { QueueSession } from '../letters/session.ts';
import { leaseEnded } from '../letters/visibility-lease.ts';

export type SendOutcome = {
  /** SQS' id of the sent message, by the letter's id; undefined if SQS did not return it. */
  sent: Map<string, string | undefined>;
  /** Why the others were not sent, by id: they stay letters. */
  failed: Map<string, string>;
  /** Sent, but not deleted, so still letters: if they are sent again, the ledger recognizes the second copies as duplicates. */
  undeleted: string[];
};

/** Who sends it, and why. `edited`: the address of the original. */
export type SendReason = { why?: string | undefined; original?: string };

/**
 * Sends the letters' messages back to their queues, then deletes the letters: a crash in between leaves both, never neither. The lists
 * follow.
 */
export const sendAndDelete = async (
  session: QueueSession,
  letters: readonly { letter: Letter; sending: SendReason }[],
): Promise<SendOutcome> => {
  const { target, queue, lease } = session;
  const by = await actorOf(target);
  const failed: SendOutcome['failed'] = new Map();
  const sent: SendOutcome['sent'] = new Map();
  for (const [url, each] of Map.groupBy(letters, ({ letter }) => letter.queueUrl)) {
    const current = each.filter(({ letter }) => lease.isCurrent(letter.sqsId));
    for (const one of each) if (!current.includes(one)) failed.set(one.letter.id, leaseEnded);
    if (url === undefined) for (const { letter } of each) failed.set(letter.id, 'it has no queue');
    if (url === undefined) continue;
    const outgoing = current.map(({ letter, sending }) =>
      messageFor(letter, operatorActionOf(letter, sending, by)),
    );
    const { failures, messageIds } = await sendAll({ sqs: queue.sqs, url }, outgoing);
    for (const [at, { letter }] of current.entries()) {
      const reason = failures.get(at);
      if (reason === undefined) sent.set(letter.id, messageIds[at]);
      else failed.set(letter.id, reason);
    }
  }
  const going = letters.filter(({ letter }) => sent.has(letter.id));
  const failures = await lease.deleteLetters(
    going.flatMap(({ letter: { sqsId, copies } }) => [sqsId, ...copies]),
  );
  const [stay, gone] = [
    going.filter(({ letter }) => failures.has(letter.sqsId)),
    going.filter(({ letter }) => !failures.has(letter.sqsId)),
  ];
  const ending = new Map(gone.map((each) => [each.letter.id, each.sending]));
  await endRecords(
    letterIndexOf(target),
    gone.map(({ letter }) => letter),
    ({ id }) => ({
      state: ending.get(id)?.original === undefined ? 'replayed' : 'edited',
      by,
      why: ending.get(id)?.why,
      as: sent.get(id),
    }),
  );
  return { sent, failed, undeleted: stay.map(({ letter }) => letter.id) };
};

const operatorActionOf = (letter: Letter, { why, original }: SendReason, by: string): OperatorAction => ({
  what: original === undefined ? 'replayed' : 'edited',
  at: new Date().toISOString(),
  by,
  why,
  letter: letter.id,
  kind: letter.kind,
  original,
});

/**
 * The message, byte for byte, with the number of this replay. By that number the ledger knows that the message must be done again and is
 * no second copy. By `kind` it knows that a person has decided: an operator who replays such a letter has looked at the platform.
 * `receipt` makes the function record the outcome; the history records what operators did.
 */
export const messageFor = (
  { body, attributes, replays, failure }: DeadLetter,
  action?: OperatorAction,
): OutgoingMessage => {
  const { history: before, ...carried } = attributes;
  const counted = {
    replays: { DataType: 'Number', StringValue: String(replays + 1) },
    ...(failure && needsDecision(failure.kind) && { kind: text(failure.kind) }),
  };
  const asked = { ...counted, receipt: text('yes') };
  const history = action && withOperatorAction(historyIn(before?.StringValue), action, failure?.firstAt);
  const choices = [...(history ? [{ ...asked, history: text(history) }, asked] : []), counted].map((own) =>
    mergedWithinLimit(carried, own),
  );
  return { body, attributes: fitting(body, [...choices, counted], maxMessageBytes) };
};

const text = (value: string) => ({ DataType: 'String', StringValue: withoutRefused(value) });
