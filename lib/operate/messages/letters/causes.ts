import { withoutIds } from '../../../delivery/letters/letter-words.ts';
import { hidden } from '../../../message/hidden.ts';

/** Replaces the parts in which texts of one cause differ. */
const variable = '…';

/** The words of a text, without ids, numbers, addresses and quoted names. */
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
/** As in `ERR-1001`: an error code distinguishes causes; it is no id. */
const isCode = /^\W*[A-Z]{2,}[-_]\d{2,5}\W*$/;

/** A quoted text may also be a field or a whole sentence. In those, no word but the first begins with a capital. */
const isName = (text: string): boolean => !/^[a-z][\w.[\]]*$/.test(text) && !/\s[a-z]/.test(text);

/** If a place in a text holds at least this many different words, it holds names. */
const minNames = 5;
/** A name has at most this many words. */
const maxNameWords = 3;
/** Only more texts than these are searched for such places. */
const maxTexts = 40;

type Template = { tokens: string[] };

/**
 * Groups texts by cause. `User Ann not found` and `Role Ann not found` are two causes; the names of many users are one. A word that is
 * hidden, because the message contains it, matches any word.
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
    /** Call it with all texts first: only then is it known which places vary. */
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
    /** Returns the same text for the same cause. */
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

/** At least half of the words must be the same. */
const isLike = (one: string[], other: string[]): boolean => {
  let same = 0;
  for (const [at, token] of one.entries()) {
    const its = other[at] ?? '';
    if (token === its) same += 1;
    else if (!isWild(token) && !isWild(its)) return false;
  }
  return same === one.length || same * 2 >= one.length;
};

/** `Course not found`, `Role not found`: here the word is the kind of thing that is missing, not a name. */
const isThing = (tokens: string[], { at, words }: { at: number; words: number }): boolean =>
  (at === 0 || tokens[at - 1] === '|') &&
  /^(not found|does not exist|is (missing|invalid|required|unknown))\W*$/i.test(
    tokens.slice(at + words).join(' '),
  );

/** Merges texts that differ in one place only, if many words occur there. */
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
