import { hasTooManyValues, isObject, jsonIn, topTextIn } from '../../message/json.ts';
import { maxMessageBytes } from '../../message/sqs-limits.ts';

/**
 * A body that may be kept, and the names of the fields whose values were removed from it. `isWithheld`: nothing of it is kept but
 * a description.
 */
export type MaskedBody = { body: string; fields: string[]; isWithheld?: true };

/**
 * Removes the values of these fields from an event, at any depth, however their names are written: `plain_secret` is `plainSecret`.
 * `isTaken`: the message was valid, so its texts are its own, and a replay needs them. Anything else is withheld whole: what is no event
 * with data, or is inside of an envelope, or has such a name in a text.
 */
export const withoutFields = (body: string, names: readonly string[] = [], isTaken = false): MaskedBody => {
  if (names.length === 0) return { body, fields: [] };
  if (hasTooManyValues(body)) return withheld(body, 'is too large to look for it');
  const json = jsonIn(body);
  const isEvent = isObject(json) && isObject(json.data);
  const found = isEvent ? masked(json, isForbidden(names, isTaken)) : { json, fields: [] };
  const left = found.fields.length > 0 ? inSqs(JSON.stringify(found.json)) : body;
  if (!(isEvent && isTaken) && (mentionOf(names).test(left) || !(isEvent || isTaken)))
    return withheld(body, 'is no event in which it can be found', names);
  if (Buffer.byteLength(left) > Math.max(Buffer.byteLength(body), maxMessageBytes))
    return withheld(body, 'is too large to mask it');
  return { body: left, fields: found.fields.slice(0, maxFields) };
};

/** The same for a message that must not be parsed, because its function crashed on that. */
export const unread = (body: string, names: readonly string[] = []): MaskedBody =>
  names.length === 0 ? { body, fields: [] } : withheld(body, 'cannot be searched for it');

/** A text in place of the message. */
const withheld = (body: string, why: string, names: readonly string[] = []): MaskedBody => {
  const eventId = topTextIn(body, 'id');
  const isId =
    eventId !== undefined && !/\s/.test(eventId) && !(names.length > 0 && mentionOf(names).test(eventId));
  const id = isId ? eventId : undefined;
  const text = {
    withheld: `The message may hold a secret, and ${why}`,
    bytes: Buffer.byteLength(body),
    ...(id !== undefined && id.length <= maxIdLength && { id: id.toWellFormed() }),
  };
  return { body: JSON.stringify(text), fields: [], isWithheld: true };
};

const maxIdLength = 256;
/** A message may spell a field in thousands of ways, of any length: at most this much is reported. */
const maxFields = 10;
const longestField = 40;

/** In a message that was refused, also one with such a word in its name, as in `oauth_consumer_key`. */
const isForbidden = (names: readonly string[], isTaken: boolean): ((name: string) => boolean) => {
  const forbidden = new Set(names.map(bare));
  const isOne = (name: string): boolean => forbidden.has(bare(name));
  if (isTaken) return isOne;
  const words = names.map((name) => wordsOf(name));
  return (name) => isOne(name) || words.some((each) => wordsOf(name).includes(each));
};

/** In lower case, each between two spaces: `ltiKey` and `LTI_KEY2` are ` lti key `. */
const wordsOf = (name: string): string =>
  ` ${name
    .slice(0, 1_000)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/(\p{Ll})(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$& ')
    .split(/[^\p{L}]+/u)
    .filter(Boolean)
    .join(' ')
    .toLowerCase()} `;

const masked = (
  json: object,
  isForbidden: (name: string) => boolean,
): { json: unknown; fields: string[] } => {
  const fields = new Set<string>();
  const maskedIn = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(maskedIn);
    return isObject(value) ? Object.fromEntries(Object.entries(value).map(maskedField)) : value;
  };
  const maskedField = ([name, value]: [string, unknown]): [string, unknown] => {
    if (!isForbidden(name)) return [name, maskedIn(value)];
    fields.add(name.slice(0, longestField));
    return [name, '…'];
  };
  return { json: maskedIn(json), fields: [...fields] };
};

/** SQS refuses these two characters. */
const inSqs = (json: string): string =>
  json.replace(/[\uFFFE\uFFFF]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16)}`);

/**
 * A name with a value that is not masked, in any notation, such as `<plain-key>` or `key =>`. An escape before it ends with a letter or a
 * digit, too.
 */
const mentionOf = (names: readonly string[]): RegExp => {
  const inAnyCase = names.map((name) => [...name].join('[\\s_.-]?')).join('|');
  return new RegExp(
    String.raw`(?:(?<![\p{L}\p{N}][_-]?)|(?<=%[\da-f]{2}|\\u[\da-f]{4}|\\[bfnrt]))(?:${inAnyCase})(?!_?[\p{L}\p{N}])(?!"?:"…")`,
    'iu',
  );
};

/** Only letters and digits, in lower case: `plain_secret` is `plainSecret`. */
const bare = (name: string): string => name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();
