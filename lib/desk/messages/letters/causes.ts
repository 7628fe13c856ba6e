import { withoutIds } from '../../../delivery/letters/letter-words.ts';
import { hidden } from '../../../message/hidden.ts';

/** Replaces the parts in which texts of one cause differ. */
const variable = '…';

/** The words of a text, without ids, numbers, addresses and quoted names. */
export const withoutVariables = (text: string): string =>
  withoutIds(text)
    .replace(quoted, (match, ...inner) => {
      const quotedText = inner.slice(0, 5).find((each) => typeof each === 'string') ?? '';
      return isName(quotedText) ? variable : match;
    })
    .split(/\s+/)
    .filter(Boolean)
    .map((token) => (!isCode.test(token) && varies.test(token) ? variable : token))
    .join(' ');

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

/**
 * The cause of each text without variables. `User Ann not found` and `Role Ann not found` are two causes; the names of many users are
 * one. A word that is hidden, because the message contains it, matches any word.
 */
export const causesIn = (texts: ReadonlySet<string>): Map<string, string> => {
  const causes = new Map<string, string>();
  const split = Array.from(texts, (text) => ({ text, tokens: text.split(' ') }));
  for (const alike of Map.groupBy(split, ({ tokens }) => tokens.length).values()) {
    const templates: string[][] = [];
    for (const { tokens } of alike) {
      const like = templates.findIndex((each) => isLike(each, tokens));
      const template = templates[like];
      if (template === undefined) {
        templates.push(tokens);
        if (templates.length % maxTexts === 0) mergeNames(templates);
      } else
        templates[like] = template.map((token, at) =>
          token.includes(hidden) ? (tokens[at] ?? token) : token,
        );
    }
    mergeNames(templates);
    for (const { text, tokens } of alike)
      causes.set(text, (templates.find((each) => isLike(each, tokens)) ?? tokens).join(' '));
  }
  return causes;
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
const mergeNames = (templates: string[][]): void => {
  const length = templates[0]?.length ?? 0;
  for (let words = 1; words <= Math.min(maxNameWords, length - 1); words += 1)
    for (let at = 0; at + words <= length && templates.length >= minNames; at += 1) {
      const alike = Map.groupBy(templates, (tokens) => JSON.stringify(tokens.toSpliced(at, words)));
      for (const each of alike.values()) {
        const [first = []] = each;
        const isFixed = first
          .slice(at, at + words)
          .some((token, offset) => each.every((tokens) => tokens[at + offset] === token));
        if (each.length < minNames || isFixed || isThing(first, { at, words })) continue;
        const merged = first.toSpliced(at, words, ...Array.from({ length: words }, () => variable));
        templates[templates.indexOf(first)] = merged;
        for (const other of each.slice(1)) templates.splice(templates.indexOf(other), 1);
      }
    }
};
