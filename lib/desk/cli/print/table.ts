import { createRequire } from 'node:module';
import { stripVTControlCharacters } from 'node:util';

/** `whole`: in the last column, cells are wrapped, not cut. `apart`: different cells stay different when they are cut. */
type Column = { title: string; right?: boolean; whole?: boolean; apart?: boolean };

type Layout = { width: number; paint?: (text: string, at: { row: number; column: number }) => string };

/**
 * Rows in aligned columns, no wider than `width`; the first is the header. The widest columns are cut first. A row has line breaks if its
 * last cell is wrapped.
 */
export const tableOf = (
  columns: readonly Column[],
  rows: readonly string[][],
  { width, paint }: Layout,
): string[] => {
  const header = columns.map(({ title }) => title);
  const widths = columns.map((_, at) => Math.max(...[header, ...rows].map((row) => widthOf(row[at] ?? ''))));
  const room = width - gap.length * (columns.length - 1);
  const isWrapped = columns.at(-1)?.whole === true;
  if (isWrapped) {
    const last = widths.pop() ?? 0;
    const left = room - widths.reduce((sum, each) => sum + each, 0);
    widths.push(Math.min(last, Math.max(left, minWrapped)));
  }
  let limit = Math.min(room, Math.max(...widths));
  while (limit > 8 && widths.reduce((sum, each) => sum + Math.min(each, limit), 0) > room) limit -= 1;
  const cuts = columns.map(({ apart }, at) =>
    apart ? cutApart(new Set(rows.map((row) => row[at] ?? '')), limit) : new Map<string, string>(),
  );
  const line = (row: string[], at: number): string => {
    if (!isWrapped || at < 0) return lineOf(row, at);
    const indent = ' '.repeat(
      widths.slice(0, -1).reduce((sum, each) => sum + Math.min(each, limit) + gap.length, 0),
    );
    const [first = '', ...others] = wrapped(row.at(-1) ?? '', Math.min(widths.at(-1) ?? 0, limit));
    return [lineOf([...row.slice(0, -1), first], at), ...others.map((each) => indent + each)].join('\n');
  };
  const lineOf = (row: string[], at: number): string =>
    columns
      .map(({ right }, column) => {
        const isLast = isWrapped && column === columns.length - 1;
        const whole = row[column] ?? '';
        const text = isLast ? whole : (cuts[column]?.get(whole) ?? truncated(whole, limit));
        const left = ' '.repeat(Math.max(0, Math.min(widths[column] ?? 0, limit) - widthOf(text)));
        const painted = at < 0 || paint === undefined ? text : paint(text, { row: at, column });
        return right ? left + painted : painted + left;
      })
      .join(gap)
      .trimEnd();
  return [line(header, -1), ...rows.map(line)];
};

const gap = '  ';
/** Other columns are cut before a wrapped one becomes narrower than this. */
const minWrapped = 36;

/** Width in terminal columns: a CJK character or an emoji takes two, a combining mark or a colour code none. */
export const widthOf = (text: string): number =>
  takesOneEach.test(text) ? text.length : widthByTables(text);

/** Latin letters, and the dashes, quotes, dots and marks of our own sentences. */
const takesOneEach = /^[ -~\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u2193\u2713\u2717]*$/;

/** The Unicode tables are loaded only if a text needs them: loading takes as long as all declarations of commands. */
const widthByTables = (text: string): number => {
  const { default: stringWidth }: typeof import('string-width') = require('string-width');
  return stringWidth(text);
};

const require = createRequire(import.meta.url);

/** Cuts a text to a width of `room`. A cut text loses its colours; no character is cut in two. */
export const truncated = (text: string, room: number): string => {
  if (widthOf(text) <= room) return text;
  let start = '';
  let left = room - 1;
  for (const { segment } of new Intl.Segmenter().segment(stripVTControlCharacters(text))) {
    left -= widthOf(segment);
    if (left < 0) break;
    start += segment;
  }
  return `${start}…`;
};

/** Texts that would be cut to the same begin with the word in which they differ. */
const cutApart = (texts: ReadonlySet<string>, room: number): Map<string, string> => {
  const cuts = new Map<string, string>();
  for (const [cut, alike] of Map.groupBy(texts, (text) => truncated(text, room))) {
    const same = alike.length < 2 ? 0 : sameWords(alike);
    if (same === 0) for (const text of alike) cuts.set(text, cut);
    else
      for (const [rest, told] of cutApart(new Set(alike.map((text) => text.slice(same))), room - 1))
        for (const text of alike) if (text.slice(same) === rest) cuts.set(text, `…${told}`);
  }
  return cuts;
};

/** The length of the words with which all of them begin. */
const sameWords = ([first = '', ...others]: readonly string[]): number => {
  let same = first.length;
  for (const each of others)
    while (!each.startsWith(first.slice(0, same))) same = same < 2 ? 0 : first.lastIndexOf(' ', same - 2) + 1;
  return same;
};

/** Wraps a text between words; all lines but the first are indented. A command to type is not broken. */
export const wrapped = (text: string, width: number, indent = ''): string[] => {
  if (!text.includes('`')) return wrappedWords(text, width, indent);
  const joined = text.replace(typedText, (typed) => typed.replaceAll(' ', noBreak));
  return wrappedWords(joined, width, indent).map((line) =>
    line.replace(typedText, (typed) => typed.replaceAll(noBreak, ' ')),
  );
};

const typedText = /`[^`]*`/g;
const noBreak = '\u00a0';

const wrappedWords = (text: string, width: number, indent: string): string[] => {
  const lines: string[] = [];
  let room = 0;
  for (const word of text.split(/ +/)) {
    const taken = widthOf(word) + 1;
    if (lines.length > 0 && taken <= room) {
      lines.push(`${lines.pop()} ${word}`);
      room -= taken;
    } else {
      lines.push(lines.length > 0 ? indent + word : word);
      room = width - widthOf(lines.at(-1) ?? '');
    }
  }
  return lines;
};
