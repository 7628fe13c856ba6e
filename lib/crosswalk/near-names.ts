import { type SafeText, safe } from '../message/safe-text.ts';

/** A known name that a person may have meant. Nobody takes it for the name: two people may have names that are near. */
export type NearName = { name: string; differs: Difference };

const differences = {
  case: safe`in upper and lower case alone`,
  spaces: safe`by spaces alone`,
  zeros: safe`by zeros in front alone`,
  several: safe`by case, spaces and zeros in front alone`,
  letter: safe`by one letter`,
} as const satisfies Record<string, SafeText>;
type Difference = keyof typeof differences;

/** As in `which differs by one letter`. */
export const differenceText = (differs: Difference): SafeText => differences[differs];

/** What a mapping or the settings of an export say, so that the names become the same. */
export const ruleFor = (differs: Difference): string | undefined =>
  ({
    case: '"case": "lower"',
    spaces: '"strip": ["spaces"]',
    zeros: '"digits"',
    several: undefined,
    letter: undefined,
  })[differs];

const withoutSpaces = (name: string): string => name.replace(/[\s\u200b\ufeff]+/gu, '');
const withoutZeros = (name: string): string => name.replace(/^0+(?=.)/, '');
const digitsIn = (name: string): string => name.replace(/\D+/g, '');

/** Shorter names are all near to one another. */
const minLength = 4;

/** How a name differs from a known one, if by so little. Other digits are other people and courses. */
export const differenceOf = (name: string, known: string): Difference | undefined => {
  if (name === known) return undefined;
  if (name.toLowerCase() === known.toLowerCase()) return 'case';
  if (withoutSpaces(name) === withoutSpaces(known)) return 'spaces';
  if (withoutZeros(name) === withoutZeros(known)) return 'zeros';
  const [one, other] = [name, known].map((each) => withoutZeros(withoutSpaces(each).toLowerCase()));
  if (one === other) return 'several';
  const isShort = Math.min(name.length, known.length) < minLength;
  return !isShort && digitsIn(name) === digitsIn(known) && isOneLetterApart(one ?? '', other ?? '')
    ? 'letter'
    : undefined;
};

/** One letter is another, more, or less, or two have changed places. */
const isOneLetterApart = (one: string, other: string): boolean => {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at += 1;
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1);
  if (short.slice(at + 1) === long.slice(at + 1)) return true;
  const [first, second] = [short[at], short[at + 1]];
  return first === long[at + 1] && second === long[at] && short.slice(at + 2) === long.slice(at + 2);
};

/** The nearest of some known names. */
export const nearestOf = (name: string, known: Iterable<string>): NearName | undefined => {
  let nearest: NearName | undefined;
  for (const each of known) {
    const differs = differenceOf(name, each);
    if (differs !== undefined && (nearest === undefined || rank(differs) < rank(nearest.differs)))
      nearest = { name: each, differs };
  }
  return nearest;
};

const rank = (differs: Difference): number => Object.keys(differences).indexOf(differs);

const letters = 'abcdefghijklmnopqrstuvwxyz.-_';
const maxPadding = 12;

/** Names that the table may have in its place: it finds only whole names. */
export const candidatesFor = (name: string): string[] => {
  const found = new Set<string>();
  const bare = withoutZeros(withoutSpaces(name));
  const padded = /^\d+$/.test(bare)
    ? Array.from({ length: maxPadding }, (_, at) => bare.padStart(at + 1, '0'))
    : [];
  for (const each of [name, name.trim(), withoutSpaces(name), bare, ...padded])
    for (const cased of [each, each.toLowerCase(), each.toUpperCase(), capitalized(each)]) found.add(cased);
  const base = name.trim();
  if (base.length >= minLength && base.length <= maxSearched)
    for (const each of oneLetterFrom(base)) found.add(each);
  found.delete(name);
  return [...found].filter((each) => differenceOf(name, each) !== undefined);
};

/** A longer name has too many that are near. */
const maxSearched = 40;

const capitalized = (name: string): string =>
  name.toLowerCase().replace(/(?<![\p{L}\p{N}])\p{L}/gu, (letter) => letter.toUpperCase());

function* oneLetterFrom(name: string): Generator<string> {
  const isUpper = name === name.toUpperCase() && name !== name.toLowerCase();
  const alphabet = isUpper ? letters.toUpperCase() : letters;
  for (let at = 0; at <= name.length; at += 1) {
    const [before, after] = [name.slice(0, at), name.slice(at)];
    for (const letter of alphabet) {
      yield `${before}${letter}${after}`;
      if (after !== '') yield `${before}${letter}${after.slice(1)}`;
    }
    yield `${before}${after.slice(1)}`;
    if (after.length > 1) yield `${before}${after[1]}${after[0]}${after.slice(2)}`;
  }
}
