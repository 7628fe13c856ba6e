import { hash } from 'node:crypto';

/**
 * The message that a version belongs to, whatever time it gives: what follows the time and the sequence in a version that
 * lib/message/message.ts wrote, or the whole of a version without either.
 */
const identityIn = (version: string): string => {
  const sequenceAt = version.indexOf(separator) + 1;
  return version.slice(version.indexOf(separator, sequenceAt) + 1);
};

const separator = '\u0001';

/**
 * The version as an item keeps it: of bounded length, with the same order by time. A version that fits is unchanged. A longer
 * sequence is cut; a longer identity is replaced by a digest.
 */
export const boundedVersion = (version: string): string => {
  const identity = identityIn(version);
  const order = version.slice(0, version.length - identity.length);
  return `${boundedOrder(order)}${hasAtMost(maxIdentityBytes, identity) ? identity : `${digested}${digestOf(identity)}`}`;
};

const maxIdentityBytes = 200;

/** The time and the sequence, each with its separator; empty for a version without either. */
const boundedOrder = (order: string): string => {
  const [time = '', sequence = ''] = order.split(separator);
  if (hasAtMost(maxSequenceBytes, sequence)) return order;
  const beginning = Buffer.from(sequence).toString('utf8', 0, 40);
  return [time, `${beginning}${digestOf(sequence).slice(0, 22)}`, ''].join(separator);
};

const maxSequenceBytes = 64;

/** Occurs in no message text: lib/message/message.ts puts another character after the first. */
const digested = '\u0002#';

const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/** In UTF-8. */
const hasAtMost = (bytes: number, text: string): boolean =>
  text.length <= bytes && (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes);

/** The event's id in a version; undefined if the version holds a digest instead. */
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
 * The name of a field that contains text of the message: its first word and a digest. It becomes a JSON key, which Node 24 may
 * misread if it needs an escape (nodejs/node#63785), and each item holds it twice.
 */
export const digestedName = (field: string): string => {
  const [first = ''] = field.split('/', 1);
  const kept = /^[\w-]{43}$/.exec(field.slice(first.length + 1));
  // A name that was too long for an attribute had the whole digest, in another encoding.
  const digest = kept ? Buffer.from(kept[0], 'base64url').toString('hex') : hash('sha256', field, 'hex');
  return `${first}/${digest.slice(0, 32)}`;
};

export const isSameMessage = (one: string, other: string): boolean =>
  one === other || identityIn(one) === identityIn(other);

/** 48 bits: one message in 50,000,000,000,000 has the digest of another among the few that are remembered with it. */
export const identityDigest = (version: string): string => {
  const identity = identityIn(version);
  const digest = identity.startsWith(digested) ? identity.slice(digested.length) : digestOf(identity);
  return digest.slice(0, 8);
};

/** Number of messages about one thing that are remembered, including the last. */
export const rememberedMessages = 6;

/** Adds a message to those about a thing; the last comes first. */
export const remembering = (digest: string, before: readonly string[] = []): readonly string[] =>
  before.includes(digest) ? before : [digest, ...before].slice(0, rememberedMessages);

/** The thing within a resource that holds several: the part before the last slash of a field, as in `object/5001/Name`. */
export const thingIn = (field: string): string => field.slice(0, Math.max(0, field.lastIndexOf('/')));
