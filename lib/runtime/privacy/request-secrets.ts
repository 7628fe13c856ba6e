import { decoded } from './escapes.ts';
import { withoutSecrets } from './secrets.ts';

/** The keys, tokens and signatures of a request. No error may repeat them in any spelling; an error page shows the request's address. */
export const sensitiveValues = (
  { query, headers }: { query: Record<string, string>; headers: Record<string, string> },
  secrets: string[] = [],
): string[] => {
  const words = [...Object.values(query), ...Object.values(headers)]
    .flatMap((value) => value.split(' '))
    .filter((word) => word.length >= 20);
  return [...words, ...secrets.filter(Boolean)].flatMap((word) => [
    word,
    encodeURIComponent(word),
    JSON.stringify(word).slice(1, -1),
  ]);
};

/**
 * An answer's text without secrets: error pages repeat the address they were called with, whose query holds signatures, and
 * echoed headers hold tokens. The request's own values are removed wherever and however they are written; what only looks
 * like a secret may be somebody else's.
 */
export const redact = (text: string, values: readonly string[], maxLength: number): string =>
  withoutSecrets(
    withoutEchoes(
      values.reduce((rest, value) => rest.replaceAll(value, '…'), text),
      values,
    ),
    maxLength,
  );

/** A run of this many characters of a secret is no coincidence. */
const minPiece = 12;
/** For a whole secret, this many are enough. */
const minWord = 6;
/** The rest of a text is neither searched nor kept: nobody is shown more of an answer. */
const maxRead = 4_000;

/** Only the letters and digits of a word: encodings change the rest. */
const bareOf = (word: string): string =>
  decoded(word)
    .replace(/[^a-z\d]/gi, '')
    .toLowerCase();

/** In base64 a word has three spellings, depending on how many bytes stand before it. */
const spellings = (word: string): string[] => [
  word,
  Buffer.from(word).toString('hex'),
  ...[0, 1, 2].map((before) => Buffer.from(`${' '.repeat(before)}${word}`).toString('base64')),
];

type Pieces = { all: string; long: string[] };

/** Computed once for all texts of an answer. */
const knownPieces = new WeakMap<readonly string[], Pieces>();

const piecesOf = (words: readonly string[]): Pieces => {
  const known = knownPieces.get(words);
  if (known) return known;
  const bare = [...new Set(words.flatMap(spellings).map(bareOf))];
  const long = bare.filter((each) => each.length >= minWord);
  const pieces = { all: bare.join('\n'), long };
  knownPieces.set(words, pieces);
  return pieces;
};

/**
 * Removes these words from a text, and every longer piece of them: cut off, in capitals, with line breaks, escaped or encoded, alone or
 * within something else. What is left of such a text is without escapes.
 */
export const withoutEchoes = (text: string, words: readonly string[]): string => {
  if (words.length === 0) return text;
  const read = decoded(text.slice(0, maxRead));
  const places = [...read.matchAll(/[a-z\d]/gi)].map(({ index }) => index);
  const bare = places
    .map((place) => read[place])
    .join('')
    .toLowerCase();
  const { all, long } = piecesOf(words);
  const echoes = new Uint8Array(bare.length);
  for (let at = 0; at + minPiece <= bare.length; at += 1)
    if (all.includes(bare.slice(at, at + minPiece))) echoes.fill(1, at, at + minPiece);
  for (const word of long)
    for (let at = bare.indexOf(word); at >= 0; at = bare.indexOf(word, at + 1))
      echoes.fill(1, at, at + word.length);
  if (!echoes.includes(1)) return text.slice(0, maxRead);
  let rest = '';
  let from = 0;
  for (let at = echoes.indexOf(1); at >= 0; ) {
    const next = echoes.indexOf(0, at);
    const end = next < 0 ? echoes.length : next;
    rest += `${read.slice(from, places[at])}…`;
    from = (places[end - 1] ?? 0) + 1;
    at = echoes.indexOf(1, end);
  }
  return rest + read.slice(from);
};
