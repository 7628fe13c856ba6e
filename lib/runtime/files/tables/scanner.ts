import { hash } from 'node:crypto';
import { inOneLine, withoutFormulas } from './cells.ts';
import type { createWidths, DamagedRow } from './row-widths.ts';
import { UnusableFile } from './unusable-file.ts';

type Taking = {
  isEnd: boolean;
  /** undefined: the header is not read yet. */
  columns: readonly string[] | undefined;
  onHeader(content: string, delimiter: string): readonly string[];
  onDamaged(row: DamagedRow): void;
  widths: ReturnType<typeof createWidths> | undefined;
};

export type Scanner = {
  /**
   * Converts the rows that end within these bytes; the result is valid until the next call. `from`: where the bytes to pass again
   * begin.
   */
  take(bytes: Buffer, taking: Taking): { written: Buffer; from: number };
  line(): number;
  rows(): number;
  hasMarks(): boolean;
};

export const [mark, lineFeed, carriageReturn, space, quote, equals] = [0x01, 0x0a, 0x0d, 0x20, 0x22, 0x3d];

/** The line's digits and the delimiter, before each row. */
const roomForLine = 24;

type ScannerOptions = { file: string; delimiter: string; maxRecordBytes: number; line: number };

export const createScanner = ({ file, delimiter, maxRecordBytes, line: first }: ScannerOptions): Scanner => {
  const separator = delimiter.charCodeAt(0);
  let line = first;
  let rows = 0;
  let hasMarks = false;
  /** About the row that is being read. */
  let [breaks, isEmpty, isPlain, hasFormula] = [0, true, true, false];
  const unusable = (problem: string): UnusableFile =>
    new UnusableFile(`${file} is not CSV from line ${line} on: ${problem}. Export it again as CSV`);
  const isEndOfCell = (byte: number | undefined): boolean =>
    byte === separator || byte === lineFeed || byte === carriageReturn || byte === undefined;

  const plainEnd = (bytes: Buffer, from: number): number => {
    let at = from;
    for (let byte = bytes[at]; !isEndOfCell(byte); byte = bytes[at]) {
      if (byte === quote) throw unusable('a quotation mark is inside a cell that does not begin with one');
      if (byte === mark) isPlain = false;
      at += 1;
    }
    if (at > from) isEmpty = false;
    return at;
  };
  const noteControl = (byte: number, before: number | undefined): void => {
    if (byte === carriageReturn || (byte === lineFeed && before !== carriageReturn)) breaks += 1;
    if (byte === carriageReturn || byte === lineFeed || byte === mark) isPlain = false;
  };
  /** The place after its closing quotation mark; -1: it does not end within these bytes. */
  const quotedEnd = (bytes: Buffer, from: number, isEnd: boolean): number => {
    for (let at = from + 1; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === quote && bytes[at + 1] !== quote) {
        // Whether it ends the cell depends on what follows.
        if (at + 1 >= bytes.length && !isEnd) return -1;
        if (!isEndOfCell(bytes[at + 1])) throw unusable('text follows a closing quotation mark');
        return at + 1;
      }
      if (byte === quote) at += 1;
      else if (byte <= carriageReturn) noteControl(byte, bytes[at - 1]);
      isEmpty = false;
    }
    return -1;
  };

  /** The place after a cell; -1: it does not end within these bytes. */
  const cellEnd = (bytes: Buffer, from: number, isEnd: boolean): number => {
    if (bytes[from] === quote) return quotedEnd(bytes, from, isEnd);
    if (bytes[from] !== equals || bytes[from + 1] !== quote) return plainEnd(bytes, from);
    hasFormula = true;
    return quotedEnd(bytes, from + 1, isEnd);
  };

  /** Undefined: the row does not end within these bytes. */
  const rowAt = (bytes: Buffer, start: number, isEnd: boolean): Scanned | undefined => {
    let [cells, at] = [0, start - 1];
    breaks = 0;
    isEmpty = true;
    isPlain = true;
    hasFormula = false;
    do {
      at += 1;
      cells += 1;
      at = cellEnd(bytes, at, isEnd);
    } while (at >= 0 && bytes[at] === separator);
    if ((at < 0 ? bytes.length : at) - start > maxRecordBytes)
      throw unusable(`a row is longer than ${maxRecordBytes} bytes. Perhaps a quotation mark is not closed`);
    if (at < 0 && isEnd) throw unusable('a quotation mark is not closed');
    // A line feed may follow.
    const isOver = at >= 0 && at + (bytes[at] === carriageReturn ? 1 : 0) < bytes.length;
    if (!isOver && !isEnd) return undefined;
    const isPair = bytes[at] === carriageReturn && bytes[at + 1] === lineFeed;
    return { to: at, next: Math.min(bytes.length, at + (isPair ? 2 : 1)), cells };
  };

  let written: Buffer = Buffer.alloc(0);
  const take: Scanner['take'] = (bytes, { isEnd, columns, onHeader, onDamaged, widths }) => {
    if (written.length < bytes.length) written = Buffer.allocUnsafe(2 * bytes.length + 64 * 1024);
    let [from, to, header] = [0, 0, columns];
    const add = (row: Scanned, missing: number): void => {
      if (!isPlain) hasMarks = true;
      if (to + 3 * (row.to - from) + roomForLine + missing > written.length)
        written = Buffer.concat([written, Buffer.allocUnsafe(written.length + missing)]);
      to += written.write(`${line}${delimiter}`, to, 'latin1');
      if (isPlain && !hasFormula) to += bytes.copy(written, to, from, row.to);
      else {
        const text = inOneLine(bytes.toString('utf8', from, row.to));
        to += written.write(hasFormula ? withoutFormulas(text, delimiter) : text, to);
      }
      for (let at = 0; at < missing; at += 1) written[to++] = separator;
      written[to] = lineFeed;
      to += 1;
    };
    const use = (row: Scanned, names: readonly string[]): void => {
      rows += 1;
      const fitting = row.cells === names.length ? row : fitted(bytes, { ...row, from }, names);
      const damaged = (): DamagedRow => ({
        line,
        row: `#${hash('sha256', bytes.subarray(from, row.to)).slice(0, 20)}`,
        problem: `has ${row.cells} cells, but the header has ${names.length}`,
      });
      if (fitting === undefined) {
        onDamaged(damaged());
        return;
      }
      add(fitting, names.length - fitting.cells);
      if (widths) noteWidth({ ...row, from }, bytes, { header: names, widths, damaged });
    };
    while (from < bytes.length) {
      const row = rowAt(bytes, from, isEnd);
      if (row === undefined) break;
      if (header === undefined) header = onHeader(bytes.toString('utf8', from, row.to), delimiter);
      else if (!isEmpty) use(row, header);
      line += breaks + 1;
      from = row.next;
    }
    return { written: written.subarray(0, to), from };
  };
  const noteWidth = (
    row: Scanned & { from: number },
    bytes: Buffer,
    { header, widths, damaged }: Noting,
  ): void => {
    const named = header.findLastIndex((name) => name !== '') + 1;
    const empty = emptyAtEnd(bytes, row);
    widths.note(row.cells, empty);
    if (row.cells > named && empty > 0) {
      const problem = `has ${row.cells} cells, and other rows have fewer: a separator may be inside a cell, which must then be quoted`;
      widths.noteWide({ ...damaged(), problem, cells: row.cells, empty });
    }
  };
  const emptyAtEnd = (bytes: Buffer, { from, to }: Scanned & { from: number }): number => {
    let empty = 0;
    for (let end = to; end > from; end -= 1) {
      while (bytes[end - 1] === space) end -= 1;
      if (bytes[end - 1] === quote && bytes[end - 2] === quote) end -= 2;
      if (end <= from || bytes[end - 1] !== separator) break;
      empty += 1;
    }
    return empty;
  };
  /** Without empty cells behind the last column; or as it is, if it lacks only columns without a name. Undefined: it is damaged. */
  const fitted = (
    bytes: Buffer,
    { from, ...row }: Scanned & { from: number },
    header: readonly string[],
  ): Scanned | undefined => {
    if (row.cells < header.length)
      return header.slice(row.cells).every((name) => name === '') ? row : undefined;
    let { to } = row;
    for (let cells = row.cells; cells > header.length; cells -= 1) {
      while (bytes[to - 1] === space) to -= 1;
      if (bytes[to - 1] === quote && bytes[to - 2] === quote) to -= 2;
      if (to <= from || bytes[to - 1] !== separator) return undefined;
      to -= 1;
    }
    return { ...row, to, cells: header.length };
  };
  return { take, line: () => line, rows: () => rows, hasMarks: () => hasMarks };
};

type Scanned = { to: number; next: number; cells: number };

type Noting = {
  header: readonly string[];
  widths: ReturnType<typeof createWidths>;
  damaged(): DamagedRow;
};
