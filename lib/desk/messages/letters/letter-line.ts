import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs';
import { pointerBody } from '../../../delivery/letters/dead-letter.ts';
import { historyIn, withOrigin } from '../../../delivery/letters/history.ts';
import { carriedOf, mergedWithinLimit, ownOf } from '../../../delivery/letters/letter-attributes.ts';
import { lineOf, type WholeLetter, wholeIn } from '../../../delivery/letters/letter-file.ts';
import { jsonIn } from '../../../message/json.ts';
import { type OutgoingMessage, sqsProblem } from '../../../message/sqs-limits.ts';
import { integrationNames } from '../../../stage/function-names.ts';
import { isRedriven, type Letter } from './letter.ts';

/** A letter as one line of a file. */
export const letterLine = ({
  id,
  sentMs,
  function: name,
  kind,
  error,
  replays,
  body,
  source,
  attributes,
  message,
}: Letter): string =>
  lineOf(
    { id, sentAt: new Date(sentMs).toISOString(), function: name, kind, error, replays },
    { body, source, attributes: { ...attributes, ...ownAttributes(message) } },
  );

/** All attributes of a redriven letter are its producer's, except the count of replays. */
const ownAttributes = (message: Message) => {
  const own = ownOf(message.MessageAttributes ?? {});
  if (!isRedriven(message)) return own;
  return own.replays === undefined ? {} : { replays: own.replays };
};

/** The id that a line gives its letter. Undefined if it gives none, or an impossible one. */
export const idIn = (line: string): string | undefined => {
  const { id } = Object(jsonIn(line)) as { id?: unknown };
  return typeof id === 'string' && /^[\w-]{1,100}$/.test(id) ? id : undefined;
};

/** The message of a line, byte for byte. Undefined if the line is no letter. */
export const bodyIn = (line: string): string | undefined => {
  try {
    return wholeIn(line).body;
  } catch {
    return undefined;
  }
};

/** The letter that a line holds, as SQS accepts it. @throws Error which says what is wrong with the line. */
export const letterIn = (line: string): OutgoingMessage => {
  const { body, source, attributes } = asTaken(wholeIn(line));
  // SQS names the source of a letter that it moved, but not of one that is sent; without it no replay is possible.
  return { body, attributes: source === '' ? attributes : withOwn(attributes, { source: textOf(source) }) };
};

/** The queue of another stage that a letter came from, and its function; undefined: it came from this one, or not from sis-relay. */
export const foreignQueueIn = (
  { attributes }: Pick<OutgoingMessage, 'attributes'>,
  prefix: string,
): { queue: string; function: string } | undefined => {
  const queue = attributes.source?.StringValue?.split(':').at(-1) ?? '';
  if (queue.startsWith(prefix)) return undefined;
  const name = integrationNames().find((each) => queue.endsWith(`-${each}`));
  return name === undefined ? undefined : { queue, function: name };
};

/** The letter as one of this stage's queue, as its history says. */
export const asOfStage = (
  { body, attributes }: OutgoingMessage,
  foreign: { queue: string; function: string },
  prefix: string,
): OutgoingMessage => {
  const source = attributes.source?.StringValue ?? '';
  const history = withOrigin(historyIn(attributes.history?.StringValue), foreign.queue);
  return {
    body,
    attributes: withOwn(
      { ...attributes, history: textOf(history) },
      { source: textOf(`${source.slice(0, -foreign.queue.length)}${prefix}${foreign.function}`) },
    ),
  };
};

/** The letter under its id of before. */
export const withId = ({ body, attributes }: OutgoingMessage, id: string): OutgoingMessage => ({
  body,
  attributes: withOwn(attributes, { letterId: textOf(id) }),
});

/** If the producer set ten attributes, the last ones are dropped, as a replay would drop them. */
const withOwn = (attributes: OutgoingMessage['attributes'], own: OutgoingMessage['attributes']) =>
  mergedWithinLimit(carriedOf(attributes), { ...ownOf(attributes), ...own });

const textOf = (value: string): MessageAttributeValue => ({ DataType: 'String', StringValue: value });

/** The whole message if SQS accepts it as a letter now, else a pointer to it, as before. */
const asTaken = (letter: WholeLetter): WholeLetter => {
  const { whole: { StringValue: address } = {}, ...attributes } = letter.attributes;
  if (address === undefined || letter.body.includes(address)) return letter;
  const asItIs = { ...letter, attributes };
  if (sqsProblem(asItIs) === undefined) return asItIs;
  return { ...letter, body: pointerBody(letter.body, address), attributes: ownOf(letter.attributes) };
};
