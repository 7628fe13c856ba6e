import { writeZip, type ZipEntry } from './zips.ts';

/** A university of so many rows, the same for the same numbers. */
export type Size = {
  users: number;
  classes: number;
  lineItems: number;
  enrollments: number;
  results: number;
};

/** As large universities have them, of so many rows in all. */
export const sizeOf = (rows: number): Size => {
  const users = Math.ceil(rows * 0.06);
  const classes = Math.ceil(rows * 0.01);
  const lineItems = Math.ceil(rows * 0.06);
  const enrollments = Math.ceil(rows * 0.27);
  return {
    users,
    classes,
    lineItems,
    enrollments,
    results: rows - users - classes - lineItems - enrollments,
  };
};

export const manifestOf = (modes: Record<string, string> = {}, version = '1.2'): string =>
  [
    'propertyName,value',
    'manifest.version,1.0',
    `oneroster.version,${version}`,
    ...['academicSessions', 'categories', 'courses', 'demographics'].map((name) => `file.${name},absent`),
    ...['classes', 'users', 'lineItems', 'enrollments', 'results'].map(
      (name) => `file.${name},${modes[name] ?? 'bulk'}`,
    ),
    'source.systemName,Student System',
    '',
  ].join('\r\n');

/** As an id of a university: a UUID that tells its number. */
const id = (kind: string, number: number): string => {
  const mixed = Math.imul(number + 1, 0x9e3779b1) >>> 0;
  const digits = number.toString(16).padStart(12, '0');
  return `${mixed.toString(16).padStart(8, '0')}-${kind}-4000-8000-${digits}`;
};

const instant = (night: number): string => `2026-${String(9 + night).padStart(2, '0')}-01T12:00:00.000Z`;

/** One in a hundred, another one each night. */
const changes = (number: number, night: number): boolean => night > 0 && number % 100 === night;

function* pieces(header: string, count: number, row: (number: number) => string): Generator<string> {
  let text = `${header}\r\n`;
  for (let number = 0; number < count; number += 1) {
    text += row(number);
    if (text.length < 64 * 1024) continue;
    yield text;
    text = '';
  }
  yield text;
}

/** A whole export. Each night after the first, one row of a hundred differs: half of a per cent is gone, half of it is changed. */
export const entriesOf = (size: Size, night = 0): ZipEntry[] => {
  const { users, classes, lineItems } = size;
  const classOf = (number: number) => id('c1a5', number % classes);
  return [
    { name: 'manifest.csv', content: manifestOf() },
    {
      name: 'users.csv',
      content: pieces(
        'sourcedId,status,dateLastModified,enabledUser,username,givenName,familyName',
        users,
        (n) => `"${id('05e4', n)}","","","true","user${n}@example.edu","Given","Family"\r\n`,
      ),
    },
    {
      name: 'classes.csv',
      content: pieces(
        'sourcedId,status,dateLastModified,title,classCode,classType',
        classes,
        (n) => `"${id('c1a5', n)}","","","Course ${n}","COURSE-${n}","scheduled"\r\n`,
      ),
    },
    {
      name: 'lineItems.csv',
      content: pieces(
        'sourcedId,status,dateLastModified,title,classSourcedId,resultValueMin,resultValueMax',
        lineItems,
        (n) =>
          `"${id('11e5', n)}","","","Assignment ${Math.floor(n / classes)}${changes(n, night) ? ' revised' : ''}","${classOf(n)}","0","100"\r\n`,
      ),
    },
    {
      name: 'enrollments.csv',
      content: pieces(
        'sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate',
        size.enrollments,
        (n) =>
          changes(n, night) && n % 200 < 100
            ? ''
            : `"${id('e401', n)}","","","${classOf(n)}","school","${id('05e4', (Math.floor(n / classes) + (n % classes) * 7) % users)}","${changes(n, night) ? 'teacher' : 'student'}","false","2026-09-01","2027-06-30"\r\n`,
      ),
    },
    {
      name: 'results.csv',
      content: pieces(
        'sourcedId,status,dateLastModified,lineItemSourcedId,studentSourcedId,scoreStatus,score,scoreDate,comment',
        size.results,
        (n) => {
          const isChanged = changes(n, night);
          const score = ((n * 7) % 101) + (isChanged ? 0.5 : 0);
          return `"${id('4e50', n)}","","${isChanged ? instant(night) : instant(0)}","${id('11e5', n % lineItems)}","${id('05e4', Math.floor(n / lineItems) % users)}","fully graded","${score}","2026-09-01","${n % 10 === 0 ? 'Good work, see the remarks in the margin.' : ''}"\r\n`;
        },
      ),
    },
  ];
};

export const writeExport = (path: string, size: Size, night = 0): Promise<void> =>
  writeZip(path, entriesOf(size, night));
