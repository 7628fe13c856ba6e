import { inThousands, type SafeText, safe } from './safe-text.ts';

/**
 * Foreign JSON is read no deeper. The deepest valid message has five levels, and 64 is far below the thousands at which recursive
 * code, such as zod and `JSON.stringify`, overflows the stack.
 */
const maxLevels = 64;

export const tooDeep = safe`is nested deeper than ${maxLevels} levels`;

/**
 * Maximum number of values in a message. The largest sensible one, of a user's attributes, has some thousands; for as many small
 * values as SQS carries, zod would make 1 GB of problems.
 */
const maxValues = 10_000;
/** Elements of one list, fields of one object, in a message. */
export const maxWidth = 1_000;

export const tooMany = safe`has more than ${inThousands(maxValues)} values`;
/**
 * Maximum number of values in any foreign JSON: the largest list of the platform, 90,000 users, has half as many. As many empty
 * objects take 130 MB of memory.
 */
const maxForeignValues = 2_000_000;
const tooWide = safe`has a list or an object of more than ${inThousands(maxWidth)}`;

/** `cut off`: it begins as JSON and ends before its end. */
type Flaw = 'cut off' | 'too deep' | 'too many' | 'not JSON';
type JsonResult = { json: unknown } | { flaw: Flaw; problem: SafeText };

/** Parses a foreign text as JSON, or reports why not. Time grows only with its length, and memory has a limit. */
export const readJson = (text: string): JsonResult => {
  const { isTooDeep, hasTooMany } = excessIn(text, maxForeignValues);
  if (hasTooMany)
    return { flaw: 'too many', problem: safe`has more than ${inThousands(maxForeignValues)} values` };
  return isTooDeep ? { flaw: 'too deep', problem: tooDeep } : parsed(text);
};

/**
 * The same for a message, which is parsed only if it is small enough in each way: its sender may use all the size that SQS
 * allows.
 */
export const readMessageJson = (text: string): JsonResult => {
  const { isTooDeep, hasTooMany } = excessIn(text, maxValues);
  if (isTooDeep) return { flaw: 'too deep', problem: tooDeep };
  if (hasTooMany) return { flaw: 'too many', problem: tooMany };
  const read = parsed(text);
  // A shorter text has no room for so many.
  if ('problem' in read || text.length <= 2 * maxWidth || !isTooWide(read.json)) return read;
  return { flaw: 'too many', problem: tooWide };
};

const parsed = (text: string): JsonResult =>
  parse(text) ?? { flaw: nestingOf(text).isOpen ? 'cut off' : 'not JSON', problem: safe`is not JSON` };

/** Undefined if the text cannot be read. */
export const jsonIn = (text: string): unknown => {
  const read = readJson(text);
  return 'json' in read ? read.json : undefined;
};

export const isObject = (json: unknown): json is Record<string, unknown> =>
  typeof json === 'object' && json !== null && !Array.isArray(json);

/** Whether a text is JSON, however deep. */
export const isJson = (text: string): boolean => parse(text) !== undefined;

/** Undefined if the literal is no JSON string. */
export const stringIn = (literal: string): string | undefined => {
  const json = parse(literal)?.json;
  return typeof json === 'string' ? json : undefined;
};

/** The text of a top-level field, however much else the object holds; undefined if there is none. */
export const topTextIn = (text: string, field: string): string | undefined => {
  let depth = 0;
  let found: string | undefined;
  for (let at = text.search(/\S/); at >= 0 && at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) {
      const end = endOfString(text, at);
      const isField = depth === 1 && text.slice(at, end) === `"${field}"`;
      const value = isField ? /\s*:\s*(?=")/y : undefined;
      if (value) value.lastIndex = end;
      if (value?.test(text))
        found = stringIn(text.slice(value.lastIndex, endOfString(text, value.lastIndex)));
      at = end - 1;
    } else if (code === codes.open[0] || code === codes.open[1]) depth += 1;
    else if (code === codes.close[0] || code === codes.close[1]) depth -= 1;
    if (depth === 0) return found;
  }
  return found;
};

/**
 * The first name of an object that is written with an escape, as it is written. Node 24 may mistake such a name for another one
 * that it has read before (nodejs/node#63785): names that are data must have no escape.
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

/** As `readJson`, for a text that a person corrects: the problem has the place of the first fault. */
export const readJsonWithPlace = (text: string): JsonResult => {
  const read = readJson(text);
  if ('json' in read || read.flaw === 'too deep') return read;
  return { ...read, problem: safe`${read.problem} (its first fault is in ${placeOfFlaw(text)})` };
};

/** Why a text cannot be read, for a person, with the place of its first fault. Undefined: it is JSON. */
export const problemOf = (text: string): SafeText | undefined => {
  const read = readJsonWithPlace(text);
  return 'problem' in read ? read.problem : undefined;
};

/** Where a text ceases to be JSON, as in `line 3, column 14`. For people only: a large text may be parsed some twenty times. */
const placeOfFlaw = (text: string): SafeText => {
  const lines = text.slice(0, flawAt(text)).split('\n');
  return safe`line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
};

/** `JSON.parse` gives no position for some flaws: they are in the shortest prefix that no JSON text could have. */
const flawAt = (text: string): number => {
  const flaw = firstFlaw(text);
  if (flaw !== 'unknown') return flaw;
  let [sound, flawed] = [0, text.length];
  while (flawed - sound > 1) {
    const length = Math.floor((sound + flawed) / 2);
    const at = firstFlaw(text.slice(0, length));
    if (at === 'unknown' || at < length) flawed = length;
    else sound = length;
  }
  return sound;
};

/** The end of the text if it could be the beginning of JSON. */
const firstFlaw = (text: string): number | 'unknown' => {
  try {
    JSON.parse(text);
    return text.length;
  } catch (error) {
    const { message } = error as Error;
    if (/^(Unexpected end|Unterminated string)/.test(message)) return text.length;
    const position = / JSON at position (\d+) \(line \d+ column \d+\)$/.exec(message)?.[1];
    return position === undefined ? 'unknown' : Number(position);
  }
};

/**
 * What keeps a text from being parsed: parsing a text of only brackets takes a hundred times its size. Costs almost nothing if it is
 * short and has few brackets, as every usual message, and otherwise looks at it once.
 */
const excessIn = (text: string, most: number): { isTooDeep: boolean; hasTooMany: boolean } => {
  const mayHaveMany = text.length > most;
  if (!mayHaveMany && countOf('{', text) + countOf('[', text) <= maxLevels)
    return { isTooDeep: false, hasTooMany: false };
  const { deepest, values } = nestingOf(text);
  return { isTooDeep: deepest > maxLevels, hasTooMany: mayHaveMany && values > most };
};

/** Stops counting once the limit is exceeded. */
const countOf = (bracket: string, text: string): number => {
  let count = 0;
  for (let at = text.indexOf(bracket); at >= 0 && count <= maxLevels; at = text.indexOf(bracket, at + 1))
    count += 1;
  return count;
};

/** Whether a text, JSON or not, holds more lists, objects and commas than any message. */
export const hasTooManyValues = (text: string): boolean => excessIn(text, maxValues).hasTooMany;

/** How many items a list would have once it is parsed: its outer commas, and one. */
export const itemsIn = (text: string): number => {
  let [depth, count] = [0, 1];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) at = endOfString(text, at) - 1;
    else if (code === codes.comma && depth === 1) count += 1;
    else if (code === codes.open[0] || code === codes.open[1]) depth += 1;
    else if (code === codes.close[0] || code === codes.close[1]) depth -= 1;
  }
  return count;
};

/** No deeper than `maxLevels`. */
const isTooWide = (json: unknown): boolean => {
  if (typeof json !== 'object' || json === null) return false;
  const inner: unknown[] = Array.isArray(json) ? json : Object.values(json);
  return inner.length > maxWidth || inner.some(isTooWide);
};

const codes = { quote: 34, comma: 44, escape: 92, open: [91, 123], close: [93, 125] };

/** The nesting depth of a text, its lists, objects and commas, and whether a bracket or string is left open. */
const nestingOf = (text: string): { deepest: number; values: number; isOpen: boolean } => {
  let [depth, deepest, values] = [0, 0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) at = endOfString(text, at) - 1;
    else if (code === codes.comma) values += 1;
    else if (code === codes.open[0] || code === codes.open[1]) {
      values += 1;
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === codes.close[0] || code === codes.close[1]) depth -= 1;
  }
  return { deepest, values, isOpen: depth > 0 };
};

/** The end of the string that begins at `start`, including its quotation mark; the end of the text if the string does not end. */
export const endOfString = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === codes.escape) escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length;
};
