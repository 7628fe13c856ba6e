import { describe, expect, test } from 'vitest';
import type { Cell } from '../../../../lib/delivery/mapping/columns.ts';
import {
  eventsOf,
  problemsByColumn,
  problemWithValue,
  removalsOf,
} from '../../../../lib/delivery/mapping/events.ts';
import { columnsIn, mappingAs, readMapping } from '../../../../lib/delivery/mapping/mapping.ts';
import { safe } from '../../../../lib/message/safe-text.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';

const functions = await loadIntegrations();
const mappingOf = (messages: unknown, more: object = {}) => {
  const read = readMapping(JSON.stringify({ ...more, messages }), functions);
  if ('problems' in read) throw new Error(read.problems.join('; '));
  return read.mapping;
};
const problemsIn = (file: unknown) => {
  const read = readMapping(typeof file === 'string' ? file : JSON.stringify(file), functions);
  return 'problems' in read ? read.problems : [];
};
/** `"x` is a quoted cell. */
const row = (cells: Record<string, string>): Map<string, Cell> =>
  new Map(
    Object.entries(cells).map(([name, text]) => [
      name,
      { text: text.replace(/^"/, ''), quoted: text.startsWith('"') },
    ]),
  );

const enrollment = {
  function: 'enrollment-create',
  when: { status: ['active', 1] },
  data: {
    orgUnitCode: 'COURSE',
    userName: 'LOGIN',
    roleId: { from: 'ROLE', values: { S: 110, T: '109' } },
  },
  time: 'CHANGED',
  key: ['COURSE', 'LOGIN'],
  removed: { function: 'enrollment-remove', data: { orgUnitCode: 'COURSE', userName: 'LOGIN' } },
};
const cells = { COURSE: 'MATH-101', LOGIN: '007', ROLE: 'T', status: 'active', CHANGED: '' };

describe('a row', () => {
  test('makes a message of each kind that is for it, typed as the function’s schema has it', () => {
    const grade = {
      function: 'grade-push',
      data: {
        orgUnitId: 'COURSE',
        userId: { value: '301' },
        gradeObjectName: 'WHAT',
        'grade.type': { value: 'numeric' },
        'grade.points': { from: 'POINTS', default: 0 },
        comments: 'TEXT',
      },
    };
    const { messages } = { messages: [enrollment, grade] };
    const given = row({
      ...cells,
      COURSE: '2001',
      WHAT: 'Quiz',
      POINTS: '',
      TEXT: '"',
      CHANGED: '2026-11-23T02:00:00Z',
    });
    expect(eventsOf(given, mappingOf(messages))).toEqual({
      events: [
        {
          function: 'enrollment-create',
          at: 0,
          time: '2026-11-23T02:00:00Z',
          data: { orgUnitCode: '2001', userName: '007', roleId: 109 },
          columns: expect.anything(),
        },
        {
          function: 'grade-push',
          at: 1,
          columns: expect.anything(),
          data: {
            orgUnitId: 2001,
            userId: 301,
            gradeObjectName: 'Quiz',
            comments: '',
            grade: { type: 'numeric', points: 0 },
          },
        },
      ],
    });
  });

  test('makes none where a column has no value for it', () => {
    const mapping = mappingOf([enrollment]);
    expect(eventsOf(row({ ...cells, status: 'inactive' }), mapping)).toEqual({ events: [] });
    expect(eventsOf(row({ ...cells, status: '1' }), mapping)).toMatchObject({ events: [{ at: 0 }] });
  });

  test('that is missing makes the removal of what it was, and none where the mapping has none', () => {
    const { removed: _, ...other } = enrollment;
    expect(removalsOf(row(cells), mappingOf([other, enrollment]))).toMatchObject({
      events: [{ function: 'enrollment-remove', at: 1, data: { orgUnitCode: 'MATH-101', userName: '007' } }],
    });
  });

  test('leaves out what is not given; a value that the mapping does not name is apart from its problem, as no log may have it', () => {
    const mapping = mappingOf([enrollment]);
    expect(eventsOf(row({ ...cells, LOGIN: '', ROLE: '' }), mapping)).toMatchObject({
      events: [{ data: { orgUnitCode: 'MATH-101' } }],
    });
    expect(eventsOf(row({ ...cells, ROLE: 'secret' }), mapping)).toEqual({
      problems: [
        {
          column: 'ROLE',
          problem:
            'has a value that the mapping does not name. Add it to messages[0].data.roleId.values, or give a default there',
          value: 'secret',
        },
      ],
    });
    const [problem] = eventsOf(row({ ...cells, ROLE: `$&"${'x'.repeat(100)}` }), mapping).problems ?? [];
    expect(problem && problemWithValue(problem)).toBe(
      `has the value "$&\\"${'x'.repeat(37)}", which the mapping does not name. Add it to messages[0].data.roleId.values, or give a default there`,
    );
  });

  test('has null where the mapping names that for its value, and the default for one that it does not name', () => {
    const values = { none: null, a: 7 };
    const data = (more: object) => ({
      orgUnitCode: 'COURSE',
      gradeObjectName: { value: 'Essay' },
      type: { value: 'numeric' },
      categoryId: { from: 'CATEGORY', values, ...more },
    });
    const mapping = mappingOf(
      [{ default: 8 }, {}].map((more) => ({ function: 'grade-object-update', data: data(more) })),
    );
    const made = (CATEGORY: string) =>
      eventsOf(row({ ...cells, CATEGORY }), mapping).events?.map((event) => event.data.categoryId);
    expect([made('none'), made('a'), made('')]).toEqual([
      [null, null],
      [7, 7],
      [8, undefined],
    ]);
  });

  test.each(['constructor', '__proto__', 'toString'])('with %s in it is no trap', (name) => {
    const mapping = mappingOf([enrollment]);
    expect(eventsOf(row({ ...cells, ROLE: name }), mapping)).toHaveProperty('problems');
    expect(eventsOf({ ...cells, ROLE: 'S', LOGIN: { a: 1 } }, mapping)).toHaveProperty('problems');
  });
});

test('a notice is read by paths, resource and operation', () => {
  const mapping = mappingOf([
    {
      function: 'enrollment-create',
      resource: 'section-registrations',
      operations: ['created'],
      data: { orgUnitCode: 'content.section.code', userName: 'content.login', roleId: { value: 110 } },
      time: 'published',
    },
  ]);
  const notice = {
    id: '1',
    published: '2026-11-23T02:00:00Z',
    operation: 'created',
    resource: { name: 'section-registrations', version: '16' },
    content: { section: { code: 101 }, login: 'ann' },
  };
  expect(eventsOf(notice, mapping)).toMatchObject({
    events: [{ time: notice.published, data: { orgUnitCode: '101', userName: 'ann', roleId: 110 } }],
  });
  expect(eventsOf({ ...notice, resource: 'section-registrations' }, mapping)).toMatchObject({
    events: [{ at: 0 }],
  });
  expect(eventsOf({ ...notice, operation: 'deleted' }, mapping)).toEqual({ events: [] });
  expect(eventsOf({ ...notice, resource: { name: 'persons' } }, mapping)).toEqual({ events: [] });
  expect(eventsOf(row(cells), mapping)).toEqual({ events: [] });
});

test('what the check of a message says is told by column', () => {
  const { events = [] } = eventsOf(row(cells), mappingOf([enrollment]));
  const said = [
    { field: safe`data.roleId`, problem: safe`must be one of a; b` },
    { field: safe`time`, problem: safe`must be a time` },
    { field: safe`data.files[0].uri`, problem: safe`is missing` },
    { problem: safe`the body has more than 10,000 values` },
  ];
  expect(problemsByColumn(said, events[0] ?? { columns: new Map() }, safe`COURSE`)).toEqual([
    { column: 'ROLE', problem: 'must be one of a; b (data.roleId)' },
    { column: 'CHANGED', problem: 'must be a time (time)' },
    { column: 'data.files[0].uri', problem: 'is missing' },
    { column: 'COURSE', problem: 'the body has more than 10,000 values' },
  ]);
});

describe('a mapping file', () => {
  test('names the columns that a table must have', () => {
    expect([...columnsIn(mappingOf([enrollment])).keys()]).toEqual([
      'status',
      'COURSE',
      'LOGIN',
      'ROLE',
      'CHANGED',
    ]);
  });

  const only = (changes: object) => ({ messages: [{ ...enrollment, ...changes }] });
  const data = (changes: object) => only({ data: { ...enrollment.data, ...changes } });
  test.each<[string, unknown, RegExp]>([
    ['no JSON', '{', /^it is not JSON \(its first fault is in line 1, column 2\)$/],
    ['no messages', {}, /^messages: .*missing/],
    ['none of them', { messages: [] }, /^messages: must have at least one message$/],
    ['another field', only({ what: 1 }), /^messages\[0\]\.what: is not a known field$/],
    [
      'another function',
      only({ function: 'enrol' }),
      /^messages\[0\]\.function: there is no function enrol\. There are content-topic-update, /,
    ],
    [
      'another one to remove by',
      only({ removed: { function: 'x', data: {} } }),
      /^messages\[0\]\.removed\.function: there is no function x/,
    ],
    [
      'another field of data',
      data({ orgUnitcode: 'C' }),
      /^messages\[0\]\.data\.orgUnitcode: is not a field of enrollment-create\. It has .*orgUnitCode/,
    ],
    [
      'a trap',
      '{"messages":[{"function":"enrollment-create","data":{"constructor":"C"}}]}',
      /constructor: is not a field/,
    ],
    [
      'a fixed value of another type',
      data({ roleId: { value: 'many' } }),
      /^messages\[0\]\.data\.roleId: gives "many", but must be integer$/,
    ],
    [
      'a value of another type',
      data({ roleId: { from: 'R', values: { S: 1.5 } } }),
      /gives 1.5, but must be integer/,
    ],
    [
      'a default that it may not have',
      only({ function: 'grade-push', data: { 'grade.type': { from: 'T', default: 'number' } } }),
      /must be one of numeric/,
    ],
    [
      'what is no source of a field',
      data({ roleId: { column: 'R' } }),
      /^messages\[0\]\.data\.roleId: must be a column, /,
    ],
    [
      'others without is',
      only({ when: { status: { not: 'others' } } }),
      /^messages\[0\]\.when\.status: has "not": "others" without "is"/,
    ],
    ['when without values', only({ when: { status: [] } }), /^messages\[0\]\.when\.status: names no values/],
    [
      'operations without a resource',
      only({ operations: ['created'] }),
      /^messages\[0\]\.operations: is only for notices/,
    ],
    ['no column of a key', only({ key: [] }), /^messages\[0\]\.key: names no columns/],
  ])('with %s is refused, by its place', (_, file, problem) => {
    expect(problemsIn(file)).toEqual([expect.stringMatching(problem)]);
  });
});

describe('a value', () => {
  const made = (LOGIN: string, rules: object, more: object = {}) => {
    const data = { orgUnitId: { value: 1 }, roleId: { value: 1 }, userName: { from: 'LOGIN', ...rules } };
    const mapping = mappingOf([{ function: 'enrollment-create', data }], more);
    return eventsOf(row({ LOGIN }), mapping).events?.[0]?.data.userName;
  };

  test.each([
    ['="0012345"', { strip: ['formula'] }, '0012345'],
    ['="O""Neil"', { strip: ['formula'] }, 'O"Neil'],
    ['#lena', { strip: ['hash'] }, 'lena'],
    ['\u201elena\u201c', { strip: ['quotes'] }, 'lena'],
    [" ' 007' ", { strip: ['spaces', 'quotes'] }, '007'],
    ['"  lena\u00a0', { strip: ['spaces'] }, 'lena'],
    ['="#12"', { strip: ['formula', 'hash'], digits: 5 }, '00012'],
    ['12-a', { digits: 5 }, '12-a'],
    ['Lena.LEARNER', { case: 'lower' }, 'lena.learner'],
    ['bio-101', { case: 'upper' }, 'BIO-101'],
    // Nothing is left within what protected it: no value is given.
    ['=""', { strip: ['formula'] }, undefined],
    ['"   ', { strip: ['spaces'] }, undefined],
    ['"', { strip: ['spaces'] }, ''],
    // Without a rule it is as it is written.
    ['="1"', {}, '="1"'],
  ])('written %j is read by %j as %j', (written, rules, value) => {
    expect(made(written, rules)).toBe(value);
  });

  test('is read by the rules of all cells, if its own do not replace them', () => {
    expect(made(' a ', {}, { cells: { strip: ['spaces'] } })).toBe('a');
    expect(made(' #a ', { strip: ['hash'] }, { cells: { strip: ['spaces'] } })).toBe(' #a ');
  });

  test.each([
    ['{TERM}.{CRN}', '202710.10432'],
    ['SIS-{ CRN }', 'SIS-10432'],
    ['{TERM}.{NONE}', undefined],
  ])('by the template %s is %j', (from, value) => {
    const data = { orgUnitCode: from, userName: { value: 'a' }, roleId: { value: 1 } };
    const mapping = mappingOf([{ function: 'enrollment-create', data }], { cells: { strip: ['spaces'] } });
    const { events } = eventsOf(row({ TERM: ' 202710', CRN: '10432', NONE: '' }), mapping);
    expect(events?.[0]?.data.orgUnitCode).toBe(value);
    expect([...columnsIn(mapping).keys()]).toEqual(from.match(/[A-Z]{3,}(?=\s?\})/g));
  });

  test('has its problem told by all columns of its template', () => {
    const data = { orgUnitCode: '{TERM}.{CRN}' };
    const made = eventsOf(row({ TERM: '1', CRN: '' }), mappingOf([{ function: 'enrollment-create', data }]));
    const problem = { field: safe`data.orgUnitCode`, problem: safe`is missing` };
    expect(problemsByColumn([problem], made.events?.[0] ?? { columns: new Map() }, safe`the row`)).toEqual([
      { column: 'TERM, CRN', problem: 'is missing (data.orgUnitCode)' },
    ]);
  });
});

describe('a number', () => {
  const points = (POINTS: string, cells: object, separator = ',') => {
    const data = { 'grade.type': { value: 'numeric' }, 'grade.points': 'POINTS' };
    const mapping = mappingAs(mappingOf([{ function: 'grade-push', data }], { cells }), separator);
    const { events, problems } = eventsOf(row({ POINTS }), mapping);
    return problems ? problems[0]?.problem : Object(events[0]?.data.grade).points;
  };
  const comma = 'has a comma. If that is a decimal comma, set "decimal": "," under "cells"';

  test.each([
    ['8,5', {}, ',', comma],
    ['8,5', { decimal: ',' }, ',', 8.5],
    ['1,234', { decimal: ',' }, ';', 1.234],
    // It could be 8.5 or 85.
    ['8.5', { decimal: ',' }, ';', '8.5'],
    // Programs that write semicolons write commas; three decimals could be thousands.
    ['8,5', {}, ';', 8.5],
    ['-0,25', {}, ';', -0.25],
    ['1,234', {}, ';', comma],
    ['8.5', {}, ';', 8.5],
    ['8,5', { decimal: '.' }, ';', comma],
  ])('%s is by %j, between %s, read as %j', (text, cells, separator, value) => {
    expect(points(text, cells, separator)).toBe(value);
  });
});

describe('a condition', () => {
  const isMet = (cells: Record<string, string>, when: object, more: object = {}) => {
    const data = { orgUnitId: { value: 1 }, userId: { value: 1 }, roleId: { value: 1 } };
    const { events, problems } = eventsOf(
      row(cells),
      mappingOf([{ function: 'enrollment-create', when, data }], more),
    );
    return problems ? `${problems[0]?.column} ${problems[0]?.problem}` : events.length === 1;
  };

  test.each([
    ['', { empty: false }, false],
    ['7', { empty: false }, true],
    ['', { empty: true }, true],
    ['W', { not: ['W', 'D'] }, false],
    ['E', { not: ['W', 'D'] }, true],
    ['e', { is: ['E'], case: 'upper' }, true],
    ['="E"', { is: ['E'], strip: ['formula'] }, true],
    ['3', { atLeast: 3, below: 10 }, true],
    ['10', { atLeast: 3, below: 10 }, false],
    // As numbers, not as text.
    ['9', { atMost: 10 }, true],
    ['', { above: 0 }, false],
    ['many', { above: 0 }, 'X must be a number, as "when" compares it with one'],
    ['2026-09-01', { atLeast: '2026-09-01' }, true],
    ['31-AUG-2026', { atLeast: '2026-09-01' }, false],
    ['soon', { below: '2026-09-01' }, 'X must be a day or a time, as "when" compares it with one'],
  ])('about %j by %j gives %j', (X, when, met) => {
    expect(isMet({ X }, { X: when })).toBe(met);
  });

  test('may be about several columns together', () => {
    expect(isMet({ A: '1', B: '2' }, { '{A}-{B}': ['1-2'] })).toBe(true);
  });
});

describe('a time', () => {
  const timeOf = (CHANGED: string, cells: object) => {
    const { events, problems } = eventsOf(row({ ...cells, CHANGED }), mappingOf([changed], { cells }));
    return problems ? problems[0]?.problem : events[0]?.time;
  };
  const changed = {
    function: 'enrollment-create',
    time: 'CHANGED',
    data: { orgUnitId: { value: 1 }, userId: { value: 1 }, roleId: { value: 1 } },
  };
  const berlin = { timeZone: 'Europe/Berlin' };
  const noMonth = 'has no month of English, or of "language" under "cells". Set that, as in "de"';

  test.each([
    ['2026-03-17T14:05:09Z', {}, '2026-03-17T14:05:09Z'],
    ['2026-03-17 19:36:45.834467+00', {}, '2026-03-17T19:36:45.834467Z'],
    ['2026-03-17 14:05:09 -0530', {}, '2026-03-17T19:35:09Z'],
    ['2026-11-28 09:30', berlin, '2026-11-28T08:30:00Z'],
    ['2026-07-28 09:30', berlin, '2026-07-28T07:30:00Z'],
    ['2026-09-01', berlin, '2026-08-31T22:00:00Z'],
    ['20260901', berlin, '2026-08-31T22:00:00Z'],
    ['2026-11-28-09.30.00.000001', berlin, '2026-11-28T08:30:00.000001Z'],
    ['28-NOV-2026 09:30:00', berlin, '2026-11-28T08:30:00Z'],
    ['28.11.2026 9:30', { ...berlin, dateOrder: 'day-month-year' }, '2026-11-28T08:30:00Z'],
    [
      '11/28/2026 12:30 am',
      { timeZone: 'America/New_York', dateOrder: 'month-day-year' },
      '2026-11-28T05:30:00Z',
    ],
    ['17. March 2026', berlin, '2026-03-16T23:00:00Z'],
    ['17 sept. 2026', berlin, '2026-09-16T22:00:00Z'],
    ['17-MRZ-2026 14:05', { ...berlin, language: 'de' }, '2026-03-17T13:05:00Z'],
    ['3. März 2026', { ...berlin, language: 'de' }, '2026-03-02T23:00:00Z'],
    ['17-Dez-2026', { ...berlin, language: 'de' }, '2026-12-16T23:00:00Z'],
    ['17/fevr./2026', { ...berlin, language: 'fr' }, '2026-02-16T23:00:00Z'],
    ['17-ENE-2026', { ...berlin, language: 'es' }, '2026-01-16T23:00:00Z'],
    ['17 stycznia 2026', { ...berlin, language: 'pl' }, '2026-01-16T23:00:00Z'],
    ['17-KAS-2026', { ...berlin, language: 'tr' }, '2026-11-16T23:00:00Z'],
    ['17 мая 2026', { ...berlin, language: 'ru' }, '2026-05-16T22:00:00Z'],
    ['17-MRZ-2026', berlin, noMonth],
    ['17-ENE-2026', { ...berlin, language: 'de' }, noMonth],
    // juin or juillet
    ['17-JUI-2026', { ...berlin, language: 'fr' }, noMonth],
    ['30-FEB-2026', berlin, '30-FEB-2026'],
    // The hour that a clock shows twice is the first one or the second, but never none.
    ['2026-10-25 02:30', berlin, expect.stringMatching(/^2026-10-25T0[01]:30:00Z$/)],
    ['2026-11-28 09:30', {}, 'has no offset from UTC. Set "timeZone" under "cells", as in "Europe/Berlin"'],
    ['1/05/2023 09:30', berlin, 'can be two days, as 1/05/2023 can. Set "dateOrder" under "cells"'],
    ['06-MAR-26', berlin, 'has a year of two digits. Write it with four'],
    ['6.3.26 14:05', berlin, 'has a year of two digits. Write it with four'],
    // Its schema says what is wrong.
    ['2026-02-30', berlin, '2026-02-30'],
    ['yesterday', berlin, 'yesterday'],
    [' ', berlin, undefined],
  ])('%s by %j is %j', (text, cells, time) => {
    expect(timeOf(text, cells)).toEqual(time);
  });
});
