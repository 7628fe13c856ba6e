import { rmSync } from 'node:fs';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { stateKey } from '../../../../../lib/sources/snapshots/state/record.ts';
import { removeTemporaryFolders, temporaryFolder } from '../../../../temporary-folder.ts';
import { bucketFolder } from '../bucket-folder.ts';
import { type Body, importDropped } from '../imports.ts';
import { stateRows } from '../state-rows.ts';

const startMs = Date.parse('2026-11-23T02:00:00Z');
let bucket: ReturnType<typeof bucketFolder>;
let nights = 0;
beforeEach(() => {
  bucket = bucketFolder(temporaryFolder());
  nights = 0;
  useMapping([enrollment]);
  bucket.write('snapshot-settings.json', JSON.stringify({ maxRemovalsPercent: 100 }));
});
afterAll(removeTemporaryFolders);

const gone = { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', userName: 'LOGIN' } };
const enrollment = {
  function: 'enrollment-create',
  when: { STATUS: ['active'] },
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
    ...{ examined, report, sent, events: bodies },
    record: examined.is === 'over' ? undefined : record(),
  };
};
const failure = ({ examined }: Awaited<ReturnType<typeof drop>>) =>
  examined.is === 'over' ? examined.message : JSON.stringify(examined);

describe('a table', () => {
  test('sends nothing where it has no row, then all that its mapping makes, then only what changed', async () => {
    expect((await drop(tableOf())).sent).toEqual([]);
    const first = await drop(
      tableOf('BIO,ada,S,active', 'BIO,ben,S,active', 'ART,ada,T,active', 'ART,ben,S,left'),
    );
    expect(first.sent).toEqual([
      'enrollment-create ART ada 109',
      'enrollment-create BIO ada 110',
      'enrollment-create BIO ben 110',
    ]);
    expect(first.record?.byKind).toEqual({
      'enrollment-create': { created: 3, updated: 0, removed: 0, unchanged: 0, refused: 0 },
    });
    expect(first.events[0]).toMatchObject({
      ...{ source: '/sis-relay/snapshots', sequence: '4', time: '2026-11-25T02:00:00.000Z' },
      id: expect.stringMatching(/^20261125T020000Z-[0-9a-f]{8}\/[0-9a-f]{20}$/),
    });
    const second = await drop(
      tableOf('BIO,ada,T,active', 'BIO,ben,S,left', 'ART,ben,S,active', 'ART,ada,T,active'),
    );
    expect(second.sent).toEqual([
      ...['enrollment-create ART ben 110', 'enrollment-create BIO ada 109', 'enrollment-remove BIO ben'],
    ]);
    expect(second.record?.counts).toEqual({ created: 1, updated: 1, removed: 1, unchanged: 1, refused: 0 });
    expect(second.events.map(({ sequence }) => sequence).sort()).toEqual(['5', '6', '6']);
    const same = await drop(tableOf('ART,ada,T,active', 'ART,ben,S,active', 'BIO,ada,T,active'));
    expect(same.sent).toEqual([]);
    expect(same.record?.counts).toMatchObject({ unchanged: 3 });
  });

  test.each([
    [';', '\r\n', '\ufeff'],
    ['\t', '\r', ''],
  ])('is read with %j between its cells', async (delimiter, end, mark) => {
    const rows = [header, '"BIO","a,d;a",S,active', ''].map((row) =>
      row.replace(/,(?![a-z];)/g, delimiter === '\t' ? '\t' : ';'),
    );
    const { sent } = await drop(`${mark}${rows.join(end)}`);
    expect(sent).toEqual(['enrollment-create BIO a,d;a 110']);
  });

  test('has a history of its own, by its name in any folder, and its own mapping before that of all', async () => {
    useMapping([{ ...enrollment, when: {} }], 'snapshot-mappings/north.json');
    await drop(tableOf('BIO,ada,S,active'));
    const north = await drop(tableOf('BIO,ben,S,left'), 'snapshots/north.csv');
    expect(north.sent).toEqual(['enrollment-create BIO ben 110']);
    expect((await drop(tableOf('BIO,ada,S,active'), 'snapshots/x/enrollments.csv')).sent).toEqual([]);
    // Two of the same content, in the same second.
    nights = 20;
    const one = await drop(tableOf('BIO,cleo,S,active'));
    nights = 20;
    const other = await drop(tableOf('BIO,cleo,S,active'), 'snapshots/south.csv');
    expect([one.sent, other.sent]).toEqual([
      ['enrollment-create BIO cleo 110', 'enrollment-remove BIO ada'],
      ['enrollment-create BIO cleo 110'],
    ]);
    expect(one.events[0]?.id).not.toBe(other.events[0]?.id);
  });

  test('gives the time of a change where the row tells a later one, and the drop’s otherwise', async () => {
    useMapping([{ ...enrollment, time: 'CHANGED' }]);
    const early = '2026-11-20T08:00:00+01:00';
    const rows = (...rows: string[]) =>
      [`${header},CHANGED`, ...rows.map((row) => `BIO,${row.replace(' ', ',active,')}`)].join('\n');
    const timesOf = (events: Body[]) =>
      Object.fromEntries(events.map(({ data, time }) => [data.userName, time]));
    const logins = ['same', 'later', 'kept', 'none', 'future', 'wrong'];
    const first = await drop(rows(...logins.map((login) => `${login},S ${early}`)));
    expect(timesOf(first.events)).toEqual(
      Object.fromEntries(logins.map((login) => [login, '2026-11-20T07:00:00.000Z'])),
    );
    const { report, events } = await drop(
      rows(
        ...[`same,T ${early}`, 'later,T 2026-11-24T09:00:00Z', 'kept,S 2026-11-24T09:00:00Z'],
        ...['none,T ', 'future,T 2030-01-01T00:00:00Z', 'wrong,T yesterday'],
      ),
    );
    const dropped = '2026-11-25T02:00:00.000Z';
    expect(timesOf(events)).toEqual({
      ...{ same: dropped, later: '2026-11-24T09:00:00.000Z', none: dropped, future: dropped },
    });
    expect(report).toEqual(['"enrollments.csv","7","CHANGED","must be a time such as 2026-01-31T09:30:00Z"']);
  });

  test('sends null where its mapping names that for a value, and once alone', async () => {
    const categoryId = { from: 'CATEGORY', values: { none: null, a: 7 } };
    const data = {
      ...{ orgUnitCode: 'COURSE', gradeObjectName: 'NAME', type: { value: 'numeric' } },
      ...{ maxPoints: { value: 20 }, categoryId },
    };
    useMapping([{ function: 'grade-object-update', key: ['NAME'], data }]);
    const categories = async (...each: string[]) => {
      const rows = each.map((category, at) => `BIO,HW${at},${category}\n`);
      const { events } = await drop(`COURSE,NAME,CATEGORY\n${rows.join('')}`);
      return Object.fromEntries(events.map(({ data }) => [data.gradeObjectName, data.categoryId]));
    };
    const first = await categories('a', 'none', '', 'none');
    expect(first).toEqual({ HW0: 7, HW1: null, HW2: undefined, HW3: null });
    const second = await categories('none', 'none', 'none', '');
    // An empty cell leaves what was sent.
    expect(Object.keys(second).sort()).toEqual(['HW0', 'HW2']);
    expect(second).toEqual({ HW0: null, HW2: null });
    expect(await categories('none', 'none', 'none', 'none')).toEqual({});
  });
});

describe('a row that cannot be used', () => {
  test('is told by line and column, and leaves what was accepted', async () => {
    await drop(tableOf('BIO,ada,S,active', 'BIO,ben,S,active', 'BIO,cleo,S,active', 'BIO,dan,S,active'));
    const { sent, report, record } = await drop(
      tableOf(
        'BIO,ada,X,active',
        'BIO,ben,S,active',
        'BIO,ben,T,active',
        'BIO,cleo,S,active',
        'BIO,cleo,S,active',
        'BIO,"=cmd()\nx",S,active',
        'BIO,eve,,active',
      ),
    );
    // As the key of one cannot be read, nobody knows whether dan is missing.
    expect(sent).toEqual([]);
    expect(report).toEqual([
      '"enrollments.csv","2","ROLE","has the value ""X"", which the mapping does not name. Add it to messages[0].data.roleId.values, or give a default there"',
      '"enrollments.csv","3","COURSE, LOGIN","another row has the same key, but differs"',
      '"enrollments.csv","4","COURSE, LOGIN","another row has the same key, but differs"',
      '"enrollments.csv","7","LOGIN","must be one line, and not empty"',
      '"enrollments.csv","9","ROLE","is missing: must be a positive whole number (data.roleId)"',
      '"enrollments.csv","","","1 enrollment-create are missing, but are not removed, because refused rows may be about them"',
    ]);
    expect(record?.counts).toEqual({ created: 0, updated: 0, removed: 0, unchanged: 4, refused: 5 });
    const next = await drop(tableOf('BIO,ada,S,active', 'BIO,ben,S,active', 'BIO,cleo,S,active'));
    expect(next.sent).toEqual(['enrollment-remove BIO dan']);
    expect(next.record?.counts).toMatchObject({ unchanged: 3, removed: 1 });
  });

  test('as it lacks cells makes no removal of what is missing', async () => {
    await drop(tableOf('BIO,ada,S,active', 'BIO,ben,S,active'));
    const { sent, report, record } = await drop(tableOf('BIO,ada,T,active', 'BIO,ben'));
    expect(sent).toEqual(['enrollment-create BIO ada 109']);
    expect(report).toEqual([
      '"enrollments.csv","3","","has 2 cells, but the header has 4"',
      '"enrollments.csv","","","1 enrollment-create are missing, but are not removed, because refused rows may be about them"',
    ]);
    expect(record?.byKind['enrollments.csv']).toMatchObject({ refused: 1 });
  });
});

test('a person must look where it lost a column, all rows, or half of them', async () => {
  bucket.write('snapshot-settings.json', '{}');
  await drop(`${header},NOTE\nBIO,ada,S,active,\nBIO,ben,S,active,\n`);
  const cases: [string, string[]][] = [
    [tableOf('BIO,ada,S,active', 'BIO,ben,S,active'), ['enrollments.csv has lost 1 of its columns']],
    [`${header},NOTE\n`, ['enrollments.csv has no rows', '2 of 2 enrollment-create would be removed']],
    [`${header},NOTE\nBIO,ada,S,active,\n`, ['1 of 2 enrollment-create would be removed']],
  ];
  for (const [content, reasons] of cases)
    expect([content, (await drop(content)).examined]).toMatchObject([content, { reasons }]);
});

describe('it fails, and says why', () => {
  const first = tableOf('BIO,ada,S,active');
  const { key: _, ...keyless } = enrollment;
  const handedIn = {
    ...{ orgUnitId: { value: 2001 }, folderId: { value: 9 }, userId: { value: 301 } },
    ...{ 'files.0.uri': { value: 's3://bucket/key' }, 'files.0.name': { value: 'a.pdf' } },
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

  test.each<[string, object, string]>([
    [
      'hands in work in the name of a learner',
      { ...enrollment, function: 'submission-upload', data: handedIn, removed: undefined },
      'messages[0].function: snapshots may not use submission-upload. To allow it, add it to "functions" in snapshot-settings.json',
    ],
    [
      'does so where a row is gone',
      { ...enrollment, removed: { function: 'lti-link-update', data: { linkId: { value: 7 } } } },
      'messages[0].removed.function: snapshots may not use lti-link-update. To allow it, add it to "functions" in snapshot-settings.json',
    ],
  ])('by a mapping that %s, unless the settings allow it', async (_, message, why) => {
    useMapping([message]);
    expect(failure(await drop(first))).toContain(why);
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
    ['nothing', '', /is empty. It must have at least a header/],
    [
      'UTF-16',
      Buffer.from(`\ufeff${tableOf('BIO,ada,S,active')}`, 'utf16le'),
      /^enrollments.csv is UTF-16. Export it as UTF-8$/,
    ],
    ['Latin-1', Buffer.from(tableOf('BIO,ädä,S,active'), 'latin1'), /is not UTF-8/],
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
    ['no header', 'BIO,ada,S,active\n', /has no column STATUS .*. The first row must name the columns/],
    ['an open quotation mark', tableOf('BIO,"ada,S,active'), /a quotation mark is not closed/],
  ])('of %s', async (_, content, why) => {
    expect(failure(await drop(content))).toMatch(why);
  });
});

describe('a mapping that has changed', () => {
  test('sends the rows whose message differs by it, and those of a message that is new, which takes nothing away', async () => {
    await drop(tableOf('BIO,ada,S,active', 'BIO,tess,T,active'));
    const { data } = enrollment;
    const values = { S: 110, T: 108 };
    useMapping([
      { ...enrollment, data: { ...data, roleId: { from: 'ROLE', values } } },
      { ...enrollment, when: { STATUS: ['guest'] }, removed: undefined },
    ]);
    const { sent } = await drop(tableOf('BIO,ada,S,active', 'BIO,tess,T,active', 'BIO,gus,S,guest'));
    expect(sent).toEqual(['enrollment-create BIO gus 110', 'enrollment-create BIO tess 108']);
    // Nothing takes away what a guest had.
    const later = await drop(tableOf('BIO,ada,S,active', 'BIO,tess,T,active'));
    expect(later.sent).toEqual([]);
    expect(later.record?.counts).toMatchObject({ removed: 1, unchanged: 2 });
  });

  test('stops where a message lost its key, function or place, unless nothing was accepted before', async () => {
    await drop(tableOf('BIO,ada,S,active'));
    const mappings = {
      key: [{ ...enrollment, key: ['LOGIN', 'COURSE'] }],
      function: [{ ...gone, key: ['COURSE', 'LOGIN'] }],
      place: [{ ...gone, key: ['LOGIN'] }, enrollment],
    };
    for (const [lost, messages] of Object.entries(mappings)) {
      useMapping(messages);
      expect([lost, failure(await drop(tableOf('BIO,ada,S,active')))]).toEqual([
        lost,
        expect.stringMatching(
          /^The mapping changed messages\[0\]. Rows of enrollments.csv were accepted with enrollment-create and the key COURSE, LOGIN there. Put that back/,
        ),
      ]);
      const { examined } = await drop(tableOf('BIO,ada,S,active'), `snapshots/${lost}.csv`);
      expect([lost, examined.is]).toEqual([lost, 'to be sent']);
    }
  });
});

test('the state is one row for each thing on the platform: who is there stays, though another row takes it away', async () => {
  useMapping([enrollment, { ...gone, when: { STATUS: ['left'] }, key: ['LOGIN'] }]);
  const { examined } = await drop(
    tableOf('BIO,ben,S,left', 'BIO,ben,S,active', 'ART,ada,S,active', 'ART,cleo,S,left'),
  );
  const { id = '' } = examined;
  expect(await stateRows(bucket.at(stateKey(id)))).toEqual([
    ['0', 'enrollment/orgUnitCode=ART/userName=ada'],
    ['0', 'enrollment/orgUnitCode=BIO/userName=ben'],
    ['1', 'enrollment/orgUnitCode=ART/userName=cleo'],
  ]);
});
