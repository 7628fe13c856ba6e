import { describe, expect, test } from 'vitest';
import type { Cell } from '../../../../lib/delivery/mapping/columns.ts';
import {
  eventsOf,
  problemsByColumn,
  problemWithValue,
  removalsOf,
} from '../../../../lib/delivery/mapping/events.ts';
import { columnsIn, readMapping } from '../../../../lib/delivery/mapping/mapping.ts';
import { safe } from '../../../../lib/message/safe-text.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';

const functions = await loadIntegrations();
const mappingOf = (messages: unknown) => {
  const read = readMapping(JSON.stringify({ messages }), functions);
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
        ...{ orgUnitId: 'COURSE', userId: { value: '301' }, gradeObjectName: 'WHAT' },
        ...{ 'grade.type': { value: 'numeric' }, 'grade.points': { from: 'POINTS', default: 0 } },
        comments: 'TEXT',
      },
    };
    const { messages } = { messages: [enrollment, grade] };
    const given = row({ ...cells, COURSE: '2001', WHAT: 'Quiz', POINTS: '', TEXT: '"', CHANGED: 'then' });
    expect(eventsOf(given, mappingOf(messages))).toEqual({
      events: [
        {
          ...{ function: 'enrollment-create', at: 0, time: 'then', key: ['2001', '007'] },
          data: { orgUnitCode: '2001', userName: '007', roleId: 109 },
          columns: expect.anything(),
        },
        {
          ...{ function: 'grade-push', at: 1, columns: expect.anything() },
          data: {
            ...{ orgUnitId: 2001, userId: 301, gradeObjectName: 'Quiz', comments: '' },
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
      ...{ orgUnitCode: 'COURSE', gradeObjectName: { value: 'Essay' }, type: { value: 'numeric' } },
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
      ...{ function: 'enrollment-create', resource: 'section-registrations', operations: ['created'] },
      data: { orgUnitCode: 'content.section.code', userName: 'content.login', roleId: { value: 110 } },
      time: 'published',
    },
  ]);
  const notice = {
    ...{ id: '1', published: '2026-11-23T02:00:00Z', operation: 'created' },
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
      ...['status', 'COURSE', 'LOGIN', 'ROLE', 'CHANGED'],
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
