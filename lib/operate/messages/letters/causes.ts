import { withoutIds } from '../../../delivery/letters/letter-words.ts';
import { hidden } from '../../../message/hidden.ts';

/** What differs between texts that say the same. */
const variable = '…';

/** A text as words, without what varies: ids, numbers, addresses, and names in quotes. */
const tokensOf = (text: string): string[] =>
  withoutIds(text)
    .replace(quoted, (whole, ...inner) => {
      const told = inner.slice(0, 5).find((each) => typeof each === 'string') ?? '';
      return isName(told) ? variable : whole;
    })
    .split(/\s+/)
    .filter(Boolean)
    .map((token) => (!isCode.test(token) && varies.test(token) ? variable : token));

const quoted = /"([^"]*)"|“([^“”]*)”|„([^„“”]*)[“”]|‹([^‹›]*)›|(?<!\w)'([^']*)'(?!\w)/g;
const varies = /@|^\W*https?:|\d|^<[\w-]+>\W*$/;
/** As in `ERR-1001`: what tells errors apart, and no id. */
const isCode = /^\W*[A-Z]{2,}[-_]\d{2,5}\W*$/;

/** What is quoted may be a field, or the whole sentence: of these no word but the first begins with a capital. */
const isName = (text: string): boolean => !/^[a-z][\w.[\]]*$/.test(text) && !/\s[a-z]/.test(text);

/** From so many different words in one place on, it is a place for names. */
const minNames = 5;
/** A name may be of so many words. */
const maxNameWords = 3;
/** More texts than these are looked at together for such places. */
const maxTexts = 40;

type Template = { tokens: string[] };

/**
 * Tells texts that say the same from others. `User Ann not found` and `Role Ann not found` are two causes, and many users' names
 * one. A word that is hidden, because the message has it, too, may be any.
 */
export const createCauses = () => {
  const families = new Map<string, Template[]>();
  const merged = new Set<Template[]>();
  const known = new Map<string, string[]>();

  const familyOf = (scope: string, tokens: string[]): Template[] => {
    const key = `${scope}\n${tokens.length}`;
    const family = families.get(key) ?? [];
    families.set(key, family);
    return family;
  };
  const tokensIn = (text: string): string[] => {
    const tokens = known.get(text) ?? tokensOf(text);
    if (known.size < 10_000) known.set(text, tokens);
    return tokens;
  };

  return {
    /** Of all texts first: which places vary shows only then. */
    learn: (scope: string, text: string): void => {
      const tokens = tokensIn(text);
      const family = familyOf(scope, tokens);
      const like = family.find((each) => isLike(each.tokens, tokens));
      if (like === undefined) {
        family.push({ tokens });
        if (family.length % maxTexts === 0) merge(family);
      } else
        like.tokens = like.tokens.map((token, at) =>
          token.includes(hidden) ? (tokens[at] ?? token) : token,
        );
    },
    /** The same text for the same cause. */
    causeOf: (scope: string, text: string): string => {
      const tokens = tokensIn(text);
      const family = familyOf(scope, tokens);
      if (!merged.has(family)) merge(family);
      merged.add(family);
      return (family.find((each) => isLike(each.tokens, tokens))?.tokens ?? tokens).join(' ');
    },
  };
};

const isWild = (token: string): boolean => token === variable || token.includes(hidden);

/** Of two texts that are not the same, half of the words must be. */
const isLike = (one: string[], other: string[]): boolean => {
  let same = 0;
  for (const [at, token] of one.entries()) {
    const its = other[at] ?? '';
    if (token === its) same += 1;
    else if (!isWild(token) && !isWild(its)) return false;
  }
  return same === one.length || same * 2 >= one.length;
};

/** `Course not found`, `Role not found`: each is something else that is missing. */
const isThing = (tokens: string[], { at, words }: { at: number; words: number }): boolean =>
  (at === 0 || tokens[at - 1] === '|') &&
  /^(not found|does not exist|is (missing|invalid|required|unknown))\W*$/i.test(
    tokens.slice(at + words).join(' '),
  );

/** Texts that differ in one place alone, and in it by many words, become one. */
const merge = (family: Template[]): void => {
  if (family.length < minNames) return;
  const [
    {
      tokens: { length },
    } = { tokens: [] },
  ] = family;
  for (let words = 1; words <= Math.min(maxNameWords, length - 1); words += 1)
    for (let at = 0; at + words <= length; at += 1) {
      const alike = Map.groupBy(family, ({ tokens }) => JSON.stringify(tokens.toSpliced(at, words)));
      for (const each of alike.values()) {
        const [first] = each;
        if (first === undefined || each.length < minNames) continue;
        const places = Array.from(
          { length: words },
          (_, more) => new Set(each.map(({ tokens }) => tokens[at + more])),
        );
        if (places.some(({ size }) => size === 1) || isThing(first.tokens, { at, words })) continue;
        first.tokens = first.tokens.toSpliced(at, words, ...Array.from({ length: words }, () => variable));
        for (const other of each.slice(1)) family.splice(family.indexOf(other), 1);
      }
    }
};
