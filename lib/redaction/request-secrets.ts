import { readAs, undone } from './escapes.ts';

/** So many characters in a row that are a secret's are no chance. */
const minPiece = 12;
/** And so many are none where they are all of it. */
const minWord = 6;
/** Beyond this nothing is looked at, nor kept: more than anybody is told of an answer. */
const maxRead = 4_000;

/** Of a word, letters and digits alone: the rest is what encodings change. */
const bareOf = (word: string): string =>
  readAs(word)
    .replace(/[^a-z\d]/gi, '')
    .toLowerCase();

/** In base64 a word reads in three ways, by how many bytes stand before it. */
const spellings = (word: string): string[] => [
  word,
  Buffer.from(word).toString('hex'),
  ...[0, 1, 2].map((before) => Buffer.from(`${' '.repeat(before)}${word}`).toString('base64')),
];

type Pieces = { all: string; short: string[] };

/** Made once for all texts of an answer. */
const knownPieces = new WeakMap<readonly string[], Pieces>();

const piecesOf = (words: readonly string[]): Pieces => {
  const known = knownPieces.get(words);
  if (known) return known;
  const bare = [...new Set(words.flatMap(spellings).map(bareOf))];
  const short = bare.filter((each) => each.length >= minWord && each.length < minPiece);
  const pieces = { all: bare.join('\n'), short };
  knownPieces.set(words, pieces);
  return pieces;
};

/**
 * Takes these words out of a text, and every longer piece of them: cut off, in capitals, with breaks in it, escaped or
 * encoded in whatever way, alone or within something else.
 */
export const withoutEchoes = (text: string, words: readonly string[]): string => {
  if (words.length === 0 || text.length < minWord) return text;
  const read = text.slice(0, maxRead);
  const signs = undone(read);
  const places = [...signs.read.matchAll(/[a-z\d]/gi)].map(({ index }) => index);
  const bare = places
    .map((place) => signs.read[place])
    .join('')
    .toLowerCase();
  const { all, short } = piecesOf(words);
  const echoes = new Uint8Array(bare.length);
  for (let at = 0; at + minPiece <= bare.length; at += 1)
    if (all.includes(bare.slice(at, at + minPiece))) echoes.fill(1, at, at + minPiece);
  for (const word of short)
    for (let at = bare.indexOf(word); at >= 0; at = bare.indexOf(word, at + 1))
      echoes.fill(1, at, at + word.length);
  let rest = '';
  let from = 0;
  for (let at = echoes.indexOf(1); at >= 0; ) {
    const next = echoes.indexOf(0, at);
    const end = next < 0 ? echoes.length : next;
    rest += `${read.slice(from, signs.from[places[at] ?? 0])}…`;
    from = signs.to[places[end - 1] ?? 0] ?? read.length;
    at = echoes.indexOf(1, end);
  }
  return rest + read.slice(from);
};

/**
 * Error pages repeat the address they were called with: its query carries signatures, and a header echo a token. The
 * proof's own words go wherever they stand, and however they are written; the patterns are for secrets of others.
 */
export const scrub = (text: string, proof: string[]): string =>
  withoutEchoes(
    proof.reduce((rest, word) => rest.replaceAll(word, '…'), text),
    proof,
  )
    .replace(/\?[^\s"'<>?]*=[^\s"'<>]*/g, '?…')
    .replace(
      /(x_[a-et]|access_token|refresh_token|client_secret)(\\?["']?\s*(?:[=:]|%(?:25)*3d)\s*\\?["']?)(?:(?!%(?:25)*26)[^\s&"'<>\\])+/gi,
      '$1$2…',
    )
    .replace(/\b(bearer|basic)(?:\s|%20|\+)+[\w.~+/=%-]{8,}/gi, '$1 …');
