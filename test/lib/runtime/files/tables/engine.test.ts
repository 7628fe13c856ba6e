import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  openSqlEngine,
  quotedName,
  type SqlEngine,
  SqlEngineTooSlowError,
} from '../../../../../lib/runtime/files/tables/engine.ts';
import { readTable, rowsOf } from '../../../../../lib/runtime/files/tables/table.ts';
import { errorFactsOf } from '../../../../../lib/runtime/privacy/log-text.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../../temporary-folder.ts';

let folder: string;
let outside: string;
let db: SqlEngine;
beforeAll(async () => {
  outside = temporaryFolder();
  folder = join(outside, "it's a folder");
  mkdirSync(folder);
  writeFileSync(join(outside, 'secret.csv'), 'secret\n1\n');
  db = await openSqlEngine({ folder });
});
afterAll(() => {
  db.close();
  removeTemporaryFolders();
});

const all = async (statement: string, values: string[] = []): Promise<unknown[]> =>
  (await Array.fromAsync(db.rows(statement, values))).flat();

describe('the SQL engine opens no file outside of its folder', () => {
  const reading = ['read_csv', 'sniff_csv', 'read_text', 'read_blob', 'read_json', 'read_parquet', 'glob'];
  test.each(reading)('by %s', async (name) => {
    for (const path of [
      join(outside, 'secret.csv'),
      join(folder, '../secret.csv'),
      '/etc/passwd',
      'https://example.com/a.csv',
    ])
      await expect(all(`SELECT * FROM ${name}($1)`, [path]), path).rejects.toThrow(
        /disabled by configuration|does not exist/,
      );
  });

  test.each([
    ['COPY (SELECT 1) TO $1', 'out.csv'],
    ['ATTACH $1', 'out.db'],
    ['EXPORT DATABASE $1', 'out'],
  ])('by %s', async (statement, name) => {
    const path = join(outside, name);
    await expect(db.run(statement.replace('$1', `'${path}'`))).rejects.toThrow(/disabled by configuration/);
    expect(existsSync(path)).toBe(false);
  });

  test.each([
    'INSTALL httpfs',
    "LOAD '/tmp/other.duckdb_extension'",
    'SET enable_external_access = true',
    "SET allowed_directories = ['/']",
    'SET threads = 64',
    "SET memory_limit = '64GB'",
    "SET temp_directory = '/tmp'",
    'SET lock_configuration = false',
    'CREATE SECRET one (TYPE s3)',
  ])('after %s', async (statement) => {
    await expect(db.run(statement)).rejects.toThrow();
    await expect(all('SELECT * FROM read_text($1)', ['/etc/passwd'])).rejects.toThrow(
      /disabled by configuration/,
    );
  });
});

/** Text that would end a statement, a name or a path, if it became a part of one. */
const hostile = [
  `'); DROP TABLE kept; --`,
  `" FROM kept; --`,
  `{'a': 1}`,
  '$1',
  '\\',
  `\u0001n`,
  `c0`,
  `'||chr(1)||'`,
];

describe('nothing that a file says becomes a part of a statement', () => {
  test('names of columns, cells and files', async () => {
    await db.run('CREATE TABLE kept AS SELECT 1 AS a');
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const csv = `${hostile.map(quoted).join(',')}\n${[...hostile].reverse().map(quoted).join(',')}\n`;
    const pieces = async function* () {
      yield Buffer.from(csv);
    };
    const path = join(folder, `a'); DROP TABLE kept; --.csv`);
    const table = await readTable(pieces(), path, { file: 'a.csv' });
    expect(table.columns).toEqual(hostile.map((each) => each.trim()));
    const names = Object.fromEntries(hostile.map((each) => [each, each.trim()]));
    expect(await all(rowsOf(table, names), [path])).toEqual([[2, ...[...hostile].reverse()]]);
    await db.run('CREATE TABLE cells (cell VARCHAR)');
    await db.add(
      'cells',
      hostile.map((each) => [each]),
    );
    expect((await all('SELECT cell FROM cells')).flat().sort()).toEqual([...hostile].sort());
    expect(await db.row('SELECT $1, (SELECT count(*) FROM kept)', [hostile[0] ?? ''])).toEqual([
      hostile[0],
      1,
    ]);
  });

  test.each(hostile)('a name that is %s', async (name) => {
    await db.run(`CREATE OR REPLACE TABLE named (${quotedName(name)} VARCHAR)`);
    expect(await all(`SELECT column_name FROM duckdb_columns() WHERE table_name = 'named'`)).toEqual([
      [name],
    ]);
  });
});

test('a statement that takes too long is ended, and the engine goes on', async () => {
  const hasty = await openSqlEngine({ folder, timeoutMs: 100 });
  await expect(
    hasty.run('SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b'),
  ).rejects.toThrow(/nterrupt/);
  expect(await hasty.row('SELECT 1')).toEqual([1]);
  hasty.close();
});

test('statements that together take too long are ended, and no other is begun', async () => {
  using slow = await openSqlEngine({ folder, totalMs: 200 });
  const work = async (): Promise<never> => {
    for (;;) await slow.run('SELECT sum(range) FROM range(1000000)');
  };
  await expect(work()).rejects.toThrow('The comparison takes longer than 0 seconds');
  await expect(slow.row('SELECT 1')).rejects.toThrow(SqlEngineTooSlowError);
});

test('rows that end before their statement has given all of them are an error', async () => {
  const failing = `SELECT CASE WHEN i = 300000 THEN error('x') ELSE CAST(i AS VARCHAR) END FROM range(1000000) t(i)`;
  let rows = 0;
  const read = async () => {
    for await (const some of db.rows(failing)) rows += some.length;
  };
  await expect(read()).rejects.toThrow('stopped a statement');
  expect(rows).toBeGreaterThan(0);
  expect(await all('SELECT 1')).toEqual([[1]]);
});

test('what needs more memory than it may is ended, and the engine goes on', async () => {
  const small = await openSqlEngine({ folder, memoryMb: 32, spillMb: 16 });
  await expect(small.run('SELECT list(range) FROM range(100000000)')).rejects.toThrow(/Out of Memory/);
  expect(await small.row('SELECT 1')).toEqual([1]);
  small.close();
});

describe('a table', () => {
  const lines = ['a,b', '1,"two\nlines"', '', '3', `"4 ""four""",\u0001`, '5,"\r\n"', '6,é'].join('\r\n');
  test.each([1, 2, 3, 5, 8, 64_000])(
    'is read the same in pieces of %i bytes, each row by its line',
    async (size) => {
      const bytes = Buffer.from(`\ufeff${lines}`);
      const pieces = async function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      };
      const path = join(folder, 'table.csv');
      const table = await readTable(pieces(), path, { file: 'a.csv', blockBytes: 1 });
      expect(await all(`${rowsOf(table, { a: 'A', b: 'b', c: 'c' })} ORDER BY line`, [path])).toEqual([
        [2, '1', 'two\nlines', null],
        [6, '4 "four"', '\u0001', null],
        [7, '5', '\r\n', null],
        [9, '6', 'é', null],
      ]);
      expect(table).toMatchObject({
        rows: 5,
        damaged: [{ line: 5, problem: 'has 1 cells, but the header has 2' }],
      });
    },
  );

  test('is read with empty cells behind its last column, and without those of columns that have no name', async () => {
    const csv = ['a,b,', '1,"2",', '3,4', '5,6,,"", ', '7,8,,9', '10', '"11,",12,"",'].join('\n');
    const pieces = async function* () {
      yield Buffer.from(csv);
    };
    const path = join(folder, 'trailing.csv');
    const table = await readTable(pieces(), path, { file: 'a.csv' });
    expect(await all(`${rowsOf(table, { a: 'A', b: 'b' })} ORDER BY line`, [path])).toEqual([
      [2, '1', '2'],
      [3, '3', '4'],
      [4, '5', '6'],
      [7, '11,', '12'],
    ]);
    expect(table.damaged).toMatchObject([
      { line: 5, problem: 'has 4 cells, but the header has 3' },
      { line: 6, problem: 'has 1 cells, but the header has 3' },
    ]);
  });

  test.each([
    ['a cell of 10 MB', `a\n"${'x'.repeat(10_000_000)}"\n`, /line 2 on: a row is longer than 65536 bytes/],
    [
      'a quotation mark that never closes',
      `a\n1\n"${'x\n'.repeat(2_000)}`,
      /line 3 on: a quotation mark is not closed/,
    ],
    [
      'two million rows that lack a cell',
      `a,b\n${'1\n'.repeat(2_000_000)}`,
      /more than 100000 rows with too few/,
    ],
    ['text behind a quotation mark', 'a\n"1"2\n', /text follows a closing quotation mark/],
    ['a quotation mark within a cell', 'a\n1"2\n', /inside a cell that does not begin with one/],
  ])('with %s is refused', async (_, csv, why) => {
    const pieces = async function* () {
      const bytes = Buffer.from(csv);
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
    };
    await expect(readTable(pieces(), join(folder, 'refused.csv'), { file: 'a.csv' })).rejects.toThrow(why);
  });
});

test.each([
  ['CAST(name AS BIGINT)', 'Conversion Error'],
  ['CAST(name AS JSON)', 'Conversion Error'],
  ['CAST(9e18 + length(name) * 1e18 AS BIGINT)', 'Conversion Error'],
])('an error that would quote a value says what kind it is alone: %s', async (expression, kind) => {
  const statement = `SELECT ${expression} FROM (VALUES ($1)) AS t(name)`;
  const error = await db.row(statement, ['Jane Doe']).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ message: `${kind}: a value cannot be used` });
  expect(JSON.stringify(errorFactsOf(error))).not.toContain('Jane');
});
