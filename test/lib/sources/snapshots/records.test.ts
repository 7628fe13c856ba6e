import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSetEngine } from '../../../../lib/runtime/files/tables/engine.ts';
import { type SnapshotRecord, stateKey } from '../../../../lib/sources/snapshots/state/record.ts';
import { removeTemporaryFolders } from '../../../temporary-folder.ts';
import { type Body, importDropped, newImports } from './imports.ts';
import { changed, enrollment, entriesOfSis, type Rows, result, type Sis, smallSis, zipOf } from './sis.ts';
import { stateRows } from './state-rows.ts';
import { sharedExports } from './universities.ts';

// What becomes of records of people and classes that merge, go, or cannot be used, and of results that go. Small universities share one
// export: the names of each are its own.

afterAll(removeTemporaryFolders);

const nights = [1, 2, 3, 4, 5, 6];
/** Of the others an export has all. */
const deltas = [3, 4, 5];

type Told = {
  /** As `grade-push BIO-101 Essay ada 17.5`. */
  sent(night: number): string[];
  bodies(night: number): Body[];
  /** Of its rows, as `enrollments userSourcedId is not an id`. */
  refused(night: number): string[];
};
type University = {
  title: string;
  exports: (sis: Required<Sis>) => Record<number, Sis>;
  expected: (told: Told) => void;
};

const active = { status: 'active' };
const deleted = { status: 'tobedeleted' };
const day = (number: number) => ({ dateLastModified: `2026-10-${number}T09:00:00Z` });
const without = (rows: Rows, ...ids: string[]): Rows =>
  rows.filter(({ sourcedId = '' }) => !ids.includes(sourcedId));

/** Another record of a person: at first by a name of its own, then by that of the record that stays. */
const other = { sourcedId: 'u-ada-2', username: 'ada2' };
const merged = { ...other, username: 'ada', ...deleted };
const asTeacher = enrollment('bio', 'ada-2', { role: 'teacher' });
/** As the platform may have kept what the other had, all is sent again. */
const allOfAda = [
  ...['ART-1', 'BIO-101'].map((code) => `enrollment-create ${code} ada 110`),
  'grade-push BIO-101 Essay ada 17.5',
];
const notUsed =
  'is not used, because its class or user is marked as deleted, and a row of the one that stays says otherwise';

const universities: University[] = [
  {
    title: 'two records that become one person leave the role of the one that stays, in an export of all',
    exports: ({ users, enrollments }) => ({
      1: { users: [...users, other], enrollments: [...enrollments, asTeacher] },
      2: { users: [...users, merged], enrollments: [...enrollments, asTeacher] },
      3: { enrollments: [{ ...asTeacher, ...deleted }] },
    }),
    expected: ({ sent, refused }) => {
      expect(refused(2)).toEqual([`enrollments role ${notUsed}`]);
      expect([2, 3].map(sent)).toEqual([allOfAda, []]);
    },
  },
  {
    title: 'two records that become one person leave the role of the one that stays, in an export of changes',
    exports: ({ users, enrollments }) => ({
      1: { users: [...users, other], enrollments: [...enrollments, asTeacher] },
      3: { users: [merged] },
      4: { enrollments: [enrollment('art', 'cleo', active)] },
      5: { enrollments: [{ ...asTeacher, ...deleted }] },
    }),
    expected: ({ sent }) =>
      expect([3, 4, 5].map(sent)).toEqual([allOfAda, ['enrollment-create ART-1 cleo 110'], []]),
  },
  {
    title: 'the enrollment of a record that becomes another person’s goes on by that name until its row goes',
    exports: ({ users, enrollments }) => {
      const once = without(enrollments, 'e-bio-ada');
      return {
        1: { users: [...users, other], enrollments: [...once, asTeacher] },
        2: { users: [...users, merged], enrollments: [...once, asTeacher] },
        5: { enrollments: [{ ...asTeacher, ...deleted }] },
      };
    },
    expected: ({ sent }) =>
      expect([2, 4, 5].map(sent)).toEqual([
        [allOfAda[0], 'enrollment-create BIO-101 ada 109', allOfAda[2]],
        [],
        ['enrollment-remove BIO-101 ada'],
      ]),
  },
  {
    title: 'two classes that become one leave the role of the one that stays',
    exports: ({ classes, enrollments }) => {
      const old = { sourcedId: 'c-old', title: 'Biology', classCode: 'BIO-101', ...deleted };
      const row = enrollment('old', 'ada', { role: 'teacher' });
      return { 2: { classes: [...classes, old], enrollments: [...enrollments, row] } };
    },
    expected: ({ sent, refused }) =>
      expect([sent(2), refused(2)]).toEqual([[], [`enrollments role ${notUsed}`]]),
  },
  {
    title: 'two records that become one person have the newer grade, whose ever it is',
    exports: ({ users }) => {
      const results = [result('essay', 'ada', '10', day(10)), result('essay', 'ada-2', '19', day(20))];
      return { 1: { users: [...users, other], results }, 2: { users: [...users, merged], results } };
    },
    expected: ({ sent, refused }) => {
      expect(sent(2)).toEqual([...allOfAda.slice(0, 2), 'grade-push BIO-101 Essay ada 19']);
      expect(refused(2)).toEqual([
        'results dateLastModified is before the time of the accepted grade, which stays. To send this one, export it with the time of its change',
        `results lineItemSourcedId ${notUsed}`,
      ]);
    },
  },
  {
    title: 'two records that become one person as their line item goes have the newer grade, by its words',
    exports: ({ users }) => ({
      1: {
        users: [...users, other],
        results: [result('essay', 'ada', '7', day(10)), result('essay', 'ada-2', '6', day(20))],
      },
      3: { users: [merged], lineItems: [{ sourcedId: 'l-essay', ...deleted }] },
    }),
    expected: ({ sent }) =>
      expect(sent(3)).toEqual([...allOfAda.slice(0, 2), 'grade-push BIO-101 Essay ada 6']),
  },
  {
    title: 'the grade of the record that stays is sent, though that of the other is there still',
    exports: ({ users }) => {
      const results = [result('essay', 'ada', '10', day(20)), result('essay', 'ada-2', '10', day(20))];
      const both = [...changed(users, 'u-ada', deleted), { ...other, username: 'ada' }];
      return {
        1: { users: both, results },
        3: { results: [result('essay', 'ada-2', '12', { ...day(21), ...active })] },
      };
    },
    expected: ({ sent }) => expect(sent(3)).toEqual(['grade-push BIO-101 Essay ada 12']),
  },
  {
    title: 'comments that the platform has of two names that become one are kept once, and cleared once',
    exports: ({ users }) => {
      const praised = (user: string) => result('essay', user, '10', { comment: 'Good', ...day(10) });
      return {
        1: { users: [...users, other], results: [praised('ada'), praised('ada-2')] },
        2: { users: [...users, other], results: [] },
        3: { users: [merged] },
        5: { results: [result('essay', 'ada', '11', { ...day(20), ...active })] },
      };
    },
    expected: ({ bodies }) =>
      expect(bodies(5).map(({ data }) => [data.userName, data.comments])).toEqual([['ada', '']]),
  },
  {
    title: 'a user that a delta deletes by its id alone keeps the name by which its rows are known',
    exports: () => ({
      3: { users: [{ sourcedId: 'u-ben', ...deleted }] },
      4: { enrollments: [enrollment('bio', 'ben', { role: 'teacher', ...active })] },
      5: { enrollments: [enrollment('bio', 'ben', deleted)] },
    }),
    expected: ({ sent, refused }) => {
      expect([3, 4, 5].map(refused)).toEqual([[], [], []]);
      expect([3, 4, 5].map(sent)).toEqual([
        [],
        ['enrollment-create BIO-101 ben 109'],
        ['enrollment-remove BIO-101 ben'],
      ]);
    },
  },
  {
    title:
      'a result that a delta deletes by its id alone is gone: when it comes back, its comment is cleared',
    exports: () => ({
      3: { results: [{ sourcedId: 'r-essay-ben', ...deleted }] },
      4: { results: [result('essay', 'ben', '4', { ...day(20), ...active })] },
      5: { results: [{ sourcedId: 'r-nobody', ...deleted }] },
    }),
    expected: ({ sent, bodies, refused }) => {
      expect([3, 4, 5].map(refused)).toEqual([[], [], []]);
      expect([sent(3), sent(5)]).toEqual([[], []]);
      expect(bodies(4).map(({ data }) => [data.userName, data.comments])).toEqual([['ben', '']]);
    },
  },
  {
    title: 'a result that an export of all marks as deleted by its id alone is refused nothing',
    exports: ({ results }) => ({
      2: { results: [...without(results, 'r-essay-ben'), { sourcedId: 'r-essay-ben', ...deleted }] },
    }),
    expected: ({ sent, refused }) => expect([sent(2), refused(2)]).toEqual([[], []]),
  },
  {
    title:
      'a user and a class whose row of a delta cannot be used are known as before, and are told until they can',
    exports: () => ({
      3: {
        users: [{ sourcedId: 'u-cleo', username: 'a\u0001b', ...active }],
        classes: [{ sourcedId: 'c-art', classCode: 'a\u0001b', ...active }],
      },
      4: { enrollments: [enrollment('art', 'cleo', active)] },
      5: {
        users: [{ sourcedId: 'u-cleo', username: 'cleo', ...active }],
        classes: [{ sourcedId: 'c-art', classCode: 'ART-1', ...active }],
      },
    }),
    expected: ({ sent, refused }) => {
      const problem = 'is not a name: it is too long, or has control characters';
      expect(refused(3)).toEqual([`classes classCode ${problem}`, `users username ${problem}`]);
      expect([3, 4, 5].map(sent)).toEqual([[], ['enrollment-create ART-1 cleo 110'], []]);
    },
  },
];

const { exportOf, bodiesOf, refusedOf } = sharedExports(universities, deltas);

type Night = { bodies: Body[]; report: string[]; owners: Map<string, string>; record: SnapshotRecord };
const nightly = new Map<number, Night>();
let state: string;
beforeAll(async () => {
  const { drop, bucket } = newImports({ maxChangesPercent: 100 });
  for (const night of nights) {
    const { zip, owners } = await exportOf(night);
    const { id, bodies, report, reasons, record } = await drop(zip);
    expect(reasons).toEqual([]);
    // Comments of two names that are one by then are kept.
    if (night === 4) state = bucket.at(stateKey(id));
    nightly.set(night, { bodies, report, owners, record });
  }
});

const at = (night: number): Night => {
  const found = nightly.get(night);
  if (found === undefined) throw new Error(`nothing is dropped in night ${night}`);
  return found;
};

const toldOf = (university: University): Told => {
  const bodies = (night: number) => bodiesOf(university, at(night));
  return {
    bodies,
    sent: (night) =>
      bodies(night)
        .map(({ type, data: { orgUnitCode, gradeObjectName, userName, roleId, grade } }) =>
          [type.split('.')[1], orgUnitCode, gradeObjectName, userName, roleId]
            .concat((grade as { points?: number } | undefined)?.points)
            .filter((part) => part !== undefined)
            .join(' '),
        )
        .sort(),
    refused: (night) => refusedOf(university, at(night)).sort(),
  };
};

test.each(universities)('$title', (university) => university.expected(toldOf(university)));

test('users and classes that were refused are counted, and are told by each delta until they are read', () => {
  const still = (night: number) => at(night).report.filter((told) => told.includes('are refused still'));
  expect(at(3).record.byKind).toMatchObject({ users: { refused: 1 }, classes: { refused: 1 } });
  expect([3, 4, 5].map(still)).toEqual([
    [],
    ['classes', 'users'].map(
      (name) =>
        `"${name}.csv","","","rows of earlier exports that are refused still: 1. Each is read again once a bulk file or a delta has it"`,
    ),
    [],
  ]);
});

test('the state has each thing once', async () => {
  const rows = (await stateRows(state)).filter(([kind = '']) => ['C', 'N', '1', 'O'].includes(kind));
  // The ids of classes and users differ.
  expect(new Set(rows.map(String)).size).toBe(rows.length);
});

const doubled: [string, string, string][] = [
  [
    'enrollments',
    `SELECT * REPLACE ('109' AS value) FROM was WHERE kind = '2' AND b = 'ada'`,
    '2 enrollments',
  ],
  ['names', `SELECT * REPLACE ('zoe' AS value) FROM was WHERE kind = 'N' AND key = 'u-ada'`, '1 names'],
  ['line items', `FROM was WHERE kind = '1' AND key = 'l-talk'`, '1 line items'],
];

test('a state that has something twice is refused by what it has', async () => {
  const { drop, bucket } = newImports();
  const zip = await zipOf(entriesOfSis(smallSis()));
  const { id } = await drop(zip);
  const path = bucket.at(stateKey(id));
  await rename(path, `${path}.whole`);
  for (const [what, more, count] of doubled) {
    {
      using sets = await openSetEngine({ folder: dirname(path), threads: 1 });
      await sets.run(`CREATE VIEW was AS FROM read_parquet('${path}.whole');
        COPY (FROM was UNION ALL BY NAME ${more}) TO '${path}' (FORMAT parquet)`);
    }
    const { examined } = await importDropped(bucket, {
      ...{ key: 'snapshots/export.zip', droppedMs: Date.UTC(2026, 11, 1) },
      content: await zipOf([...entriesOfSis(smallSis()), { name: 'readme.txt', content: what }]),
    });
    expect(examined.is === 'over' && examined.message).toBe(
      `The state of the last accepted snapshot has ${count} twice. Restore the object ${stateKey(id)} from an earlier version`,
    );
  }
});
