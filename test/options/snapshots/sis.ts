import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manifestOf } from './exports.ts';
import { writeZip, type ZipEntry } from './zips.ts';

/** A table as a SIS would hold it: rows by their columns. */
export type Rows = Record<string, string>[];
export type Sis = Partial<Record<'users' | 'classes' | 'lineItems' | 'enrollments' | 'results', Rows>>;

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

export const csvOf = (columns: string[], rows: Rows): string =>
  [
    columns.join(','),
    ...rows.map((row) => columns.map((column) => quoted(row[column] ?? '')).join(',')),
    '',
  ].join('\r\n');

/** As OneRoster lists them, but for some that nobody reads here. */
export const columns: Record<keyof Sis, string[]> = {
  users: ['sourcedId', 'status', 'dateLastModified', 'enabledUser', 'username', 'identifier'],
  classes: ['sourcedId', 'status', 'dateLastModified', 'title', 'classCode'],
  lineItems: [
    'sourcedId',
    'status',
    'dateLastModified',
    'title',
    'classSourcedId',
    'resultValueMin',
    'resultValueMax',
  ],
  enrollments: [
    'sourcedId',
    'status',
    'dateLastModified',
    'classSourcedId',
    'userSourcedId',
    'role',
    'beginDate',
    'endDate',
  ],
  results: [
    'sourcedId',
    'status',
    'dateLastModified',
    'lineItemSourcedId',
    'studentSourcedId',
    'scoreStatus',
    'score',
    'textScore',
    'comment',
  ],
};

/** A small university: two courses, three students and a teacher. */
export const smallSis = (): Required<Sis> => ({
  users: ['ada', 'ben', 'cleo', 'tess'].map((name) => ({
    sourcedId: `u-${name}`,
    username: name,
    identifier: `id-${name}`,
  })),
  classes: [
    { sourcedId: 'c-bio', title: 'Biology', classCode: 'BIO-101' },
    { sourcedId: 'c-art', title: 'Art', classCode: 'ART-1' },
  ],
  lineItems: [
    { sourcedId: 'l-essay', title: 'Essay', classSourcedId: 'c-bio', resultValueMax: '20' },
    { sourcedId: 'l-talk', title: 'Talk', classSourcedId: 'c-art', resultValueMax: '10' },
  ],
  enrollments: [
    ...['ada', 'ben', 'cleo'].map((name) => enrollment('bio', name)),
    enrollment('bio', 'tess', { role: 'teacher' }),
    enrollment('art', 'ada'),
  ],
  results: [result('essay', 'ada', '17.5'), result('essay', 'ben', '0', { comment: 'See me' })],
});

export const enrollment = (course: string, user: string, more: Record<string, string> = {}) => ({
  sourcedId: `e-${course}-${user}`,
  classSourcedId: `c-${course}`,
  userSourcedId: `u-${user}`,
  role: 'student',
  ...more,
});

export const result = (item: string, user: string, score: string, more: Record<string, string> = {}) => ({
  sourcedId: `r-${item}-${user}`,
  lineItemSourcedId: `l-${item}`,
  studentSourcedId: `u-${user}`,
  scoreStatus: 'fully graded',
  score,
  dateLastModified: '2026-01-31T09:30:00.000Z',
  ...more,
});

/** The same rows, but for one. */
export const changed = (rows: Rows, sourcedId: string, changes: Record<string, string>): Rows =>
  rows.map((row) => (row.sourcedId === sourcedId ? { ...row, ...changes } : row));

/** The files of an export; `modes` are those of the manifest. */
export const entriesOfSis = (sis: Sis, modes: Record<string, string> = {}): ZipEntry[] => [
  {
    name: 'manifest.csv',
    content: manifestOf({
      ...Object.fromEntries(Object.keys(columns).map((name) => [name, name in sis ? 'bulk' : 'absent'])),
      ...modes,
    }),
  },
  ...(Object.entries(sis) as [keyof Sis, Rows][]).map(([name, rows]) => ({
    name: `${name}.csv`,
    content: csvOf(columns[name], rows),
  })),
];

export const zipOf = async (entries: ZipEntry[]): Promise<Buffer> => {
  const folder = mkdtempSync(join(tmpdir(), 'zip-'));
  try {
    await writeZip(join(folder, 'zip'), entries);
    return readFileSync(join(folder, 'zip'));
  } finally {
    rmSync(folder, { recursive: true });
  }
};
