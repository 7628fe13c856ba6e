import { finished } from 'node:stream/promises';
import { Parser } from 'csv-parse';
import { keepMemoryBelow } from '../files/memory.ts';
import { UnusableSnapshot } from './unusable.ts';

/** A row by the line that it begins in, counted from 1; `problem`: it cannot be read by its columns. */
export type Row = { line: number; cells: string[]; problem?: string };

export type Table = {
  /** As the file writes them. */
  columns: string[];
  /** Where a column stands, whatever the case of its letters; -1: the file has none of that name. */
  at(column: string): number;
  /** Many at a time, as each wait costs more than a row. */
  rows: AsyncIterable<Row[]>;
};

/** A comment has at most 4,000 characters. */
const maxRecordBytes = 64 * 1024;
const maxColumns = 1_000;
/** Garbage beside the 60 MB of a container that has just started. */
export const garbageMb = 96;

type TableOptions = {
  /** As people know it. */
  file: string;
  required?: readonly string[];
  delimiter?: string;
  /** A cell that is empty within quotation marks is read as this: so it can be told from one that is not given. */
  emptyInQuotes?: string;
};

/** @throws UnusableSnapshot where it is not CSV in UTF-8 with these columns, also while its rows are read. */
export const openTable = async (pieces: AsyncIterable<Buffer>, options: TableOptions): Promise<Table> => {
  const { file, required = [] } = options;
  const batches = recordsIn(pieces, options);
  const first = await batches.next();
  const [header, ...others] = first.done ? [] : first.value;
  if (header === undefined) throw new UnusableSnapshot(`${file} is empty: it lacks even a header`);
  const columns = header.cells.map((cell) => cell.trim());
  if (columns.length > maxColumns) throw new UnusableSnapshot(`${file} has more than ${maxColumns} columns`);
  const places = new Map<string, number>();
  for (const [at, column] of columns.entries()) {
    const name = column.toLowerCase();
    if (name !== '' && places.has(name))
      throw new UnusableSnapshot(`${file} has a column twice: the ${at + 1}th repeats another`);
    places.set(name, at);
  }
  const missing = required.filter((column) => !places.has(column.toLowerCase()));
  if (missing.length > 0)
    throw new UnusableSnapshot(`${file} lacks the column ${missing.join(', and ')} in its header`);
  return {
    columns,
    at: (column) => places.get(column.toLowerCase()) ?? -1,
    rows: (async function* () {
      yield checked(others, columns.length);
      for await (const rows of batches) yield checked(rows, columns.length);
    })(),
  };
};

const checked = (rows: Row[], count: number): Row[] => {
  for (const row of rows)
    if (row.cells.length !== count) row.problem = `has ${row.cells.length} cells, and the header ${count}`;
  return rows;
};

type Read = { info: { lines: number }; record: string[] };

async function* recordsIn(
  pieces: AsyncIterable<Buffer>,
  { file, delimiter = ',', emptyInQuotes }: TableOptions,
): AsyncGenerator<Row[], void> {
  const parser = new Parser({
    bom: true,
    info: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    max_record_size: maxRecordBytes,
    delimiter,
    ...(emptyInQuotes !== undefined && {
      cast: (text, { quoting }) => (text === '' && quoting ? emptyInQuotes : text),
    }),
  });
  let lastLine = 0;
  let rows: Row[] = [];
  let failure: Error | undefined;
  parser.on('error', (error) => {
    failure ??= error;
  });
  const drain = (): void => {
    for (let read: Read | null = parser.read(); read !== null; read = parser.read()) {
      const line = lastLine + 1;
      lastLine = read.info.lines;
      // Spreadsheets write empty rows at the end.
      if (read.record.some((cell) => cell !== '')) rows.push({ line, cells: read.record });
    }
  };
  parser.on('readable', drain);
  const taken = (): Row[] => {
    if (failure !== undefined) throw new UnusableSnapshot(problemOf(failure, file, lastLine + 1));
    const all = rows;
    rows = [];
    keepMemoryBelow(garbageMb);
    return all;
  };
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const check = (piece?: Buffer): void => {
    try {
      decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw new UnusableSnapshot(
        `${file} is not in UTF-8, as seen after line ${lastLine}: export it as UTF-8 anew`,
      );
    }
  };
  let isFirst = true;
  for await (const piece of pieces) {
    if (isFirst) refuseUtf16(piece, file);
    isFirst = false;
    check(piece);
    parser.write(piece);
    drain();
    const batch = taken();
    if (batch.length > 0) yield batch;
  }
  check();
  parser.end();
  drain();
  // What failed is told below.
  await finished(parser).catch(() => undefined);
  const batch = taken();
  if (batch.length > 0) yield batch;
}

const refuseUtf16 = (piece: Buffer, file: string): void => {
  const [one, other] = piece;
  if ((one === 0xff && other === 0xfe) || (one === 0xfe && other === 0xff) || one === 0 || other === 0)
    throw new UnusableSnapshot(`${file} is in UTF-16: export it as UTF-8 anew`);
};

const problems: Record<string, string> = {
  CSV_MAX_RECORD_SIZE: `a row is longer than ${maxRecordBytes} bytes: is a quotation mark not closed?`,
  CSV_QUOTE_NOT_CLOSED: 'a quotation mark is not closed',
  CSV_INVALID_CLOSING_QUOTE: 'text follows a closing quotation mark',
  INVALID_OPENING_QUOTE: 'a quotation mark stands within a cell that does not begin with one',
};

/** Without the parser's words, which quote the file. */
const problemOf = (error: Error & { code?: string }, file: string, line: number): string =>
  `${file} is not CSV from line ${line} on: ${problems[error.code ?? ''] ?? 'it cannot be read'}`;
