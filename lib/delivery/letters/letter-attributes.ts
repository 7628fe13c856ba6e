import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import { maxAttributes } from '../../message/sqs-limits.ts';

export type Attributes = Record<string, MessageAttributeValue>;

type LetterPart = {
  /**
   * `dropped`: only letters have the attribute; on another message, the producer has set it, and it means nothing. `renewed`: the replay
   * sets it. `kept`: the replay and the next letter have it, too, before any attribute of the producer. A producer can set `renewed` and
   * `kept` attributes.
   */
  onReplay: 'dropped' | 'renewed' | 'kept';
  /** Whether the letter index holds its text. */
  isIndexed?: true;
};

/** The attributes that sis-relay gives to messages and letters. A producer may set others, as many as SQS accepts beside these. */
export const letterAttributes = {
  /** As JSON. */
  failure: { onReplay: 'dropped' },
  /** Kind of the failure. A replay sets it if a person had to decide. */
  kind: { onReplay: 'renewed' },
  /** ARN of the queue that the message came from. */
  source: { onReplay: 'dropped' },
  /** Address of the whole message. */
  whole: { onReplay: 'dropped' },
  /** SQS' id of the message. */
  letterId: { onReplay: 'dropped' },
  /** Number of replays. */
  replays: { onReplay: 'renewed' },
  /** A sender asks the function to record the message's outcome at once, whatever it is. */
  receipt: { onReplay: 'renewed' },
  /** What operators did to the message, as JSON. */
  history: { onReplay: 'kept', isIndexed: true },
  /** The producer's: how urgent the message is. */
  priority: { onReplay: 'kept' },
} as const satisfies Record<string, LetterPart>;

type PartName = keyof typeof letterAttributes;

const rows: Partial<Record<string, LetterPart>> = letterAttributes;
export const attributeNames = Object.keys(letterAttributes) as PartName[];

const isKept = (name: string): boolean => Object.hasOwn(rows, name) && rows[name]?.onReplay === 'kept';
const isOwn = (name: string): boolean => Object.hasOwn(rows, name) && !isKept(name);

/** What the message carried, and what a replay keeps. */
export const carriedOf = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => !isOwn(name)));

/** What the letter says of itself. */
export const ownOf = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => isOwn(name)));

/** What a replay and the next letter need. */
export const keptOf = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => isKept(name)));

/** As many of the message's attributes as SQS accepts beside these: first those that a replay keeps. */
export const mergedWithinLimit = (carried: Attributes, own: Attributes): Attributes => {
  const others = Object.entries({ ...keptOf(carried), ...carried }).filter(([name]) => !own[name]);
  return { ...Object.fromEntries(others.slice(0, maxAttributes - Object.keys(own).length)), ...own };
};

type IndexedPart = {
  [K in PartName]: (typeof letterAttributes)[K] extends { isIndexed: true } ? K : never;
}[PartName];

export type IndexedAttributes = Record<IndexedPart, string | undefined>;

export const indexedNames = attributeNames.filter(
  (name): name is IndexedPart => (rows[name] as LetterPart).isIndexed === true,
);

/** A record has little room. */
export const maxIndexed = 10_000;

/** The indexed parts of a message or a letter, without those that are too long: half of one would be useless. */
export const indexedIn = (attributes: Attributes): IndexedAttributes =>
  Object.fromEntries(
    indexedNames.map((name) => {
      const text = attributes[name]?.StringValue ?? '';
      return [name, text === '' || text.length > maxIndexed ? undefined : text];
    }),
  ) as IndexedAttributes;
