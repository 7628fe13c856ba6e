import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rowsTold } from '../../../lib/options/snapshots/package/rows.ts';
import { stateKey } from '../../../lib/options/snapshots/state/record.ts';
import { removeTemporaryFolders } from '../../temporary-folder.ts';
import { type Body, dropMs } from './imports.ts';
import { changed, enrollment, type Rows, result, type Sis } from './sis.ts';
import { stateObjects, stateRows } from './state-rows.ts';
import { newUniversities, type University } from './universities.ts';

// Small universities share one export, as an import costs as much for one of them as for all: each has names of its own, and each is a test.

afterAll(removeTemporaryFolders);

/** Of these nights an export has what has changed alone, of the others all. */
const deltas = [5, 6, 7];
const nights = [1, 2, 3, ...deltas, 41, 44];

const without = (rows: Rows, id: string): Rows => rows.filter(({ sourcedId }) => sourcedId !== id);
const active = { status: 'active' };
const deleted = { status: 'tobedeleted' };
const at = (night: number, hours = 0): string => new Date(dropMs(night) + hours * 3_600_000).toISOString();

/** What the platform holds of a small university. */
const first = [
  'ART-1 ada 110',
  ...['ada 110', 'ben 110', 'cleo 110', 'tess 109'].map((each) => `BIO-101 ${each}`),
  ...['ada 17.5', 'ben 0'].map((each) => `BIO-101/Essay ${each}`),
];
const but = (...gone: string[]): string[] => first.filter((each) => !gone.includes(each));
const essay = { orgUnitCode: 'BIO-101', gradeObjectName: 'Essay' };
const outOf20 = (points: number) => ({ type: 'numeric', points, outOf: 20 });
const dataOf = (bodies: Body[]) => bodies.map(({ type, data }) => [type.split('.')[1], data]);

const renamedItems = (titles: Record<string, string>, points: Record<string, string> = {}): Sis => ({
  lineItems: Object.entries(titles).map(([sourcedId, title]) => ({
    sourcedId,
    title,
    classSourcedId: 'c-bio',
    resultValueMax: '20',
  })),
  results: Object.entries(points).map(([item, score]) => result(item.slice(2), 'ada', score)),
});
/** What is sent of line items and grades. */
const titled = (bodies: Body[]) =>
  bodies
    .filter(({ type }) => type.includes('grade'))
    .map(({ type, data: { gradeObjectName, gradeObjectFormerNames, name, grade } }) => ({
      [type.split('.')[1] ?? '']: gradeObjectName ?? name,
      ...(gradeObjectFormerNames !== undefined && { formerly: gradeObjectFormerNames }),
      ...(gradeObjectName !== undefined && name !== undefined && { name }),
      ...(grade !== undefined && { points: (grade as { points: number }).points }),
    }));
const notUsed = (where: string) =>
  `${where} held: a refused row may be about the same thing on the platform, so what was accepted stays. Correct the refused row, or leave it out`;
const hadTitle =
  'lineItems title another line item of the class had this title in the last 40 days. Give this one another title';

const bulks: University[] = [
  {
    // An export whose latest change is of before asks a person.
    title: 'whose grade changes every night has the newest',
    exports: () =>
      Object.fromEntries(
        nights.map((night) => {
          const now = { dateLastModified: at(night, -1), ...active };
          return [night, { results: [result('talk', 'ada', `${night % 10}`, now)] }];
        }),
      ),
    expected: ({ held }) => expect(held(44)).toContain('ART-1/Talk ada 4'),
  },
  {
    title: 'whose result is missing for a night has its grade, though its time is the one that it had',
    exports: () => {
      const ben = result('essay', 'ben', '1');
      const scored = (score: string): Sis => ({
        results: [ben, result('essay', 'ada', score, { dateLastModified: at(-2) })],
      });
      return { 1: scored('7'), 2: scored('8'), 3: { results: [ben] }, 41: scored('9') };
    },
    expected: ({ held, sent }) => {
      expect(sent(3)).toEqual([]);
      expect(held(41)).toContain('BIO-101/Essay ada 9');
    },
  },
  {
    title: 'in which a user is replaced by another record of that name removes nobody with the old one',
    exports: (sis) => {
      const users = [...changed(sis.users, 'u-ada', deleted), { sourcedId: 'u-ada-2', username: 'ada' }];
      const enrollments = [...sis.enrollments, enrollment('bio', 'ada-2'), enrollment('art', 'ada-2')];
      const left = enrollments.filter(({ userSourcedId }) => userSourcedId !== 'u-ada');
      return {
        2: { users, enrollments },
        3: { users, enrollments: left },
        41: { users: without(users, 'u-ada'), enrollments: left },
      };
    },
    expected: ({ held, sent }) => {
      for (const night of [2, 3, 41]) expect([sent(night), held(night)]).toEqual([[], first]);
    },
  },
  {
    title: 'whose grade stays for a refused row has the grade of another row, though a delta tells it',
    exports: (sis) => {
      const users = [...without(sis.users, 'u-ada'), { sourcedId: 'u-ada-2', username: 'ada' }];
      const enrollments = sis.enrollments.map((row) =>
        row.userSourcedId === 'u-ada' ? { ...row, userSourcedId: 'u-ada-2' } : row,
      );
      const results = [result('essay', 'ben', '0'), result('essay', 'nobody', '5')];
      return {
        3: { users, enrollments, results },
        5: { results: [{ ...result('essay', 'ada-2', '16'), ...active }] },
      };
    },
    expected: ({ held, refused }) => {
      expect(refused(3)).toEqual(['results studentSourcedId names no row of users.csv']);
      expect(held(3)).toContain('BIO-101/Essay ada 17.5');
      expect(held(5)).toContain('BIO-101/Essay ada 16');
    },
  },
  {
    title: 'in which a class has a new id names each new row that is not used for an old one, which lingers',
    exports: (sis) => {
      const made = inNewClass(sis);
      const old = sis.enrollments.filter(({ classSourcedId }) => classSourcedId === 'c-bio');
      const fresh = made.enrollments.map((row) => ({ ...row, sourcedId: `${row.sourcedId}-new` }));
      const next = changed(without(fresh, 'e-bio-ben-new'), 'e-bio-ada-new', { role: 'teacher' });
      return {
        2: { ...made, enrollments: [...fresh, ...old] },
        3: { ...made, enrollments: [...next, ...old] },
        41: { ...made, enrollments: next },
      };
    },
    expected: ({ held, refused }) => {
      const lingering = Array(4).fill('enrollments classSourcedId names no row of classes.csv');
      expect(refused(2)).toEqual(lingering);
      expect(refused(3)).toEqual([notUsed('enrollments role'), ...lingering]);
      expect(held(3)).toEqual(first);
      expect(refused(41)).toEqual([]);
      expect(held(41)).toEqual([...but('BIO-101 ada 110', 'BIO-101 ben 110'), 'BIO-101 ada 109'].sort());
    },
  },
  {
    title: 'in which a row that cannot be used lies beside another names that one, which is not used',
    exports: ({ enrollments }) => {
      const aide = enrollment('bio', 'ada', { sourcedId: 'e-aide', role: 'aide' });
      return {
        1: { enrollments: [...enrollments, aide] },
        2: { enrollments: [...changed(enrollments, 'e-bio-ada', { role: 'teacher' }), aide] },
        3: { enrollments },
      };
    },
    expected: ({ held, refused }) => {
      expect([refused(1), refused(2)]).toEqual([[], [notUsed('enrollments role')]]);
      expect(held(2)).toEqual(first);
    },
  },
  {
    title: 'with a slip in the ids of class and user of a new row removes nobody whom it may mean',
    exports: ({ enrollments }) => ({
      2: {
        enrollments: changed(enrollments, 'e-bio-ada', {
          sourcedId: 'e-9',
          classSourcedId: 'c-bio ',
          userSourcedId: 'U-ADA',
        }),
      },
      // It is there still, and hides nobody else who goes.
      3: {
        enrollments: without(
          changed(enrollments, 'e-bio-ada', { sourcedId: 'e-9', classSourcedId: 'c-bio ' }),
          'e-bio-ben',
        ),
      },
    }),
    expected: ({ sent, refused }) => {
      const problem = 'differs from an id of the package only by a space, or by upper and lower case';
      expect(refused(2)).toEqual([`enrollments classSourcedId ${problem}`]);
      expect([sent(2), sent(3)]).toEqual([[], ['enrollment-remove BIO-101 ben']]);
    },
  },
  {
    title: 'that lists a line item twice, once so that it cannot be used, sends its grades once',
    exports: ({ lineItems }) => {
      const broken = { sourcedId: 'l-essay', title: 'Essay', classSourcedId: 'c-bio', resultValueMax: '' };
      return { 2: { lineItems: [...lineItems, broken] }, 3: { lineItems }, 5: { results: [] } };
    },
    expected: ({ sent }) => {
      for (const night of [2, 3, 5]) expect(sent(night)).toEqual([]);
    },
  },
  {
    title: 'with a score beside one that is not yet graded has the score',
    exports: () => ({
      2: {
        results: [
          result('essay', 'ada', '', { scoreStatus: 'submitted', sourcedId: 'r-2' }),
          result('essay', 'ada', '19', { dateLastModified: '' }),
          result('essay', 'ben', '0', { comment: 'See me' }),
        ],
      },
    }),
    expected: ({ held }) => expect(held(2)).toContain('BIO-101/Essay ada 19'),
  },
  {
    title: 'that changes a maximum says with each new grade that it is out of the new one',
    exports: ({ lineItems, results }) => {
      const next = { lineItems: changed(lineItems, 'l-essay', { resultValueMax: '40' }) };
      return {
        2: { ...next, results: [...results, result('essay', 'cleo', '30')] },
        3: { ...next, results: [...results, result('essay', 'cleo', '31')] },
      };
    },
    expected: ({ bodies }) => {
      const cleo = { ...essay, userName: 'cleo' };
      // Either may be handled first: the grade waits for the maximum.
      expect(dataOf(bodies(2))).toEqual([
        ['grade-object-update', { ...essay, type: 'numeric', maxPoints: 40 }],
        ['grade-push', { ...cleo, grade: { type: 'numeric', points: 30, outOf: 40 } }],
      ]);
      expect(dataOf(bodies(3))).toEqual([
        ['grade-push', { ...cleo, grade: { type: 'numeric', points: 31, outOf: 40 } }],
      ]);
    },
  },
  {
    title: 'gives each event an id of its own, a time that goes on, and a place in the order',
    exports: () => {
      const scored = (score: string, more = {}): Sis => ({ results: [result('essay', 'ada', score, more)] });
      return { 1: scored('17'), 2: scored('18'), 41: scored('19', { dateLastModified: at(41, -1) }) };
    },
    expected: ({ bodies }) => {
      const of = (night: number) => bodies(night).filter(({ type }) => type.includes('grade-push'));
      const ids = [1, 2, 41].flatMap((night) => of(night).map(({ id }) => id.split('/')));
      expect(ids[0]).toEqual([
        expect.stringMatching(/^20261102T020000Z-[0-9a-f]{8}$/),
        expect.stringMatching(/^[0-9a-f]{20}$/),
      ]);
      expect(new Set(ids.map(([, own]) => own)).size).toBe(1);
      // Its change is too long ago for the ledger; then it did not advance, then it did.
      expect(of(1)).toMatchObject([{ source: '/sis-relay/snapshots', time: at(1), sequence: '2' }]);
      expect(of(2)).toMatchObject([{ time: at(2), sequence: '4' }]);
      expect(of(41)).toMatchObject([{ time: at(41, -1), sequence: '14' }]);
      const all = [1, 2, 41].flatMap((night) => bodies(night).map(({ id }) => id));
      expect(new Set(all).size).toBe(all.length);
    },
  },
  {
    title: 'puts no grade of before over a newer one that another record of the user had',
    exports: (sis) => {
      const scored = (user: string, score: string, day: string): Sis => ({
        results: [result('essay', user, score, { dateLastModified: `2026-10-${day}T09:00:00Z` })],
      });
      const users = [...changed(sis.users, 'u-ada', deleted), { sourcedId: 'u-ada-2', username: 'ada' }];
      return {
        1: scored('ada', '10', '01'),
        2: { users, ...scored('ada-2', '19', '20') },
        3: { users: sis.users, ...scored('ada', '10', '01') },
      };
    },
    expected: ({ held, refused }) => {
      expect(held(3)).toContain('BIO-101/Essay ada 19');
      expect(refused(3)).toEqual([
        'results dateLastModified is before the time of the accepted grade, which stays. To send this one, export it with the time of its change',
      ]);
    },
  },
  ...[
    ['2026-10-20 11:00:00 AM', '2026-10-20 1:00 PM', '2026-10-20 12:30:00 PM'],
    ['2026-10-20T11:00:00', '2026-10-20T13:00:00+01:00', '2026-10-20T11:59:00Z'],
    ['2026-10-20', '2026-10-25', '2026-10-21'],
  ].map(
    ([first = '', newer = '', older = '']): University => ({
      title: `puts no grade of before over a newer one by times such as ${first}`,
      exports: () => {
        const scored = (score: string, dateLastModified: string): Sis => ({
          results: [result('essay', 'ada', score, { dateLastModified })],
        });
        return {
          1: scored('5', first),
          2: scored('9', newer),
          3: scored('6', older),
          41: scored('7', newer),
        };
      },
      expected: ({ held, refused, bodies }) => {
        expect([1, 2, 3, 41].map((night) => held(night).filter((each) => each.includes('/')))).toEqual(
          ['5', '9', '9', '7'].map((points) => [`BIO-101/Essay ada ${points}`]),
        );
        expect([refused(2), refused(3).length, refused(41)]).toEqual([[], 1, []]);
        expect(bodies(41).map(({ time }) => time)).toEqual([at(41)]);
      },
    }),
  ),
  {
    title: 'takes the later time of two records that agree about a grade, and puts nothing older over it',
    exports: (sis) => {
      const on = (user: string, score: string, day: number) =>
        result('essay', user, score, { dateLastModified: `2026-10-${day}T09:00:00Z` });
      const users = [...changed(sis.users, 'u-ada', deleted), { sourcedId: 'u-ada-2', username: 'ada' }];
      return {
        2: { users, results: [on('ada', '19', 11), on('ada-2', '19', 20)] },
        3: { users, results: [on('ada-2', '7', 15)] },
      };
    },
    expected: ({ held, refused }) => {
      expect(held(3)).toContain('BIO-101/Essay ada 19');
      expect(refused(3)).toHaveLength(1);
    },
  },
  {
    title: 'with a day alone for a change sends it, though a time of the same day was accepted',
    exports: () => {
      const scored = (score: string, dateLastModified: string): Sis => ({
        results: [result('essay', 'ada', score, { dateLastModified })],
      });
      return { 1: scored('9', '2026-10-20T11:00:00Z'), 2: scored('6', '2026-10-20') };
    },
    expected: ({ held, refused }) => {
      expect(held(2)).toContain('BIO-101/Essay ada 6');
      expect(refused(2)).toEqual([]);
    },
  },
  {
    title: 'with a day alone for a change sends it as of when it was dropped',
    exports: () => ({
      2: { results: [result('essay', 'ada', '5', { dateLastModified: at(2).slice(0, 10) })] },
    }),
    expected: ({ bodies }) => expect(bodies(2).map(({ time }) => time)).toEqual([at(2)]),
  },
  {
    title:
      'without a result that there was leaves other grades the times of their rows, as nothing takes a grade away',
    exports: () => ({
      2: { results: [result('essay', 'ada', '2', { dateLastModified: at(2, -6) })] },
    }),
    expected: ({ bodies }) => expect(bodies(2).map(({ time }) => time)).toEqual([at(2, -6)]),
  },
  {
    title:
      'whose result comes back without the comment that it had clears that, by the name that the user has now',
    exports: ({ users }) => {
      const ada = result('essay', 'ada', '5');
      const renamed = changed(users, 'u-ben', { username: 'benjamin' });
      return {
        2: { results: [ada] },
        3: { users: renamed, results: [ada, result('essay', 'ben', '3')] },
        41: { results: [ada] },
        44: { results: [ada, result('essay', 'ben', '4')] },
      };
    },
    expected: ({ bodies }) => {
      const grade = { ...essay, userName: 'benjamin' };
      expect(dataOf(bodies(3))).toEqual([
        ['enrollment-create', { orgUnitCode: 'BIO-101', userName: 'benjamin', roleId: 110 }],
        ['grade-push', { ...grade, grade: outOf20(3), comments: '' }],
      ]);
      expect(dataOf(bodies(44))).toEqual([['grade-push', { ...grade, grade: outOf20(4) }]]);
    },
  },
  {
    title: 'with a time in the future keeps no later grade away',
    exports: () => {
      const scored = (score: string, dateLastModified: string): Sis => ({
        results: [result('essay', 'ada', score, { dateLastModified })],
      });
      return { 1: scored('5', '2036-11-01T00:00:00Z'), 2: scored('15', at(2, -14)) };
    },
    expected: ({ held }) => expect(held(2)).toContain('BIO-101/Essay ada 15'),
  },
  {
    title: 'removes a user by the name that the user has now, which may have been that of another',
    exports: (sis) => {
      const users = swapped(sis.users);
      const enrollments = without(sis.enrollments, 'e-bio-ada');
      return {
        2: { users, enrollments },
        // Who is no longer listed has the name that was accepted.
        3: { users: without(users, 'u-cleo'), enrollments: without(enrollments, 'e-bio-cleo') },
      };
    },
    expected: ({ sent }) => {
      const removed = (night: number) => sent(night).filter((each) => each.includes('remove'));
      expect(removed(2)).toEqual(['enrollment-remove BIO-101 ben']);
      expect(removed(3)).toEqual(['enrollment-remove BIO-101 cleo']);
    },
  },
  {
    title: 'sends the grades of users who swapped their names as of now',
    exports: (sis) => ({
      1: {
        results: [
          result('essay', 'ada', '5', { dateLastModified: at(1, -2) }),
          result('essay', 'ben', '19', { dateLastModified: at(1, -1) }),
        ],
      },
      2: {
        users: swapped(sis.users),
        results: [
          // Later than all that was sent.
          result('essay', 'ada', '7', { dateLastModified: at(2, -1) }),
          result('essay', 'ben', '19', { dateLastModified: at(1, -1) }),
        ],
      },
    }),
    expected: ({ bodies }) => {
      const pushed = bodies(2).filter(({ type }) => type.includes('grade-push'));
      expect(pushed.map(({ time, data }) => [data.userName, time]).sort()).toEqual([
        ['ada', at(2)],
        ['ben', at(2)],
      ]);
    },
  },
  {
    title:
      'sends the grades of users who swapped their names by their names of now, though the line item is gone',
    exports: (sis) => ({ 2: { users: swapped(sis.users), lineItems: without(sis.lineItems, 'l-essay') } }),
    expected: ({ bodies }) =>
      expect(dataOf(bodies(2)).filter(([name]) => name === 'grade-push')).toEqual([
        ['grade-push', { ...essay, userName: 'ada', grade: outOf20(0), comments: 'See me' }],
        ['grade-push', { ...essay, userName: 'ben', grade: outOf20(17.5) }],
      ]),
  },
  {
    title: 'sends the grade of a user to nobody who has the former name, while the line item is inactive',
    exports: ({ users, lineItems }) => {
      const renamed = [
        ...changed(users, 'u-ada', { username: 'ada.l' }),
        { sourcedId: 'u-new', username: 'ada' },
      ];
      const inactive = changed(lineItems, 'l-essay', { status: 'inactive' });
      return {
        2: { users: renamed, lineItems: inactive },
        3: { users: changed(renamed, 'u-ada', { username: 'ada.lovelace' }), lineItems: inactive },
      };
    },
    expected: ({ sent }) => {
      const pushed = (night: number) => sent(night).filter((each) => each.startsWith('grade-push'));
      expect([2, 3].map(pushed)).toEqual(
        ['ada.l', 'ada.lovelace'].map((name) => [`grade-push BIO-101 Essay ${name} 17.5`]),
      );
    },
  },
];

const inNewClass = (sis: Required<Sis>) => ({
  // Made anew in the SIS, with the code that it had.
  classes: changed(sis.classes, 'c-bio', { sourcedId: 'c-new' }),
  lineItems: changed(sis.lineItems, 'l-essay', { classSourcedId: 'c-new' }),
  enrollments: sis.enrollments.map((row) =>
    row.classSourcedId === 'c-bio' ? { ...row, classSourcedId: 'c-new' } : row,
  ),
});
const swapped = (users: Rows): Rows =>
  changed(changed(users, 'u-ada', { username: 'ben' }), 'u-ben', { username: 'ada' });

const titles: University[] = [
  {
    title:
      'has its grades go to the grade object of either title, as nobody knows whether the platform took the new one',
    exports: () => ({
      1: renamedItems({ 'l-1': 'HW1', 'l-2': 'HW2' }),
      2: renamedItems({ 'l-1': 'HW1', 'l-2': 'HW3' }, { 'l-2': '5' }),
      3: renamedItems({ 'l-1': 'HW1', 'l-2': 'HW4' }, { 'l-2': '6' }),
      44: renamedItems({ 'l-1': 'HW1', 'l-2': 'HW4' }, { 'l-2': '7' }),
    }),
    expected: ({ bodies }) => {
      expect(titled(bodies(1))).toEqual(['HW1', 'HW2'].map((name) => ({ 'grade-object-create': name })));
      expect(titled(bodies(2))).toEqual([
        { 'grade-object-update': 'HW3', formerly: ['HW2'], name: 'HW3' },
        { 'grade-push': 'HW3', formerly: ['HW2'], points: 5 },
      ]);
      expect(titled(bodies(3))).toEqual([
        { 'grade-object-update': 'HW4', formerly: ['HW2', 'HW3'], name: 'HW4' },
        { 'grade-push': 'HW4', formerly: ['HW2', 'HW3'], points: 6 },
      ]);
      expect(titled(bodies(44))).toEqual([{ 'grade-push': 'HW4', points: 7 }]);
    },
  },
  {
    title: 'keeps the former one from others, so that no grade comes to it by the title of another',
    exports: () => ({
      1: renamedItems({ 'l-1': 'HW1', 'l-2': 'HW2' }),
      3: renamedItems({ 'l-1': 'HW1', 'l-2': 'HW3' }),
      41: renamedItems({ 'l-1': 'HW2', 'l-2': 'HW3' }, { 'l-1': '9' }),
    }),
    expected: ({ bodies, refused }) => {
      expect(titled(bodies(41))).toEqual([{ 'grade-push': 'HW1', points: 9 }]);
      expect(refused(41)).toEqual([hadTitle]);
      expect(titled(bodies(44))).toEqual([{ 'grade-object-update': 'HW2', formerly: ['HW1'], name: 'HW2' }]);
    },
  },
  {
    title: 'may have the former one again',
    exports: () => ({
      1: renamedItems({ 'l-1': 'HW1', 'l-2': 'HW2' }),
      2: renamedItems({ 'l-1': 'HW1', 'l-2': 'HW3' }),
      3: renamedItems({ 'l-1': 'HW1', 'l-2': 'HW2' }, { 'l-2': '8' }),
    }),
    expected: ({ bodies }) =>
      expect(titled(bodies(3))).toEqual([
        { 'grade-object-update': 'HW2', formerly: ['HW3'], name: 'HW2' },
        { 'grade-push': 'HW2', formerly: ['HW3'], points: 8 },
      ]),
  },
  {
    title: 'leaves none to a new one in the same night, as nobody knows whether the platform took that',
    exports: ({ lineItems, results }) => ({
      2: {
        lineItems: [
          ...changed(lineItems, 'l-essay', { title: 'Old essay' }),
          { sourcedId: 'l-new', title: 'Essay', classSourcedId: 'c-bio', resultValueMax: '20' },
        ],
        results: [...results, result('new', 'cleo', '9')],
      },
    }),
    expected: ({ bodies, sent, refused }) => {
      expect(dataOf(bodies(2))).toEqual([
        [
          'grade-object-update',
          {
            ...essay,
            gradeObjectName: 'Old essay',
            gradeObjectFormerNames: ['Essay'],
            type: 'numeric',
            name: 'Old essay',
          },
        ],
      ]);
      expect(refused(2)).toEqual([
        hadTitle,
        'results lineItemSourcedId its row in lineItems.csv was refused',
      ]);
      expect(sent(3)).toEqual([]);
    },
  },
];

const item = (id: string, title: string, course = 'bio', resultValueMax = '20') => ({
  sourcedId: `l-${id}`,
  title,
  classSourcedId: `c-${course}`,
  resultValueMax,
});
const gradesIn = (held: string[]): string[] => held.filter((each) => each.includes('/'));
/** What is sent of line items, as `create BIO-101/Essay`, `update BIO-101/Essay to {"maxPoints":40}`. */
const itemsIn = (bodies: Body[]): string[] =>
  bodies.flatMap(({ type, data: { orgUnitCode, gradeObjectName, type: _, ...rest } }) => {
    if (type.includes('create') && type.includes('grade-object')) return `create ${orgUnitCode}/${rest.name}`;
    return type.includes('grade-object')
      ? `update ${orgUnitCode}/${gradeObjectName} to ${JSON.stringify(rest)}`
      : [];
  });
const keepsTitle =
  'lineItems title another line item of the class keeps this title, because its row was refused. Correct the refused row, or give this line item another title';

const objects: University[] = [
  {
    title:
      'that moves to another class and back has the grade there that a row without its user holds, and it is sent once',
    exports: (sis) => {
      const users = [...without(sis.users, 'u-ada'), { sourcedId: 'u-ada-2', username: 'ada' }];
      const enrollments = sis.enrollments.map((row) =>
        row.userSourcedId === 'u-ada' ? { ...row, userSourcedId: 'u-ada-2' } : row,
      );
      const results = [result('essay', 'ada', '17')];
      const placed = (...where: [title: string, course?: string]): Sis => ({
        users,
        enrollments,
        results,
        lineItems: [item('essay', ...where)],
      });
      return {
        1: { lineItems: [item('essay', 'Essay')], results },
        2: placed('Later', 'art'),
        41: placed('Later'),
      };
    },
    expected: ({ sent, held, refused }) => {
      expect(refused(2)).toEqual(['results studentSourcedId names no row of users.csv']);
      expect(gradesIn(held(2))).toEqual(['ART-1/Later ada 17', 'BIO-101/Essay ada 17']);
      expect(sent(3)).toEqual([]);
      expect(gradesIn(held(41))).toContain('BIO-101/Later ada 17');
      expect(sent(44)).toEqual([]);
    },
  },
  {
    title: 'whose class gets another code while a new class gets the former one keeps its grades',
    exports: (sis) => {
      const before = [result('essay', 'ada', '17')];
      return {
        1: { results: before },
        3: {
          classes: [
            ...changed(sis.classes, 'c-bio', { classCode: 'BIO-2025' }),
            { sourcedId: 'c-bio-2', classCode: 'BIO-101' },
          ],
          lineItems: [...sis.lineItems, item('new', 'Essay', 'bio-2')],
          results: [...before, result('new', 'cleo', '8')],
        },
      };
    },
    expected: ({ bodies, sent, held }) => {
      expect(itemsIn(bodies(3))).toEqual(['create BIO-2025/Essay']);
      expect(gradesIn(held(3))).toEqual([
        'BIO-101/Essay ada 17',
        'BIO-101/Essay cleo 8',
        'BIO-2025/Essay ada 17',
      ]);
      expect(sent(3).filter((each) => each.startsWith('grade-push'))).toHaveLength(2);
      expect(sent(41)).toEqual([]);
    },
  },
  {
    title:
      'that is refused keeps its grade object from the one that was to take it, until the row is corrected',
    exports: () => {
      const titles = (one: string, other: string, max = '20'): Sis => ({
        lineItems: [item('1', one, 'bio', max), item('2', other)],
        results: [result('1', 'ada', '5'), result('2', 'ada', '9'), result('2', 'cleo', '3')],
      });
      return { 1: titles('HW1', 'HW2'), 2: titles('HW2', 'HW1', '0'), 3: titles('HW2', 'HW1') };
    },
    expected: ({ bodies, sent, held, refused }) => {
      expect(refused(2)).toEqual([
        expect.stringMatching(/^lineItems resultValueMax data\.maxPoints/),
        keepsTitle,
      ]);
      expect([sent(2), refused(3), itemsIn(bodies(3))]).toEqual([[], [], []]);
      expect(gradesIn(held(3))).toEqual([
        'BIO-101/HW1 ada 9',
        'BIO-101/HW1 cleo 3',
        'BIO-101/HW2 ada 5',
        'BIO-101/HW2 cleo 3',
      ]);
      expect(sent(41)).toEqual([]);
    },
  },
  {
    title: 'that is refused where it moves to keeps its grade object, too, and so do all of a row',
    exports: () => ({
      1: { lineItems: [item('1', 'HW1'), item('2', 'HW2'), item('3', 'HW3')], results: [] },
      3: { lineItems: [item('1', 'a/b', 'art'), item('2', 'HW1'), item('3', 'HW2')], results: [] },
    }),
    expected: ({ sent, refused }) => {
      expect(refused(3)).toEqual([
        expect.stringMatching(/^lineItems title data\.name/),
        keepsTitle,
        keepsTitle,
      ]);
      expect(sent(3)).toEqual([]);
    },
  },
  {
    title: 'that takes the title of one that is gone leaves its own to another in the same night',
    exports: () => {
      const results = [result('2', 'ada', '3'), result('3', 'ada', '9')];
      return {
        1: { lineItems: [item('1', 'HW1'), item('2', 'HW2'), item('3', 'HW3')], results },
        3: { lineItems: [item('2', 'HW1'), item('3', 'HW2')], results },
      };
    },
    expected: ({ bodies, held, refused, sent }) => {
      expect([refused(3), itemsIn(bodies(3))]).toEqual([[], []]);
      expect(gradesIn(held(3))).toEqual(['BIO-101/HW1 ada 3', 'BIO-101/HW2 ada 9', 'BIO-101/HW3 ada 9']);
      expect(sent(41)).toEqual([]);
    },
  },
  {
    title: 'that got another title keeps the former one from others for 40 days, though it is gone',
    exports: () => ({
      1: { lineItems: [item('1', 'HW1')], results: [] },
      2: { lineItems: [item('1', 'HW2')], results: [] },
      3: { lineItems: [], results: [] },
      41: { lineItems: [item('2', 'HW1')], results: [] },
    }),
    expected: ({ bodies, refused }) => {
      expect(refused(41)).toEqual([hadTitle]);
      expect(itemsIn(bodies(44))).toEqual(['create BIO-101/HW1']);
    },
  },
];

const changes: University[] = [
  {
    title: 'leaves what it does not name',
    exports: () => ({
      7: {
        // A user who has another name now is known by that.
        users: [{ sourcedId: 'u-ben', username: 'benjamin', ...active }],
        enrollments: [
          enrollment('art', 'cleo', active),
          enrollment('bio', 'cleo', deleted),
          enrollment('bio', 'ada', { sourcedId: 'another', ...deleted }),
        ],
      },
    }),
    expected: ({ bodies }) =>
      expect(dataOf(bodies(7))).toEqual([
        ['enrollment-create', { orgUnitCode: 'ART-1', userName: 'cleo', roleId: 110 }],
        ['enrollment-create', { orgUnitCode: 'BIO-101', userName: 'benjamin', roleId: 110 }],
        ['enrollment-remove', { orgUnitCode: 'BIO-101', userName: 'cleo' }],
        [
          'grade-push',
          {
            ...essay,
            userName: 'benjamin',
            grade: { type: 'numeric', points: 0, outOf: 20 },
            comments: 'See me',
          },
        ],
      ]),
  },
  {
    title: 'that deletes one of two rows of one enrollment leaves the other',
    exports: ({ enrollments }) => {
      const twin = enrollment('bio', 'ada', { sourcedId: 'twin' });
      return {
        1: { enrollments: [...enrollments, twin] },
        6: { enrollments: [enrollment('bio', 'ada', deleted)] },
        // The id alone says which row is meant.
        7: { enrollments: [{ sourcedId: twin.sourcedId, ...deleted }] },
      };
    },
    expected: ({ held }) => {
      expect(held(6)).toEqual(first);
      expect(held(7)).toEqual(but('BIO-101 ada 110'));
    },
  },
  {
    title: 'that deletes one of two enrollments with one id removes nobody, and says why',
    exports: ({ enrollments }) => {
      const [ada, ben] = [enrollment('bio', 'ada'), enrollment('art', 'ben')].map((row) => ({
        ...row,
        sourcedId: 'same',
      }));
      return {
        3: { enrollments: [...without(enrollments, 'e-bio-ada'), { ...ada }, { ...ben }] },
        7: { enrollments: [{ ...ada, ...deleted }] },
      };
    },
    expected: ({ held, refused }) => {
      expect(refused(7)).toEqual([
        'enrollments sourcedId several accepted rows have this sourcedId. Give each enrollment its own, and export all as bulk',
      ]);
      expect(held(7)).toEqual([...first, 'ART-1 ben 110'].sort());
    },
  },
  {
    title: 'with rows that are both active and deleted changes nothing, and names them',
    exports: () => ({
      6: {
        enrollments: [enrollment('bio', 'ada', active), enrollment('bio', 'ada', deleted)],
        results: [result('essay', 'ben', '5', active), result('essay', 'ben', '5', deleted)],
      },
      7: { enrollments: [enrollment('bio', 'ada', deleted)] },
    }),
    expected: ({ sent, refused }) => {
      expect(refused(6)).toEqual([
        ...Array(2).fill('enrollments sourcedId another row has the same sourcedId, but differs'),
        ...Array(2).fill(
          'results lineItemSourcedId another row has the same line item and student, but differs',
        ),
      ]);
      expect([sent(6), sent(7)]).toEqual([[], ['enrollment-remove BIO-101 ada']]);
    },
  },
  {
    title: 'of users by which accepted rows contradict each other changes no role',
    exports: ({ users, enrollments }) => {
      const second = enrollment('bio', 'ada-2', { role: 'teacher' });
      return {
        3: { users: [...users, other], enrollments: [...enrollments, second] },
        6: {
          users: [
            { sourcedId: 'u-ada', username: 'ada', ...deleted },
            { ...other, username: 'ada', ...deleted },
          ],
        },
        7: { enrollments: [{ ...second, ...deleted }] },
      };
    },
    expected: ({ held }) => {
      for (const night of [6, 7]) expect(held(night)).toContain('BIO-101 ada 110');
    },
  },
  {
    title: 'removes nobody whom the export before it could not read',
    exports: ({ enrollments }) => ({
      3: { enrollments: changed(enrollments, 'e-bio-ada', { sourcedId: 'e-new', beginDate: '1/9/2026' }) },
      41: { enrollments: without(enrollments, 'e-bio-ada') },
    }),
    expected: ({ sent, held }) => {
      for (const night of [3, 5, 6]) expect(sent(night)).toEqual([]);
      expect(held(7)).toEqual(first);
      expect(held(41)).toEqual(but('BIO-101 ada 110'));
    },
  },
  {
    title: 'removes whom a refused row might mean when it deletes that row, and not before',
    exports: ({ enrollments }) => {
      const refused = { ...enrollment('bio', 'ada'), sourcedId: 'e-new', classSourcedId: 'c-gone' };
      return {
        3: { enrollments: [...without(enrollments, 'e-bio-ada'), refused] },
        5: { users: [{ sourcedId: 'u-ada', username: 'ada2', ...active }] },
        7: { enrollments: [{ ...refused, ...deleted }] },
      };
    },
    expected: ({ sent }) => {
      expect([sent(3), sent(6)]).toEqual([[], []]);
      expect(sent(7)).toEqual(['enrollment-remove BIO-101 ada2']);
    },
  },
  {
    title: 'changes a role beside a row that was refused, which then holds what no row claims',
    exports: ({ enrollments }) => {
      const refused = { ...enrollment('bio', 'ada', { role: 'guest' }), sourcedId: 'e-guest' };
      return {
        1: { enrollments: [...enrollments, refused] },
        5: { enrollments: [enrollment('bio', 'ada', { role: 'teacher', ...active })] },
        6: { enrollments: [enrollment('bio', 'ada', deleted)] },
        7: { enrollments: [{ ...refused, ...deleted }] },
      };
    },
    expected: ({ held }) => {
      for (const night of [5, 6]) expect(held(night)).toContain('BIO-101 ada 109');
      expect(held(7)).toEqual(but('BIO-101 ada 110'));
    },
  },
];

const stillRefused: University[] = [
  {
    title:
      'that moves on with a line item has its grade there, though its former one is held for a refused row',
    exports: () => ({
      1: {
        lineItems: [item('1', 'HW1'), item('2', 'HW2'), item('3', 'HW3')],
        results: [result('1', 'ada', '19')],
      },
      3: {
        lineItems: [item('1', 'HW2'), item('3', 'HW3')],
        results: [result('1', 'ada', '19'), result('2', 'ada', '4')],
      },
      5: { results: [{ ...result('1', 'ada', '3'), ...active }] },
      6: { lineItems: [item('1', 'HW3'), item('3', 'HW2')].map((row) => ({ ...row, ...active })) },
    }),
    expected: ({ held, refused }) => {
      expect(refused(3)).toEqual(['results lineItemSourcedId names no line item that can be used']);
      expect(gradesIn(held(5))).toEqual(['BIO-101/HW1 ada 19', 'BIO-101/HW2 ada 3']);
      for (const night of [6, 7]) expect(gradesIn(held(night))).toContain('BIO-101/HW3 ada 3');
    },
  },
  ...['once', 'again'].map(
    (often): University => ({
      title: `whose user has another name by now has the grade of now, though another row holds the one before, told ${often}`,
      exports: ({ users }) => {
        const graded = (user: string, score: string) =>
          result('essay', user, score, { dateLastModified: '' });
        const rowOf = (user: string, score: string) => ({ ...graded(user, score), ...active });
        return {
          1: {
            users: [{ sourcedId: 'u-old', username: 'ada', ...deleted }, ...users],
            results: [graded('old', '5'), graded('ada', '5')],
          },
          5: { users: [{ sourcedId: 'u-old', username: 'bob', ...active }], results: [rowOf('old', '?')] },
          6: { results: [rowOf('old', '9'), rowOf('ada', '?')] },
          7: { results: often === 'again' ? [rowOf('ada', '?')] : [] },
        };
      },
      expected: ({ held }) => {
        for (const night of [6, 7]) expect(gradesIn(held(night))).toContain('BIO-101/Essay bob 9');
      },
    }),
  ),
  {
    title: 'that makes one person of two, by a name that neither had, has the role of the record that stays',
    exports: () => ({
      5: {
        users: [
          { sourcedId: 'u-tess', username: 'zoe', ...active },
          { sourcedId: 'u-ben', username: 'zoe', ...deleted },
        ],
        enrollments: [{ ...enrollment('bio', 'tess', { role: 'guest' }), ...active }],
      },
    }),
    expected: ({ held }) => {
      for (const night of [5, 6]) expect(held(night)).toContain('BIO-101 zoe 109');
    },
  },
  {
    title: 'that brings a grade before its line item has the grade once a delta brings it again',
    exports: () => {
      const results = [{ ...result('new', 'ada', '5'), ...active }];
      return { 5: { results }, 6: { lineItems: [{ ...item('new', 'New'), ...active }] }, 7: { results } };
    },
    expected: ({ sent, held, refused }) => {
      expect(refused(5)).toEqual(['results lineItemSourcedId names no line item that can be used']);
      expect(sent(6)).toEqual(['grade-object-create BIO-101']);
      expect(held(7)).toContain('BIO-101/New ada 5');
    },
  },
  {
    title: 'that brings a line item before its class has the line item once a delta brings it again',
    exports: () => {
      const lineItems = [{ ...item('new', 'New', 'new'), ...active }];
      return {
        5: { lineItems },
        7: { lineItems },
        6: { classes: [{ sourcedId: 'c-new', classCode: 'NEW', ...active }] },
      };
    },
    expected: ({ sent, refused }) => {
      expect(refused(5)).toEqual(['lineItems classSourcedId names no row of classes.csv']);
      expect([6, 7].map(sent)).toEqual([[], ['grade-object-create NEW']]);
    },
  },
];

const day = (number: number) => ({ dateLastModified: `2026-10-${number}T09:00:00Z` });
/** Another record of a person: at first by a name of its own, then by that of the record that stays. */
const other = { sourcedId: 'u-ada-2', username: 'ada2' };
const merged = { ...other, username: 'ada', ...deleted };
const asTeacher = enrollment('bio', 'ada-2', { role: 'teacher' });
/** As the platform may have kept what the other had, all is sent again. */
const allOfAda = [
  ...['ART-1', 'BIO-101'].map((code) => `enrollment-create ${code} ada 110`),
  'grade-push BIO-101 Essay ada 17.5',
];
const yields =
  'is not used, because its class or user is marked as deleted, and a row of the class or user that stays contradicts it';

const records: University[] = [
  {
    title: 'two records that become one person leave the role of the one that stays, in an export of all',
    exports: ({ users, enrollments }) => ({
      1: { users: [...users, other], enrollments: [...enrollments, asTeacher] },
      2: { users: [...users, merged], enrollments: [...enrollments, asTeacher] },
      5: { enrollments: [{ ...asTeacher, ...deleted }] },
    }),
    expected: ({ sent, refused }) => {
      expect(refused(2)).toEqual([`enrollments role ${yields}`]);
      expect([2, 5].map(sent)).toEqual([allOfAda, []]);
    },
  },
  {
    title: 'two records that become one person leave the role of the one that stays, in an export of changes',
    exports: ({ users, enrollments }) => ({
      1: { users: [...users, other], enrollments: [...enrollments, asTeacher] },
      5: { users: [merged] },
      6: { enrollments: [enrollment('art', 'cleo', active)] },
      7: { enrollments: [{ ...asTeacher, ...deleted }] },
    }),
    expected: ({ sent }) =>
      expect([5, 6, 7].map(sent)).toEqual([allOfAda, ['enrollment-create ART-1 cleo 110'], []]),
  },
  {
    title: 'the enrollment of a record that becomes another person’s goes on by that name until its row goes',
    exports: ({ users, enrollments }) => {
      const once = without(enrollments, 'e-bio-ada');
      return {
        1: { users: [...users, other], enrollments: [...once, asTeacher] },
        2: { users: [...users, merged], enrollments: [...once, asTeacher] },
        7: { enrollments: [{ ...asTeacher, ...deleted }] },
      };
    },
    expected: ({ sent }) =>
      expect([2, 6, 7].map(sent)).toEqual([
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
      expect([sent(2), refused(2)]).toEqual([[], [`enrollments role ${yields}`]]),
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
        `results lineItemSourcedId ${yields}`,
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
      5: { users: [merged], lineItems: [{ sourcedId: 'l-essay', ...deleted }] },
    }),
    expected: ({ sent }) =>
      expect(sent(5)).toEqual([...allOfAda.slice(0, 2), 'grade-push BIO-101 Essay ada 6']),
  },
  {
    title: 'the grade of the record that stays is sent, though that of the other is there still',
    exports: ({ users }) => {
      const results = [result('essay', 'ada', '10', day(20)), result('essay', 'ada-2', '10', day(20))];
      const both = [...changed(users, 'u-ada', deleted), { ...other, username: 'ada' }];
      return {
        1: { users: both, results },
        5: { results: [result('essay', 'ada-2', '12', { ...day(21), ...active })] },
      };
    },
    expected: ({ sent }) => expect(sent(5)).toEqual(['grade-push BIO-101 Essay ada 12']),
  },
  {
    title: 'comments that the platform has of two names that become one are kept once, and cleared once',
    exports: ({ users }) => {
      const praised = (user: string) => result('essay', user, '10', { comment: 'Good', ...day(10) });
      return {
        1: { users: [...users, other], results: [praised('ada'), praised('ada-2')] },
        2: { users: [...users, other], results: [] },
        5: { users: [merged] },
        7: { results: [result('essay', 'ada', '11', { ...day(20), ...active })] },
      };
    },
    expected: ({ bodies }) =>
      expect(bodies(7).map(({ data }) => [data.userName, data.comments])).toEqual([['ada', '']]),
  },
  {
    title: 'a result that is deleted is not sent again, though a grade that it had elsewhere stays',
    exports: ({ lineItems, results }) => ({
      1: { lineItems: [...lineItems, item('other', 'Other')] },
      2: { lineItems },
      3: {
        lineItems: changed(lineItems, 'l-essay', { title: 'Other' }),
        results: [...results, result('nothing', 'ada', '3')],
      },
      5: { results: [result('essay', 'ada', '17.5', deleted)] },
      7: { results: [result('essay', 'ada', '8', { dateLastModified: '2026-01-10T09:30:00Z', ...active })] },
    }),
    expected: ({ sent }) => {
      expect(sent(3)).toContain('grade-push BIO-101 Other ada 17.5');
      expect([5, 6, 7].map(sent)).toEqual([[], [], ['grade-push BIO-101 Other ada 8']]);
    },
  },
  {
    title: 'a user that a delta deletes by its id alone keeps the name by which its rows are known',
    exports: () => ({
      5: { users: [{ sourcedId: 'u-ben', ...deleted }] },
      6: { enrollments: [enrollment('bio', 'ben', { role: 'teacher', ...active })] },
      7: { enrollments: [enrollment('bio', 'ben', deleted)] },
    }),
    expected: ({ sent, refused }) => {
      expect([5, 6, 7].map(refused)).toEqual([[], [], []]);
      expect([5, 6, 7].map(sent)).toEqual([
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
      5: { results: [{ sourcedId: 'r-essay-ben', ...deleted }] },
      6: { results: [result('essay', 'ben', '4', { ...day(20), ...active })] },
      7: { results: [{ sourcedId: 'r-nobody', ...deleted }] },
    }),
    expected: ({ sent, bodies, refused }) => {
      expect([5, 6, 7].map(refused)).toEqual([[], [], []]);
      expect([sent(5), sent(7)]).toEqual([[], []]);
      expect(bodies(6).map(({ data }) => [data.userName, data.comments])).toEqual([['ben', '']]);
    },
  },
  {
    title: 'each of two results of one person can be deleted by its id alone',
    exports: ({ users }) => {
      const both = [...changed(users, 'u-ada', deleted), { ...other, username: 'ada' }];
      return {
        1: {
          users: both,
          results: ['ada', 'ada-2'].map((user) => result('essay', user, '10', day(20))),
        },
        5: { results: [{ sourcedId: 'r-essay-ada', ...deleted }] },
        6: { results: [{ sourcedId: 'r-essay-ada-2', ...deleted }] },
        7: { results: [result('essay', 'ada-2', '8', { ...day(10), ...active })] },
      };
    },
    expected: ({ sent, refused }) => {
      expect([5, 6].map(sent)).toEqual([[], []]);
      expect([sent(7), refused(7)]).toEqual([['grade-push BIO-101 Essay ada 8'], []]);
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
      5: {
        users: [{ sourcedId: 'u-cleo', username: 'a\u0001b', ...active }],
        classes: [{ sourcedId: 'c-art', classCode: 'a\u0001b', ...active }],
      },
      6: { enrollments: [enrollment('art', 'cleo', active)] },
      7: {
        users: [{ sourcedId: 'u-cleo', username: 'cleo', ...active }],
        classes: [{ sourcedId: 'c-art', classCode: 'ART-1', ...active }],
      },
    }),
    expected: ({ sent, refused }) => {
      const problem = 'is not a name: it is too long, or has control characters';
      expect(refused(5)).toEqual([`classes classCode ${problem}`, `users username ${problem}`]);
      expect([5, 6, 7].map(sent)).toEqual([[], ['enrollment-create ART-1 cleo 110'], []]);
    },
  },
];

const groups: [string, University[]][] = [
  ['an export of OneRoster', bulks],
  ['a line item that gets another title', titles],
  ['a line item', objects],
  ['an export of changes', [...changes, ...stillRefused]],
  ['among records of people and classes that merge, go or cannot be used', records],
];
const universities = groups.flatMap(([, each]) => each);

const { at: nightly, bucket, drop, toldOf } = newUniversities(universities, deltas);
beforeAll(async () => {
  for (const night of nights) {
    await drop(night);
    const { reasons, bodies } = nightly(night);
    expect(reasons).toEqual([]);
    expect(new Set(bodies.map(({ id }) => id)).size).toBe(bodies.length);
  }
});

describe.each(groups)('%s', (_, each) => {
  test.each(each)('$title', (university) => university.expected(toldOf(university)));
});

test('no two line items have one grade object, no two grade objects one title, and nothing is there twice', async () => {
  const stateOf = (night: number) => bucket.at(stateKey(nightly(night).id));
  const objects = await stateObjects(stateOf(44));
  expect(objects.length).toBeGreaterThan(universities.length);
  expect(new Set(objects.map(([id]) => id)).size).toBe(objects.length);
  expect(new Set(objects.map(([, code, title]) => `${code}/${title}`)).size).toBe(objects.length);
  // Comments of two names that are one by then are kept.
  const rows = (await stateRows(stateOf(6))).filter(([kind = '']) => ['C', 'N', '1', 'O'].includes(kind));
  expect(new Set(rows.map(String)).size).toBe(rows.length);
});

test('how many are missing, but are not removed as refused rows may be about them, is told', () => {
  const rowOf = (night: number) => nightly(night).report.filter((line) => line.includes(',"",""'));
  const missing = (name: string, count: number) =>
    `"${name}.csv","","","missing ${name} that stay, because refused rows may be about them: ${count}"`;
  const still = (name: string, count: number) =>
    `"${name}.csv","","","rows of earlier exports that are refused still: ${count}. Each is read again once a bulk file or a delta has it"`;
  // Its class was refused.
  const unusable =
    '"enrollments.csv","","","rows of 4:c-bio that this delta does not have, and that cannot be used now: 4. What was accepted of them stays. The reason: names no row of classes.csv"';
  const expected = (enrollments: [number, number], items: number, results: [number, number]) => [
    missing('enrollments', enrollments[0]),
    unusable,
    still('enrollments', enrollments[1]),
    still('lineItems', items),
    missing('results', results[0]),
    still('results', results[1]),
  ];
  expect([5, 6, 7].map(rowOf)).toEqual([
    expected([3, 8], 4, [2, 9]),
    [still('classes', 1), ...expected([4, 9], 5, [1, 10]), still('users', 1)],
    expected([2, 7], 4, [1, 11]),
  ]);
  expect(nightly(5).record.byKind).toMatchObject({ users: { refused: 1 }, classes: { refused: 1 } });
  // Of three the row has another id, and one was claimed beside the refused row.
  expect(rowOf(3)).toEqual([missing('enrollments', 4), missing('results', 3)]);
});

test('rows that are not used for others are counted by themselves, with the next step', () => {
  const record = nightly(3).record;
  expect(record?.counts.held).toBe(1);
  expect(record?.byKind.enrollments?.held).toBe(1);
  expect(record?.rows?.['enrollments.csv']?.held).toBe(1);
  expect(rowsTold(record ?? {}).join(' ')).toMatch(
    /1 held, because a refused row may be about the same thing on the platform, .* What was accepted of held rows stays\./,
  );
});

test('a contradiction of rows that a delta does not have is told until it is gone', () => {
  const rowOf = (night: number) =>
    nightly(night).report.filter((line) => line.includes('contradict each other'));
  const problem =
    'rows contradict each other about 1 enrollments, which stay as they were accepted. This delta does not have all of these rows; a bulk file names them';
  expect([5, 6, 7].map(rowOf)).toEqual([[], [`"enrollments.csv","","role","${problem}"`], []]);
});

test('a time in the future is told, and what it counts as', () => {
  expect(nightly(1).report.filter((line) => line.includes('dateLastModified'))).toEqual([
    expect.stringMatching(
      /^"results.csv","","dateLastModified","is later than when the file was put into the bucket, and is replaced by that time \(1 row, in line \d+\)"$/,
    ),
  ]);
});
