import { dayOf, instantOf, type Now, one } from './now.ts';
import type { University } from './university.ts';

/** What stands in a cell by mistake. Its row cannot be used. */
export type Slip = { column: string; value: string };

const slipsOf = {
  enrollments: [
    { column: 'role', value: 'guest' },
    { column: 'beginDate', value: 'tomorrow' },
    { column: 'userSourcedId', value: 'P-1' },
    { column: 'userSourcedId', value: '' },
    { column: 'classSourcedId', value: 'nowhere' },
  ],
  items: [
    { column: 'resultValueMax', value: 'much' },
    { column: 'title', value: '' },
  ],
  results: [
    { column: 'score', value: 'five' },
    { column: 'dateLastModified', value: 'yesterday' },
    { column: 'studentSourcedId', value: 'P-1' },
    { column: 'lineItemSourcedId', value: 'nothing' },
  ],
  'students.csv': [
    { column: 'ROLE', value: 'guest' },
    { column: 'LOGIN', value: '' },
  ],
} satisfies Record<string, Slip[]>;
type SlipKind = keyof typeof slipsOf;

const rowsIn = (university: University, kind: SlipKind): Map<string, { slip?: Slip }> =>
  kind === 'students.csv' ? university.tables[kind] : university[kind];

const maxima = ['10', '20', '40', '100'];
const comments = ['Well done', 'See me'];

/** What changes in a cell of a row. */
export const cellChanges = {
  slip: (university: University, now: Now): void => {
    const kind = now.random.one(Object.keys(slipsOf) as SlipKind[]);
    const [id, row] = one(rowsIn(university, kind), now) ?? [];
    if (id === undefined || row === undefined) return;
    row.slip = now.random.one(slipsOf[kind]);
    // Somebody has made it anew.
    if (kind !== 'enrollments' || now.random.happens(0.5)) return;
    const { enrollments } = university;
    const made = enrollments.get(id);
    enrollments.delete(id);
    if (made) enrollments.set(`${id}n`, made);
  },
  /** Somebody has read the report. */
  correct: (university: University): void => {
    const { enrollments, items, results, tables } = university;
    for (const rows of [enrollments, items, results, ...Object.values(tables)])
      for (const row of rows.values()) delete row.slip;
    for (const [key, { item }] of results) if (!items.has(item)) results.delete(key);
  },
  setDates: (university: University, now: Now): void => {
    const [, row] = one(university.enrollments, now) ?? [];
    if (row === undefined) return;
    row.begins = now.random.one(['', dayOf(now.night - 1 + now.random.below(4))]);
    row.ends = now.random.one(['', dayOf(now.night - 1 + now.random.below(5))]);
  },
  setMaximum: (university: University, now: Now): void => {
    const [, item] = one(university.items, now) ?? [];
    if (item) item.max = now.random.one(maxima);
  },
  comment: (university: University, now: Now): void => {
    const [, result] = one(university.results, now) ?? [];
    if (result === undefined) return;
    result.comment = (result.comment ?? '') === '' ? now.random.one(comments) : '';
    result.at = instantOf(now.night, now.random.below(50));
  },
};

/** What changes which grade object a line item has. */
export const titleChanges = {
  /** As a teacher does it, to a title that others may have, too. */
  retitle: (university: University, now: Now): void => {
    const [, item] = one(university.items, now) ?? [];
    if (item) item.title = `HW${now.random.below(4)}`;
  },
  swapTitles: (university: University, now: Now): void => {
    const [, first] = one(university.items, now) ?? [];
    const others = [...university.items.values()].filter(
      (each) => each !== first && each.section === first?.section,
    );
    if (first === undefined || others.length === 0) return;
    const second = now.random.one(others);
    [first.title, second.title] = [second.title, first.title];
  },
  /** Its results stay with it. */
  moveItem: (university: University, now: Now): void => {
    const [, item] = one(university.items, now) ?? [];
    const [section] = one(university.sections, now) ?? [];
    if (item && section !== undefined) item.section = section;
  },
  /** Its results stay. */
  loseItem: (university: University, now: Now): void => {
    const [id] = one(university.items, now) ?? [];
    if (id !== undefined) university.items.delete(id);
  },
};
