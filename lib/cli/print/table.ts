export type Column = {
  title: string;
  /** Numbers and ages stand to the right. */
  right?: boolean;
  /** Takes what the others leave, and is cut off there. */
  rest?: boolean;
};

/** Rows in aligned columns, no wider than `width`; the first line is the header. */
export const tableOf = (columns: Column[], rows: string[][], width: number): string[] => {
  const header = columns.map(({ title }) => title);
  const widths = columns.map((_, at) => Math.max(...[header, ...rows].map((row) => widthOf(row[at] ?? ''))));
  const fixed = widths.reduce(
    (sum, each, at) => sum + (columns[at]?.rest ? 0 : each) + (at > 0 ? gap.length : 0),
    0,
  );
  const line = (row: string[]): string =>
    columns
      .map(({ right, rest }, at) => {
        const room = rest ? Math.max(8, Math.min(widths[at] ?? 0, width - fixed)) : (widths[at] ?? 0);
        const text = cut(row[at] ?? '', room);
        const space = ' '.repeat(Math.max(0, room - widthOf(text)));
        return right ? space + text : text + space;
      })
      .join(gap)
      .trimEnd();
  return [line(header), ...rows.map(line)];
};

const gap = '  ';

/** Without the codes of colours, which take no room. */
const widthOf = (text: string): number => withoutColours(text).length;

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one.
const withoutColours = (text: string): string => text.replace(/\u001B\[\d+m/g, '');

export const cut = (text: string, room: number): string =>
  widthOf(text) <= room ? text : `${withoutColours(text).slice(0, Math.max(0, room - 1))}…`;

/** A text in lines of at most so many columns, broken between words; all but the first are indented. */
export const wrapped = (text: string, width: number, indent = ''): string[] => {
  const lines: string[] = [];
  for (const word of text.split(/ +/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(lines.length > 0 ? indent + word : word);
  }
  return lines;
};

/** `3 h`: of one unit, as an operator says it. */
export const ageOf = (ms: number, nowMs: number = Date.now()): string => {
  const minutes = Math.floor(Math.max(0, nowMs - ms) / 60_000);
  if (minutes < 1) return '<1 min';
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} d`;
};

/** `1,204`. */
export const numberOf = (count: number): string => count.toLocaleString('en-US');

/** `1 letter`, `1,204 letters`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${numberOf(count)} ${count === 1 ? one : many}`;
