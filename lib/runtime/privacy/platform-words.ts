import { hidden } from '../../message/hidden.ts';
import { createRead, type Read, readAs, undone } from './escapes.ts';
import { hiddenIn } from './shown-message.ts';
import { plainSign, tokens, type Vocabulary, vocabularyOf } from './vocabulary.ts';

/**
 * The platform's own words without those that come from the message, whole or cut off, in every spelling that `Vocabulary`
 * knows. Names that appear only in the platform's answer cannot be masked.
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
    const begin = from(at);
    if (begin >= done) rest += text.slice(done, begin) + hidden;
    done = Math.max(done, to(at + length - 1));
  }
  return rest + text.slice(done);
};

/** The same text in plain characters; each keeps the place of the one that it stands for. */
const inPlainSigns = (given: Read): Read => {
  const { add, end } = createRead();
  let done = 0;
  for (const { 0: sign, index } of given.read.matchAll(/[^\0-\x7f]/gu)) {
    add(given.read.slice(done, index));
    add(plainSign(sign), sign.length);
    done = index + sign.length;
  }
  add(given.read.slice(done));
  const { read, from, to } = end();
  return { read, from: (at) => given.from(from(at)), to: (at) => given.to(to(at) - 1) };
};

type Place = { at: number; length: number };

const wordsIn = (read: string, secret: Vocabulary): Place[] =>
  [...read.matchAll(tokens)].flatMap(({ 0: token, index: at }) =>
    secret.has(token) || isEndOf(read, { token, at }, secret) ? [{ at, length: token.length }] : [],
  );

const isEndOf = (read: string, { token, at }: { token: string; at: number }, secret: Vocabulary): boolean =>
  (read.startsWith('...', at + token.length) && secret.hasStart(token)) ||
  (read.startsWith('...', at - 3) && secret.hasEnd(token));

/** May be base64 or hexadecimal digits, and is no ordinary word. */
const encoded = /(?<![\w+/-])(?![A-Z]?[a-z]+(?![\w+/-])|[A-Z]+(?![\w+/-])|\d+(?![\w+/-]))[\w+/-]{4,}={0,2}/g;

/** Bytes as pairs of hexadecimal digits, with a separator between them. */
const spaced = /(?<!\w)(?:[\da-fA-F]{2}[ :,-]){2,}[\da-fA-F]{2}(?!\w)/g;

const encodedIn = (read: string, secret: Vocabulary): Place[] =>
  [...read.matchAll(encoded), ...read.matchAll(spaced)].flatMap(({ 0: run, index: at }) =>
    decodingsOf(run).some((text) => tellsOf(text, secret)) ? [{ at, length: run.length }] : [],
  );

/**
 * A word in base64 may begin at any of four places, and so may the rest of one that is cut off. Hexadecimal digits may begin after `0x`, or
 * in the middle of a byte.
 */
const decodingsOf = (run: string): string[] => {
  const digits = run.replace(/[ :,-]/g, '');
  const inHex = [0, 1, 2].map((before) => Buffer.from(digits.slice(before), 'hex').toString());
  return [...[0, 1, 2, 3].map((before) => Buffer.from(run.slice(before), 'base64').toString()), ...inHex];
};

/** Random bytes hold short words by chance. So a word must be longer, unless the whole text is ASCII, or nothing but the word. */
const tellsOf = (text: string, secret: Vocabulary): boolean => {
  const least = /^[\x20-\x7e]{8,}$/.test(text) ? 3 : 4;
  return [...readAs(text).matchAll(tokens)].some(
    ([token]) => (token.length >= least || token === text) && /\p{L}/u.test(token) && secret.has(token),
  );
};

/** The words of one letter are needed several times in a row. */
let last: { body: string; words: Vocabulary } | undefined;

const vocabularyIn = (body: string): Vocabulary => {
  if (last?.body !== body) last = { body, words: vocabularyOf(hiddenIn(body)) };
  return last.words;
};
