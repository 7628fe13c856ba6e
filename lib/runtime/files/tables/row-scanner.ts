import { UnusableFile } from './unusable-file.ts';

export const [lineFeed, carriageReturn] = [0x0a, 0x0d];
const [mark, space, quote, equals] = [0x01, 0x20, 0x22, 0x3d];

/** A row by its place in the bytes that are scanned. */
export type ScannedRow = {
  /** The line of the file in which it begins, counted from 1. */
  line: number;
  from: number;
  to: number;
  /** Where the next row begins. */
  next: number;
  cells: number;
  isEmpty: boolean;
  /** It has no sign that `inOneLine` replaces. */
  isPlain: boolean;
  /** It has a cell such as `="007"`. */
  hasFormula: boolean;
};

type RowScannerOptions = { file: string; separator: number; maxRecordBytes: number; line: number };

/** Finds rows and their cells in the bytes of a file. It looks at each byte, so that its loops decide how fast a table is read. */
export class RowScanner {
  readonly #file: string;
  readonly #separator: number;
  readonly #maxRecordBytes: number;
  #line: number;
  /** About the row that is being scanned. */
  #breaks = 0;
  #isEmpty = true;
  #isPlain = true;
  #hasFormula = false;

  constructor({ file, separator, maxRecordBytes, line }: RowScannerOptions) {
    this.#file = file;
    this.#separator = separator;
    this.#maxRecordBytes = maxRecordBytes;
    this.#line = line;
  }

  /** The line of the file in which the next row begins. */
  get line(): number {
    return this.#line;
  }

  /** Undefined: the row does not end within these bytes. */
  rowAt(bytes: Buffer, from: number, isEnd: boolean): ScannedRow | undefined {
    let [cells, to] = [0, from - 1];
    this.#breaks = 0;
    this.#isEmpty = true;
    this.#isPlain = true;
    this.#hasFormula = false;
    do {
      cells += 1;
      to = this.#cellEnd(bytes, to + 1, isEnd);
    } while (to >= 0 && bytes[to] === this.#separator);
    if ((to < 0 ? bytes.length : to) - from > this.#maxRecordBytes)
      throw this.#unusable(
        `a row is longer than ${this.#maxRecordBytes} bytes. Perhaps a quotation mark is not closed`,
      );
    if (to < 0 && isEnd) throw this.#unusable('a quotation mark is not closed');
    // A line feed may follow.
    const isOver = to >= 0 && to + (bytes[to] === carriageReturn ? 1 : 0) < bytes.length;
    if (!isOver && !isEnd) return undefined;
    const line = this.#line;
    this.#line += this.#breaks + 1;
    const isPair = bytes[to] === carriageReturn && bytes[to + 1] === lineFeed;
    return {
      line,
      from,
      to,
      next: Math.min(bytes.length, to + (isPair ? 2 : 1)),
      cells,
      isEmpty: this.#isEmpty,
      isPlain: this.#isPlain,
      hasFormula: this.#hasFormula,
    };
  }

  /** The place after a cell; -1: it does not end within these bytes. */
  #cellEnd(bytes: Buffer, from: number, isEnd: boolean): number {
    if (bytes[from] === quote) return this.#quotedEnd(bytes, from, isEnd);
    if (bytes[from] !== equals || bytes[from + 1] !== quote) return this.#plainEnd(bytes, from);
    this.#hasFormula = true;
    return this.#quotedEnd(bytes, from + 1, isEnd);
  }

  #plainEnd(bytes: Buffer, from: number): number {
    let at = from;
    for (let byte = bytes[at]; !isEndOfCell(byte, this.#separator); byte = bytes[at]) {
      if (byte === quote)
        throw this.#unusable('a quotation mark is inside a cell that does not begin with one');
      if (byte === mark) this.#isPlain = false;
      at += 1;
    }
    if (at > from) this.#isEmpty = false;
    return at;
  }

  /** The place after its closing quotation mark; -1: it does not end within these bytes. */
  #quotedEnd(bytes: Buffer, from: number, isEnd: boolean): number {
    for (let at = from + 1; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === quote && bytes[at + 1] !== quote) {
        // Whether it ends the cell depends on what follows.
        if (at + 1 >= bytes.length && !isEnd) return -1;
        if (!isEndOfCell(bytes[at + 1], this.#separator))
          throw this.#unusable('text follows a closing quotation mark');
        if (at > from + 1) this.#isEmpty = false;
        return at + 1;
      }
      if (byte === quote) at += 1;
      else if (byte <= carriageReturn) this.#noteControl(byte, bytes[at - 1]);
    }
    return -1;
  }

  #noteControl(byte: number, before: number | undefined): void {
    if (byte === carriageReturn || (byte === lineFeed && before !== carriageReturn)) this.#breaks += 1;
    if (byte === carriageReturn || byte === lineFeed || byte === mark) this.#isPlain = false;
  }

  #unusable(problem: string): UnusableFile {
    return new UnusableFile(
      `${this.#file} is not CSV from line ${this.#line} on: ${problem}. Export it again as CSV`,
    );
  }
}

const isEndOfCell = (byte: number | undefined, separator: number): boolean =>
  byte === separator || byte === lineFeed || byte === carriageReturn || byte === undefined;

type Span = { bytes: Buffer; separator: number };

/** How many empty cells a row ends with. */
export const emptyAtEnd = ({ from, to }: ScannedRow, span: Span): number => {
  let empty = 0;
  for (let end = beforeEmpty(from, to, span); end >= 0; end = beforeEmpty(from, end, span)) empty += 1;
  return empty;
};

/** Without empty cells behind the last column; or as it is, if it lacks only columns without a name. Undefined: it is damaged. */
export const fitted = (row: ScannedRow, header: readonly string[], span: Span): ScannedRow | undefined => {
  if (row.cells === header.length) return row;
  if (row.cells < header.length)
    return header.slice(row.cells).every((name) => name === '') ? row : undefined;
  let { to } = row;
  for (let { cells } = row; cells > header.length && to >= 0; cells -= 1)
    to = beforeEmpty(row.from, to, span);
  return to < 0 ? undefined : { ...row, to, cells: header.length };
};

/** The place of the separator before a last cell that is empty; -1: it is not empty, or the only cell. */
const beforeEmpty = (from: number, to: number, { bytes, separator }: Span): number => {
  let end = to;
  while (bytes[end - 1] === space) end -= 1;
  if (bytes[end - 1] === quote && bytes[end - 2] === quote) end -= 2;
  return end > from && bytes[end - 1] === separator ? end - 1 : -1;
};
