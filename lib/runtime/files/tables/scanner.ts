import { hash } from 'node:crypto';
import { cellsOf, inOneLine, withoutFormulas } from './cells.ts';
import { emptyAtEnd, fitted, lineFeed, RowScanner, type ScannedRow } from './row-scanner.ts';
import type { createWidths, DamagedRow } from './row-widths.ts';

type TableScannerOptions = {
  /** The name of the file in errors. */
  file: string;
  delimiter: string;
  maxRecordBytes: number;
  /** The line of the header, counted from 1. */
  line: number;
  widths?: ReturnType<typeof createWidths> | undefined;
  onHeader(columns: string[], delimiter: string): void;
};

export type ScannedRows = {
  /** Valid until the next call. */
  written: Buffer;
  damaged: DamagedRow[];
  /** Where the bytes to pass again begin. */
  from: number;
};

/** The line's digits and the delimiter, before each row. */
const roomForLine = 24;

/** Converts rows: each that has as many cells as the header becomes one line. */
export class TableScanner {
  readonly #options: TableScannerOptions;
  readonly #separator: number;
  readonly #rowScanner: RowScanner;
  #header: readonly string[] | undefined;
  #rows = 0;
  #hasMarks = false;
  #written: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(options: TableScannerOptions) {
    this.#options = options;
    this.#separator = options.delimiter.charCodeAt(0);
    this.#rowScanner = new RowScanner({ ...options, separator: this.#separator });
  }

  /** The line of the file in which the next row begins. */
  get line(): number {
    return this.#rowScanner.line;
  }

  /** The number of rows so far, damaged ones included. */
  get rows(): number {
    return this.#rows;
  }

  /** Whether some row so far has a sign that `inOneLine` replaces. */
  get hasMarks(): boolean {
    return this.#hasMarks;
  }

  /** Converts the rows that end within these bytes. */
  take(bytes: Buffer, isEnd: boolean): ScannedRows {
    if (this.#written.length < bytes.length) this.#written = Buffer.allocUnsafe(2 * bytes.length + 64 * 1024);
    this.#length = 0;
    const damaged: DamagedRow[] = [];
    let from = 0;
    while (from < bytes.length) {
      const row = this.#rowScanner.rowAt(bytes, from, isEnd);
      if (row === undefined) break;
      if (this.#header === undefined) this.#begin(bytes.toString('utf8', from, row.to));
      else if (!row.isEmpty) this.#use(row, bytes, { header: this.#header, damaged });
      from = row.next;
    }
    return { written: this.#written.subarray(0, this.#length), damaged, from };
  }

  #begin(header: string): void {
    const { delimiter, onHeader } = this.#options;
    const columns = cellsOf(header, delimiter).map(({ text }) => plainName(text));
    onHeader(columns, delimiter);
    this.#header = columns;
  }

  #use(
    row: ScannedRow,
    bytes: Buffer,
    { header, damaged }: { header: readonly string[]; damaged: DamagedRow[] },
  ): void {
    this.#rows += 1;
    const fitting = fitted(row, header, { bytes, separator: this.#separator });
    if (fitting === undefined) {
      const problem = `has ${row.cells} cells, but the header has ${header.length}`;
      damaged.push(damagedRow(row, bytes, problem));
      return;
    }
    this.#write(fitting, bytes, header.length - fitting.cells);
    this.#noteWidth(row, bytes, header);
  }

  #write({ line, from, to, isPlain, hasFormula }: ScannedRow, bytes: Buffer, missing: number): void {
    const { delimiter } = this.#options;
    if (!isPlain) this.#hasMarks = true;
    let length = this.#length;
    if (length + 3 * (to - from) + roomForLine + missing > this.#written.length)
      this.#written = Buffer.concat([this.#written, Buffer.allocUnsafe(this.#written.length + missing)]);
    const written = this.#written;
    length += written.write(`${line}${delimiter}`, length, 'latin1');
    if (isPlain && !hasFormula) length += bytes.copy(written, length, from, to);
    else {
      const text = inOneLine(bytes.toString('utf8', from, to));
      length += written.write(hasFormula ? withoutFormulas(text, delimiter) : text, length);
    }
    written.fill(this.#separator, length, length + missing);
    written[length + missing] = lineFeed;
    this.#length = length + missing + 1;
  }

  #noteWidth(row: ScannedRow, bytes: Buffer, header: readonly string[]): void {
    const { widths } = this.#options;
    if (widths === undefined) return;
    const { cells } = row;
    const empty = emptyAtEnd(row, { bytes, separator: this.#separator });
    widths.note(cells, empty);
    const named = header.findLastIndex((name) => name !== '') + 1;
    if (cells <= named || empty === 0) return;
    const problem = `has ${cells} cells, and other rows have fewer: a separator may be inside a cell, which must then be quoted`;
    widths.noteWide({ ...damagedRow(row, bytes, problem), cells, empty });
  }
}

const damagedRow = ({ line, from, to }: ScannedRow, bytes: Buffer, problem: string): DamagedRow => ({
  line,
  row: `#${hash('sha256', bytes.subarray(from, to)).slice(0, 20)}`,
  problem,
});

/** A spreadsheet may have protected it, too. */
const plainName = (text: string): string => text.trim().replace(/^="(.*)"$/, '$1');
