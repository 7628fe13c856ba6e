import { afterAll, expect, test } from 'vitest';
import { mostlyRefused } from '../../../lib/options/snapshots/package/rows.ts';
import { snapshotSettings } from '../../../lib/options/snapshots/package/settings-file.ts';
import { removeTemporaryFolders } from '../../temporary-folder.ts';
import { newImports } from './imports.ts';
import { enrollment, entriesOfSis, smallSis, zipOf } from './sis.ts';

afterAll(removeTemporaryFolders);

const guardians = ['ada', 'ben', 'cleo', 'tess'].map((name) =>
  enrollment('art', name, { sourcedId: `e-guardian-${name}`, role: 'guardian' }),
);
const sis = smallSis();
const withGuardians = zipOf(entriesOfSis({ ...sis, enrollments: [...sis.enrollments, ...guardians] }));
const deltaOf = (enrollments: object[]) =>
  zipOf(entriesOfSis({ enrollments: enrollments as typeof sis.enrollments }, { enrollments: 'delta' }));

test('rows of a role that is not sent are left out, and do not count as refused', async () => {
  const { drop } = newImports({ rolesNotSent: ['guardian'] });
  const { record, report, reasons } = await drop(await withGuardians);
  expect([reasons, report]).toEqual([[], []]);
  expect(record.rows?.['enrollments.csv']).toEqual({ sent: 5, roleNotSent: 4 });
  expect(mostlyRefused(record)).toBeUndefined();
});

test('without the setting, they are refused', async () => {
  const { record } = await newImports().drop(await withGuardians);
  expect(record.rows?.['enrollments.csv']).toEqual({ sent: 5, unknownRole: 4 });
});

test('who gets such a role loses the enrollment, by a whole export and by a delta', async () => {
  for (const isDelta of [false, true]) {
    const { drop } = newImports({ rolesNotSent: ['guardian'] });
    await drop(await zipOf(entriesOfSis(sis)));
    const row = enrollment('bio', 'ada', { role: 'guardian' });
    const all = sis.enrollments.map((each) => (each.sourcedId === row.sourcedId ? row : each));
    const next = isDelta ? deltaOf([row]) : zipOf(entriesOfSis({ ...sis, enrollments: all }));
    const { bodies, report } = await drop(await next);
    expect(report).toEqual([]);
    expect(bodies.map(({ type, data }) => [type.split('.')[1], data.orgUnitCode, data.userName])).toEqual([
      ['enrollment-remove', 'BIO-101', 'ada'],
    ]);
  }
});

test('a role that becomes one ends with the next delta, and nothing else does', async () => {
  const { drop, set } = newImports();
  await drop(await zipOf(entriesOfSis(sis)));
  set({ roles: { student: 110 }, rolesNotSent: ['teacher'] });
  const { bodies } = await drop(await deltaOf([enrollment('art', 'ben')]));
  expect(bodies.map(({ type, data }) => `${type.split('.')[1]} ${data.userName}`).sort()).toEqual([
    'enrollment-create ben',
    'enrollment-remove tess',
  ]);
});

test('a role is sent or not: one of both lists is refused', () => {
  const { error } = snapshotSettings.safeParse({ roles: { student: 110 }, rolesNotSent: ['student'] });
  expect(error?.issues).toMatchObject([
    { path: ['rolesNotSent'], message: 'must name no role that "roles" has' },
  ]);
});
