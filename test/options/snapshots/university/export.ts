import { strToU8, zipSync } from 'fflate';
import type { Sis } from './sis.ts';

export type FileName = 'orgs' | 'classes' | 'users' | 'enrollments' | 'lineItems' | 'results';
/** Rows by their sourcedId, each by its columns. */
export type Rows = Map<string, Record<string, string>>;
export type Tables = Record<FileName, Rows>;
export type Mode = 'bulk' | 'delta' | 'absent';
export type Modes = Record<FileName, Mode>;
/** The texts of a zip's files. */
export type Texts = Record<string, string>;

/** As OneRoster 1.2 has them, in its order. */
const columns: Readonly<Record<FileName, string>> = {
  orgs: 'sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId',
  classes:
    'sourcedId,status,dateLastModified,title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods',
  users:
    'sourcedId,status,dateLastModified,enabledUser,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,agentSourcedIds,grades,password,userMasterIdentifier,resourceSourcedIds,preferredGivenName,preferredMiddleName,preferredFamilyName,primaryOrgSourcedId,pronouns',
  enrollments:
    'sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate',
  lineItems:
    'sourcedId,status,dateLastModified,title,description,assignDate,dueDate,classSourcedId,categorySourcedId,gradingPeriodSourcedId,resultValueMin,resultValueMax,schoolSourcedId',
  results:
    'sourcedId,status,dateLastModified,lineItemSourcedId,studentSourcedId,scoreStatus,score,scoreDate,comment,textScore,classSourcedId,inProgress,incomplete,late,missing',
};

const absent = [
  'academicSessions',
  'categories',
  'classResources',
  'courses',
  'courseResources',
  'demographics',
  'lineItemLearningObjectiveIds',
  'lineItemScoreScales',
  'resources',
  'resultLearningObjectiveIds',
  'resultScoreScales',
  'roles',
  'scoreScales',
  'userProfiles',
  'userResources',
];

export const fileNames: readonly FileName[] = [
  ...(['orgs', 'classes', 'users', 'enrollments', 'lineItems', 'results'] as const),
];
export const allBulk = Object.fromEntries(fileNames.map((name) => [name, 'bulk'])) as Modes;

/** What the SIS writes tonight. */
export const tablesOf = (sis: Sis): Tables => ({
  orgs: new Map([['org-1', { name: 'Universität zu Local', type: 'district', identifier: 'LOCAL' }]]),
  classes: new Map(
    [...sis.classes.values()].map(({ id, code, title }) => [
      id,
      { title, classCode: code, classType: 'scheduled', schoolSourcedId: 'org-1' },
    ]),
  ),
  users: new Map(
    [...sis.people.values()].map(({ id, userName, number, given, family }) => [
      id,
      {
        enabledUser: 'true',
        username: userName,
        givenName: given,
        familyName: family,
        identifier: number,
        email: `${number}@example.edu`,
        primaryOrgSourcedId: 'org-1',
      },
    ]),
  ),
  enrollments: new Map(
    [...sis.enrollments.values()].map(({ id, classId, userId, role, begin, end, isDeleted }) => [
      id,
      {
        status: isDeleted ? 'tobedeleted' : 'active',
        classSourcedId: classId,
        schoolSourcedId: 'org-1',
        userSourcedId: userId,
        role,
        primary: 'false',
        beginDate: begin ?? '',
        endDate: end ?? '',
      },
    ]),
  ),
  lineItems: new Map(
    [...sis.lineItems.values()].map(({ id, classId, title, max }) => [
      id,
      { title, classSourcedId: classId, resultValueMin: '0', resultValueMax: String(max) },
    ]),
  ),
  results: new Map(
    [...sis.results.values()].map(({ id, lineItemId, userId, score, comment, status, modified }) => [
      id,
      {
        dateLastModified: modified,
        lineItemSourcedId: lineItemId,
        studentSourcedId: userId,
        scoreStatus: status,
        score: String(score),
        scoreDate: modified.slice(0, 10),
        comment,
      },
    ]),
  ),
});

/** The rows that are new, others or gone since. */
export const deltaOf = (before: Rows, after: Rows, modified: string): Rows => {
  const rows: Rows = new Map();
  for (const [id, row] of after)
    if (JSON.stringify(before.get(id)) !== JSON.stringify(row))
      rows.set(id, { status: 'active', ...row, dateLastModified: row.dateLastModified ?? modified });
  for (const [id, row] of before)
    if (!after.has(id)) rows.set(id, { ...row, status: 'tobedeleted', dateLastModified: modified });
  return rows;
};

const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const csvOf = (name: FileName, rows: Rows): string => {
  const header = (columns[name] ?? '').split(',');
  const lines = [...rows].map(([id, row]) =>
    header.map((column) => cell(column === 'sourcedId' ? id : (row[column] ?? ''))).join(','),
  );
  return `${[header.join(','), ...lines].join('\r\n')}\r\n`;
};

export const textsOf = (tables: Tables, modes: Modes): Texts => {
  const present = fileNames.filter((name) => modes[name] !== 'absent');
  const properties = [
    'propertyName,value',
    'manifest.version,1.0',
    'oneroster.version,1.2',
    ...fileNames.map((name) => `file.${name},${modes[name]}`),
    ...absent.map((name) => `file.${name},absent`),
    'source.systemName,Local SIS',
    'source.systemCode,local',
  ];
  return {
    'manifest.csv': `${properties.join('\r\n')}\r\n`,
    ...Object.fromEntries(present.map((name) => [`${name}.csv`, csvOf(name, tables[name])])),
  };
};

export const zipOf = (texts: Texts): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, strToU8(text)])), {
    level: 1,
  });
