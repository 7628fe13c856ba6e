// @module-tag long
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import {
  changesKey,
  partsKey,
  reportKey,
  type SnapshotRecord,
} from '../../../lib/options/snapshots/state/record.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../temporary-folder.ts';
import { entriesOfSis, type Sis, smallSis } from './sis.ts';
import { writeZip, type ZipEntry } from './zips.ts';

afterAll(removeTemporaryFolders);

type Examined = { peakMb: number; message?: string; record?: SnapshotRecord; id: string };

const atMostMb = 900;

/** What an import makes of a file, in a process of its own. */
const examined = async (folder: string, file: string): Promise<Examined> => {
  const script = join(import.meta.dirname, 'examine-once.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-semi-space-size=8',
    script,
    folder,
    file,
    String(Date.UTC(2026, 9)),
  ]);
  return JSON.parse(stdout);
};

/** What cannot be packed much, so that no limit of the zip stops it. */
function* lines(count: number, line: (number: number) => string): Generator<string> {
  for (let from = 0; from < count; from += 1_000)
    yield Array.from({ length: Math.min(1_000, count - from) }, (_, at) => line(from + at)).join('');
}

const mixed = (number: number): string => (Math.imul(number + 1, 0x9e3779b1) >>> 0).toString(36);

function* after(header: string, rows: Iterable<string>): Generator<string> {
  yield header;
  yield* rows;
}

const replacing = (sis: Sis, name: string, content: ZipEntry['content']): ZipEntry[] =>
  entriesOfSis(sis).map((entry) => (entry.name === name ? { ...entry, content } : entry));

const limit = { timeout: 3_600_000 };

test.each<[string, begin: string, () => Iterable<string>, RegExp]>([
  [
    'a cell of 10 MB',
    'u,"',
    () => lines(1_500_000, mixed),
    /users.csv is not CSV from line 2 on: a row is longer than 65536 bytes/,
  ],
  [
    'a quotation mark that never closes, in 200 MB',
    'u,"',
    () => lines(10_000_000, (n) => `${mixed(n)},${mixed(n * 7)}\n`),
    /users.csv is not CSV from line 2 on: a row is longer than 65536 bytes/,
  ],
  [
    'a bomb',
    '',
    () => lines(2_000_000, () => 'a'.repeat(500)),
    /"users.csv" in the zip grows to more than 200 times its size/,
  ],
  [
    'two million rows that lack a cell',
    '',
    () => lines(2_000_000, (n) => `${mixed(n)}\n`),
    /users.csv has more than 100000 rows with too few or too many cells/,
  ],
])('an export with %s ends in bounded memory, and sends nothing', limit, async (_, begin, rows, why) => {
  const folder = temporaryFolder();
  const users = after(`sourcedId,username\n${begin}`, rows());
  await writeZip(join(folder, 'export.zip'), replacing(smallSis(), 'users.csv', users));
  const { message, peakMb, id } = await examined(folder, 'export.zip');
  expect(message).toMatch(why);
  expect(peakMb).toBeLessThan(atMostMb);
  expect(existsSync(join(folder, changesKey(id)))).toBe(false);
});

const refused = 2_000_000;

const expectAllRefused = async (folder: string, file: string): Promise<void> => {
  const { record, peakMb, id } = await examined(folder, file);
  expect(record?.counts).toMatchObject({ created: 0, updated: 0, removed: 0, refused });
  expect(record?.of).toBe(0);
  expect(peakMb).toBeLessThan(atMostMb);
  expect(existsSync(join(folder, partsKey(id)))).toBe(true);
  const report = readFileSync(join(folder, reportKey(id)), 'utf8')
    .trimEnd()
    .split('\n');
  expect(report).toHaveLength(100_002);
  const places = report.slice(1, -1).map((row) => Number(row.split('","')[1]));
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(report.at(-1)).toMatch(/^"","","","and \d+ more"$/);
};

test(
  'two million rows of an export that are refused are counted in bounded memory, and send nothing',
  limit,
  async () => {
    const folder = temporaryFolder();
    const rows = lines(refused, (n) => `e${n},c${mixed(n)},u${mixed(n * 7)},student\n`);
    const enrollments = after('sourcedId,classSourcedId,userSourcedId,role\n', rows);
    const sis = { users: smallSis().users, classes: smallSis().classes, enrollments: [] };
    await writeZip(join(folder, 'export.zip'), replacing(sis, 'enrollments.csv', enrollments));
    await expectAllRefused(folder, 'export.zip');
  },
);

test(
  'two million rows of a table that are refused are counted in bounded memory, and send nothing',
  limit,
  async () => {
    const folder = temporaryFolder();
    const data = { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { from: 'ROLE', values: { S: 110 } } };
    const mapping = { messages: [{ function: 'enrollment-create', data, key: ['COURSE', 'LOGIN'] }] };
    writeFileSync(join(folder, 'snapshot-mapping.json'), JSON.stringify(mapping));
    const rows = lines(refused, (n) => `C${n % 5_000},u${n},X\n`);
    writeFileSync(join(folder, 'table.csv'), [...after('COURSE,LOGIN,ROLE\n', rows)].join(''));
    await expectAllRefused(folder, 'table.csv');
  },
);
