/**
 * JSON of others is read no deeper. The deepest message that a function takes has five levels; and what has 64 is far from the
 * thousands at which whatever walks it by calling itself, such as zod and `JSON.stringify`, runs out of stack.
 */
const maxLevels = 64;

export const tooDeep = `is nested deeper than ${maxLevels} levels`;

/** `cut off`: it begins as JSON and ends before its end. */
type Flaw = 'cut off' | 'too deep' | 'not JSON';
type Reading = { json: unknown } | { flaw: Flaw; problem: string };

/** The JSON that a text of others is, or why it is not read; in time and memory that grow with its length alone. */
export const readJson = (text: string): Reading => {
  // What is too deep is not parsed: a text of nothing but brackets takes a hundred times its size.
  if (isTooDeep(text)) return { flaw: 'too deep', problem: tooDeep };
  const parsed = parse(text);
  return parsed ?? { flaw: nestingOf(text).isOpen ? 'cut off' : 'not JSON', problem: 'is not JSON' };
};

/** The same; undefined where it is not read. */
export const jsonIn = (text: string): unknown => {
  const read = readJson(text);
  return 'json' in read ? read.json : undefined;
};

/** Whether a text is JSON, however deep. */
export const isJson = (text: string): boolean => parse(text) !== undefined;

/** JSON of any depth, of which only what lies on top is to be looked at; undefined where it is none. */
export const shallowJsonIn = (text: string): unknown => parse(text)?.json;

/**
 * A name of an object that is written with an escape, as it is written. Node 24 may take such a name for another one that it has
 * read before (nodejs/node#63785): where names are data, they must have none.
 */
export const escapedNameIn = (text: string): string | undefined => {
  for (let at = text.indexOf('"'); at >= 0; ) {
    const end = endOfString(text, at);
    const string = text.slice(at, end);
    if (string.includes('\\') && /^\s*:/.test(text.slice(end, end + 100))) return string;
    at = text.indexOf('"', end);
  }
  return undefined;
};

/** Without the error of `JSON.parse`, which quotes the text. */
const parse = (text: string): { json: unknown } | undefined => {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/** It costs next to nothing where there are few brackets, as in every message that is taken. */
const isTooDeep = (text: string): boolean =>
  countOf('{', text) + countOf('[', text) > maxLevels && nestingOf(text).deepest > maxLevels;

/** Counts no further than is of interest. */
const countOf = (bracket: string, text: string): number => {
  let count = 0;
  for (let at = text.indexOf(bracket); at >= 0 && count <= maxLevels; at = text.indexOf(bracket, at + 1))
    count += 1;
  return count;
};

const codes = { quote: 34, open: [91, 123], close: [93, 125] };

/** How deep a text nests, and whether something in it that was opened is not closed. */
const nestingOf = (text: string): { deepest: number; isOpen: boolean } => {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) {
      at = endOfString(text, at) - 1;
    } else if (code === codes.open[0] || code === codes.open[1]) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === codes.close[0] || code === codes.close[1]) depth -= 1;
  }
  return { deepest, isOpen: depth > 0 };
};

/** Where the string that begins at `start` is over, its quotation mark included; that of the text, where it does not end. */
export const endOfString = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text[at - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length;
};
