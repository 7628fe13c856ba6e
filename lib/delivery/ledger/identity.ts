import { hash } from 'node:crypto';

/**
 * Which message a version is of, whenever it says that it happened: what stands behind the time and the sequence in a version, as
 * lib/message/message.ts writes it, or the whole of one that has neither.
 */
const identityIn = (version: string): string => {
  const sequenceAt = version.indexOf(separator) + 1;
  return version.slice(version.indexOf(separator, sequenceAt) + 1);
};

const separator = '\u0001';

/**
 * The version as an item keeps it: short enough whoever sends it, with the same order by time. What fits stays as it is. Of a longer
 * sequence the beginning still counts; of a longer identity there is a digest.
 */
export const boundedVersion = (version: string): string => {
  const identity = identityIn(version);
  const order = version.slice(0, version.length - identity.length);
  return `${boundedOrder(order)}${hasAtMost(maxIdentityBytes, identity) ? identity : `${digested}${digestOf(identity)}`}`;
};

const maxIdentityBytes = 200;

/** The time, and the sequence, each with its separator; none of a version that has neither. */
const boundedOrder = (order: string): string => {
  const [time = '', sequence = ''] = order.split(separator);
  if (hasAtMost(maxSequenceBytes, sequence)) return order;
  const beginning = Buffer.from(sequence).toString('utf8', 0, 40);
  return [time, `${beginning}${digestOf(sequence).slice(0, 22)}`, ''].join(separator);
};

const maxSequenceBytes = 64;

/** No text of a message has it: lib/message/message.ts puts another character behind the first. */
const digested = '\u0002#';

const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/** In UTF-8. */
const hasAtMost = (bytes: number, text: string): boolean =>
  text.length <= bytes && (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes);

/** The event's id in a version; undefined where the version holds a digest in its place. */
export const eventIdIn = (version: string): string | undefined => {
  const identity = identityIn(version);
  if (identity.startsWith(digested)) return undefined;
  if (identity.length < version.length) return identity.split(separator, 1)[0];
  try {
    return decodeURIComponent(identity.split('/').at(-1) ?? '') || undefined;
  } catch {
    return undefined;
  }
};

/**
 * The name of a field that holds what a message says of itself: its first word and a digest. JSON has it as a key, which Node 24 may
 * misread where it needs an escape (nodejs/node#63785), and each item has it twice.
 */
export const digestedName = (field: string): string => {
  const [first = ''] = field.split('/', 1);
  const kept = /^[\w-]{43}$/.exec(field.slice(first.length + 1));
  // A name that was too long for an attribute had the whole digest, in another spelling.
  const digest = kept ? Buffer.from(kept[0], 'base64url').toString('hex') : hash('sha256', field, 'hex');
  return `${first}/${digest.slice(0, 32)}`;
};

export const isSameMessage = (one: string, other: string): boolean =>
  one === other || identityIn(one) === identityIn(other);

/** Of 48 bits: of 50,000,000,000,000 messages one has that of another among the few that are remembered with it. */
export const identityDigest = (version: string): string => {
  const identity = identityIn(version);
  const digest = identity.startsWith(digested) ? identity.slice(digested.length) : digestOf(identity);
  return digest.slice(0, 8);
};

/** So many messages about one thing are remembered, the last one included. */
export const rememberedMessages = 6;

/** The messages about a thing with one more, the last first. */
export const remembering = (digest: string, before: readonly string[] = []): readonly string[] =>
  before.includes(digest) ? before : [digest, ...before].slice(0, rememberedMessages);

/** Of the resource, where it holds several: what stands before the last slash of a field, as in `object/5001/Name`. */
export const thingIn = (field: string): string => field.slice(0, Math.max(0, field.lastIndexOf('/')));
