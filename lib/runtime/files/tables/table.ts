import { isUtf8 } from 'node:buffer';
import { open, readFile } from 'node:fs/promises';
import { asItWas, cellAt, cellsOf, type TableCell } from './cells.ts';
import { delimiterSaidIn } from './delimiter.ts';
import { quotedName, quotedText } from './engine.ts';
import { carriageReturn, lineFeed } from './row-scanner.ts';
import { createWidths, type DamagedRow, maxDamaged } from './row-widths.ts';
import { TableScanner } from './scanner.ts';
import { keepTableMemoryLow } from './table-memory.ts';
import { UnusableFile } from './unusable-file.ts';

export type Table = {
  /** The file into which `readTable` wrote its rows. */
  path: string;
  delimiter: string;
  /** The names in the header. */
  columns: string[];
  /** The place of a column, without regard to case; -1: the file has no such column. */
  at(column: string): number;
  /** The number of rows, damaged ones included. */
  rows: number;
  damaged: DamagedRow[];
  /** The lines of damaged rows that were written nevertheless. */
  doubtful: number[];
  /** Whether some cell has a sign that `inOneLine` replaces. */
  hasMarks: boolean;
  /** How each cell is read: an expression over the cell as it is written. */
  readCell: (cell: string) => string;
  /** In lower case: the columns that `rowsOf` was asked for, whether or not the file has them. */
  used: Set<string>;
};

type ScanOptions = {
  /** The name of the file in errors. */
  file: string;
  /** The delimiter of cells, by the text of the first row. A first line such as `sep=;` says it, too, and is no row. */
  delimiterIn?: (header: string) => string;
  /** The size of the blocks that are scanned. */
  blockBytes?: number;
  /** A comment has at most 4,000 characters. */
  maxRecordBytes?: number;
};

type TableOptions = ScanOptions & { required?: readonly string[]; readCell?: Table['readCell'] };

const maxColumns = 1_000;
/**
 * Writes for the SQL engine one line for each row that has as many cells as the header. Its first cell is the line of the file that the
 * row begins in: the engine counts rows, and rows are not lines if a cell has a line break.
 * @throws UnusableFile if it is not CSV in UTF-8 with these columns.
 */
export const readTable = async (
  pieces: AsyncIterable<Buffer>,
  path: string,
  options: TableOptions,
): Promise<Table> => {
  const { file } = options;
  await using out = await open(path, 'w');
  let table: Table | undefined;
  const widths = createWidths(file);
  const found = scan(pieces, {
    ...options,
    widths,
    onHeader: (header, delimiter) => {
      table = tableOf(header, { ...options, delimiter, path });
    },
  });
  for await (const { written, damaged, rows, hasMarks } of found) {
    if (table === undefined) continue;
    table.rows = rows;
    table.hasMarks = hasMarks;
    for (const each of damaged) table.damaged.push(each);
    if (table.damaged.length > maxDamaged)
      throw new UnusableFile(
        `${file} has more than ${maxDamaged} rows with too few or too many cells. Export it again`,
      );
    if (written.length > 0) await out.write(written);
    keepTableMemoryLow();
  }
  if (table === undefined)
    throw new UnusableFile(`${file} is empty. It must have at least a header: export it again`);
  const doubtful = widths.doubtful();
  table.doubtful = doubtful.map(({ line }) => line);
  table.damaged = [...table.damaged, ...doubtful].sort((one, other) => one.line - other.line);
  return table;
};

/**
 * Rows whose cells may not be those of their columns: which ones shows only the whole table.
 * @throws UnusableFile if it is not CSV in UTF-8.
 */
export const doubtfulRows = async (
  pieces: AsyncIterable<Buffer>,
  options: ScanOptions,
): Promise<DamagedRow[]> => {
  const widths = createWidths(options.file);
  const blocks = scan(pieces, { ...options, widths, onHeader: () => {} });
  while (!(await blocks.next()).done) keepTableMemoryLow();
  return widths.doubtful();
};

export type TableRow = { line: number; cells: TableCell[]; problem?: undefined } | DamagedRow;

/**
 * The rows of a table one by one, in their order, without a file beside it: a person's table leaves no copy on the machine.
 * @throws UnusableFile if it is not CSV in UTF-8; what `onHeader` throws.
 */
export async function* tableRows(
  pieces: AsyncIterable<Buffer>,
  {
    doubtful = [],
    ...options
  }: ScanOptions & {
    onHeader(columns: string[], delimiter: string): void;
    /** As `doubtfulRows` gives them. */
    doubtful?: readonly DamagedRow[];
  },
): AsyncGenerator<TableRow> {
  const doubtfulByLine = new Map(doubtful.map((row) => [row.line, row]));
  let delimiter = '';
  const found = scan(pieces, {
    ...options,
    onHeader: (header, said) => {
      delimiter = said;
      options.onHeader(header, said);
    },
  });
  for await (const { written, damaged } of found) {
    const rows = written.toString().split('\n').slice(0, -1);
    let at = 0;
    for (const row of rows) {
      const [number, ...cells] = cellsOf(row, delimiter);
      const line = Number(number?.text);
      for (let next = damaged[at]; next !== undefined && next.line < line; next = damaged[at]) {
        yield next;
        at += 1;
      }
      yield doubtfulByLine.get(line) ?? {
        line,
        cells: cells.map(({ text, quoted }) => ({ text: asItWas(text), quoted })),
      };
    }
    yield* damaged.slice(at);
  }
}

type Block = {
  /** Valid until the next block. */
  written: Buffer;
  damaged: DamagedRow[];
  /** Of all blocks so far. */
  rows: number;
  hasMarks: boolean;
};

async function* scan(
  pieces: AsyncIterable<Buffer>,
  {
    file,
    delimiterIn,
    blockBytes,
    maxRecordBytes = 64 * 1024,
    widths,
    onHeader,
  }: ScanOptions & {
    widths?: ReturnType<typeof createWidths>;
    onHeader(columns: string[], delimiter: string): void;
  },
): AsyncGenerator<Block> {
  let scanner: TableScanner | undefined;
  let rest: Buffer = Buffer.alloc(0);
  const begin = (bytes: Buffer, isEnd: boolean): Buffer | undefined => {
    const isEnough = (line: string | undefined): boolean =>
      line !== undefined || isEnd || bytes.length > maxRecordBytes;
    let [header, from] = firstLineOf(bytes);
    if (!isEnough(header)) return undefined;
    const said = delimiterSaidIn(header ?? bytes.toString());
    const own = said === undefined ? bytes : bytes.subarray(from);
    if (said !== undefined) [header, from] = firstLineOf(own);
    if (!isEnough(header)) return undefined;
    const delimiter = said ?? delimiterIn?.(header ?? own.toString()) ?? ',';
    const line = said === undefined ? 1 : 2;
    scanner = new TableScanner({ file, delimiter, maxRecordBytes, line, widths, onHeader });
    return own;
  };
  const take = (all: Buffer, isEnd: boolean): Block | undefined => {
    const bytes = scanner === undefined ? begin(all, isEnd) : all;
    if (scanner === undefined || bytes === undefined) {
      rest = all;
      return undefined;
    }
    const firstLine = scanner.line;
    const { written, damaged, from } = scanner.take(bytes, isEnd);
    if (!isUtf8(bytes.subarray(0, from)))
      throw new UnusableFile(
        `${file} is not UTF-8 in line ${lineNotUtf8(bytes.subarray(0, from), firstLine)}. Export it as UTF-8`,
      );
    rest = bytes.subarray(from);
    return { written, damaged, rows: scanner.rows, hasMarks: scanner.hasMarks };
  };
  let isFirst = true;
  for await (const block of blocksOf(pieces, blockBytes)) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, block]) : block;
    if (isFirst && bytes.length < 3) {
      rest = bytes;
      continue;
    }
    const taken = take(isFirst ? withoutMark(bytes, file) : bytes, false);
    isFirst = false;
    if (taken) yield taken;
  }
  const last = take(isFirst ? withoutMark(rest, file) : rest, true);
  if (last) yield last;
}

const lineNotUtf8 = (bytes: Buffer, first: number): number => {
  let [line, from] = [first, 0];
  for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, from)) {
    if (!isUtf8(bytes.subarray(from, end))) return line;
    line += 1;
    from = end + 1;
  }
  return line;
};

/** To handle a small piece costs more than to scan it. */
async function* blocksOf(pieces: AsyncIterable<Buffer>, blockBytes = 512 * 1024): AsyncGenerator<Buffer> {
  let [buffered, bytes]: [Buffer[], number] = [[], 0];
  for await (const piece of pieces) {
    if (buffered.length === 0 && piece.length >= blockBytes) {
      yield piece;
      continue;
    }
    buffered.push(piece);
    bytes += piece.length;
    if (bytes < blockBytes) continue;
    yield Buffer.concat(buffered);
    [buffered, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(buffered);
}

/** Undefined: it does not end within these bytes. `from`: where the next line begins. */
const firstLineOf = (bytes: Buffer): [line: string | undefined, from: number] => {
  const end = bytes.findIndex((byte) => byte === lineFeed || byte === carriageReturn);
  if (end < 0) return [undefined, bytes.length];
  const isPair = bytes[end] === carriageReturn && bytes[end + 1] === lineFeed;
  return [bytes.toString('utf8', 0, end), end + (isPair ? 2 : 1)];
};

const withoutMark = (bytes: Buffer, file: string): Buffer => {
  const [one, other, third] = bytes;
  if ((one === 0xff && other === 0xfe) || (one === 0xfe && other === 0xff) || one === 0 || other === 0)
    throw new UnusableFile(`${file} is UTF-16. Export it as UTF-8`);
  return one === 0xef && other === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
};

type Head = TableOptions & { delimiter: string; path: string };

const asWritten: Table['readCell'] = (cell) => cell;

const tableOf = (
  columns: string[],
  { file, required = [], delimiter, path, readCell = asWritten }: Head,
): Table => {
  if (columns.length > maxColumns)
    throw new UnusableFile(`${file} has more than ${maxColumns} columns. Export fewer`);
  const places = new Map<string, number>();
  for (const [at, column] of columns.entries()) {
    const name = column.toLowerCase();
    if (name !== '' && places.has(name))
      throw new UnusableFile(
        `${file} has a column twice: columns ${(places.get(name) ?? 0) + 1} and ${at + 1} have one name. Rename or remove one of them`,
      );
    places.set(name, at);
  }
  const missing = required.filter((column) => !places.has(column.toLowerCase()));
  if (missing.length > 0)
    throw new UnusableFile(`${file} has no column ${missing.join(' and no column ')}. Export it, too`);
  const at = (column: string): number => places.get(column.toLowerCase()) ?? -1;
  return {
    path,
    delimiter,
    columns,
    at,
    rows: 0,
    damaged: [],
    doubtful: [],
    hasMarks: false,
    readCell,
    used: new Set(),
  };
};

/** All rows of a small table. */
export const cellsIn = async ({ path, delimiter }: Table): Promise<string[][]> =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .slice(0, -1)
    .map((row) =>
      cellsOf(row, delimiter)
        .slice(1)
        .map(({ text }) => text),
    );

/**
 * A statement that reads rows of a table: `line`, and each column by the name that is given here. The names in the file are no part of
 * it. A cell that is empty without quotation marks is NULL, as is one of a column that the file does not have. `path`: its path, as SQL.
 */
export const rowsOf = (
  { at, columns, delimiter, doubtful, hasMarks, readCell, used }: Table,
  names: Readonly<Record<string, string>>,
  path = '$1',
): string => {
  for (const column of Object.values(names)) used.add(column.toLowerCase());
  const types = ['line', ...columns].map(
    (_, place) => `'c${place}': '${place === 0 ? 'BIGINT' : 'VARCHAR'}'`,
  );
  const cells = Object.entries(names).map(([name, column]) => {
    const place = at(column);
    if (place < 0) return `NULL::VARCHAR AS ${quotedName(name)}`;
    return `${readCell(hasMarks ? cellAt(place + 1) : `c${place + 1}`)} AS ${quotedName(name)}`;
  });
  return `SELECT ${['c0 AS line', ...cells].join(', ')}
    FROM read_csv(${path}, auto_detect = false, header = false, delim = ${quotedText(delimiter)}, quote = '"', escape = '"',
      new_line = '\\n', nullstr = '', allow_quoted_nulls = false, columns = {${types.join(', ')}})${
        doubtful.length === 0 ? '' : ` WHERE c0 NOT IN (${doubtful.join(', ')})`
      }`;
};
