import { endOfString, hasTooManyValues, isJson, stringIn, topTextIn } from '../../message/json.ts';
import { maxBytes } from '../../message/sqs-limits.ts';

/**
 * A body that may be kept, and the names of the fields whose values were removed from it. `isWithheld`: nothing of it is kept but
 * a description.
 */
export type Masked = { body: string; fields: string[]; isWithheld?: true };

/**
 * Removes the values of these fields from a message's body, at any depth, and however the names are written: `plain_secret` is
 * `plainSecret`. All other bytes stay, so that SQS accepts the body again. In a body that is not JSON, everything after the
 * name is removed, unless the end of the value is clear.
 * `isTaken`: the message was valid. Then only fields are searched, as its texts and its pairs of name and value are its own,
 * and a replay needs them as they are.
 * Not found are names and values in another encoding than JSON, such as compressed ones, and in lists (`["key", "value"]`).
 * What no function reads, as it is too large for that, is not searched but left out whole.
 */
export const withoutFields = (body: string, names: readonly string[] = [], isTaken = false): Masked => {
  if (names.length === 0) return { body, fields: [] };
  if (hasTooManyValues(body)) return { body: withheldBody(body), fields: [], isWithheld: true };
  const search = { names, mask: ellipsis, isTaken, level: 0 };
  const found = find(body, search);
  const masked = changed(body, found.changes);
  const fits = Buffer.byteLength(masked) <= Math.max(Buffer.byteLength(body), maxBytes - maxStory);
  return {
    body: fits ? masked : changed(body, find(body, { ...search, mask: nothing }).changes),
    fields: [...found.fields].slice(0, maxFields),
  };
};

/** The same for a message that must not be parsed, because its function died of that. */
export const unread = (body: string, names: readonly string[] = []): Masked =>
  names.length === 0
    ? { body, fields: [] }
    : { body: withheldBody(body, 'cannot be searched for it'), fields: [], isWithheld: true };

/** The letter's text in place of the message. */
export const withheldBody = (body: string, why = 'is too large to look for it'): string => {
  const id = topTextIn(body, 'id');
  return JSON.stringify({
    withheld: `The message may hold a secret, and ${why}`,
    bytes: Buffer.byteLength(body),
    ...(id !== undefined && id.length <= maxIdLength && { id: id.toWellFormed() }),
  });
};

const maxIdLength = 256;

/** Reserved for the failure, which the letter holds beside the body. */
const maxStory = 16_384;
/** A message may spell a field in thousands of ways, of any length: at most this much is reported. */
const maxFields = 10;
const longestField = 40;

/** What replaces a value: within the quotation marks of a string, any other value of JSON, and in a body that is not JSON. */
type Mask = { text: string; other: string; unread: string };
const ellipsis: Mask = { text: '…', other: '"…"', unread: '"…"' };
/** The same within bytes that were read as Latin-1. */
const ellipsisInBytes: Mask = { text: latin1('…'), other: latin1('"…"'), unread: latin1('"…"') };
/** Never longer than the value itself, however often that is escaped. */
const nothing: Mask = { text: '', other: '0', unread: '' };

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

const find = (text: string, search: Search): Found => {
  const found = findQuoted(text, search);
  if (!isJson(text)) {
    const unread = findUnread(text, search);
    found.changes = found.changes.concat(unread.changes);
    found.fields = found.fields.union(unread.fields);
  }
  found.changes.sort((one, other) => one.from - other.from);
  return found;
};

const changed = (text: string, changes: Change[]): string => {
  let rest = '';
  let done = 0;
  for (const { from, to, by } of changes) {
    // Both searches may find the same part.
    if (from >= done) rest += text.slice(done, from) + by;
    done = Math.max(done, to);
  }
  return rest + text.slice(done);
};

/** An open object or list, the field that holds it, and the forbidden name in `{"name":"key","value":"…"}`. */
type Frame = { from: number; field: string; named?: string; values: { from: number; to: number }[] };

/** Fields that hold a name; the value is in another field of the same object. */
const naming = new Set(['name', 'key', 'field', 'parameter', 'id']);

/** Reads any text once, at any depth. */
const findQuoted = (text: string, search: Search): Found => {
  const { names, mask, isTaken } = search;
  const forbidden = new Set(names.map(bare));
  const found: Found = { changes: [], fields: new Set() };
  const frames: Frame[] = [];
  /** The field whose value begins at the next bracket. */
  let field = '';

  const hide = (name: string, from: number, to: number): void => {
    const isClosed = to - from > 1 && text[to - 1] === '"';
    found.fields.add(name.slice(0, longestField));
    if (text[from] === '"') found.changes.push({ from: from + 1, to: isClosed ? to - 1 : to, by: mask.text });
    else found.changes.push({ from, to, by: mask.other });
  };
  const unwrap = (name: string | undefined, from: number, to: number): void => {
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
    if (isText) unwrap(name, from, to);
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
  const isWhole = text[start] === '"' && endOfString(text, start) === text.trimEnd().length;
  if (isWhole) signs.lastIndex = look('', start);
  for (let sign = signs.exec(text); sign; sign = signs.exec(text)) {
    const at = sign.index;
    if (sign[0] === '"') {
      const end = endOfString(text, at);
      const colon = afterSpace(text, end);
      const isName = text[colon] === ':';
      if (!isName) unwrap(undefined, at, end);
      signs.lastIndex = isName ? look(textIn(text.slice(at, end)) ?? '', afterSpace(text, colon + 1)) : end;
    } else if (sign[0] === '{' || sign[0] === '[') {
      frames.push({ from: at, field, values: [] });
      field = '';
    } else close(at + 1);
  }
  return found;
};

/**
 * Fields whose text may be JSON that was encoded twice: the body, its data, or what a topic or an event of Lambda wraps. No such
 * message is valid, so it is searched even where it is only almost JSON.
 */
const wrappers = /^(|data|message|body|payload|detail)$/i;

/**
 * Searches a string that is JSON itself, or base64. `literal` is the string as written, `name` its field. A field `value` is not
 * searched: the parameters of a link are for the tool, which may need such JSON, and a letter must keep it.
 */
const findWrapped = (name: string | undefined, literal: string, search: Search): Found => {
  const none: Found = { fields: new Set(), changes: [] };
  const text = textIn(literal) ?? '';
  if (name !== undefined && bare(name) === 'value') return none;
  const isDeclared = /^data_?base64$/i.test(name ?? '');
  const isWrapper = name !== undefined && wrappers.test(name);
  if (search.isTaken && !isWrapper && !isDeclared) return none;
  const isBase64 = isDeclared || /^[\w+/\s-]{8,}={0,2}$/.test(text.trimEnd());
  // Latin-1 keeps each byte: it need not be UTF-8.
  const held = isBase64 ? Buffer.from(text, 'base64').toString('latin1') : text;
  if (!isDeclared && !isWorthIt(held, isWrapper)) return none;
  const inner = { ...search, level: search.level + 1 };
  if (inner.level > maxLevels || hasTooManyValues(held))
    return {
      fields: new Set([(name ?? 'text').slice(0, longestField)]),
      changes: [{ from: 1, to: literal.length - 1, by: search.mask.text }],
    };
  return isBase64 ? findInBase64(held, { text, literal, inner }) : findInText(held, { literal, inner });
};

const findInBase64 = (
  bytes: string,
  { text, literal, inner }: { text: string; literal: string; inner: Search },
): Found => {
  const mask = inner.mask === nothing ? nothing : ellipsisInBytes;
  const { changes, fields } = find(bytes, { ...inner, mask });
  const code = /[-_]/.test(text) ? 'base64url' : 'base64';
  const encoded = Buffer.from(changed(bytes, changes), 'latin1').toString(code);
  const by = text.trimEnd().endsWith('=') ? encoded : encoded.replace(/(?<!=)=+$/, '');
  return { fields, changes: changes.length === 0 ? [] : [{ from: 1, to: literal.length - 1, by }] };
};

const findInText = (text: string, { literal, inner }: { literal: string; inner: Search }): Found => {
  const { changes, fields } = find(text, inner);
  const places = changes.length === 0 ? [] : placesIn(literal);
  return {
    fields,
    changes: changes.map(({ from, to, by }) => ({
      from: places[from] ?? 0,
      to: places[to] ?? 0,
      by: JSON.stringify(by).slice(1, -1),
    })),
  };
};

const isWorthIt = (text: string, isWrapper: boolean): boolean =>
  isWrapper
    ? /^\s*["[{<]/.test(text)
    : /^\s*["[{]/.test(text) && /["\]}]$/.test(text.trimEnd().slice(-1)) && isJson(text);

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** The place of each character in the literal, and of the end. */
const placesIn = (literal: string): number[] => {
  const places: number[] = [];
  for (let at = 1; at < literal.length; ) {
    places.push(at);
    if (literal[at] === '\\') at += literal[at + 1] === 'u' ? 6 : 2;
    else at += 1;
  }
  return places;
};

/** Undefined if it is not a complete string. */
const textIn = (literal: string): string | undefined => {
  if (!literal.includes('\\') && literal.length > 1 && literal.endsWith('"')) return literal.slice(1, -1);
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
    while (/[^\s,}\]]/.test(text[end] ?? ' ')) end += 1;
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

/** Removes all that follows the first name whose value has no clear end. Finds other notations, too: `<key>`, `key =>`. */
const findUnread = (text: string, { names, mask }: Search): Found => {
  const field = new RegExp(`${noWordBefore}(?:${names.map(inAnyCase).join('|')})(?!_?[\\p{L}\\p{N}])`, 'giu');
  const found: Found = { changes: [], fields: new Set() };
  for (let name = field.exec(text); name; name = field.exec(text)) {
    found.fields.add(name[0]);
    const end = name.index + name[0].length;
    const from = endOf(separator, text, end) ?? end;
    const to = from === end ? undefined : plainEnd(text, from);
    found.changes.push({ from, to: to ?? text.length, by: mask.unread });
    if (to === undefined) break;
    field.lastIndex = to;
  }
  return found;
};

/** An escape before the name ends with a letter or a digit, too. */
const noWordBefore = String.raw`(?:(?<![\p{L}\p{N}][_-]?)|(?<=%[\da-f]{2}|\\u[\da-f]{4}|\\[bfnrt]))`;

const inAnyCase = (name: string): string => [...name].join('[\\s_.-]?');

/** The end of a JSON value or a quoted text, if a comma, a bracket or the end follows it. */
const plainEnd = (text: string, from: number): number | undefined => {
  const end = endOfValue(text, from);
  const to = isJson(text.slice(from, end)) ? end : (endOf(single, text, from) ?? endOf(escaped, text, from));
  return to !== undefined && endOf(follower, text, to) !== undefined ? to : undefined;
};

const endOf = (pattern: RegExp, text: string, from: number): number | undefined => {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
};

const separator = /\\{0,8}["']?\s*[:=]\s*/y;
const single = /'(?:[^'\\]|\\.)*'/sy;
/** As within another text. */
const escaped = /(\\{1,8})(["']).*?(?<!\\)\1\2/sy;
/** The end, a bracket, or the name of the next field. */
const follower = /\s*(?:$|[}\]]|,\s*(?:$|[}\]{[]|(\\{0,8}["'])[^"'\\]{0,100}\1\s*:))/y;
