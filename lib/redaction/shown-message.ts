import { jsonIn } from '../json.ts';
import { readAs, type Undone, undone } from './escapes.ts';
import { fieldName, hidden } from './hidden.ts';
import { plainSign, tokens, type Vocabulary, vocabularyOf } from './vocabulary.ts';

/** Of an event's own fields these name the message, and nobody in it. */
const plainFields = new Set(['specversion', 'id', 'source', 'type', 'time', 'sequence', 'datacontenttype']);

/** Of the data, those that the functions' schemas know. Any other number, such as a `nationalId`, may tell who somebody is. */
const ids = new Set([
  ...[
    'orgUnitId',
    'fromParentId',
    'toParentId',
    'userId',
    'roleId',
    'folderId',
    'moduleId',
    'topicId',
    'linkId',
  ],
  ...['gradeObjectId', 'gradeSchemeId', 'categoryId', 'attributeId', 'dataTypeId'],
]);

/** A message as it may be shown to anybody: its shape and its ids. Undefined: it is no JSON, so that nothing can be shown. */
export const maskedBody = (body: string): unknown => {
  const json = jsonIn(body);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  return maskedFields(json, (name, value) => maskedField([name], value));
};

/** The value of one field of a message, by the names on the way to it. */
export const maskedField = (path: (string | number)[], value: unknown): unknown => {
  const name = String(path.at(-1) ?? '');
  return path.length === 1 && isOwn(name, value) ? value : maskedValue(name, value);
};

/** Of an event that is not valid, they may be sentences. */
const isOwn = (name: string, value: unknown): boolean =>
  plainFields.has(name) && typeof value === 'string' && /^\S*(?:; \S+)*$/.test(value);

/**
 * The platform's own words, without those that come from the message, whole or cut off, and however they are spelled: as far as
 * `Vocabulary` knows them.
 */
export const maskedText = (text: string, body: string): string => {
  const { read, from, to } = inPlainSigns(undone(text));
  const secret = vocabularyIn(body);
  const found = [...wordsIn(read, secret), ...encodedIn(read, secret)].sort(
    (one, other) => one.at - other.at,
  );
  let rest = '';
  let done = 0;
  for (const { at, length } of found) {
    const begin = from[at] ?? text.length;
    if (begin >= done) rest += text.slice(done, begin) + hidden;
    done = Math.max(done, to[at + length - 1] ?? text.length);
  }
  return rest + text.slice(done);
};

/** The same text in plain signs, each of which is written where the one was that it stands for. */
const inPlainSigns = (given: Undone): Undone => {
  if (!/[^\0-\x7f]/.test(given.read)) return given;
  const made: Undone = { read: '', from: [], to: [] };
  let at = 0;
  for (const sign of given.read) {
    const plain = sign > '\x7f' ? plainSign(sign) : sign;
    made.read += plain;
    for (let unit = 0; unit < plain.length; unit += 1) {
      made.from.push(given.from[at] ?? 0);
      made.to.push(given.to[at + sign.length - 1] ?? 0);
    }
    at += sign.length;
  }
  return made;
};

type Place = { at: number; length: number };

const wordsIn = (read: string, secret: Vocabulary): Place[] =>
  [...read.matchAll(tokens)].flatMap(({ 0: token, index: at }) =>
    secret.has(token) || isEndOf(read, { token, at }, secret) ? [{ at, length: token.length }] : [],
  );

const isEndOf = (read: string, { token, at }: { token: string; at: number }, secret: Vocabulary): boolean =>
  (read.startsWith('...', at + token.length) && secret.hasStart(token)) ||
  (at > 2 && read.startsWith('...', at - 3) && secret.hasEnd(token));

/** What may be base64 or hexadecimal digits, and is no ordinary word. */
const encoded = /(?<![\w+/-])(?![A-Z]?[a-z]+(?![\w+/-])|[A-Z]+(?![\w+/-])|\d+(?![\w+/-]))[\w+/-]{4,}={0,2}/g;

/** Two hexadecimal digits a byte, and something between them. */
const spaced = /(?<!\w)(?:[\da-fA-F]{2}[ :,-]){2,}[\da-fA-F]{2}(?!\w)/g;

const encodedIn = (read: string, secret: Vocabulary): Place[] =>
  [...read.matchAll(encoded), ...read.matchAll(spaced)].flatMap(({ 0: run, index: at }) =>
    decodingsOf(run).some((text) => tellsOf(text, secret)) ? [{ at, length: run.length }] : [],
  );

/** In base64 a word begins at one of four places, and so does what is left of one that is cut off. */
const decodingsOf = (run: string): string[] => {
  const digits = run.replace(/[ :,-]/g, '');
  const inHex = /^(?:[\da-f]{2})+$/i.test(digits) ? [Buffer.from(digits, 'hex').toString()] : [];
  if (/[ :,]/.test(run)) return inHex;
  return [...[0, 1, 2, 3].map((before) => Buffer.from(run.slice(before), 'base64').toString()), ...inHex];
};

/** Any bytes hold a short word by chance; a text that is nothing else is one, and so is what has nothing but signs of ASCII. */
const tellsOf = (text: string, secret: Vocabulary): boolean => {
  const least = /^[\x20-\x7e]{8,}$/.test(text) ? 3 : 4;
  return [...readAs(text).matchAll(tokens)].some(
    ([token]) => (token.length >= least || token === text) && /\p{L}/u.test(token) && secret.has(token),
  );
};

/** One letter's words are asked for several times in a row. */
let last: { body: string; words: Vocabulary } | undefined;

const vocabularyIn = (body: string): Vocabulary => {
  if (last?.body !== body) last = { body, words: vocabularyOf(hiddenIn(body)) };
  return last.words;
};

const maskedValue = (name: string, value: unknown): unknown => {
  if (value === null || value === undefined || isPlain(name, value)) return value;
  if (Array.isArray(value)) return value.map((each) => maskedValue('', each));
  return typeof value === 'object' ? maskedFields(value, maskedValue) : hidden;
};

/** Fields whose names are hidden are numbered, so that each of them stays one. */
const maskedFields = (object: object, masked: (name: string, value: unknown) => unknown): object =>
  Object.fromEntries(
    Object.entries(object).map(([name, value], at) => [
      fieldName(name) === hidden ? `${hidden}${at + 1}` : name,
      masked(name, value),
    ]),
  );

/** Ids of the platform, and what tells one shape of data from another. An object may have a `toString` that is no function. */
const isPlain = (name: string, value: unknown): boolean =>
  ids.has(name)
    ? typeof value !== 'object' && /^\d{1,16}$/.test(String(value))
    : ['type', 'contentType'].includes(name) && typeof value === 'string' && /^[\w.+/-]{1,60}$/.test(value);

/** Every text and every number that is hidden where the message is shown; all of it, where it is not. */
const hiddenIn = (body: string): string[] => {
  const json = jsonIn(body);
  if (json === undefined) return [body];
  const texts: string[] = [];
  const collect = (value: unknown, name: string, isTop = false): void => {
    if (value === null) return;
    if (Array.isArray(value)) for (const each of value) collect(each, '');
    else if (typeof value === 'object')
      for (const [key, each] of Object.entries(value)) {
        if (fieldName(key) === hidden) texts.push(key);
        if (!isTop || !isOwn(key, each)) collect(each, key);
      }
    else if (!isPlain(name, value)) texts.push(String(value));
  };
  collect(json, '', true);
  return texts;
};
