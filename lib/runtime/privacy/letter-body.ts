import { endOfString, hasTooManyValues, isJson, stringIn, topTextIn } from '../../message/json.ts';
import { maxBytes } from '../../message/sqs-limits.ts';

/**
 * A body that may be kept, and the names of the fields whose values were removed from it. `isWithheld`: nothing of it is kept but
 * a description.
 */
export type Masked = { body: string; fields: string[]; isWithheld?: true };

/**
 * Removes the values of these fields from a message's body, at any depth, and however the names are written: `plain_secret` is
 * `plainSecret`. All other bytes stay, so that SQS accepts the body again.
 * `isTaken`: the message was valid. Then only fields are searched, as its texts and its pairs of name and value are its own,
 * and a replay needs them as they are.
 * Not found are names and values in another encoding than JSON, such as compressed ones, and in lists (`["key", "value"]`).
 * Left out whole is what has such a name and is no JSON, as it is not clear where a value ends, and what is too large to be read
 * by a function.
 */
export const withoutFields = (body: string, names: readonly string[] = [], isTaken = false): Masked => {
  if (names.length === 0) return { body, fields: [] };
  if (hasTooManyValues(body)) return withheld(body, 'is too large to look for it');
  const search: Search = { names, mask: ellipsis, isTaken, level: 0 };
  const found = find(body, search);
  if (found.isUnclear) return withheld(body, 'is not JSON');
  const masked = changed(body, found.changes);
  const fits = Buffer.byteLength(masked) <= Math.max(Buffer.byteLength(body), maxBytes - maxStory);
  return {
    body: fits ? masked : changed(body, find(body, { ...search, mask: nothing }).changes),
    fields: [...found.fields].slice(0, maxFields),
  };
};

/** The same for a message that must not be parsed, because its function died of that. */
export const unread = (body: string, names: readonly string[] = []): Masked =>
  names.length === 0 ? { body, fields: [] } : withheld(body, 'cannot be searched for it');

/** A text in place of the message. */
const withheld = (body: string, why: string): Masked => {
  const id = topTextIn(body, 'id');
  const text = {
    withheld: `The message may hold a secret, and ${why}`,
    bytes: Buffer.byteLength(body),
    ...(id !== undefined && id.length <= maxIdLength && { id: id.toWellFormed() }),
  };
  return { body: JSON.stringify(text), fields: [], isWithheld: true };
};

const maxIdLength = 256;

/** Reserved for the failure, which the letter holds beside the body. */
const maxStory = 16_384;
/** A message may spell a field in thousands of ways, of any length: at most this much is reported. */
const maxFields = 10;
const longestField = 40;

/** What replaces a value: within the quotation marks of a string, and any other value of JSON. */
type Mask = { text: string; other: string };
const ellipsis: Mask = { text: '…', other: '"…"' };
/** The same within bytes that were read as Latin-1. */
const ellipsisInBytes: Mask = { text: latin1('…'), other: latin1('"…"') };
/** Never longer than the value itself, however often that is escaped. */
const nothing: Mask = { text: '', other: '0' };

/** `level`: of texts within texts. */
type Search = { names: readonly string[]; mask: Mask; isTaken: boolean; level: number };

/**
 * Text that holds text is read no deeper: what is deeper is removed whole, as is what is too large. Four are more than services wrap around
 * a message.
 */
const maxLevels = 16;

/** A part of a text, and its replacement. */
type Change = { from: number; to: number; by: string };
type Found = { changes: Change[]; fields: Set<string> };

/** `isUnclear`: it is no JSON, and has a forbidden name. */
const find = (text: string, search: Search): Found & { isUnclear: boolean } => {
  const found = findQuoted(text, search);
  found.changes.sort((one, other) => one.from - other.from);
  const hasName = () => found.changes.length > 0 || mentionOf(search.names).test(text);
  return { ...found, isUnclear: !isJson(text) && hasName() };
};

/** A name in any notation, such as `<plain-key>` or `key =>`. An escape before it ends with a letter or a digit, too. */
const mentionOf = (names: readonly string[]): RegExp => {
  const inAnyCase = names.map((name) => [...name].join('[\\s_.-]?')).join('|');
  return new RegExp(
    String.raw`(?:(?<![\p{L}\p{N}][_-]?)|(?<=%[\da-f]{2}|\\u[\da-f]{4}|\\[bfnrt]))(?:${inAnyCase})(?!_?[\p{L}\p{N}])`,
    'iu',
  );
};

const changed = (text: string, changes: Change[]): string => {
  let rest = '';
  let done = 0;
  for (const { from, to, by } of changes) {
    // A value may be forbidden by its own name and by that beside it.
    if (from >= done) rest += text.slice(done, from) + by;
    done = Math.max(done, to);
  }
  return rest + text.slice(done);
};

/** An open object or list, the field that holds it, and the forbidden name in `{"name":"key","value":"…"}`. */
type Frame = {
  from: number;
  field: string | undefined;
  named?: string;
  values: { from: number; to: number }[];
};

/** Fields that hold a name; the value is in another field of the same object. */
const naming = new Set(['name', 'key', 'field', 'parameter', 'id']);

/** Reads any text once, at any depth. */
const findQuoted = (text: string, search: Search): Found => {
  const { names, mask, isTaken } = search;
  const forbidden = new Set(names.map(bare));
  const found: Found = { changes: [], fields: new Set() };
  const frames: Frame[] = [];
  /** The field whose value begins at the next bracket. */
  let field: string | undefined;

  const hide = (name: string, from: number, to: number): void => {
    found.fields.add(name.slice(0, longestField));
    if (text[from] === '"') found.changes.push({ from: from + 1, to: to - 1, by: mask.text });
    else found.changes.push({ from, to, by: mask.other });
  };
  const unwrap = (name: string, from: number, to: number): void => {
    const inner = findWrapped(name, text.slice(from, to), search);
    for (const each of inner.fields) found.fields.add(each);
    for (const change of inner.changes)
      found.changes.push({ from: from + change.from, to: from + change.to, by: change.by });
  };
  /** Checks the value that begins there; returns where to continue. */
  const look = (name: string, from: number): number => {
    const kind = bare(name);
    const isText = text[from] === '"';
    const frame = frames.at(-1);
    field = kind;
    if (isText && naming.has(kind) && frame && !isTaken) {
      const named = textIn(text.slice(from, endOfString(text, from))) ?? '';
      if (forbidden.has(bare(named))) frame.named = named;
    }
    const isBracket = text[from] === '{' || text[from] === '[';
    if (forbidden.has(kind)) {
      const to = endOfValue(text, from);
      hide(name, from, to);
      return to;
    }
    if (isBracket || !(isText || kind === 'value')) return from;
    const to = endOfValue(text, from);
    if (kind === 'value') frame?.values.push({ from, to });
    unwrap(name, from, to);
    return to;
  };
  const close = (to: number): void => {
    const frame = frames.pop();
    if (frame?.named !== undefined) for (const value of frame.values) hide(frame.named, value.from, value.to);
    if (frame?.field === 'value') frames.at(-1)?.values.push({ from: frame.from, to });
  };

  const signs = /["{}[\]]/g;
  const start = text.length - text.trimStart().length;
  // JSON that was encoded twice is one string.
  const isWhole = endOfString(text, start) === text.trimEnd().length;
  if (isWhole) signs.lastIndex = look('', start);
  for (let sign = signs.exec(text); sign; sign = signs.exec(text)) {
    const at = sign.index;
    if (sign[0] === '"') {
      const end = endOfString(text, at);
      const colon = afterSpace(text, end);
      const isName = text[colon] === ':';
      if (!isName) unwrap('text', at, end);
      signs.lastIndex = isName ? look(textIn(text.slice(at, end)) ?? '', afterSpace(text, colon + 1)) : end;
    } else if (sign[0] === '{' || sign[0] === '[') {
      frames.push({ from: at, field, values: [] });
      field = undefined;
    } else close(at + 1);
  }
  return found;
};

/**
 * Fields whose text may be JSON that was encoded twice: the body, its data, or what a topic or an event of Lambda wraps. No such
 * message is valid, so it is searched even where it is no JSON.
 */
const wrappers = /^(|data|message|body|payload|detail)$/i;

/**
 * Searches a string that is JSON itself, or base64. `literal` is the string as written, `name` its field. A field `value` is not
 * searched: the parameters of a link are for the tool, which may need such JSON, and a letter must keep it.
 */
const findWrapped = (name: string, literal: string, search: Search): Found => {
  const none: Found = { fields: new Set(), changes: [] };
  const text = textIn(literal) ?? '';
  if (bare(name) === 'value') return none;
  const isDeclared = /^data_?base64$/i.test(name);
  const isWrapper = wrappers.test(name);
  if (search.isTaken && !isWrapper && !isDeclared) return none;
  const isBase64 = isDeclared || /^[\w+/\s-]{8,}={0,2}$/.test(text.trimEnd());
  // Latin-1 keeps each byte: it need not be UTF-8.
  const held = isBase64 ? Buffer.from(text, 'base64').toString('latin1') : text;
  if (!isDeclared && !isWorthIt(held, isWrapper)) return none;
  const inner = { ...search, level: search.level + 1 };
  if (isBase64 && inner.mask !== nothing) inner.mask = ellipsisInBytes;
  const isSearched = inner.level <= maxLevels && !hasTooManyValues(held);
  const found = isSearched ? find(held, inner) : { ...none, isUnclear: true };
  if (found.isUnclear)
    return {
      ...none,
      fields: found.fields.union(new Set([(name || 'text').slice(0, longestField)])),
      changes: [{ from: 1, to: literal.length - 1, by: search.mask.text }],
    };
  if (found.changes.length === 0) return none;
  const changes = isBase64
    ? [{ from: 1, to: literal.length - 1, by: inBase64(changed(held, found.changes), text) }]
    : placedIn(literal, found.changes);
  return { ...found, changes };
};

/** Bytes, encoded as `like` is. */
const inBase64 = (bytes: string, like: string): string => {
  const encoded = Buffer.from(bytes, 'latin1').toString(/[-_]/.test(like) ? 'base64url' : 'base64');
  return like.trimEnd().endsWith('=') ? encoded : encoded.replaceAll('=', '');
};

/** The changes of a text, in the literal that it is written as. */
const placedIn = (literal: string, changes: Change[]): Change[] => {
  const places: number[] = [];
  for (let at = 1; at < literal.length; ) {
    places.push(at);
    if (literal[at] === '\\') at += literal[at + 1] === 'u' ? 6 : 2;
    else at += 1;
  }
  return changes.map(({ from, to, by }) => ({
    from: places[from] ?? 0,
    to: places[to] ?? 0,
    by: JSON.stringify(by).slice(1, -1),
  }));
};

const isWorthIt = (text: string, isWrapper: boolean): boolean =>
  isWrapper ? /^\s*["[{<]/.test(text) : /^\s*["[{]/.test(text) && isJson(text);

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Undefined if it is not a complete string. */
const textIn = (literal: string): string | undefined => {
  if (!literal.includes('\\') && literal.endsWith('"')) return literal.slice(1, -1);
  return stringIn(literal);
};

const afterSpace = (text: string, from: number): number => {
  let at = from;
  while (/\s/.test(text[at] ?? '')) at += 1;
  return at;
};

const endOfValue = (text: string, from: number): number => {
  if (text[from] === '"') return endOfString(text, from);
  if (text[from] !== '{' && text[from] !== '[') {
    let end = from;
    while (/[^\s,}\]]/.test(text[end] ?? '')) end += 1;
    return end;
  }
  let levels = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === '{' || character === '[') levels += 1;
    else if (character === '}' || character === ']') levels -= 1;
    if (levels === 0) return at + 1;
  }
  return text.length;
};

/** Only letters and digits, in lower case: `plain_secret` is `plainSecret`. */
const bare = (name: string): string => name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();
