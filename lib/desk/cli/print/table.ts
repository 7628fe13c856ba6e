import { createRequire } from 'node:module';
import { stripVTControlCharacters } from 'node:util';

/** `whole`: in the last column, cells are wrapped, not cut. `apart`: different cells stay different when they are cut. */
type Column = { title: string; right?: boolean; whole?: boolean; apart?: boolean };

type Layout = { width: number; paint?: (text: string, at: { row: number; column: number }) => string };

/**
 * Rows in aligned columns, no wider than `width`; the first is the header. If the last column is `whole`, no cell is cut: its own are
 * wrapped, and columns without room stand below the others. Otherwise the widest columns are cut first. A row may have line breaks.
 */
export const tableOf = (
  columns: readonly Column[],
  rows: readonly string[][],
  { width, paint }: Layout,
): string[] => {
  const header = columns.map(({ title }) => title);
  const natural = columns.map((_, at) => Math.max(...[header, ...rows].map((row) => widthOf(row[at] ?? ''))));
  const painted = (text: string, row: number, column: number): string =>
    row < 0 || paint === undefined ? text : paint(text, { row, column });
  if (columns.at(-1)?.whole) return wholeTable({ columns, rows, header, natural, width, painted });
  const room = width - gap.length * (columns.length - 1);
  let limit = Math.min(room, Math.max(...natural));
  while (limit > 8 && sumOf(natural.map((each) => Math.min(each, limit))) > room) limit -= 1;
  const cuts = columns.map(({ apart }, at) =>
    apart ? cutApart(new Set(rows.map((row) => row[at] ?? '')), limit) : new Map<string, string>(),
  );
  const line = (row: string[], at: number): string =>
    columns
      .map(({ right }, column) => {
        const whole = row[column] ?? '';
        const text = cuts[column]?.get(whole) ?? truncated(whole, limit);
        return padded(painted(text, at, column), {
          text,
          width: Math.min(natural[column] ?? 0, limit),
          right,
        });
      })
      .join(gap)
      .trimEnd();
  return [line(header, -1), ...rows.map(line)];
};

type WholeTable = {
  columns: readonly Column[];
  rows: readonly string[][];
  header: string[];
  /** The widths of the columns' longest cells. */
  natural: readonly number[];
  width: number;
  painted(text: string, row: number, column: number): string;
};

const wholeTable = ({ columns, rows, header, natural, width, painted }: WholeTable): string[] => {
  const last = columns.length - 1;
  /** How many of the columns before the last stand in the first line. */
  let beside = last;
  const taken = (): number => sumOf(natural.slice(0, beside)) + gap.length * beside;
  while (beside > 1 && taken() - gap.length > width) beside -= 1;
  const isBelow = beside < last || width - taken() < Math.min(natural[last] ?? 0, minWrapped);
  const line = (row: string[], at: number): string => {
    const cell = (column: number): string => {
      const text = row[column] ?? '';
      return padded(painted(text, at, column), {
        text,
        width: natural[column] ?? 0,
        right: columns[column]?.right,
      });
    };
    const firsts = Array.from({ length: beside }, (_, column) => cell(column)).join(gap);
    if (!isBelow) {
      const [first = '', ...others] = wrapped(row[last] ?? '', width - taken());
      const indent = ' '.repeat(taken());
      return [
        firsts + gap + painted(first, at, last),
        ...others.map((each) => indent + painted(each, at, last)),
      ]
        .map((each) => each.trimEnd())
        .join('\n');
    }
    const others = row.slice(beside).filter((each) => each !== '');
    const below = wrapped(others.join(gap), width - 2 * gap.length).map((each) => gap + gap + each);
    return [firsts.trimEnd(), ...below].join('\n');
  };
  return [line(header, -1), ...rows.map(line)];
};

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

const padded = (
  painted: string,
  { text, width, right = false }: { text: string; width: number; right?: boolean | undefined },
): string => {
  const left = ' '.repeat(Math.max(0, width - widthOf(text)));
  return right ? left + painted : painted + left;
};

const gap = '  ';
/** A last column that would be narrower than this, and than its longest cell, stands below the others. */
const minWrapped = 30;

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
      for (const [rest, shortened] of cutApart(new Set(alike.map((text) => text.slice(same))), room - 1))
        for (const text of alike) if (text.slice(same) === rest) cuts.set(text, `…${shortened}`);
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
