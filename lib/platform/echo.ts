/** So many characters in a row that are a secret's are no chance. */
const leastPiece = 12;
/** Beyond this nothing is looked at, nor kept: more than anybody is told of an answer. */
const mostRead = 4_000;

/** What characters are written as that are neither letters nor digits: `%2B`, `%252B`, `\u002b`, `&#43;`; and what breaks lines. */
const escapes = /%(?:25)*[\da-f]{2}|\\u[\da-f]{4}|\\[nrt]|&#?\w{1,8};|<\/?[a-z]{1,10}>/gi;
const escapeOrSign = new RegExp(`${escapes.source}|[a-z\\d]`, 'gi');

/** Of a word, letters and digits alone: the rest is what encodings change. */
const bareOf = (word: string): string =>
  word
    .replace(escapes, '')
    .replace(/[^a-z\d]/gi, '')
    .toLowerCase();

/** In base64 a word reads in three ways, by how many bytes stand before it. */
const spellings = (word: string): string[] => [
  word,
  Buffer.from(word).toString('hex'),
  ...[0, 1, 2].map((before) => Buffer.from(`${' '.repeat(before)}${word}`).toString('base64')),
];

/** Made once for all texts of an answer. */
const knownPieces = new WeakMap<readonly string[], string>();

const piecesOf = (words: readonly string[]): string => {
  const pieces = knownPieces.get(words) ?? [...new Set(words.flatMap(spellings).map(bareOf))].join('\n');
  knownPieces.set(words, pieces);
  return pieces;
};

/**
 * Takes these words out of a text, and every longer piece of them: cut off, in capitals, with breaks in it, escaped or
 * encoded in whatever way, alone or within something else.
 */
export const withoutEchoes = (text: string, words: readonly string[]): string => {
  if (words.length === 0 || text.length < leastPiece) return text;
  const read = text.slice(0, mostRead);
  const signs = [...read.matchAll(escapeOrSign)].filter(({ 0: found }) => found.length === 1);
  const bare = signs.map(([sign]) => sign.toLowerCase()).join('');
  const pieces = piecesOf(words);
  let rest = '';
  let from = 0;
  for (let at = 0; at + leastPiece <= bare.length; ) {
    let end = at;
    while (end + leastPiece <= bare.length && pieces.includes(bare.slice(end, end + leastPiece))) end += 1;
    if (end === at) {
      at += 1;
      continue;
    }
    const next = end + leastPiece - 1;
    rest += `${read.slice(from, signs[at]?.index)}…`;
    from = (signs[next - 1]?.index ?? read.length) + 1;
    at = next;
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
