import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { parse } from 'csv-parse';
import type { JobStore } from '../../durable/store.ts';
import { inFolder } from '../../files/folder.ts';
import { keepMemoryBelow } from '../../files/memory.ts';
import { delimiterIn } from '../../mapping/columns.ts';
import { createLineFile, type LineFile } from '../../sets/line-file.ts';
import type { CrosswalkKind } from '../kinds.ts';
import { garbageMb } from './garbage.ts';
import { listedLine } from './known.ts';
import { maxNameLength } from './listings.ts';

/** The files of the university: which column has the id, and of which kind the names in the others are, by their columns. */
export const crosswalkFiles = [
  {
    key: 'crosswalk/users.csv',
    id: 'userId',
    names: { userName: 'userName', orgDefinedId: 'orgDefinedId' },
  },
  {
    key: 'crosswalk/org-units.csv',
    id: 'orgUnitId',
    names: { orgUnitCode: 'orgUnitCode' },
  },
] as const satisfies {
  key: string;
  id: string;
  names: Record<string, CrosswalkKind>;
}[];

type CrosswalkFile = (typeof crosswalkFiles)[number];

export const reportKey = 'crosswalk/report.csv';

/** What a file was read as. */
export type FileRead = {
  key: string;
  /** Why it is not usable as a whole. */
  problem?: string;
  rows: number;
  badRows: number;
  /** False: a row is not even legible, so that names that are missing may be in it. */
  isWhole: boolean;
  /** The kinds for which it has a column. */
  kinds: CrosswalkKind[];
};

/** Why a file cannot be used. Its names stay what they were. */
class Unusable extends Error {
  override name = 'Unusable';
}

type Reading = {
  /** By file; one that is not there is left out. */
  etags: Record<string, string>;
  /** Where the lines of a kind go. */
  partOf(kind: CrosswalkKind): string;
};

/** Reads the files, puts their lines into the bucket, and the rows that cannot be used into a report. @throws where the bucket cannot be read. */
export const readFiles = ({ etags, partOf }: Reading, store: JobStore): Promise<FileRead[]> =>
  inFolder(async (folder) => {
    const report = createLineFile(join(folder, 'report'));
    report.add('file,line,column,problem');
    const found: FileRead[] = [];
    for (const file of crosswalkFiles) {
      const etag = etags[file.key];
      if (etag === undefined) continue;
      const parts = Object.values(file.names).map((kind) => ({
        kind,
        lines: createLineFile(join(folder, kind)),
      }));
      const read: FileRead = { key: file.key, rows: 0, badRows: 0, isWhole: true, kinds: [] };
      const tell = (line: number, column: string, problem: string): void =>
        report.add(`${file.key},${line},${column},${problem}`);
      try {
        const bytes = await store.open(file.key, { IfMatch: etag });
        await readRows(bytes, {
          file,
          read,
          tell,
          parts: new Map(parts.map(({ kind, lines }) => [kind, lines])),
        });
      } catch (error) {
        if (!(error instanceof Unusable)) throw error;
        read.problem = error.message;
        tell(1, '', error.message);
      } finally {
        for (const { lines } of parts) lines.close();
      }
      for (const { kind, lines } of parts) await store.uploadCompressed(partOf(kind), lines.path);
      found.push(read);
    }
    report.close();
    await store.uploadFile(reportKey, report.path, 'text/csv');
    return found;
  });

type Rows = {
  file: CrosswalkFile;
  read: FileRead;
  parts: ReadonlyMap<CrosswalkKind, LineFile>;
  tell(line: number, column: string, problem: string): void;
};

const readRows = async (
  bytes: AsyncIterable<Uint8Array>,
  { file, read, parts, tell }: Rows,
): Promise<void> => {
  const text = await sniffed(textOf(bytes));
  // Unlike `pipe`, it hands over an error of the text.
  const parser = pipeline(
    Readable.from(text.pieces),
    parse({
      delimiter: text.delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      relax_quotes: true,
      // A quotation mark that is never closed would take the rest of the file into one cell.
      max_record_size: 64 * 1024,
    }),
    // Whoever reads the parser is told of it.
    () => {},
  );
  let columns: Columns | undefined;
  let next = 1;
  try {
    for await (const record of parser as AsyncIterable<string[]>) {
      const line = next;
      next += 1 + breaksIn(record);
      if (record.length === 1 && record[0] === '') continue;
      if (columns === undefined) {
        columns = columnsOf(record, file);
        read.kinds = columns.names.map(({ kind }) => kind);
        continue;
      }
      read.rows += 1;
      if (read.rows % 1_000 === 0) keepMemoryBelow(garbageMb);
      const problem = rowProblem(record, columns, parts);
      if (problem === undefined) continue;
      read.badRows += 1;
      if (problem.isIllegible) read.isWhole = false;
      tell(line, problem.column, problem.text);
    }
  } catch (error) {
    throw unusable(error);
  }
  if (columns === undefined) throw new Unusable('has no header');
};

const unusable = (error: unknown): unknown => {
  if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return new Unusable('is not UTF-8: save it as such (in a spreadsheet as CSV UTF-8)');
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // The parser's own words quote the text.
  return code.startsWith('CSV_') ? new Unusable(`is not readable as CSV (${code})`) : error;
};

type Columns = { count: number; id: { name: string; at: number }; names: NameColumn[] };
type NameColumn = { name: string; at: number; kind: CrosswalkKind };

const columnsOf = (header: string[], file: CrosswalkFile): Columns => {
  const names = header.map((name) => name.trim());
  const known: string[] = [file.id, ...Object.keys(file.names)];
  if (names.some((name, at) => known.includes(name) && names.indexOf(name) < at))
    throw new Unusable('has a column twice');
  const id = names.indexOf(file.id);
  if (id < 0) throw new Unusable(`has no column ${file.id}`);
  const found = Object.entries(file.names).flatMap(([name, kind]) => {
    const at = names.indexOf(name);
    return at < 0 ? [] : [{ name, at, kind }];
  });
  if (found.length === 0) throw new Unusable(`has no column ${Object.keys(file.names).join(' or ')}`);
  return { count: header.length, id: { name: file.id, at: id }, names: found };
};

type RowProblem = { column: string; text: string; isIllegible: boolean };

/** Adds what a row tells; why it tells nothing. Of a row with a bad id the names are told, so that they stay what they were. */
const rowProblem = (
  record: string[],
  { count, id, names }: Columns,
  parts: ReadonlyMap<CrosswalkKind, LineFile>,
): RowProblem | undefined => {
  if (record.length !== count)
    return { column: '', text: `has ${record.length} cells and the header ${count}`, isIllegible: true };
  const given = record[id.at] ?? '';
  const value = /^[1-9]\d{0,15}$/.test(given) && Number.isSafeInteger(Number(given)) ? Number(given) : '?';
  let problem: RowProblem | undefined =
    value === '?'
      ? { column: id.name, text: 'is not a positive whole number', isIllegible: false }
      : undefined;
  for (const { name, at, kind } of names) {
    const text = record[at] ?? '';
    if (text === '') continue;
    if (text.length > maxNameLength || hasControls.test(text))
      problem ??= { column: name, text: 'is too long or has control characters', isIllegible: false };
    else parts.get(kind)?.add(listedLine(text, value));
  }
  return problem;
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const hasControls = /[\u0000-\u001f\u007f]/;

const breaksIn = (record: readonly string[]): number => {
  let count = 0;
  for (const cell of record)
    if (cell.includes('\n') || cell.includes('\r')) count += cell.match(/\r\n|\r|\n/g)?.length ?? 0;
  return count;
};

/** @throws TypeError where it is not UTF-8. A mark at its beginning is left out. */
async function* textOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const piece of bytes) yield decoder.decode(piece, { stream: true });
  yield decoder.decode();
}

/** Spreadsheets write commas or semicolons, by their locale: the header tells. */
const sniffed = async (pieces: AsyncGenerator<string>) => {
  const first = await pieces.next().catch((error: unknown) => {
    throw unusable(error);
  });
  const begin = first.value ?? '';
  const header = begin.split(/[\r\n]/, 1)[0] ?? '';
  const rest = async function* (): AsyncGenerator<string> {
    yield begin;
    yield* pieces;
  };
  return { delimiter: delimiterIn(header), pieces: rest() };
};
