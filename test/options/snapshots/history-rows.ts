import { dropMs } from './imports.ts';
import { csvOf, entriesOfSis, type Rows, type Sis, zipOf } from './sis.ts';

// How the kept histories write what universities put: rows as words.

export const at = (night: number): string => new Date(dropMs(night) - 3_600_000).toISOString();

/** Users by their names; each record is named for its first name. */
export const users = (...names: string[]): Rows =>
  names.map((username) => ({ sourcedId: `u-${username}`, username }));
export const classes = (...codes: string[]): Rows =>
  codes.map((classCode) => ({ sourcedId: `c-${classCode}`, title: 'A class', classCode }));
/** Rows such as `BIO-LAB ada student`. */
export const enrollments = (...rows: string[]): Rows =>
  rows.map((row) => {
    const [code = '', user = '', role = 'student', dateLastModified = ''] = row.split(' ');
    return {
      sourcedId: `e-${code}-${user}`,
      classSourcedId: `c-${code}`,
      userSourcedId: `u-${user}`,
      role,
      dateLastModified,
    };
  });
export const lineItems = (...items: string[]): Rows =>
  items.map((item) => {
    const [code = '', title = ''] = item.split(' ');
    return { sourcedId: `l-${code}-${title}`, title, classSourcedId: `c-${code}`, resultValueMax: '20' };
  });
/** Rows such as `BIO-LAB Quiz ada 18`. */
export const results = (...rows: string[]): Rows =>
  rows.map((row) => {
    const [code = '', title = '', user = '', score = '', dateLastModified = at(0)] = row.split(' ');
    return {
      sourcedId: `r-${code}-${title}-${user}`,
      lineItemSourcedId: `l-${code}-${title}`,
      studentSourcedId: `u-${user}`,
      scoreStatus: 'fully graded',
      score,
      dateLastModified,
    };
  });

export const zip = (sis: Sis): Promise<Buffer> =>
  zipOf(entriesOfSis({ users: [], classes: [], lineItems: [], enrollments: [], results: [], ...sis }));
export const deltaOf = (sis: Sis): Promise<Buffer> =>
  zipOf(entriesOfSis(sis, Object.fromEntries(Object.keys(sis).map((name) => [name, 'delta']))));

export const who = { orgUnitCode: 'COURSE', userName: 'LOGIN' };
export const enrolling = (more: object = {}) => ({
  function: 'enrollment-create',
  key: ['COURSE', 'LOGIN'],
  data: { ...who, roleId: { from: 'ROLE', values: { S: 110, T: 109 } } },
  removed: { function: 'enrollment-remove', data: who },
  ...more,
});
export const removing = (more: object = {}) => ({
  function: 'enrollment-remove',
  key: ['COURSE', 'LOGIN'],
  data: who,
  ...more,
});
export const mapping = (...messages: object[]): string => JSON.stringify({ messages });

/** A table of rows such as `BIO ada S`. */
export const table = (columns: string[], ...rows: string[]): string =>
  csvOf(
    columns,
    rows.map((row) => Object.fromEntries(row.split(' ').map((cell, place) => [columns[place], cell]))),
  );
export const roster = (...rows: string[]): string => table(['COURSE', 'LOGIN', 'ROLE'], ...rows);

export const people = { ada: 101, ben: 102, cleo: 103, dan: 104, tess: 109 };
export const many = (count: number): string[] => Array.from({ length: count }, (_, number) => `s${number}`);
export const manyIds = (names: string[]): Record<string, number> =>
  Object.fromEntries(names.map((name, number) => [name, 1_000 + number]));
