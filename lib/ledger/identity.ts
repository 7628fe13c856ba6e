import { hash } from 'node:crypto';

/**
 * Which message a version is of, whenever it says that it happened: what stands behind the time and the sequence in a version, as
 * lib/message.ts writes it, or the whole of one that has neither.
 */
const identityIn = (version: string): string => {
  const sequenceAt = version.indexOf(separator) + 1;
  return version.slice(version.indexOf(separator, sequenceAt) + 1);
};

const separator = '\u0001';

export const isSameMessage = (one: string, other: string): boolean =>
  one === other || identityIn(one) === identityIn(other);

/** Of 48 bits: of 50,000,000,000,000 messages one has that of another among the few that are remembered with it. */
export const identityDigest = (version: string): string =>
  hash('sha256', identityIn(version), 'base64url').slice(0, 8);

/** So many messages about one thing are remembered, the last one included. */
export const rememberedMessages = 6;

/** The messages about a thing with one more, the last first. */
export const remembering = (digest: string, before: readonly string[] = []): readonly string[] =>
  before.includes(digest) ? before : [digest, ...before].slice(0, rememberedMessages);

/** Of the resource, where it holds several: what stands before the last slash of a field, as in `object/5001/Name`. */
export const thingIn = (field: string): string => field.slice(0, Math.max(0, field.lastIndexOf('/')));
