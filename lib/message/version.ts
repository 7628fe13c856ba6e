import { hash } from 'node:crypto';

/**
 * The version of a message, as text that sorts by its bytes in the SIS' order: by time, then by CloudEvents sequence, then by id,
 * source and type, so that no two messages are equal. The parts are joined by U+0001:
 *
 *     2026-01-31T09:30:00.000000000 ␁ 00242 ␁ 4711 ␁ /sis/grades ␁ grade-push
 *
 * A message that must not be sent twice is ordered with no other: its version is its identity, as in `%2Fsis%2Fgrades/4711`. A long
 * identity is replaced by U+0002, `#` and its digest, which has no order. In what was done, they replace the source and the type alone.
 */
type VersionSource = { id: string; source: string; time: string; sequence: string | undefined };

const separator = '\u0001';
const digested = '\u0002#';
/** It sorts last: if two messages have the same time, the one whose id is not known counts as the newer one. */
const shortened = '\u{10FFFF}';

/** In bytes. Longer parts are cut, as each field of the ledger's item has a version. */
const [maxIdentityBytes, maxSequenceBytes] = [200, 64];

export const versionOf = (
  { time, sequence = '', id, source }: VersionSource,
  integration: string,
): string => {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? '';
  const instant = `${new Date(time).toISOString().slice(0, 19)}.${fraction.slice(0, 9).padEnd(9, '0')}`;
  const order = [instant, boundedSequence(escaped(orderedSequence(sequence)))];
  const identity = boundedIdentity([id, source, integration].map(escaped).join(separator));
  return [...order, identity].join(separator);
};

/** The version of a message that must not be sent twice. */
export const unorderedVersionOf = (message: VersionSource): string => boundedIdentity(identityOf(message));

/** Equal only for the same message, as in `%2Fsis%2Fgrades/4711`. */
export const identityOf = ({ source, id }: Pick<VersionSource, 'source' | 'id'>): string =>
  [source, id].map((part) => encodeURIComponent(part.toWellFormed())).join('/');

/** No part can contain a separator, and escaping is unambiguous. */
const escaped = (part: string): string =>
  part.replaceAll('\u0002', '\u0002\u0004').replaceAll(separator, '\u0002\u0003').toWellFormed();

/** A sequence that sorts as text: a number sorts by its value, however long it is, with or without leading zeros. */
const orderedSequence = (sequence: string): string => {
  if (!/^\d+$/.test(sequence)) return sequence;
  const digits = sequence.replace(/^0+(?=\d)/, '');
  return `${String(digits.length).padStart(3, '0')}${digits}`;
};

const boundedSequence = (sequence: string): string =>
  hasAtMost(maxSequenceBytes, sequence)
    ? sequence
    : `${Buffer.from(sequence).toString('utf8', 0, 40)}${digestOf(sequence).slice(0, 22)}`;

const boundedIdentity = (identity: string): string =>
  hasAtMost(maxIdentityBytes, identity) ? identity : `${digested}${digestOf(identity)}`;

/** In UTF-8. */
const hasAtMost = (bytes: number, text: string): boolean =>
  text.length <= bytes && (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes);

const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/** `order`: the time and the sequence with their separators; empty if the version has none. */
const partsOf = (version: string): { order: string; identity: string } => {
  const sequenceAt = version.indexOf(separator) + 1;
  const identityAt = version.indexOf(separator, sequenceAt) + 1;
  return { order: version.slice(0, identityAt), identity: version.slice(identityAt) };
};

/**
 * The event's id, if the version still has it, and a time for a message that must come next: any later change of the SIS, by a
 * microsecond or more, is newer than both.
 */
export const decodeVersion = (version: string): { eventId: string | undefined; nextTime: string } => {
  const { order, identity } = partsOf(version);
  return { eventId: eventIdOf(identity, order !== ''), nextTime: order === '' ? '' : timeAfter(order) };
};

const eventIdOf = (identity: string, isOrdered: boolean): string | undefined => {
  if (digestAt(identity) !== undefined) return undefined;
  if (isOrdered) return identity.split(separator, 1)[0];
  try {
    return decodeURIComponent(identity.split('/').at(-1) ?? '') || undefined;
  } catch {
    return undefined;
  }
};

const timeAfter = (order: string): string => {
  const instant = order.slice(0, order.indexOf(separator));
  const nanoseconds = Number(instant.slice(20)) + 1;
  const carried = nanoseconds === 1e9 ? 1_000 : 0;
  const seconds = new Date(Date.parse(`${instant.slice(0, 19)}Z`) + carried).toISOString().slice(0, 19);
  return `${seconds}.${String(nanoseconds % 1e9).padStart(9, '0')}Z`;
};

/** As DynamoDB compares texts. */
export const isLater = (version: string, other: string): boolean =>
  Buffer.compare(Buffer.from(version), Buffer.from(other)) > 0;

/** Whatever times they give. */
export const isSameMessage = (one: string, other: string): boolean => {
  if (one === other) return true;
  const [{ identity }, { identity: another }] = [partsOf(one), partsOf(other)];
  if (identity === another) return true;
  const isDigested = digestIn(identity) !== undefined || digestIn(another) !== undefined;
  return isDigested && identityDigest(one) === identityDigest(other);
};

/** 48 bits: one message in 50,000,000,000,000 has the digest of another among the few that are remembered with it. */
export const identityDigest = (version: string): string => {
  const { identity } = partsOf(version);
  return (digestIn(identity) ?? digestOf(identity)).slice(0, 8);
};

/** What stands in the place of an identity, or of what follows its id. */
const digestIn = (identity: string): string | undefined =>
  digestAt(identity.slice(identity.lastIndexOf(separator) + 1));

const digestAt = (text: string): string | undefined => {
  const marker = [digested, shortened].find((each) => text.startsWith(each));
  return marker && text.slice(marker.length);
};

/**
 * An ordered version with the same order by time, sequence and id, however long its source is: a digest of the identity stands in the
 * place of source and type.
 */
export const withoutSource = (version: string): string => {
  const { order, identity } = partsOf(version);
  if (order === '' || digestIn(identity) !== undefined) return version;
  const id = identity.slice(0, identity.indexOf(separator) + 1);
  return `${order}${id}${digested}${identityDigest(version)}`;
};

/** A version of at most 112 bytes, and usually 60, with the same order by time and sequence. */
export const shortVersion = (version: string): string =>
  `${partsOf(version).order}${shortened}${identityDigest(version)}`;

/** The oldest that a version can be whose id is not known. */
export const oldestOf = (version: string): string => {
  const { order, identity } = partsOf(version);
  return identity.startsWith(shortened) ? order : version;
};

/** The version of a message that has given another time before: the first one counts. */
export const asFirstGiven = (version: string, first: string): string =>
  `${partsOf(first).order}${partsOf(version).identity}`;
