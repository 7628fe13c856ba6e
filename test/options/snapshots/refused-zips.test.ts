import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openExport } from '../../../lib/options/snapshots/package/oneroster-export.ts';
import { openZip, zipLimits } from '../../../lib/options/snapshots/package/zip.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../temporary-folder.ts';
import { manifestOf } from './exports.ts';
import { newImporter } from './packages.ts';
import { entriesOfSis, smallSis, zipOf } from './sis.ts';
import type { ZipEntry } from './zips.ts';

afterAll(removeTemporaryFolders);

const refusalOf = async (zip: Buffer, limits = zipLimits): Promise<string> => {
  const folder = temporaryFolder();
  const path = join(folder, 'export.zip');
  writeFileSync(path, zip);
  try {
    if (limits !== zipLimits) (await openZip(path, () => true, limits)).close();
    const opened = await openExport(path, folder);
    try {
      await opened.read('users', ['sourcedId']);
    } finally {
      await opened.close();
    }
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error('It is not refused');
};

const users = { name: 'users.csv', content: 'sourcedId,username\r\n' };
const within = (folder: string, ...entries: ZipEntry[]): ZipEntry[] =>
  entries.map((entry) => ({ ...entry, name: `${folder}${entry.name}` }));
const manifest = (content: string): ZipEntry => ({ name: 'manifest.csv', content });

test.each<[string, ZipEntry[], string]>([
  [
    'a table at its top beside a folder that has the package',
    [users, ...within('export/', ...entriesOfSis(smallSis()))],
    'The zip has "users.csv" at its top, but "manifest.csv" in the folder "export/". Put all files of the export into one place, and leave out the others',
  ],
  [
    'a table in a folder beside the others at its top',
    [users, ...within('old/', { ...users, name: 'classes.csv' })],
    'The zip has "users.csv" at its top, but "classes.csv" in the folder "old/". Put all files of the export into one place, and leave out the others',
  ],
  [
    'a table twice, in two cases',
    [users, { ...users, name: 'Users.csv' }],
    'The zip has "Users.csv" twice. Remove one of them',
  ],
  [
    'an export in two folders',
    [...within('a/', users), ...within('b/', users)],
    'The zip has an export in two folders, "a/" and "b/". Make one zip for each',
  ],
  [
    'a way out',
    within('../', users),
    'The zip cannot be read: invalid relative path: ../users.csv. Export it again',
  ],
  [
    'a damaged table',
    [{ ...users, claims: { sum: 1 } }],
    'users.csv in the zip is damaged: its checksum differs. Export it again',
  ],
  [
    'a table that is larger than it says',
    [{ ...users, content: 'a'.repeat(2_000), claims: { bytes: 1_000 } }],
    'users.csv in the zip is larger than the zip records. Export it again',
  ],
  [
    'an encrypted table',
    [{ ...users, claims: { flags: 9 } }],
    '"users.csv" in the zip is encrypted. Make the zip without a password',
  ],
  [
    'a table that does not unpack as it says',
    [{ ...users, claims: { method: 12 } }],
    'users.csv in the zip cannot be read: compression method 12 is not supported. Export it again',
  ],
  [
    'an empty table',
    [{ ...users, content: '' }],
    'users.csv is empty. It must have at least a header: export it again',
  ],
  [
    'a table without the column that it needs',
    [
      { ...users, content: 'id,username\n' },
      { ...users, name: 'classes.csv', content: 'sourcedId,title,classCode\n' },
    ],
    'users.csv has no column sourcedId. Export it, too',
  ],
  [
    'no table that has ids of OneRoster',
    [{ ...users, content: 'id,username\n' }],
    'The zip is not OneRoster: none of users.csv has ids by the names of that, such as sourcedId. Import each of its tables about enrollments by itself, with a mapping, which the comparison proposes (`sis-relay snapshots diff`)',
  ],
  [
    'tables of Canvas',
    [{ ...users, content: 'user_id,login_id,status\n' }],
    'The zip is not OneRoster: users.csv is a table of Canvas. Import each of its tables about enrollments by itself, with a mapping, which the comparison proposes (`sis-relay snapshots diff`)',
  ],
  [
    'a table that is not CSV',
    [{ ...users, content: 'sourcedId,username\nu,n\nu,n"1' }],
    'users.csv is not CSV from line 3 on: a quotation mark is inside a cell that does not begin with one. Export it again as CSV',
  ],
  [
    'a manifest with another word for a table',
    [users, manifest('propertyName,value\nfile.users,all\n')],
    'In manifest.csv, file.users must be bulk, delta or absent. Correct it',
  ],
  [
    'a manifest that names a table which is not there',
    [users, manifest(manifestOf({ classes: 'absent', lineItems: 'absent', enrollments: 'absent' }))],
    'In manifest.csv, file.results is bulk, but the zip has no results.csv. Correct one of them',
  ],
  [
    'a manifest that does not name a table which is there',
    [users, manifest('propertyName,value\nfile.users,absent\n')],
    'In manifest.csv, file.users is absent, but the zip has users.csv. Correct one of them',
  ],
  [
    'a manifest that is no manifest',
    [users, manifest(`propertyName,value\n${'x,y\n'.repeat(1_001)}`)],
    'manifest.csv has more than 1000 properties. Remove those that OneRoster does not name',
  ],
])('a zip with %s is refused, with the next step', async (_, entries, words) => {
  expect(await refusalOf(await zipOf(entries))).toBe(words);
});

test.each([
  ['no zip', Buffer.from('PK, but no zip')],
  ['empty', Buffer.alloc(0)],
  ['cut off', (await zipOf(entriesOfSis(smallSis()))).subarray(0, 900)],
])('a file that is %s is refused, with the next step', async (_, file) => {
  expect(await refusalOf(file)).toMatch(/^The zip cannot be read: .*[^.]\. Export it again$/);
});

test.each<[string, Partial<typeof zipLimits>, string]>([
  [
    'too many files',
    { maxEntries: 1 },
    'The zip has 2 files, but at most 1 are read. Leave out those that are no tables of the export',
  ],
  [
    'a table that is too large',
    { maxBytes: 9 },
    '"users.csv" in the zip is larger than 9 bytes. Export fewer rows, such as those of the current terms',
  ],
])('a zip with %s is refused, with the next step', async (_, limits, words) => {
  const zip = await zipOf([users, { ...users, name: 'classes.csv' }]);
  expect(await refusalOf(zip, { ...zipLimits, ...limits })).toBe(words);
});

test('a zip that grows too much is refused, with the next step', async () => {
  const zip = await zipOf([{ ...users, content: Buffer.alloc(2 * 1024 ** 2, 'a') }]);
  expect(await refusalOf(zip, { ...zipLimits, maxRatio: 2 })).toBe(
    '"users.csv" in the zip grows to more than 2 times its size, which no export does. Export it again',
  );
});

test('a first export whose files have only headers is refused by name, and a later one waits for a person', async () => {
  const { drop } = newImporter();
  const headers = { 'classes.csv': 'sourcedId,classCode\n', 'users.csv': 'sourcedId,username\n' };
  expect((await drop(headers)).refusal).toBe(
    'The zip has no rows, as classes.csv, users.csv have only headers. Export it again, with its rows',
  );
  expect((await drop({ ...headers, 'users.csv': 'sourcedId,username\nu,n\n' })).refusal).toBe('');
  expect((await drop(headers)).record.why).toBe('classes.csv has no rows; users.csv has no rows');
});
