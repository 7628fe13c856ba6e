import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import { maxAttributes, type Outgoing, sqsProblem } from '../../aws/sqs-limits.ts';
import { ownOf, pointerBody } from '../../dead-letter.ts';
import { lineOf as lineOfWhole, type WholeLetter, wholeIn } from '../../delivery/whole-letter.ts';
import type { Letter } from './letter.ts';

/** A letter as one line of a file. */
export const lineOf = ({
  id,
  sentMs,
  function: name,
  kind,
  error,
  replays,
  body,
  source,
  raw,
}: Letter): string =>
  lineOfWhole(
    { id, sentAt: new Date(sentMs).toISOString(), function: name, kind, error, replays },
    { body, source, attributes: raw },
  );

/** The letter that a line tells of, as SQS takes it. @throws Error which says what is wrong with the line. */
export const letterIn = (line: string): Outgoing => {
  const { body, source, attributes } = asTaken(wholeIn(line));
  if (source === '' || attributes.source?.StringValue === source) return { body, attributes };
  // SQS tells the source of a letter that it moved by itself, and will not tell it of one that is sent. Without it there would
  // be no replay, which has no room for a tenth attribute of the producer either.
  const { source: _, ...others } = attributes;
  const carried = Object.entries(others).slice(0, maxAttributes - 1);
  const told: MessageAttributeValue = { DataType: 'String', StringValue: source };
  return { body, attributes: { ...Object.fromEntries(carried), source: told } };
};

/** What SQS did not take as a letter it may take now; else its letter says where it lies, as before. */
const asTaken = (letter: WholeLetter): WholeLetter => {
  const { whole: { StringValue: address } = {}, ...attributes } = letter.attributes;
  if (address === undefined || letter.body.includes(address)) return letter;
  const asItIs = { ...letter, attributes };
  if (sqsProblem(asItIs) === undefined) return asItIs;
  return { ...letter, body: pointerBody(letter.body, address), attributes: ownOf(letter.attributes) };
};
