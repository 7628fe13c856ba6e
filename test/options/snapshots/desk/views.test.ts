import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { linesOf } from '../../../../lib/desk/cli/print/view.ts';
import { compareHere } from '../../../../lib/options/snapshots/desk/compare-here.ts';
import type { ShownSnapshot } from '../../../../lib/options/snapshots/desk/read.ts';
import { diffView, snapshotView } from '../../../../lib/options/snapshots/desk/views/snapshots.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';
import { quietTerminal } from '../../../lib/desk/cli/typed.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../temporary-folder.ts';
import { newStage } from '../oracle/stage.ts';
import { enrollment, entriesOfSis, smallSis, zipOf } from '../sis.ts';
import { recordOf } from './waiting-import.ts';

afterAll(removeTemporaryFolders);

const shownOf = (changes: Partial<ShownSnapshot>): string[] => {
  const shown = { ...recordOf(), removed: [], isAccepted: false, refusedRows: [], report: undefined };
  return linesOf(snapshotView({ ...shown, ...changes }), { ...quietTerminal, width: 1_000 });
};

test('what a table of changes removes is told as a number, with the number from which on a person decides', async () => {
  const { put, bucket, crosswalk } = newStage({ maxRemovalsPercent: 5 });
  const data = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
  const removed = { function: 'enrollment-remove', when: { ACTION: ['DROP'] }, data };
  const message = {
    function: 'enrollment-create',
    when: { ACTION: ['ADD'] },
    data: { ...data, roleId: { value: 110 } },
    key: ['COURSE', 'LOGIN'],
    removed,
  };
  bucket.write('snapshot-mapping.json', JSON.stringify({ mode: 'delta', messages: [message] }));
  const names = Array.from({ length: 23 }, (_, at) => `n${at}`);
  crosswalk.fill('orgUnitCode', { BIO: 2601 });
  crosswalk.fill('userName', Object.fromEntries(names.map((name, at) => [name, 200 + at])));
  const table = (action: string, some: string[]) =>
    ['ACTION,COURSE,LOGIN', ...some.map((name) => `${action},BIO,${name}`), ''].join('\n');
  await put('c.csv', table('ADD', names));
  const { removals, reasons } = await put('c.csv', table('DROP', names.slice(0, 9)));
  expect(reasons).toEqual([]);
  expect(shownOf({ removals })).toContain(
    'Removals: 9 of 23 enrollments (39.1 %). In a table of changes, a person decides from 10 on, if they are more than 5 %.',
  );
});

test('of a file of which most rows are refused, the rejection is next, and what to correct before', () => {
  const rows = { 'a.csv': { used: 20, unknownValue: 100 } };
  const { id } = recordOf();
  const open = { id, state: 'waiting-for-approval' as const };
  const [said, next, or] = shownOf({ ...open, rows }).slice(-3);
  expect(said).toMatch(/^Most rows are refused, .* Then reject this, and put the file again\.$/);
  expect([next, or]).toEqual([
    `Next: sis-relay snapshots reject ${id} --reason "…"`,
    `  or: sis-relay snapshots approve ${id}`,
  ]);
  expect(shownOf(open).slice(-2)[0]).toBe(`Next: sis-relay snapshots approve ${id}`);
});

test('rows that are refused for one reason are one line, with their number; codes that are left out are counted', async () => {
  const { put, bucket } = newStage();
  const message = {
    function: 'enrollment-create',
    when: { STATUS: { is: ['RE'], not: 'others' } },
    data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { value: 110 } },
    time: 'DATE',
    key: ['COURSE', 'LOGIN'],
  };
  bucket.write('snapshot-mapping.json', JSON.stringify({ messages: [message] }));
  const statuses = [...Array(12).fill('RE'), ...Array(11).fill('DR'), ...Array(4).fill('WL'), ''];
  const rows = statuses.map(
    (status, at) => `BIO,n${at},${status},${at < 10 ? 'NULL' : '2026-11-01T02:00:00Z'}`,
  );
  const {
    refusals,
    rows: counts,
    excluded,
  } = await put('t.csv', ['COURSE,LOGIN,STATUS,DATE', ...rows, ''].join('\n'));
  const refusedRows = [{ file: 't.csv', line: '2', column: 'DATE', problem: 'x' }];
  const shown = shownOf({ refusals, rows: counts, excluded, refusedRows });
  expect(shown).toContain(
    't.csv: 2 used by the mapping, 16 that no message of the mapping is for (STATUS: DR 11, WL 4, (empty) 1), 10 refused.',
  );
  expect(shown.join('\n')).not.toMatch(/letter by letter|The report lists/);
  expect(shown.filter((line) => line.includes('DATE'))).toEqual([
    expect.stringMatching(/t\.csv, first in line 2, DATE: .* \(10 rows\)$/),
  ]);
});

const header = 'COURSE,LOGIN';
const whom = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
const mappingOf = {
  function: 'enrollment-create',
  data: { ...whom, roleId: { value: 110 } },
  key: ['COURSE', 'LOGIN'],
};
const removing = { ...mappingOf, removed: { function: 'enrollment-remove', data: whom } };
const sis = { ...smallSis(), results: [], lineItems: [] };
const zipWith = (...enrollments: ReturnType<typeof enrollment>[]) =>
  zipOf(entriesOfSis({ ...sis, enrollments }));

test.each([
  ['a.csv', `${header}\nBIO-101,ada\nBIO-101,ben\nART-1,cleo\n`, `${header}\nBIO-101,ada\n`],
  [
    'a.zip',
    await zipWith(enrollment('bio', 'ada'), enrollment('bio', 'ben'), enrollment('art', 'cleo')),
    await zipWith(enrollment('bio', 'ada')),
  ],
])(
  'before %s is put, whom it would remove is named, and how many of each course',
  async (name, first, second) => {
    const { put, bucket, crosswalk } = newStage();
    bucket.write('snapshot-mapping.json', JSON.stringify({ messages: [removing] }));
    crosswalk.fill('orgUnitCode', { 'BIO-101': 2601, 'ART-1': 2602 });
    crosswalk.fill('userName', { ada: 101, ben: 102, cleo: 103 });
    await put(name, first);
    const file = join(temporaryFolder(), name);
    writeFileSync(file, second);
    const integrations = await loadIntegrations();
    const found = await compareHere({ file, store: bucket.store, integrations, takeReport: async () => {} });
    const { record, ...compared } = found;
    const shown = linesOf(diffView({ ...record, ...compared, refusedRows: [] }), {
      ...quietTerminal,
      width: 1_000,
    });
    const at = shown.findIndex((line) => line.startsWith('It would remove'));
    expect(shown.slice(at, at + 4).map((line) => line.trim())).toEqual([
      'It would remove 2 enrollments, such as:',
      'cleo in ART-1',
      'ben in BIO-101',
      'By course: ART-1 1, BIO-101 1.',
    ]);
  },
);
