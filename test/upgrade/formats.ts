import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Json } from '../package/contract/released.ts';
import { joined, shapeOf } from '../package/contract/shape.ts';
import type { State } from './state.ts';

/** The form of what a stage keeps: its tables by kind of item, and the files that its functions read again. */
export const formatsOf = async ({ tables, files }: State): Promise<{ [name: string]: Json }> => ({
  // What was called lately is counted there, too; no version needs another's.
  ledger: byKind(
    tables.table.filter(({ resource }) => !resource?.S?.startsWith('pace/')),
    ({ resource }) => resource?.S?.split('/')[0],
  ),
  desk: byKind(tables.deskTable, ({ state }) => state?.S),
  crosswalk: byKind(
    tables.crosswalkTable,
    ({ bucket }) => bucket?.S?.split('/').slice(0, -1).join('/') || 'fill',
  ),
  files: await formatsOfFiles(files),
});

type Item = State['tables']['table'][number];

const byKind = (items: readonly Item[], kindOf: (item: Item) => string | undefined): Json =>
  Object.fromEntries(
    [...Map.groupBy(items, (item) => kindOf(item) ?? 'other')]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([kind, each]) => [kind, each.map(formatOf).reduce(joined, {})]),
  );

const formatOf = (item: Item): Json =>
  Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name,
      value.S === undefined ? 'number' : textFormat(value.S),
    ]),
  );

/** Of JSON, what is in it. */
const textFormat = (text: string): Json => {
  if (!/^[[{]/.test(text)) return 'text';
  try {
    return shapeOf(JSON.parse(text));
  } catch {
    return 'text';
  }
};

const formatsOfFiles = async (files: State['files']): Promise<Json> => {
  const formats: Record<string, Json> = {};
  for (const [key, base64] of Object.entries(files)) {
    const name = key
      .replace(/(?<=\/)(?:\d{8}T\w+-\w+|[0-9a-f-]{36})(?=\/)/g, '{id}')
      .replace(/\d+(?=\.zip$)/, '{n}');
    const bytes = Buffer.from(base64, 'base64');
    const format = await fileFormat(name, bytes);
    formats[name] = joined(formats[name] ?? {}, format);
  }
  return Object.fromEntries(Object.entries(formats).sort(([one], [other]) => (one < other ? -1 : 1)));
};

const fileFormat = async (name: string, bytes: Buffer): Promise<Json> => {
  if (name.endsWith('.parquet')) return columnsOf(bytes);
  const text = name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString();
  if (name.endsWith('.csv')) return text.split('\n')[0] ?? '';
  if (/\.jsonl(?:\.gz)?$/.test(name)) return text.trim().split('\n').map(textFormat).reduce(joined, {});
  return name.endsWith('.json') ? textFormat(text) : 'file';
};

const columnsOf = async (parquet: Buffer): Promise<Json> => {
  const folder = mkdtempSync(join(tmpdir(), 'formats-'));
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    const file = join(folder, 'state.parquet');
    writeFileSync(file, parquet);
    const read = await connection.runAndReadAll(`DESCRIBE FROM read_parquet('${file}')`);
    return Object.fromEntries(
      read.getRowObjects().map(({ column_name, column_type }) => [`${column_name}`, `${column_type}`]),
    );
  } finally {
    connection.closeSync();
    instance.closeSync();
    rmSync(folder, { recursive: true });
  }
};
