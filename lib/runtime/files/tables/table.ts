import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { delimiterSaidIn } from './delimiter.ts';
import { quotedName, quotedText } from './engine.ts';
import { keepTableMemoryLow } from './table-memory.ts';
import { UnusableFile } from './unusable-file.ts';

/** A row that cannot be read by its columns. `line` is where it begins, counted from 1. `row` is the same for the same bytes. */
export type DamagedRow = { line: number; row: string; problem: string };

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
/** A person cannot correct more by hand, and memory is bounded. */
const maxDamaged = 100_000;

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

/** How wide rows are: some have empty cells behind the last column. */
const createWidths = (file: string) => {
  /** By the number of cells, and of empty ones at the end: how many rows. */
  const counts = new Map<number, Map<number, number>>();
  const wide: (DamagedRow & { cells: number; empty: number })[] = [];
  return {
    note: (cells: number, empty: number): void => {
      const ofWidth = counts.get(cells) ?? new Map<number, number>();
      counts.set(cells, ofWidth);
      ofWidth.set(empty, (ofWidth.get(empty) ?? 0) + 1);
    },
    noteWide: (row: DamagedRow & { cells: number; empty: number }): void => {
      if (wide.length < maxDamaged) wide.push(row);
    },
    /**
     * Rows that are wider than others, and end in as many empty cells as these: then a separator may be inside a cell, and all cells
     * behind it are those of the columns before.
     */
    doubtful: (): DamagedRow[] => {
      const narrowest = Math.min(...counts.keys());
      const usual = counts.get(narrowest);
      const isDoubtful = (cells: number, empty: number): boolean =>
        cells > narrowest && usual?.has(empty) === true;
      const found = wide.filter(({ cells, empty }) => isDoubtful(cells, empty));
      let all = 0;
      for (const [cells, ofWidth] of counts)
        for (const [empty, rows] of ofWidth) if (isDoubtful(cells, empty)) all += rows;
      if (all > found.length)
        throw new UnusableFile(
          `${file} has more than ${maxDamaged} rows with too few or too many cells. Export it again`,
        );
      return found.map(({ line, row, problem }) => ({ line, row, problem }));
    },
  };
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

export type TableCell = { text: string; quoted: boolean };
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
  let scanner: Scanner | undefined;
  let columns: string[] | undefined;
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
    scanner = createScanner({ file, delimiter, maxRecordBytes, line: said === undefined ? 1 : 2 });
    return own;
  };
  const take = (all: Buffer, isEnd: boolean): Block | undefined => {
    const bytes = scanner === undefined ? begin(all, isEnd) : all;
    if (scanner === undefined || bytes === undefined) {
      rest = all;
      return undefined;
    }
    const damaged: DamagedRow[] = [];
    const firstLine = scanner.line();
    const { written, from } = scanner.take(bytes, {
      isEnd,
      columns,
      onHeader: (content, delimiter) => {
        columns = cellsOf(content, delimiter).map(({ text }) => plainName(text));
        onHeader(columns, delimiter);
        return columns;
      },
      onDamaged: (row) => damaged.push(row),
      widths,
    });
    if (!isUtf8(bytes.subarray(0, from)))
      throw new UnusableFile(
        `${file} is not UTF-8 in line ${lineNotUtf8(bytes.subarray(0, from), firstLine)}. Export it as UTF-8`,
      );
    rest = bytes.subarray(from);
    return { written, damaged, rows: scanner.rows(), hasMarks: scanner.hasMarks() };
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

/** A spreadsheet may have protected it, too. */
const plainName = (text: string): string => text.trim().replace(/^="(.*)"$/, '$1');

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

/** The cells of a row whose quotation marks were checked. `="…"` is a cell, too: a spreadsheet then leaves its text as it is. */
const cellsOf = (row: string, delimiter: string): TableCell[] => {
  const cells: TableCell[] = [];
  for (let at = 0; at <= row.length; at += 1) {
    const isQuoted = row[at] === '"';
    if (isQuoted || row.startsWith('="', at)) {
      const [text = ''] = /=?"(?:[^"]|"")*"/y.exec(row.slice(at)) ?? [];
      cells.push({ text: isQuoted ? text.slice(1, -1).replaceAll('""', '"') : text, quoted: isQuoted });
      at += text.length;
    } else {
      const end = row.indexOf(delimiter, at);
      cells.push({ text: row.slice(at, end < 0 ? undefined : end), quoted: false });
      at = end < 0 ? row.length : end;
    }
  }
  return cells;
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

type Taking = {
  isEnd: boolean;
  /** undefined: the header is not read yet. */
  columns: readonly string[] | undefined;
  onHeader(content: string, delimiter: string): readonly string[];
  onDamaged(row: DamagedRow): void;
  widths: ReturnType<typeof createWidths> | undefined;
};

type Scanner = {
  /**
   * Converts the rows that end within these bytes; the result is valid until the next call. `from`: where the bytes to pass again
   * begin.
   */
  take(bytes: Buffer, taking: Taking): { written: Buffer; from: number };
  line(): number;
  rows(): number;
  hasMarks(): boolean;
};

const [mark, lineFeed, carriageReturn, space, quote, equals] = [0x01, 0x0a, 0x0d, 0x20, 0x22, 0x3d];

/** Lets the engine begin to read at any line: otherwise it would have to guess whether a line break is inside a cell. */
const inOneLine = (row: string): string =>
  row.replaceAll('\u0001', '\u00010').replaceAll('\n', '\u0001n').replaceAll('\r', '\u0001r');

/** As it was before `inOneLine`. */
const asItWas = (text: string): string => {
  const [first = '', ...pieces] = text.split('\u0001');
  const signs: Record<string, string> = { n: '\n', r: '\r' };
  return first + pieces.map((piece) => (signs[piece[0] ?? ''] ?? '\u0001') + piece.slice(1)).join('');
};

/** The same in a statement. */
const cellAt = (place: number): string =>
  `CASE WHEN contains(c${place}, chr(1)) THEN
     replace(replace(replace(c${place}, chr(1) || 'n', chr(10)), chr(1) || 'r', chr(13)), chr(1) || '0', chr(1))
   ELSE c${place} END`;

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

/** As the engine reads it: only a quotation mark at the beginning of a cell quotes it. */
const withoutFormulas = (row: string, delimiter: string): string =>
  cellsOf(row, delimiter)
    .map(({ text, quoted }) => (quoted || text.startsWith('="') ? `"${text.replaceAll('"', '""')}"` : text))
    .join(delimiter);

/** The line's digits and the delimiter, before each row. */
const roomForLine = 24;

type ScannerOptions = { file: string; delimiter: string; maxRecordBytes: number; line: number };

const createScanner = ({ file, delimiter, maxRecordBytes, line: first }: ScannerOptions): Scanner => {
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
