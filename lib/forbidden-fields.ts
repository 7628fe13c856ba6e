import { endOfString, isJson } from './json.ts';
import { mostBytes } from './sqs-limits.ts';

/** A body that may be kept, and the names of the fields whose values were taken from it. */
export type Masked = { body: string; fields: string[] };

/**
 * Takes the values of these fields out of a message's body, at any depth and in whatever case they are written,
 * `plain_secret` like `plainSecret`. All else stays as it is, to the byte: what SQS took before it takes again.
 */
export const withoutFields = (body: string, names: readonly string[] = []): Masked => {
  if (names.length === 0) return { body, fields: [] };
  const found = find(body, names, ellipsis);
  const masked = changed(body, found.changes);
  const fits = Buffer.byteLength(masked) <= Math.max(Buffer.byteLength(body), mostBytes - mostStory);
  return {
    body: fits ? masked : changed(body, find(body, names, nothing).changes),
    fields: [...found.fields].slice(0, mostFields),
  };
};

/** Kept free for why the message failed, which lies beside it. */
const mostStory = 16_384;
/** One message may spell a field in thousands of ways, each as long as it likes: people are told of so much. */
const mostFields = 10;
const longestField = 40;

/** What stands in the place of a value: within the quotation marks of a text, for any other, and for what is no JSON. */
type Mask = { text: string; other: string; unread: string };
const ellipsis: Mask = { text: '…', other: '"…"', unread: '"…"' };
/** Never longer than what it stands for, however often it is escaped. */
const nothing: Mask = { text: '', other: '0', unread: '' };

/** A piece of a text, and what comes in its place. */
type Change = { from: number; to: number; by: string };
type Found = { changes: Change[]; fields: Set<string> };

const find = (text: string, names: readonly string[], mask: Mask): Found => {
  const quoted = findQuoted(text, names, mask);
  if (isJson(text)) return quoted;
  // What is not JSON, or only almost, may hold them all the same.
  const unread = findUnread(text, names, mask);
  return {
    changes: [...quoted.changes, ...unread.changes].sort((one, other) => one.from - other.from),
    fields: quoted.fields.union(unread.fields),
  };
};

const changed = (text: string, changes: Change[]): string => {
  let rest = '';
  let done = 0;
  for (const { from, to, by } of changes) {
    // Found in both ways: what the first takes is gone.
    if (from >= done) rest += text.slice(done, from) + by;
    done = Math.max(done, to);
  }
  return rest + text.slice(done);
};

/** Goes through the text once, whatever it holds and however deep. */
const findQuoted = (text: string, names: readonly string[], mask: Mask): Found => {
  const forbidden = new Set(names.map(bare));
  const found: Found = { changes: [], fields: new Set() };
  /** Looks at the value that begins there; answers where to go on. */
  const look = (name: string, from: number): number => {
    const isText = text[from] === '"';
    if (!forbidden.has(bare(name)) && !isText) return from;
    const to = endOfValue(text, from);
    if (forbidden.has(bare(name))) {
      const isClosed = to - from > 1 && text[to - 1] === '"';
      found.fields.add(name.slice(0, longestField));
      if (isText) found.changes.push({ from: from + 1, to: isClosed ? to - 1 : to, by: mask.text });
      else found.changes.push({ from, to, by: mask.other });
    } else {
      const inner = findWrapped(name, text.slice(from, to), { names, mask });
      for (const field of inner.fields) found.fields.add(field);
      for (const change of inner.changes)
        found.changes.push({ from: from + change.from, to: from + change.to, by: change.by });
    }
    return to;
  };
  let at = text.indexOf('"');
  // What was written as JSON once too often is a text as a whole.
  const isWhole = at >= 0 && text.trimStart()[0] === '"' && endOfString(text, at) === text.trimEnd().length;
  if (isWhole) at = look('', at);
  for (at = text.indexOf('"', at); at >= 0; at = text.indexOf('"', at)) {
    const end = endOfString(text, at);
    const colon = afterSpace(text, end);
    at = text[colon] === ':' ? look(textIn(text.slice(at, end)) ?? '', afterSpace(text, colon + 1)) : end;
  }
  return found;
};

/**
 * What is written as JSON once too often: the body, its data, or what a topic or an event of Lambda wraps. No such message
 * is valid, whereas a text further down may be JSON that must go back as it came.
 */
const wrappers = /^(|data|message|body)$/i;

/** In the JSON that a text of JSON holds, `literal` as it is written. */
const findWrapped = (
  name: string,
  literal: string,
  { names, mask }: { names: readonly string[]; mask: Mask },
): Found => {
  const text = textIn(literal) ?? '';
  if (/^data_base64$/i.test(name)) {
    // Byte by byte, as it need not be UTF-8.
    const bytes = Buffer.from(text, 'base64').toString('latin1');
    const { changes, fields } = find(bytes, names, inLatin1(mask));
    const encoded = Buffer.from(changed(bytes, changes), 'latin1').toString('base64');
    const by = text.endsWith('=') ? encoded : encoded.replace(/=+$/, '');
    return { fields, changes: changes.length === 0 ? [] : [{ from: 1, to: literal.length - 1, by }] };
  }
  if (!wrappers.test(name) || !/^\s*["[{]/.test(text)) return { fields: new Set(), changes: [] };
  const { changes, fields } = find(text, names, mask);
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

const inLatin1 = ({ text, other, unread }: Mask): Mask => {
  const bytesOf = (each: string) => Buffer.from(each).toString('latin1');
  return { text: bytesOf(text), other: bytesOf(other), unread: bytesOf(unread) };
};

/** Where each character of a text stands in the literal, and where its end does. */
const placesIn = (literal: string): number[] => {
  const places: number[] = [];
  for (let at = 1; at < literal.length; ) {
    places.push(at);
    if (literal[at] === '\\') at += literal[at + 1] === 'u' ? 6 : 2;
    else at += 1;
  }
  return places;
};

/** Undefined where it is none, such as one that is cut off. */
const textIn = (literal: string): string | undefined => {
  if (!literal.includes('\\') && literal.length > 1 && literal.endsWith('"')) return literal.slice(1, -1);
  return isJson(literal) ? JSON.parse(literal) : undefined;
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

/** Letters and digits alone, as `plain_secret` is `plainSecret`. */
const bare = (name: string): string => name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();

const findUnread = (text: string, names: readonly string[], mask: Mask): Found => {
  const field = new RegExp(
    `(\\\\{0,8}["']?)(${names.map(inAnyCase).join('|')})\\1(\\s*[:=]\\s*)(${values})`,
    'gis',
  );
  const found: Found = { changes: [], fields: new Set() };
  for (const { 0: whole, 2: name = '', 4: value = '', index } of text.matchAll(field)) {
    found.fields.add(name);
    found.changes.push({
      from: index + whole.length - value.length,
      to: index + whole.length,
      by: mask.unread,
    });
  }
  return found;
};

const inAnyCase = (name: string): string => [...name].join('[_-]?');

/** Quoted with escapes, as within another text, in double and in single quotes, each maybe cut off; or a word. */
const values = [
  '\\\\{1,8}(["\']).*?(?:\\\\{1,8}\\5|$)',
  '"(?:[^"\\\\]|\\\\.)*"?',
  "'(?:[^'\\\\]|\\\\.)*'?",
  '[^\\s,}]+',
].join('|');
