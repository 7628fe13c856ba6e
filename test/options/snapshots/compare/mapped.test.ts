import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stateKey } from '../../../../lib/options/snapshots/state/record.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../temporary-folder.ts';
import { bucketFolder } from '../bucket-folder.ts';
import { importDropped } from '../imports.ts';
import { stateRows } from '../state-rows.ts';

const startMs = Date.parse('2026-11-23T02:00:00Z');
let bucket: ReturnType<typeof bucketFolder>;
let nights = 0;
const begin = () => {
  bucket = bucketFolder(temporaryFolder());
  nights = 0;
  useMapping([enrollment]);
  bucket.write('snapshot-settings.json', JSON.stringify({ maxRemovalsPercent: 100 }));
};
beforeEach(begin);
afterAll(removeTemporaryFolders);

const gone = { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', userName: 'LOGIN' } };
const enrollment = {
  function: 'enrollment-create',
  when: { STATUS: { is: ['active'], not: ['left'] } },
  data: { orgUnitCode: 'COURSE', userName: 'LOGIN', roleId: { from: 'ROLE', values: { S: 110, T: 109 } } },
  key: ['COURSE', 'LOGIN'],
  removed: gone,
};
const useMapping = (messages: object[], key = 'snapshot-mapping.json') =>
  bucket.write(key, JSON.stringify({ messages }));

const header = 'COURSE,LOGIN,ROLE,STATUS';
const tableOf = (...rows: string[]) => `${[header, ...rows].join('\n')}\n`;

/** What is dropped is accepted, unless a person must look. */
const drop = async (content: string | Buffer, key = 'snapshots/enrollments.csv') => {
  nights += 1;
  const droppedMs = startMs + nights * 86_400_000;
  const { examined, record, report, bodies } = await importDropped(bucket, { key, content, droppedMs });
  const sent = bodies
    .map(({ type, data }) => `${type.split('.')[1]} ${Object.values(data).join(' ')}`)
    .sort();
  return {
    examined,
    report,
    sent,
    events: bodies,
    /** Of a case that shares the import with others: each has org units of its own. */
    of: (...codes: string[]) => ({
      sent: sent.filter((each) => codes.includes(each.split(' ')[1] ?? '')),
      events: bodies.filter(({ data }) => codes.includes(`${data.orgUnitCode}`)),
    }),
    record: examined.is === 'over' ? undefined : record(),
  };
};
type Dropped = Awaited<ReturnType<typeof drop>>;
const failure = ({ examined }: Dropped) =>
  examined.is === 'over' ? examined.message : JSON.stringify(examined);

describe('a table', () => {
  const columns = `${header},CHANGED,NAME,CATEGORY`;
  const table = (...rows: string[]) =>
    [columns, ...rows.map((row) => row + ','.repeat(Math.max(7 - row.split(',').length, 0))), ''].join('\n');
  const spreadsheet = (text: string, delimiter: string) => text.replace(/,(?![a-z];)/g, delimiter);
  const early = '2026-11-24T08:00:00+01:00';
  const times = (...rows: string[]) => rows.map((row) => `TIME,${row.replace(' ', ',active,')}`);
  const logins = ['same', 'later', 'kept', 'none', 'future', 'wrong'];
  const first = times(...logins.map((login) => `${login},S ${early}`));
  const categories = (...each: string[]) => each.map((each, at) => `NIL,,,item,,HW${at},${each}`);
  const byRole = ['MAP,gil,S,active', 'MAP,tess,A,active'];
  const onePlace = ['IN,ian,S,out', 'IN,ian,S,active', 'AT,ada,S,active', 'AT,cara,S,out'];

  let none: Dropped;
  let all: Dropped;
  let changed: Dropped;
  let last: Dropped;
  let state: string;
  beforeAll(async () => {
    begin();
    const messages = (A: number) => {
      const roleId = { from: 'ROLE', values: { S: 110, T: 109, A } };
      const data = {
        orgUnitCode: 'COURSE',
        gradeObjectName: 'NAME',
        type: { value: 'numeric' },
        maxPoints: { value: 20 },
        categoryId: { from: 'CATEGORY', values: { none: null, a: 7 } },
      };
      return [
        { ...enrollment, data: { ...enrollment.data, roleId }, time: 'CHANGED' },
        { ...gone, when: { STATUS: ['out'] }, key: ['LOGIN'] },
        { function: 'grade-object-update', when: { STATUS: ['item'] }, key: ['NAME'], data },
      ];
    };
    useMapping(messages(107));
    none = await drop(table());
    const rows = table(
      ...['BIO,ada,S,active', 'BIO,ben,S,active', 'BIO,"a,d;a",S,active,,,', 'ART,ada,T,active'],
      ...['ART,ben,S,left', ...first, ...categories('a', 'none', '', 'none'), ...byRole, ...onePlace],
    );
    all = await drop(`\ufeff${spreadsheet(rows, ';').replaceAll('\n', '\r\n')}`);
    state = bucket.at(stateKey(all.examined.id ?? ''));
    useMapping([...messages(108), { ...enrollment, when: { STATUS: ['guest'] }, removed: undefined }]);
    const next = table(
      ...['BIO,ada,T,active', 'BIO,ben,S,left', 'BIO,"a,d;a",T,active,,,', 'ART,ben,S,active'],
      ...['ART,ada,T,active', ...first, ...categories('none', 'none', 'none', '')],
      ...[...byRole, 'MAP,gus,S,guest', ...onePlace],
    );
    changed = await drop(spreadsheet(next, '\t').replaceAll('\n', '\r'));
    last = await drop(
      table(
        ...['ART,ada,T,active', 'ART,ben,S,active', 'BIO,ada,T,active', 'BIO,"a,d;a",T,active,,,'],
        ...times(`same,T ${early}`, 'later,T 2026-11-26T09:00:00Z', 'kept,S 2026-11-26T09:00:00Z'),
        ...times('none,T ', 'future,T 2030-01-01T00:00:00Z', 'wrong,T yesterday'),
        ...[...categories('none', 'none', 'none', 'none'), ...byRole, ...onePlace],
      ),
    );
  });

  test('sends nothing where it has no row, then all that its mapping makes, then only what changed, whatever is between its cells', () => {
    expect(none.sent).toEqual([]);
    // With semicolons and a byte-order mark.
    const { sent, events } = all.of('BIO', 'ART');
    expect(sent).toEqual([
      'enrollment-create ART ada 109',
      'enrollment-create BIO a,d;a 110',
      'enrollment-create BIO ada 110',
      'enrollment-create BIO ben 110',
    ]);
    const kept = { updated: 0, removed: 0, unchanged: 0, refused: 0 };
    expect(all.record?.byKind).toEqual({
      'enrollment-create': { created: 14, ...kept },
      'enrollment-remove': { created: 1, ...kept },
      'grade-object-update': { created: 4, ...kept },
    });
    expect(events[0]).toMatchObject({
      source: '/sis-relay/snapshots',
      sequence: '4',
      time: '2026-11-25T02:00:00.000Z',
      id: expect.stringMatching(/^20261125T020000Z-[0-9a-f]{8}\/[0-9a-f]{20}$/),
    });
    // With tabs.
    const second = changed.of('BIO', 'ART');
    expect(second.sent).toEqual([
      'enrollment-create ART ben 110',
      'enrollment-create BIO a,d;a 109',
      'enrollment-create BIO ada 109',
      'enrollment-remove BIO ben',
    ]);
    expect(changed.record?.byKind['enrollment-create']).toEqual({
      created: 2,
      updated: 3,
      removed: 1,
      unchanged: 10,
      refused: 0,
    });
    expect(second.events.map(({ sequence }) => sequence).sort()).toEqual(['5', '6', '6', '6']);
    expect(last.of('BIO', 'ART').sent).toEqual([]);
  });

  test('gives the time of a change where the row tells a later one, and the drop’s otherwise', () => {
    const timesOf = ({ of }: Dropped) =>
      Object.fromEntries(of('TIME').events.map(({ data, time }) => [data.userName, time]));
    const of = '2026-11-24T07:00:00.000Z';
    expect(timesOf(all)).toEqual({ same: of, later: of, kept: of, none: of, future: of, wrong: of });
    const dropped = '2026-11-27T02:00:00.000Z';
    expect(timesOf(last)).toEqual({
      same: dropped,
      later: '2026-11-26T09:00:00.000Z',
      none: dropped,
      future: dropped,
    });
    const problem = 'must be a time such as 2026-01-31T09:30:00Z';
    expect(last.report).toEqual([`"enrollments.csv","11","CHANGED","${problem}"`]);
  });

  test('sends null where its mapping names that for a value, and once alone', () => {
    const [first, second, third] = [all, changed, last].map(({ of }) =>
      Object.fromEntries(of('NIL').events.map(({ data }) => [data.gradeObjectName, data.categoryId])),
    );
    expect(first).toEqual({ HW0: 7, HW1: null, HW2: undefined, HW3: null });
    // An empty cell leaves what was sent.
    expect(Object.keys(second ?? {}).sort()).toEqual(['HW0', 'HW2']);
    expect(second).toEqual({ HW0: null, HW2: null });
    expect(third).toEqual({});
  });

  test('whose mapping has changed sends the rows whose message differs by it, and those of a message that is new, which takes nothing away', () => {
    expect(changed.of('MAP').sent).toEqual(
      ['gus 110', 'tess 108'].map((each) => `enrollment-create MAP ${each}`),
    );
    // Nothing takes away what a guest had.
    expect(last.of('MAP').sent).toEqual([]);
    expect(last.record?.byKind['enrollment-create']).toMatchObject({ removed: 1, unchanged: 10 });
  });

  test('has a state of one row for each thing on the platform: who is there stays, though another row takes it away', async () => {
    const rows = await stateRows(state);
    expect(rows).toHaveLength(19);
    expect(rows.filter(([, key]) => /=(IN|AT)\//.test(key ?? ''))).toEqual([
      ['0', 'enrollment/orgUnitCode=AT/userName=ada'],
      ['0', 'enrollment/orgUnitCode=IN/userName=ian'],
      ['1', 'enrollment/orgUnitCode=AT/userName=cara'],
    ]);
  });
});

test('is read as spreadsheets and feeds write it: its separator, what protects values, columns together, commas and times of a place', async () => {
  const rows = [
    'sep=|',
    'TERM|CRN|LOGIN|POINTS|CHANGED',
    '="2027|10"|="00432"|#Ada|8,5|2026-11-24 01:15',
    '"=""2027|10"""|="00432"|#Ben|7|24.11.2026 01:30',
    '2027|432|#Cy||',
    '2027|432|#Di|many|',
    '="2027|10"|432',
  ];
  bucket.write(
    'snapshot-mapping.json',
    JSON.stringify({
      cells: { strip: ['formula'], decimal: ',', dateOrder: 'day-month-year', timeZone: 'Europe/Berlin' },
      messages: [
        {
          function: 'grade-push',
          when: { POINTS: { empty: false } },
          key: ['TERM', 'CRN', 'LOGIN'],
          data: {
            orgUnitCode: '{TERM}.{CRN}',
            gradeObjectName: { value: 'Quiz' },
            userName: { from: 'LOGIN', strip: ['hash'], case: 'lower' },
            'grade.type': { value: 'numeric' },
            'grade.points': 'POINTS',
          },
          time: 'CHANGED',
        },
      ],
    }),
  );
  const { events, report, record } = await drop(rows.join('\r\n'));
  expect(events.map(({ data, time }) => [data, time])).toEqual(
    ['ada', 'ben'].map((userName, at) => [
      {
        orgUnitCode: '2027|10.00432',
        userName,
        gradeObjectName: 'Quiz',
        grade: { type: 'numeric', points: [8.5, 7][at] },
      },
      ['2026-11-24T00:15:00.000Z', '2026-11-24T00:30:00.000Z'][at],
    ]),
  );
  expect(report.join('\n')).toMatch(/,"6","POINTS","must be a number/);
  expect(report.join('\n')).toContain(',"7","","has 2 cells, but the header has 5"');
  expect(record?.rows).toEqual({ 'enrollments.csv': { used: 2, withoutMessage: 1, refused: 2 } });
});

describe('of tables of two names', () => {
  let one: Dropped;
  let other: Dropped;
  beforeAll(async () => {
    begin();
    useMapping([{ ...enrollment, when: {}, key: ['-ID'] }], 'snapshot-mappings/=1.json');
    const table = (...rows: string[]) => [`-ID,${header}`, ...rows, ''].join('\n');
    await drop(table('1,BIO,ada,S,active', '2,BIO,ben,S,active'));
    const next = ['1,BIO,ada,T,active', '2,BIO,ben,S,active', '3,BIO,cleo,S,left', ',BIO,eve,S,left'];
    one = await drop(table(...next), 'snapshots/2026-11-24/enrollments.csv');
    // Of the same content, in the same second.
    nights -= 1;
    other = await drop(table(...next), 'snapshots/=1.csv');
  });

  test('each has a history of its own, by its name in the folder of any day, and its own mapping before that of all', () => {
    // What another file wants already is not sent again.
    expect([one.sent, other.sent]).toEqual([
      ['enrollment-create BIO ada 109'],
      ['enrollment-create BIO cleo 110'],
    ]);
    expect(other.events.map(({ id }) => id)).not.toContain(one.events[0]?.id);
  });

  test('a row that cannot be used is told in cells that are no formula of a spreadsheet', () => {
    expect(other.report).toEqual([`"'=1.csv","5","'-ID","must be one line, and not empty"`]);
  });
});

describe('a row that cannot be used', () => {
  let refusing: Dropped;
  let next: Dropped;
  let shorter: Dropped;
  beforeAll(async () => {
    begin();
    await drop(tableOf('BIO,ada,S,active', 'BIO,ben,S,active', 'BIO,cleo,S,active', 'BIO,dan,S,active'));
    refusing = await drop(
      tableOf(
        ...['BIO,ada,X,active', 'BIO,ben,S,active', 'BIO,ben,T,active', 'BIO,cleo,S,active'],
        ...['BIO,cleo,S,active', 'BIO,"=cmd()\nx",S,active', 'BIO,eve,,active'],
      ),
    );
    next = await drop(tableOf('BIO,ada,S,active', 'BIO,ben,S,active', 'BIO,cleo,S,active'));
    shorter = await drop(tableOf('BIO,ada,T,active', 'BIO,ben', 'BIO,cleo,S,active'));
  });

  test('is told by line and column, and leaves what was accepted', () => {
    const { sent, report, record } = refusing;
    // As the key of one cannot be read, nobody knows whether dan is missing.
    expect(sent).toEqual([]);
    expect(report).toEqual([
      '"enrollments.csv","2","ROLE","has a value that the mapping does not name. Add it to messages[0].data.roleId.values, or give a default there"',
      '"enrollments.csv","3","COURSE, LOGIN","another row has the same key, but differs"',
      '"enrollments.csv","4","COURSE, LOGIN","another row has the same key, but differs"',
      '"enrollments.csv","7","LOGIN","must be one line, and not empty"',
      '"enrollments.csv","9","ROLE","is missing: must be a positive whole number (data.roleId)"',
      '"enrollments.csv","","","missing enrollment-create that stay, because refused rows may be about them: 1"',
    ]);
    expect(record?.counts).toEqual({ created: 0, updated: 0, removed: 0, unchanged: 4, refused: 5 });
    expect(next.sent).toEqual(['enrollment-remove BIO dan']);
    expect(next.record?.counts).toMatchObject({ unchanged: 3, removed: 1 });
  });

  test('as it lacks cells makes no removal of what is missing', () => {
    const { sent, report, record } = shorter;
    expect(sent).toEqual(['enrollment-create BIO ada 109']);
    expect(report).toEqual([
      '"enrollments.csv","3","","has 2 cells, but the header has 4"',
      '"enrollments.csv","","","missing enrollment-create that stay, because refused rows may be about them: 1"',
    ]);
    expect(record?.byKind['enrollments.csv']).toMatchObject({ refused: 1 });
    expect(record?.rows).toEqual({ 'enrollments.csv': { used: 2, refused: 1 } });
  });
});

describe('it fails, and says why', () => {
  const first = tableOf('BIO,ada,S,active');
  const { key: _, ...keyless } = enrollment;
  const handedIn = {
    orgUnitId: { value: 2001 },
    folderId: { value: 9 },
    userId: { value: 301 },
    'files.0.uri': { value: 's3://bucket/key' },
    'files.0.name': { value: 'a.pdf' },
    'files.0.contentType': { value: 'application/pdf' },
  };
  test.each<[string, object[], RegExp]>([
    [
      'without a key',
      [keyless],
      /^snapshot-mapping.json cannot .*: messages\[0\].key: is missing. Give the columns whose/,
    ],
    ['for notices', [{ ...enrollment, resource: 'a' }], /messages\[0\].resource: is only for change notices/],
    [
      'of an unknown function',
      [{ ...enrollment, function: 'x' }],
      /messages\[0\].function: there is no function x/,
    ],
    ['of too many messages', Array(37).fill(enrollment), /messages: must be at most 36/],
    [
      'of a column that is not there',
      [{ ...enrollment, key: ['COURSE', 'PERSON'] }],
      /^enrollments.csv has no column PERSON \(which messages\[0\].key reads\). The first row must name the columns$/,
    ],
  ])('by a mapping %s', async (_, messages, why) => {
    useMapping(messages);
    expect(failure(await drop(first))).toMatch(why);
  });

  test('by a mapping that hands in work in the name of a learner, or does so where a row is gone, unless the settings allow it', async () => {
    const link = { function: 'lti-link-update', data: { linkId: { value: 7 } } };
    useMapping([
      { ...enrollment, removed: link },
      { ...enrollment, function: 'submission-upload', data: handedIn, removed: undefined },
    ]);
    const notAllowed = (name: string) =>
      `function: snapshots may not use ${name}. To allow it, add it to "functions" in snapshot-settings.json`;
    expect(failure(await drop(first))).toBe(
      `snapshot-mapping.json cannot be used for a snapshot: messages[0].removed.${notAllowed('lti-link-update')}; messages[1].${notAllowed('submission-upload')}`,
    );
    const functions = ['enrollment-create', 'submission-upload', 'lti-link-update'];
    bucket.write('snapshot-settings.json', JSON.stringify({ functions }));
    nights = 0;
    expect((await drop(first)).examined.is).toBe('to be sent');
  });

  test('by a mapping or settings with a name that Node may misread', async () => {
    const values = { 'S\\': 110 };
    useMapping([{ ...enrollment, data: { ...enrollment.data, roleId: { from: 'ROLE', values } } }]);
    expect(failure(await drop(first))).toContain('it has the name "S\\\\". Write it without a backslash');
    bucket.write('snapshot-settings.json', JSON.stringify({ roles: { 'a\n': 110 } }));
    nights = 0;
    expect(failure(await drop(first))).toContain('Write the name "a\\n" without a backslash');
  });

  test('by a name that differs from that of its mapping by case, with that name', async () => {
    rmSync(bucket.at('snapshot-mapping.json'));
    bucket.write('snapshot-mappings/enrollments.json', JSON.stringify({ messages: [enrollment] }));
    expect(failure(await drop(first, 'snapshots/Enrollments.CSV'))).toBe(
      'There is no mapping for Enrollments.CSV, but one for enrollments.csv: put the file by that name',
    );
  });

  test('without any mapping, and is imported once there is one', async () => {
    rmSync(bucket.at('snapshot-mapping.json'));
    expect(failure(await drop(first))).toBe(
      'There is no mapping for the columns of enrollments.csv. Put one at snapshot-mappings/enrollments.json, or at snapshot-mapping.json for all tables',
    );
    bucket.write('snapshot-mappings/enrollments.json', `\ufeff${JSON.stringify({ messages: [enrollment] })}`);
    nights = 0;
    expect((await drop(first)).sent).toHaveLength(1);
  });

  test.each<[string, string | Buffer, RegExp]>([
    [
      'UTF-16',
      Buffer.from(`\ufeff${tableOf('BIO,ada,S,active')}`, 'utf16le'),
      /^enrollments.csv is UTF-16. Export it as UTF-8$/,
    ],
    ['Latin-1', Buffer.from(tableOf('BIO,ädä,S,active'), 'latin1'), /is not UTF-8 in line 2/],
    ['a text that ends within a character', Buffer.from(`${header}\nBIO,ü`).subarray(0, -1), /is not UTF-8/],
    [
      'a column twice',
      `${header},role\n`,
      /^enrollments.csv has a column twice: columns 3 and 5 have one name. Rename or remove one of them$/,
    ],
    [
      'a million rows in one cell',
      tableOf(`BIO,"${'ada\n'.repeat(1_000_000)}",S,active`),
      /longer than 65536 bytes/,
    ],
    ['a header of one cell', `${'x'.repeat(70_000)}\n`, /longer than 65536 bytes/],
    ['cells between other signs', 'COURSE!LOGIN\n', /has one cell: name what separates cells as "separator"/],
    [
      'a title above the header',
      `Registrations\n\n${tableOf('BIO,ada,S,active')}`,
      /^enrollments.csv has its header in line 3. Export it without the lines above, or remove them$/,
    ],
    [
      'a header in another case',
      tableOf('BIO,ada,S,active').replace('STATUS', 'Status'),
      /^enrollments.csv has Status, the mapping reads STATUS: they differ only by case/,
    ],
    ['no header', 'BIO,ada,S,active\n', /has no column STATUS .*. The first row must name the columns/],
    ['an open quotation mark', tableOf('BIO,"ada,S,active'), /a quotation mark is not closed/],
  ])('of %s', async (_, content, why) => {
    expect(failure(await drop(content))).toMatch(why);
  });
});

test('a mapping that has changed stops where a message lost its key, function or place, unless nothing was accepted before', async () => {
  const table = tableOf('BIO,ada,S,active');
  await drop(table);
  const mappings = {
    key: [{ ...enrollment, key: ['LOGIN', 'COURSE'] }],
    function: [{ ...gone, key: ['COURSE', 'LOGIN'] }],
    place: [{ ...gone, key: ['LOGIN'] }, enrollment],
  };
  for (const [lost, messages] of Object.entries(mappings)) {
    useMapping(messages);
    expect([lost, failure(await drop(table))]).toEqual([
      lost,
      expect.stringMatching(
        /^The mapping changed messages\[0\]. Rows of enrollments.csv were accepted with enrollment-create and the key COURSE, LOGIN there. Put that back/,
      ),
    ]);
  }
  expect((await drop(table, 'snapshots/other.csv')).examined.is).toBe('to be sent');
});
