import { readAs } from './escapes.ts';

/**
 * A number with fraction and exponent; a number with a fraction directly before letters, as in `8.5pts`; or a word. Repetitions
 * are bounded, so that the search takes linear time.
 */
export const tokens = new RegExp(
  [
    String.raw`(?<!\p{N})\d{1,3}[.,]\d{1,8}(?=\p{L})(?![eE][+-]?\d)`,
    String.raw`(?<![\p{L}\p{M}\p{N}])\d+(?:[.,]\d+){0,8}(?:[eE][+-]?\d{1,3})?(?![\p{L}\p{M}\p{N}])`,
    String.raw`(?<!\p{N})\d{1,3}[.,]\d{1,8}(?!\p{N})`,
    String.raw`(?:(?!(?<!\p{N})\d{1,3}[.,]\d{1,8}(?!\p{N}))[\p{L}\p{M}\p{N}])+`,
  ].join('|'),
  'gu',
);

/** A character in its plain form: fullwidth as ASCII, `½` as `.5`, `…` as `...`; invisible characters are removed. */
export const plainSign = (sign: string): string => {
  if (/\p{Cf}/u.test(sign)) return '';
  const plain = sign.normalize('NFKC');
  const [, above, below] = /(\d)⁄(\d{1,2})/.exec(plain) ?? [];
  return below === undefined ? plain : String(Number(above) / Number(below)).slice(1);
};

/** A message may be all of one alphabet: each of its characters is looked at once. */
const plainSigns = (text: string): string => {
  const known = new Map<string, string>();
  return text.replace(/[^\0-\x7f]/gu, (sign) => {
    const plain = known.get(sign) ?? plainSign(sign);
    known.set(sign, plain);
    return plain;
  });
};

/**
 * The words and numbers to hide. It recognizes each of them, and longer pieces of words, in most spellings. It does not
 * recognize numbers in words (`eight and a half`), in other digits (`٨٫٥`), as a quotient or a percentage (`17/2`, `85 %`) or in
 * groups (`8 500`), and words that were decoded wrongly (`MÃ¼ller`), written backwards, in Punycode or in another script.
 */
export const vocabularyOf = (texts: Iterable<string>) => {
  const numbers = new Set<string>();
  const words = new Set<string>();
  for (const text of texts)
    for (const [token] of plainSigns(readAs(text)).matchAll(tokens)) {
      for (const reading of readingsOf(token)) numbers.add(reading);
      if (isLong(token)) for (const spelling of spellingsOf(token)) words.add(spelling);
    }
  // Searching one long text is fast.
  const all = `\n${[...words].join('\n')}\n`;
  const hasWord = (word: string): boolean => {
    const bare = bareOf(word);
    return (
      (isLong(word) && all.includes(`\n${bare}\n`)) || (lengthOf(word) >= minPiece && all.includes(bare))
    );
  };
  const hasPair = (word: string): boolean =>
    unspaced.test(word) && pairsOf(bareOf(word)).some((pair) => all.includes(pair));
  const hasNumber = (token: string): boolean => readingsOf(token).some((reading) => numbers.has(reading));
  return {
    has: (token: string): boolean =>
      hasNumber(token) ||
      // `8pts`.
      [...token.matchAll(/^\d+(?=\p{L}+$)/gu)].some(([number]) => hasNumber(number)) ||
      hasWord(token) ||
      hasPair(token) ||
      // Names may be joined: `JaneDoe`, `doe2`.
      [...token.matchAll(parts)].some(([part]) => hasWord(part)),
    /** Whether a hidden word begins, or ends, like this: for words that are marked as cut off. */
    hasStart: (token: string) => lengthOf(token) >= minEnd && all.includes(`\n${bareOf(token)}`),
    hasEnd: (token: string) => lengthOf(token) >= minEnd && all.includes(`${bareOf(token)}\n`),
  };
};

export type Vocabulary = ReturnType<typeof vocabularyOf>;

/** A piece of a word that has this many letters is hidden. */
const minPiece = 4;
/** If the text marks the word as cut off, fewer are enough. */
const minEnd = 2;

/** A word of two letters counts only if it may be a name: `Li`, but not `is`. */
const isLong = (word: string): boolean => {
  const letters = withoutMarks(word);
  return letters.length >= 3 || /\p{Lu}\p{L}|\p{Lo}{2}/u.test(letters);
};

/** An accent may be a sign of its own. */
const withoutMarks = (word: string): string => word.replace(/\p{M}/gu, '');

const lengthOf = (word: string): number => withoutMarks(word).length;

const parts = /\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+(?!\p{Ll})|\p{Lo}+|\p{N}+/gu;

/** These scripts have no spaces between words: any two characters in a row may be a name. */
const unspaced = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]{2}/u;

const pairsOf = (word: string): string[] => {
  const signs = [...word];
  return signs.slice(1).map((sign, at) => `${signs[at]}${sign}`);
};

/** Without accents and capitals. */
const bareOf = (word: string): string =>
  isAscii(word)
    ? word.toLowerCase()
    : withoutMarks(word.normalize('NFKD'))
        .toLowerCase()
        .replace(/[ßæœøłđðþıς]/g, (letter) => bareLetters[letter] ?? letter);

const isAscii = (word: string): boolean => /^[\w]*$/.test(word);

const bareLetters: Record<string, string> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i', ς: 'σ' },
};

/** `Müller`, `Muller` and `Mueller` are one name. */
const spellingsOf = (word: string): string[] => {
  const bare = bareOf(word);
  const long = isAscii(word)
    ? bare
    : bareOf(word.normalize().replace(/[äöüåæø]/gi, (letter) => longLetters[letter.toLowerCase()] ?? letter));
  return [bare, long, bare.replace(/([aou])e/g, '$1').replaceAll('aa', 'a')];
};

const longLetters: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', æ: 'ae', ø: 'oe' };

/** `8.5` is `8.50`, `8,5` and `85e-1`; `8,500` may be a number of thousands. */
const readingsOf = (token: string): string[] => {
  if (!/^\d/.test(token)) return [];
  const [, whole = '', fraction, exponent = ''] = /^([\d.,]*?)(?:[.,](\d+))?(e[+-]?\d+)?$/i.exec(token) ?? [];
  if (fraction === undefined && exponent === '') return [token];
  const digits = whole.replace(/[.,]/g, '');
  const readings = [`${digits}.${fraction ?? 0}${exponent}`];
  if (/^\d{1,3}(?:[.,]\d{3})+$/.test(token)) readings.push(digits + fraction);
  return readings.map((reading) => String(Number(reading)));
};
