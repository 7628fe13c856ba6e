import { expect, test } from 'vitest';
import { linesOf } from '../../../../lib/desk/cli/print/view.ts';
import type { OpenSnapshots } from '../../../../lib/options/snapshots/desk/open.ts';
import { snapshotStatus } from '../../../../lib/options/snapshots/desk/status.ts';
import { quietTerminal } from '../../../lib/desk/cli/typed.ts';
import { recordOf } from './waiting-import.ts';

const minutesAgo = (minutes: number): number => Date.now() - minutes * 60_000 - 100;

/** What is to be done first, as it is printed. */
const firstOf = (
  open: Partial<OpenSnapshots>,
  passed: Parameters<typeof snapshotStatus>[1] = [],
): string[] => {
  const all = { snapshots: [], waiting: [], troubled: [], quietFeeds: [], ...open };
  return linesOf(snapshotStatus(all, passed).first, { ...quietTerminal, width: 1_000 });
};

test('what waits for a person or is at work is told with its age and its command', () => {
  const droppedAt = new Date(minutesAgo(30)).toISOString();
  const snapshots = [
    recordOf({ id: 'waits', droppedAt, state: 'waiting-for-approval', why: '6.2 % would be removed' }),
    recordOf({ id: 'runs', droppedAt, state: 'sending' }),
  ];
  const passed = [2, 3].map((enrollments) => ({
    name: `u${enrollments}`,
    userId: 301,
    record: 'u-2',
    sinceMs: minutesAgo(50),
    enrollments,
    results: 1,
    courses: ['BIO-1', `ART-${enrollments}`],
  }));
  expect(firstOf({ snapshots }, passed)).toEqual([
    '2 user names have passed to another record of the SIS, and the crosswalk still gives the former account, for 50 min: 5 enrollments and 2 results in 3 courses wait',
    'sis-relay crosswalk moved',
    'Snapshot waits, put 30 min ago, waits for approval: 6.2 % would be removed',
    'sis-relay snapshots show waits',
    'Snapshot runs, put 30 min ago, is being sent.',
    'sis-relay snapshots show runs',
  ]);
});

test('an import that failed is said first, whatever else there is to do, with why and the command; then what waits behind another', () => {
  const key = 'snapshots/nightly.zip';
  const putAt = new Date(minutesAgo(5)).toISOString();
  const troubled: OpenSnapshots['troubled'] = [
    { key, putAt, versionId: 'v1', id: 'an-id', is: 'failed', why: 'The file is not a zip' },
    { key: 'snapshots/a.csv', putAt, is: 'cut off' },
    {
      key: 'snapshots/b.csv',
      putAt,
      id: 'b-id',
      is: 'partly refused',
      why: 'of 120 rows of b.csv, 8 were refused; most often: STATUS: "Registered" is named by no "when"',
    },
  ];
  const waiting = [1, 2, 3, 4].map((at) => ({ key, putAt, sizeBytes: at, behind: 'an-id' }));
  expect(firstOf({ troubled, waiting })).toEqual([
    '✗ The import of snapshots/nightly.zip, version v1, put 5 min ago, failed: The file is not a zip',
    '→ Correct what it names, and put the file into the bucket again, or a newer export',
    'sis-relay snapshots show an-id',
    '✗ The import of snapshots/a.csv, put 5 min ago, ended without a result: its execution was stopped, or its time ended',
    '→ Put the file into the bucket again, or a newer export',
    'sis-relay snapshots list',
    'The import of snapshots/b.csv, put 5 min ago, is accepted without some of its rows: of 120 rows of b.csv, 8 were refused; most often: STATUS: "Registered" is named by no "when"',
    '→ Correct these rows in the student system, or name their codes in the mapping or the settings, and put the file again. This is shown until a file of its feed has no refused row',
    'sis-relay snapshots show b-id',
    ...['1 byte', '2 bytes', '3 bytes'].map((size) => `${key}, ${size}, put 5 min ago, waits behind an-id`),
    'And 1 more file waits.',
    'sis-relay snapshots list',
  ]);
});

test('a file that is empty is told as one whose content is awaited', () => {
  const putAt = new Date(minutesAgo(0)).toISOString();
  expect(firstOf({ waiting: [{ key: 'snapshots/a.csv', putAt, sizeBytes: 0 }] })[0]).toBe(
    'snapshots/a.csv, put <1 min ago, is empty, and waits a minute for its content',
  );
});

test('files that have not come for long are information, unless they hold something back; those of one pattern are ended together', () => {
  const droppedAt = new Date(Date.now() - 20 * 86_400_000 - 100).toISOString();
  const quiet = { name: 'last term.csv', id: 'an-id', droppedAt, heldBack: 0 };
  expect(firstOf({ quietFeeds: [quiet] })).toEqual([]);
  const once = { ...quiet, pattern: 'backfill-*.csv' };
  const backfills = ['backfill-1.csv', 'backfill-2.csv'].map((name) => ({ ...once, name, heldBack: 1 }));
  expect(firstOf({ quietFeeds: [{ ...quiet, heldBack: 1_200 }, ...backfills] })).toEqual([
    "last term.csv came 20 d ago, and others have come since. 1,200 enrollments that other files have no more are kept, until it comes again or is ended by `sis-relay snapshots end 'last term.csv'`",
    "2 files of backfill-*.csv came 20 d ago, once, by the settings. 2 enrollments that other files have no more are kept, until they are ended by `sis-relay snapshots end 'backfill-*.csv'`",
  ]);
});

test('what could not be read is said to be unknown', () => {
  expect(snapshotStatus(undefined, undefined)).toMatchObject({
    facts: { troubledImports: undefined },
    unknown: 'What became of imports could not be read.',
  });
});
