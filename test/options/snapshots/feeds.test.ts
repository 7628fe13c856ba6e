import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { surveyTables } from '../../../lib/options/snapshots/desk/tables.ts';
import { declarationOf, feedFor, isNumberedLike } from '../../../lib/options/snapshots/feed.ts';
import { formatOf, mappingToStartFrom } from '../../../lib/options/snapshots/package/formats.ts';
import { firstIsQuick } from '../../first-is-quick.ts';
import { typed } from '../../lib/desk/cli/typed.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../temporary-folder.ts';
import { newStage } from './oracle/stage.ts';
import { changed, enrollment, entriesOfSis, smallSis, zipOf } from './sis.ts';

afterAll(removeTemporaryFolders);

test.each([
  ['snapshots/a.csv', {}, 'a.csv'],
  ['snapshots/2026/11/27/a.csv', {}, 'a.csv'],
  ['snapshots/north/a.csv', {}, 'north/a.csv'],
  ['snapshots/any.zip', {}, 'oneroster'],
  ['snapshots/2026-11-27/any.zip', {}, 'oneroster'],
  ['snapshots/north/roster.zip', {}, 'north.zip'],
  // A bare number is no date: schools have numbers.
  ['snapshots/0451/sections.csv', {}, '0451/sections.csv'],
  ['snapshots/0451/roster.zip', {}, '0451.zip'],
  ['snapshots/20261399/a.csv', {}, '20261399/a.csv'],
  ['snapshots/2026-02-30/a.csv', {}, '2026-02-30/a.csv'],
  ['snapshots/0451/2026/11/28/a.csv', {}, '0451/a.csv'],
  ['snapshots/2026/11/28/0451/a.csv', {}, '0451/a.csv'],
  ['snapshots/2026/a.csv', {}, '2026/a.csv'],
  ['snapshots/20261128/a.csv', {}, 'a.csv'],
  ['snapshots/20261128T020000/a.csv', {}, 'a.csv'],
  ['snapshots/2026-11-28T02:00:00Z/a.csv', {}, 'a.csv'],
  ['snapshots/2026-11-28_02-00/a.csv', {}, 'a.csv'],
  ['snapshots/28.11.2026/a.csv', {}, 'a.csv'],
  ['snapshots/11-28-2026/a.csv', {}, 'a.csv'],
  ['snapshots/a_20261127.csv', { 'a.csv': ['a_*.csv'] }, 'a.csv'],
  ['snapshots/x/a_20261127.csv', { 'a.csv': ['a_*.csv'] }, 'a.csv'],
  ['snapshots/x/a.csv', { 'b.csv': ['y/*'] }, 'x/a.csv'],
  ['snapshots/school-12_20261127.csv', { 'school-{}.csv': ['school-{}_*.csv'] }, 'school-12.csv'],
  ['snapshots/north-20261127.zip', { '{}.zip': ['{}-*.zip'], 'n.csv': ['*'] }, 'north.zip'],
])('the file %s has by %j the feed %s', (key, declared, feed) => expect(feedFor(key, declared)).toBe(feed));

test.each([
  ['a_20261128.csv', 'a_20261127.csv', { 'a.csv': ['a_*.csv'] }],
  ['a_Dec.csv', 'a_Nov.csv', { 'a.csv': ['a_*.csv'] }],
  ['a_2027-01-02.csv', 'a_2026-11-30.csv', { 'a.csv': ['a_*.csv'] }],
  ['a_01-Dec-2026.csv', 'a_30-Nov-2026.csv', { 'a.csv': ['a_*.csv'] }],
  ['a Tuesday.csv', 'a Monday.csv', { 'a.csv': ['a *.csv'] }],
  ['school-12_20261128.csv', 'school-12_20261127.csv', { 'school-12.csv': ['school-12_*.csv'] }],
  ['0451/a_2.csv', '0451/a_1.csv', { '0451/a.csv': ['0451/a_*.csv'] }],
  // Without a separator, a pattern could take the files of others.
  ['20261128.csv', '20261127.csv', { '20261127.csv': ['20261127.csv', '20261128.csv'] }],
  ['term2.csv', 'term1.csv', { 'term1.csv': ['term1.csv', 'term2.csv'] }],
  ['final.csv', 'first.csv', { 'first.csv': ['first.csv', 'final.csv'] }],
])('what makes %s and %s one feed declares both', (one, other, declared) => {
  expect(declarationOf(one, other)).toEqual(declared);
  expect(feedFor(`snapshots/${one}`, declared)).toBe(feedFor(`snapshots/${other}`, declared));
});

test('what makes two files one feed takes no other file that is known, and keeps what is declared', () => {
  expect(declarationOf('BIO-2.csv', 'BIO-1.csv', { known: ['BIO-1.csv', 'BIO-final.csv'] })).toEqual({
    'BIO-1.csv': ['BIO-1.csv', 'BIO-2.csv'],
  });
  expect(declarationOf('c.csv', 'a.csv', { declared: { 'a.csv': ['a.csv', 'b.csv'] } })).toEqual({
    'a.csv': ['a.csv', 'b.csv', 'c.csv'],
  });
  const zips = declarationOf('new.zip', 'old.zip');
  expect(['old', 'new'].map((folder) => feedFor(`snapshots/${folder}/roster.zip`, zips))).toEqual([
    'old.zip',
    'old.zip',
  ]);
});

test.each([
  ['a_Nov.csv', 'a_Dec.csv', true],
  ['a_30-Nov-2026.csv', 'a_01-Dec-2026.csv', true],
  ['Roster (Mon).csv', 'Roster (Sun).csv', true],
  ['Friday.csv', 'Wednesday.csv', true],
  ['monitor.csv', 'tutor.csv', false],
  ['0451/a.csv', '0452/a.csv', false],
  ['2026/10/a.csv', '2026/11/a.csv', true],
])('the names of months and days count as numbers, those of folders do not: %s, %s', (one, other, alike) =>
  expect(isNumberedLike(one, other)).toBe(alike),
);

const messages = [
  {
    function: 'enrollment-create',
    when: { ACTION: ['ADD'] },
    data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { value: 110 } },
    key: ['COURSE', 'LOGIN'],
    removed: { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', userName: 'LOGIN' } },
  },
];
const table = (...rows: string[]): string => ['ACTION,COURSE,LOGIN', ...rows, ''].join('\n');
const newFiles = (mapping: object = { messages }, settings: object = {}) => {
  const stage = newStage(settings);
  stage.bucket.write('snapshot-mapping.json', JSON.stringify(mapping));
  stage.crosswalk.fill('orgUnitCode', { BIO: 2601, 'BIO-101': 2601 });
  stage.crosswalk.fill('userName', { ada: 101, ben: 102, cleo: 103 });
  return stage;
};

describe('a feed', () => {
  test('whose files have dates in their names is held, until the settings name it; then it is compared with the one before', async () => {
    const { put, platform, set } = newFiles();
    await put('a_20261127.csv', table('ADD,BIO,ada', 'ADD,BIO,ben'));
    const held = await put('a_20261128.csv', table('ADD,BIO,ada'));
    expect(held.reasons).toEqual([expect.stringContaining('declare "feeds":{"a.csv":["a_*.csv"]}')]);
    set({ feeds: { 'a.csv': 'a_*.csv' } });
    await put('a_20261128.csv', table('ADD,BIO,ada'), { isApproved: true });
    await put('a_20261129.csv', table('ADD,BIO,ada', 'ADD,BIO,cleo'));
    expect(platform.all()).toEqual(['2601 101 110', '2601 103 110']);
  });

  test('is that of its folder: two schools that put zips, or tables of one name, take nothing from each other', async () => {
    const { put, platform, bucket } = newFiles();
    const of = async (name: string) =>
      zipOf(
        entriesOfSis({ ...smallSis(), enrollments: [enrollment('bio', name)], results: [], lineItems: [] }),
      );
    const first = await put('north/roster.zip', await of('ada'));
    const second = await put('south/roster.zip', await of('ben'));
    await put('north/t.csv', table('ADD,BIO,cleo'));
    const fourth = await put('south/t.csv', table('ADD,BIO,ada'));
    expect([first, second, fourth].map(({ reasons }) => reasons)).toEqual([[], [], []]);
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110', '2601 103 110']);
    const accepted = await bucket.store.keysUnder('snapshot-records/accepted/');
    expect(accepted.map((key) => key.replace('snapshot-records/', ''))).toEqual([
      'accepted/north%2Ft.csv.json',
      'accepted/north.zip.json',
      'accepted/south%2Ft.csv.json',
      'accepted/south.zip.json',
    ]);
  });
});

describe('the limit of removals', () => {
  const rowsOf = (course: string, count: number): string[] =>
    Array.from({ length: count }, (_, at) => `ADD,${course},n${at}`);
  const twoFeeds = async (ofSmall: number) => {
    const stage = newFiles({ messages }, { maxRemovalsPercent: 5 });
    stage.crosswalk.fill('orgUnitCode', { BIO: 2601, ART: 2602 });
    stage.crosswalk.fill(
      'userName',
      Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`n${at}`, 200 + at])),
    );
    await stage.put('large.csv', table(...rowsOf('BIO', 400)));
    await stage.put('small.csv', table(...rowsOf('ART', ofSmall)));
    return stage;
  };

  firstIsQuick([
    [20, 10],
    [20, 0],
    [3, 2],
  ])('is that of a feed: of %i rows among 400 of another, it may not keep %i unasked', async (had, has) => {
    const { put, platform } = await twoFeeds(had);
    const before = platform.all();
    const { reasons } = await put('small.csv', table(...rowsOf('ART', has)));
    expect(reasons).toContain(`${had - has} of ${had} enrollments of small.csv would be removed`);
    expect(platform.all()).toEqual(before);
  });

  test('lets a feed lose less than that', { tags: ['long'] }, async () => {
    const { put } = await twoFeeds(20);
    expect((await put('small.csv', table(...rowsOf('ART', 19)))).reasons).toEqual([]);
  });
});

test('a first file of which most rows are refused waits for a person', async () => {
  const { put, platform } = newFiles();
  const refused = Array.from({ length: 18 }, (_, at) => `ADD,,n${at}`);
  const { reasons } = await put('t.csv', table('ADD,BIO,ada', 'ADD,BIO,ben', ...refused));
  expect(reasons).toEqual(['of 20 rows of t.csv, 18 were refused']);
  expect(platform.all()).toEqual([]);
});

describe('a row with a separator inside a cell', () => {
  const header = 'COURSE,NAME,LOGIN,ACTION,NOTE';
  const lines = (end: string, ...rows: string[]): string =>
    [header + end, ...rows.map((row) => row + end), ''].join('\n');
  firstIsQuick([[''], [',']])(
    'ends nothing and adds nothing, and is named, with %j behind each row',
    async (end) => {
      const { put, platform } = newFiles({ messages: [{ ...messages[0], when: undefined }] });
      await put('t.csv', lines(end, 'BIO,Ada,ada,,', 'BIO,Ben,ben,,', 'BIO,Cleo,cleo,,'));
      const before = platform.all();
      const { report } = await put(
        't.csv',
        lines(end, 'BIO,Ada,ada,,', 'BIO,cleo,ben,ben,,', 'BIO,Cleo,cleo,,'),
      );
      expect(platform.all()).toEqual(before);
      expect(report).toContainEqual(expect.stringMatching(/^"t.csv","3",.*a separator may be inside a cell/));
    },
  );

  firstIsQuick([
    [['BIO,Ada,ada,,x', 'BIO,Ben,ben,,x,']],
    [['BIO,Ada,ada,,,', 'BIO,Ben,ben,,,']],
    [['BIO,Ada,ada,,', 'BIO,Ben,ben,,,']],
  ])('is no row with an empty cell behind the last column: %j', async (rows) => {
    const { put, platform } = newFiles({ messages: [{ ...messages[0], when: undefined }] });
    await put('t.csv', lines('', ...rows));
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
  });
});

describe('a table of changes', () => {
  const dropping = [{ ...messages[0], removed: { ...messages[0]?.removed, when: { ACTION: ['DROP'] } } }];
  const twoMessages = {
    mode: 'delta',
    messages: [
      { ...messages[0], removed: undefined },
      {
        function: 'enrollment-remove',
        when: { ACTION: ['DROP'] },
        data: { orgUnitCode: 'COURSE', userName: 'LOGIN' },
        key: ['COURSE', 'LOGIN'],
      },
    ],
  };
  firstIsQuick<[string, object]>([
    ['a message for each', twoMessages],
    ['a removal', { mode: 'delta', messages: dropping }],
  ])(
    'with a column for add and drop, by %s, changes what its rows name, and nothing else',
    async (_, mapping) => {
      const { put, platform } = newFiles(mapping, { maxRemovalsPercent: 5 });
      await put('c.csv', table('ADD,BIO,ada', 'ADD,BIO,ben'));
      const second = await put('c.csv', table('DROP,BIO,ada', 'ADD,BIO,cleo'));
      expect(second.reasons).toEqual([]);
      expect(platform.all()).toEqual(['2601 102 110', '2601 103 110']);
      // The last row about one thing counts.
      await put('c.csv', table('ADD,BIO,ada', 'DROP,BIO,ada', 'DROP,BIO,ben', 'ADD,BIO,ben'));
      expect((await put('c.csv', table())).bodies).toEqual([]);
      expect(platform.all()).toEqual(['2601 102 110', '2601 103 110']);
    },
  );

  firstIsQuick<[string, object]>([
    ['a message for each', twoMessages],
    ['a removal', { mode: 'delta', messages: dropping }],
    ['a removal of which nothing is said', { mode: 'delta', messages }],
  ])('ends nothing by a value that its mapping, by %s, does not name, and says so', async (_, mapping) => {
    const { put, platform } = newFiles(mapping, { maxRemovalsPercent: 5 });
    await put('c.csv', table('ADD,BIO,ada', 'ADD,BIO,ben', 'ADD,BIO,cleo'));
    const before = platform.all();
    const { report, bodies, rows, byKind } = await put(
      'c.csv',
      table('add,BIO,ada', 'WL,BIO,ben', ',BIO,cleo'),
    );
    expect(bodies).toEqual([]);
    expect(platform.all()).toEqual(before);
    expect(report).toEqual([
      expect.stringMatching(/^"c.csv","","ACTION",""""" is named by no ""when"" .* \(1 row, in line 4\)/),
      expect.stringMatching(/^"c.csv","","ACTION","""WL"" is named by no ""when"" .* \(1 row, in line 3\)/),
      expect.stringMatching(/^"c.csv","","ACTION","""add"" is named by no ""when"" .* \(1 row, in line 2\)/),
    ]);
    expect(rows).toEqual({ 'c.csv': { used: 0, unknownValue: 3 } });
    expect(byKind?.['enrollment-create']).toMatchObject({ refused: 3 });
    // What it did not name is still held by its key.
    expect((await put('c.csv', table('ADD,BIO,ada'))).bodies).toEqual([]);
  });

  test('that ends much waits for a person', async () => {
    const { put, crosswalk } = newFiles({ mode: 'delta', messages: dropping }, { maxRemovalsPercent: 5 });
    const ids = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`n${at}`, 200 + at]));
    crosswalk.fill('userName', ids);
    const rows = Object.keys(ids).map((name) => `BIO,${name}`);
    await put('c.csv', table(...rows.map((row) => `ADD,${row}`)));
    const { reasons } = await put('c.csv', table(...rows.slice(1).map((row) => `DROP,${row}`)));
    expect(reasons).toEqual(['11 of 12 enrollments would be removed']);
  });
});

describe('the key of a row', () => {
  const strip = ['spaces', 'formula', 'hash'];
  const dropping = [{ ...messages[0], removed: { ...messages[0]?.removed, when: { ACTION: ['DROP'] } } }];
  const changes = { mode: 'delta', cells: { strip }, messages: dropping };
  const folded = [
    { ...dropping[0], data: { ...messages[0]?.data, userName: { from: 'LOGIN', case: 'lower' } } },
  ];
  const adding = (...names: string[]): string => table(...names.map((name) => `ADD,BIO,${name}`));

  firstIsQuick<[string, string, object]>([
    ['="ada"', 'DROP,BIO,ada', changes],
    ['="ada"', 'DROP,BIO,ada ', changes],
    ['ada', 'DROP,BIO,"=""ada"""', changes],
    ['Ada', 'DROP,BIO,ADA', { mode: 'delta', messages: folded }],
  ])('is read as what is sent: of %s, the row %s ends the enrollment', async (login, row, mapping) => {
    const { put, platform } = newFiles(mapping);
    await put('c.csv', adding(login, 'ben'));
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
    const { rows } = await put('c.csv', table(row));
    expect(platform.all()).toEqual(['2601 102 110']);
    expect(rows).toEqual({ 'c.csv': { used: 1 } });
  });

  test('of which a drop finds nothing is counted, unless another row of the file has it', async () => {
    const { put, platform } = newFiles(changes);
    await put('c.csv', adding('ada'));
    const { rows, bodies } = await put(
      'c.csv',
      table('DROP,BIO,nobody', 'DROP,BIO,ben', 'ADD,BIO,cleo', 'DROP,BIO,cleo'),
    );
    expect(bodies).toEqual([]);
    expect(rows).toEqual({ 'c.csv': { used: 2, endedNothing: 2 } });
    expect(platform.all()).toEqual(['2601 101 110']);
  });

  test('has rows of both kinds in a whole file: what it had stays, and the other rows are counted apart', async () => {
    const when = { ACTION: { is: ['ADD'], not: ['DROP'] } };
    const { put, platform } = newFiles({ messages: [{ ...messages[0], when }] });
    const { rows } = await put('t.csv', table('ADD,BIO,ada', 'DROP,BIO,ada', 'DROP,BIO,ben'));
    expect(platform.all()).toEqual(['2601 101 110']);
    expect(rows).toEqual({ 't.csv': { used: 1, keyUsed: 1, withoutMessage: 1 } });
  });

  test('has rows of both kinds in a whole export of OneRoster: what it had stays, and the other rows are counted apart', async () => {
    const { put, platform } = newFiles();
    const deleted = { status: 'tobedeleted' };
    const enrollments = [
      enrollment('bio', 'ada'),
      enrollment('bio', 'ada', deleted),
      enrollment('bio', 'ben', deleted),
    ];
    const sis = { ...smallSis(), enrollments, lineItems: [], results: [] };
    const { rows } = await put('roster.zip', await zipOf(entriesOfSis(sis)));
    expect(platform.all()).toEqual(['2601 101 110']);
    expect(rows?.['enrollments.csv']).toEqual({ sent: 1, keyUsed: 1, deleted: 1 });
  });

  describe('of a state that was accepted while keys were read as they are written', () => {
    const written = ['="ada"', '#ben', 'cleo'];
    const plain = ['ada', 'ben', 'cleo'];
    const accepted = async (mapping: object) => {
      const { bucket, ...stage } = newFiles(mapping);
      const ids = [...written, ...plain].map((name, at) => [name, 101 + (at % 3)]);
      stage.crosswalk.fill('userName', Object.fromEntries(ids));
      await stage.put('t.csv', adding(...written));
      expect(stage.platform.all()).toEqual(['2601 101 110', '2601 102 110', '2601 103 110']);
      bucket.write('snapshot-mapping.json', JSON.stringify({ ...mapping, cells: { strip } }));
      return stage;
    };

    test('nothing is removed, and nobody is enrolled again, with the keys as they were or without what protects them', async () => {
      const { put, platform } = await accepted({ messages });
      for (const names of [written, plain, written.toReversed()]) {
        const { byKind, reasons } = await put('t.csv', adding(...names));
        expect(reasons).toEqual([]);
        expect(byKind?.['enrollment-create']).toMatchObject({ created: 0, removed: 0 });
      }
      expect(platform.all()).toEqual(['2601 101 110', '2601 102 110', '2601 103 110']);
      await put('t.csv', adding('ada', '="cleo"'));
      expect(platform.all()).toEqual(['2601 101 110', '2601 103 110']);
    });

    test('a drop ends what it names, and what no row names stays', async () => {
      const { put, platform } = await accepted({ mode: 'delta', messages: dropping });
      expect((await put('t.csv', table())).bodies).toEqual([]);
      await put('t.csv', table('DROP,BIO,ada', 'DROP,BIO,="ben"'));
      expect(platform.all()).toEqual(['2601 103 110']);
    });

    test('what was created is not created again', async () => {
      const object = {
        function: 'grade-object-create',
        data: {
          orgUnitCode: 'COURSE',
          name: { from: 'LOGIN', strip },
          type: { value: 'numeric' },
          maxPoints: { value: 10 },
        },
        key: ['COURSE', 'LOGIN'],
      };
      const { put, bucket } = newFiles({
        messages: [{ ...object, data: { ...object.data, name: 'LOGIN' } }],
      });
      expect((await put('t.csv', adding(...plain))).bodies).toHaveLength(3);
      bucket.write('snapshot-mapping.json', JSON.stringify({ messages: [object] }));
      for (const names of [plain, written]) expect((await put('t.csv', adding(...names))).bodies).toEqual([]);
    });

    test('two that are one by now end with one drop', async () => {
      const { put, platform, bucket, crosswalk } = newFiles({ mode: 'delta', messages: dropping });
      crosswalk.fill('userName', { ada: 101, ben: 102, '#ada': 104 });
      await put('t.csv', adding('ada', '#ada', 'ben'));
      bucket.write('snapshot-mapping.json', JSON.stringify(changes));
      expect((await put('t.csv', table())).bodies).toEqual([]);
      await put('t.csv', table('DROP,BIO,ada'));
      expect(platform.all()).toEqual(['2601 102 110']);
    });
  });
});

describe('a word that stands for nothing', () => {
  const adding = (...names: string[]): string => table(...names.map((name) => `ADD,BIO,${name}`));

  firstIsQuick([['NULL'], ['\\N'], ['N/A']])(
    'is no id: a row with %s for a user is refused, and protects what was accepted of its course',
    async (word) => {
      const { put, platform } = newFiles();
      await put('t.csv', adding('ada', 'ben', 'cleo'));
      const { rows, report, bodies } = await put('t.csv', adding('ada', 'ben', word));
      expect(bodies).toEqual([]);
      expect(platform.all()).toEqual(['2601 101 110', '2601 102 110', '2601 103 110']);
      expect(rows).toEqual({ 't.csv': { used: 2, refused: 1 } });
      expect(report[0]).toContain(`"4","LOGIN","is ${word}, which stands for nothing`);
      // Nor is a part of one.
      const joined = { ...messages[0], data: { ...messages[0]?.data, orgUnitCode: '{COURSE}.{LOGIN}' } };
      const other = newFiles({ messages: [joined] });
      expect((await other.put('t.csv', adding(word))).rows).toEqual({ 't.csv': { used: 0, refused: 1 } });
    },
  );

  test('that was accepted as an id stays until its row is gone', async () => {
    const { put, platform, crosswalk, bucket } = newFiles({ cells: { empty: [] }, messages });
    crosswalk.fill('userName', { ada: 101, ben: 102, NULL: 104 });
    await put('t.csv', adding('ada', 'ben', 'NULL'));
    bucket.write('snapshot-mapping.json', JSON.stringify({ messages }));
    for (const names of [
      ['ada', 'NULL'],
      ['NULL', 'ada'],
    ]) {
      expect((await put('t.csv', adding(...names))).bodies).toEqual([]);
      expect(platform.all()).toEqual(['2601 101 110', '2601 102 110', '2601 104 110']);
    }
    await put('t.csv', adding('ada'));
    expect(platform.all()).toEqual(['2601 101 110']);
  });

  test('is an id where the mapping says that nothing stands for nothing', async () => {
    const { put, platform, crosswalk } = newFiles({ cells: { empty: [] }, messages });
    crosswalk.fill('userName', { NULL: 104 });
    await put('t.csv', adding('NULL'));
    expect(platform.all()).toEqual(['2601 104 110']);
  });

  test('is an empty cell where the mapping names it, in keys, times and conditions', async () => {
    const removed = { ...messages[0]?.removed, when: { ACTION: { empty: true } } };
    const message = { ...messages[0], time: 'AT', removed };
    const { put, platform } = newFiles({
      mode: 'delta',
      cells: { empty: ['-', 'NULL'] },
      messages: [message],
    });
    const timed = (...rows: string[]): string => ['ACTION,COURSE,LOGIN,AT', ...rows, ''].join('\n');
    await put('c.csv', timed('ADD,BIO,ada,NULL', 'ADD,BIO,ben,-'));
    const { rows } = await put('c.csv', timed('-,BIO,ben,-', 'NULL,BIO,-,NULL', 'ADD,BIO,NULL,'));
    // A drop of nobody keeps nobody else.
    expect(platform.all()).toEqual(['2601 101 110', '2601 102 110']);
    expect(rows).toEqual({ 'c.csv': { used: 1, refused: 2 } });
    await put('c.csv', timed('-,BIO,ben,-', 'NULL,BIO,-,NULL'));
    expect(platform.all()).toEqual(['2601 101 110']);
  });

  firstIsQuick<[string, object]>([
    ['NULL', {}],
    ['-', { cells: { empty: ['-'] } }],
  ])(
    'is no name in OneRoster: of %s, nothing is sent, and what was accepted stays',
    async (word, settings) => {
      const { put, platform, crosswalk } = newFiles({ messages }, settings);
      crosswalk.fill('userName', { ada: 101, ben: 102, cleo: 103, [word]: 104 });
      const zipWith = (username: string) => {
        const { users, ...rest } = smallSis();
        const sis = { ...rest, users: changed(users, 'u-ben', { username }), lineItems: [], results: [] };
        const enrollments = ['ada', 'ben', 'cleo'].map((name) => enrollment('bio', name));
        return zipOf(entriesOfSis({ ...sis, enrollments }));
      };
      await put('roster.zip', await zipWith('ben'));
      const { rows } = await put('roster.zip', await zipWith(word));
      expect(rows?.['enrollments.csv']).toEqual({ unchanged: 2, withoutName: 1 });
      expect(platform.all()).toEqual(['2601 101 110', '2601 102 110', '2601 103 110']);
    },
  );
});

test('a time that cannot be read refuses a row, whatever the row does', async () => {
  const removed = { ...messages[0]?.removed, when: { ACTION: ['DROP'] } };
  const { put, platform } = newFiles({ mode: 'delta', messages: [{ ...messages[0], time: 'AT', removed }] });
  const timed = (...rows: string[]): string => ['ACTION,COURSE,LOGIN,AT', ...rows, ''].join('\n');
  await put('c.csv', timed('ADD,BIO,ada,2026-11-02T00:00:00Z', 'ADD,BIO,ben,2026-11-02T00:00:00Z'));
  const { rows, report } = await put(
    'c.csv',
    timed('DROP,BIO,ada,NULL', 'ADD,BIO,cleo,NULL', 'DROP,BIO,ben,2026-11-03T00:00:00Z'),
  );
  expect(platform.all()).toEqual(['2601 101 110']);
  expect(rows).toEqual({ 'c.csv': { used: 1, refused: 2 } });
  expect(report.slice(0, 2)).toEqual(
    [2, 3].map((line) => `"c.csv","${line}","AT","must be a time such as 2026-01-31T09:30:00Z"`),
  );
});

describe('a table that has all rows each time', () => {
  const rows = ['ADD,BIO,ada', 'ADD,BIO,ben', 'ADD,BIO,cleo'];
  const by = (ACTION: object) => ({ messages: [{ ...messages[0], when: { ACTION } }] });
  const { removed: _, ...whom } = messages[0] as (typeof messages)[number];
  const grading = {
    ...whom,
    function: 'grade-push',
    when: { LOGIN: { empty: false } },
    data: {
      orgUnitCode: 'COURSE',
      userName: 'LOGIN',
      gradeObjectName: { value: 'Essay' },
      'grade.type': { value: 'text' },
      'grade.text': 'LOGIN',
    },
  };
  firstIsQuick<[string, object]>([
    ['a list', by(['ADD'])],
    ['values that are wanted and others', by({ is: ['ADD'], not: ['DROP'] })],
    ['two messages, one of which is for the row', { messages: [{ ...messages[0] }, grading] }],
    ['one of two conditions', { messages: [{ ...messages[0], when: { ACTION: ['ADD'], COURSE: ['BIO'] } }] }],
  ])(
    'ends nothing by a value that no condition names, by %s, and counts its rows as refused',
    async (_, mapping) => {
      const { put, platform } = newFiles(mapping, { maxRemovalsPercent: 100 });
      await put('t.csv', table(...rows));
      const enrolled = ['2601 101 110', '2601 102 110', '2601 103 110'];
      const { report, ...counted } = await put('t.csv', table('Add,BIO,ada', ',BIO,ben', 'ADD,BIO,cleo'));
      expect(platform.all().filter((each) => / 110$/.test(each))).toEqual(enrolled);
      expect(report).toEqual([
        expect.stringMatching(/^"t.csv","","ACTION",""""" is named by no ""when"" .* \(1 row, in line 3\)/),
        expect.stringMatching(
          /^"t.csv","","ACTION","""Add"" is named by no ""when"" .* \(1 row, in line 2\)/,
        ),
      ]);
      expect(counted.rows).toEqual({ 't.csv': { used: 1, unknownValue: 2 } });
      expect(counted.byKind?.['enrollment-create']).toMatchObject({ removed: 0, unchanged: 3, refused: 2 });
      // What it held ends once its row is gone, or says so.
      await put('t.csv', table('ADD,BIO,cleo'));
      expect(platform.all().filter((each) => / 110$/.test(each))).toEqual(['2601 103 110']);
    },
  );

  firstIsQuick<[string, object]>([
    ['by name', { is: ['ADD'], not: ['DROP', 'add'] }],
    ['as all others', { is: ['ADD'], not: 'others' }],
    ['as another than those that are not wanted', { not: ['DROP', 'add'] }],
  ])('ends what a row had by a value that its condition leaves out, %s', async (_, condition) => {
    const { put, platform } = newFiles(by(condition), { maxRemovalsPercent: 100 });
    await put('t.csv', table(...rows));
    const counted = await put('t.csv', table('DROP,BIO,ada', 'add,BIO,ben', 'ADD,BIO,cleo'));
    expect(platform.all()).toEqual(['2601 103 110']);
    expect(counted.rows).toEqual({ 't.csv': { used: 1, withoutMessage: 2 } });
  });

  test('names the codes that its mapping does not, with the number of their rows, but no values that are many', async () => {
    const { put } = newFiles(by(['ADD']));
    const added = (count: number, codeOf: (at: number) => string) =>
      table(...rows, ...Array.from({ length: count }, (_, at) => `${codeOf(at)},BIO,n${at}`));
    const problems = async (content: string) =>
      (await put('t.csv', content)).refusals?.map(({ problem, rows }) => `${rows}: ${problem}`);
    expect(await problems(added(9, (at) => (at < 6 ? 'Registered' : 'RW')))).toEqual([
      '6: "Registered" is named by no "when" of the mapping (6 rows, the first in line 5). Add it to "is" or "not" there: what was accepted of these rows stays',
      '3: "RW" is named by no "when" of the mapping (3 rows, the first in line 11). Add it to "is" or "not" there: what was accepted of these rows stays',
    ]);
    expect(await problems(added(31, (at) => `ada${at}`))).toEqual([
      '31: has a value that no "when" of the mapping names (31 rows, the first in line 5): what was accepted of these rows stays',
    ]);
    // A code may read as a number of rows.
    expect(await problems(added(2, () => 'If 9 rows were late'))).toEqual([
      expect.stringMatching(/^2: "If 9 rows were late" is named by no "when" of the mapping \(2 rows/),
    ]);
  });

  test('names why rows are refused before what is held for them, which is told of more rows', async () => {
    const byRole = { ...whom, when: undefined, data: { ...whom.data, roleId: 'ROLE' } };
    const { put } = newFiles({ messages: [byRole] });
    const withRoles = (...rows: string[]) => ['COURSE,LOGIN,ROLE', ...rows, ''].join('\n');
    await put('t.csv', withRoles('BIO,ada,110', 'BIO,ben,110'));
    const again = withRoles('BIO,ada,109', 'BIO,ada,x', 'BIO,ben,109', 'BIO,ben,');
    const { rows, refusals } = await put('t.csv', again);
    expect(rows).toEqual({ 't.csv': { used: 0, held: 2, refused: 2 } });
    expect(refusals).toMatchObject([
      { column: 'ROLE', rows: 1 },
      { column: 'ROLE', rows: 1 },
      { column: 'COURSE, LOGIN', rows: 2, problem: expect.stringMatching(/^held: /) },
    ]);
  });

  test('waits for a person if most rows have a value that it does not name', { tags: ['long'] }, async () => {
    const { put, crosswalk } = newFiles(by(['ADD']));
    const names = Array.from({ length: 12 }, (_, at) => `n${at}`);
    crosswalk.fill('userName', Object.fromEntries(names.map((name, at) => [name, 200 + at])));
    await put('t.csv', table(...names.map((name) => `ADD,BIO,${name}`)));
    const { reasons, bodies } = await put('t.csv', table(...names.map((name) => `Added,BIO,${name}`)));
    expect(reasons).toEqual(['of 12 rows of t.csv, 12 were refused']);
    expect(bodies).toEqual([]);
  });
});

test.each([
  ['Canvas', 'course_id,root_account,start_date,user_id,user_integration_id,role,role_id,section_id,status'],
  ['Clever', 'School_id,Section_id,Student_id'],
  ['School Data Sync v1', 'Section SIS ID,SIS ID'],
  ['Blackboard', 'EXTERNAL_COURSE_KEY,EXTERNAL_PERSON_KEY,ROLE,ROW_STATUS,AVAILABLE_IND'],
  ['Moodle', 'username,firstname,lastname,email,course1,role1,group1'],
  ['Moodle, without a header', 'add, student, 5, CF101'],
  [undefined, 'STRM,SUBJECT,TITLE'],
])('a table of %s is recognised by its columns, with a mapping to start from', (format, header) => {
  const columns = header.split(',');
  expect(formatOf(columns)).toBe(format);
  const mapping = mappingToStartFrom(columns, { roles: ['student'] });
  if (format?.includes('without')) return;
  if (format === undefined) expect(mapping).toBeUndefined();
  else expect(mapping).toMatchObject({ messages: [{ function: 'enrollment-create' }] });
});

test.each<[string, string[], object | undefined]>([
  ['TERM_CODE,CRN,SPRIDEN_ID,RSTS_CODE', ['RE', 'DD', 'RW'], { is: ['RE', 'RW'], not: ['DD'] }],
  ['STRM,CLASS_NBR,EMPLID,STDNT_ENRL_STATUS', ['E'], { is: ['E'] }],
  [
    'Course,Student Status,Login,Registration Status',
    ['Dropped/Deleted', 'Web Registered', 'Not registered'],
    { is: ['Web Registered'], not: ['Dropped/Deleted', 'Not registered'] },
  ],
  ['COURSE,LOGIN,STATUS', ['X', 'Z'], { is: null, not: ['X', 'Z'] }],
  ['COURSE,LOGIN,STATUS', [], undefined],
  ['COURSE,LOGIN,REGION_CODE', ['N', 'S'], undefined],
  [
    'course_id,user_id,role,status',
    ['active', 'concluded'],
    { is: ['active'], not: ['concluded', 'completed', 'inactive', 'deleted', 'deleted_last_completed'] },
  ],
])(
  'the mapping to start from for %s takes of the statuses %j those of people who are enrolled',
  (header, statuses, condition) => {
    const {
      messages: [message],
    } = mappingToStartFrom(header.split(','), { roles: [], statuses }) as {
      messages: [{ when?: Record<string, object> }];
    };
    expect(Object.values(message.when ?? {})).toEqual(condition === undefined ? [] : [condition]);
  },
);

test('a flat file of registrations is proposed a mapping by the statuses and terms that it has', async () => {
  const folder = temporaryFolder();
  const [table, mapping] = ['sfrstcr.csv', 'mapping.json'].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  const rows = ['RE', 'RW', 'RW', 'DD', 'WL'].map((status, at) => `202710,1043${at},A0012${at},${status}`);
  writeFileSync(table, ['TERM_CODE,CRN,SPRIDEN_ID,RSTS_CODE', ...rows, ''].join('\n'));
  await typed(`snapshots diff ${table} --write-mapping ${mapping}`);
  expect(JSON.parse(readFileSync(mapping, 'utf8'))).toEqual({
    messages: [
      {
        function: 'enrollment-create',
        when: { RSTS_CODE: { is: ['RW', 'RE'], not: ['DD', 'WL'] } },
        data: { orgUnitCode: '{TERM_CODE}.{CRN}', orgDefinedId: 'SPRIDEN_ID', roleId: { value: null } },
        key: ['TERM_CODE', 'CRN', 'SPRIDEN_ID'],
        removed: {
          function: 'enrollment-remove',
          data: { orgUnitCode: '{TERM_CODE}.{CRN}', orgDefinedId: 'SPRIDEN_ID' },
        },
      },
    ],
  });
  const { err } = await typed(`snapshots diff ${table} --map ${mapping}`);
  expect(err.replaceAll(/\s+/g, ' ')).toContain(
    'mapping.json cannot be used for a snapshot: messages[0].data.roleId: is still null, but',
  );
});

test('of a table that nobody knows, the mapping that is written has every null named that must be filled in', async () => {
  const folder = temporaryFolder();
  const [table, mapping] = ['unknown.csv', 'mapping.json'].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  writeFileSync(table, 'Fach;Wer\nA;b\n');
  expect((await typed(`snapshots diff ${table} --write-mapping ${mapping}`)).out).toMatch(
    /Replace each null[\s\S]*Written to .*mapping\.json/,
  );
  const compared = async () =>
    (await typed(`snapshots diff ${table} --map ${mapping}`)).err.replaceAll(/\s+/g, ' ');
  const err = await compared();
  expect(err).toContain(`${mapping} cannot be used for a snapshot`);
  for (const field of ['orgUnitCode', 'userName', 'roleId'])
    expect(err).toContain(`messages[0].data.${field}: must be a column`);
  writeFileSync(mapping, readFileSync(mapping, 'utf8').replaceAll('null', '"Fach"'));
  expect(await compared()).not.toContain('must be a column');
});

describe('a table that is proposed a mapping', () => {
  const proposalFor = async (content: string, crosswalk?: Parameters<typeof surveyTables>[1]) => {
    const path = join(temporaryFolder(), 'registrations.csv');
    writeFileSync(path, content);
    const found = await surveyTables(path, crosswalk);
    return found?.tables[0]?.mapping as
      | { messages: [{ data: object; key: string[] }]; mode?: string }
      | undefined;
  };

  firstIsQuick([
    ['Change', 'add', 'drop'],
    ['ACTION', 'ADD', 'DROP'],
    ['Operation', 'add', 'delete'],
    ['Action', 'A', 'D'],
    ['Trans_Type', 'I', 'D'],
    ['Was', 'enroll', 'withdraw'],
  ])(
    'by a column %s with %s and %s is one of changes, and enrolls none of the dropped',
    async (column, add, drop) => {
      const rows = [`="ada";BIO;${add}`, `="ben";BIO;${drop}`, `="cleo";BIO;${add}`, `NULL;BIO;${add}`];
      const content = ['\ufeffLOGIN;COURSE', ...rows].join('\r\n').replace('COURSE', `COURSE;${column}`);
      const mapping = await proposalFor(content);
      expect(mapping).toMatchObject({
        mode: 'delta',
        cells: { strip: ['formula'], empty: ['NULL'] },
        messages: [{ when: { [column]: [add] }, removed: { when: { [column]: [drop] } } }],
      });
      const { put, platform } = newFiles(JSON.parse(JSON.stringify(mapping).replace('null', '110')));
      await put('registrations.csv', content);
      expect(platform.all()).toEqual(['2601 101 110', '2601 103 110']);
    },
  );

  firstIsQuick([
    ['STATUS', 'registered', 'dropped'],
    ['GRADE', 'A', 'D'],
  ])('by a column %s with %s and %s has all rows each time', async (column, one, other) => {
    const mapping = await proposalFor(`LOGIN,COURSE,${column}\nada,BIO,${one}\nben,BIO,${other}\n`);
    expect(mapping?.mode).toBeUndefined();
  });

  test('joins the columns whose names the crosswalk knows', async () => {
    const known = new Set(['CHEM1010.001', 'CHEM1010.002', '00123', '00124']);
    const namesIn = async (buckets: readonly string[]) =>
      new Map(buckets.map((bucket) => [bucket, new Map([...known].map((name) => [name, { ids: [1] }]))]));
    const content =
      'COURSE_ID,SECTION,STUDENT_ID\nCHEM1010,001,00123\nCHEM1010,002,00123\nCHEM1010,002,00124\n';
    const proposal = await proposalFor(content, { namesIn } as unknown as Parameters<typeof surveyTables>[1]);
    expect(proposal?.messages[0]).toMatchObject({
      data: { orgUnitCode: '{COURSE_ID}.{SECTION}' },
      key: ['COURSE_ID', 'SECTION', 'STUDENT_ID'],
    });
  });

  test('is told which columns its mapping does not read, and how many rows have the key of another', async () => {
    const folder = temporaryFolder();
    const [path, map] = ['a.csv', 'map.json'].map((name) => join(folder, name)) as [string, string];
    writeFileSync(path, 'ACTION,COURSE,LOGIN,SECTION,NOTE\nADD,BIO,ada,1,\nADD,BIO,ada,2,\nADD,BIO,ben,1,\n');
    writeFileSync(map, JSON.stringify({ messages }));
    const { out } = await typed(`snapshots diff ${path} --map ${map}`);
    expect(out).toMatch(/does not read these columns: SECTION, NOTE/);
    expect(out).toMatch(/1 row has the key of another row/);
  });
});
