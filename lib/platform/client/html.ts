/** A piece of a page: text, a tag by its name (`/p` for its end), or the content of an element that holds no tags. */
export type Piece = { text: string } | { tag: string } | { within: string; text: string };

const tagStart = /<[a-z/!?]/gi;
const ends = { script: /<\/script\b/gi, style: /<\/style\b/gi, title: /<\/title\b/gi };

/**
 * Splits any page in one pass: an end that was searched for and not found is not searched for again. A tag that is not closed
 * is text.
 */
export function* piecesOf(html: string): Generator<Piece, void, undefined> {
  const endless = new Set<string>();
  for (let at = 0; at < html.length; ) {
    const open = indexFrom(tagStart, html, at);
    const close = open < 0 ? -1 : html.indexOf('>', open);
    if (close < 0) return yield { text: html.slice(at) };
    if (open > at) yield { text: html.slice(at, open) };
    const tag = tagNameOf(html.slice(open + 1, Math.min(close, open + 30)));
    yield { tag };
    at = close + 1;
    if (!(tag in ends) || endless.has(tag)) continue;
    const end = indexFrom(ends[tag as keyof typeof ends], html, at);
    if (end < 0) endless.add(tag);
    else {
      yield { within: tag, text: html.slice(at, end) };
      at = end;
    }
  }
}

const tagNameOf = (tag: string): string => /^\/?[a-z][\w:-]*/i.exec(tag)?.[0].toLowerCase() ?? '';

const indexFrom = (pattern: RegExp, text: string, from: number): number => {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? -1;
};

/** Whether a text has tags: many answers that are labelled as HTML are plain sentences. */
export const hasTags = (text: string): boolean => /<[a-z!?/][^<>]*>/i.test(text);
