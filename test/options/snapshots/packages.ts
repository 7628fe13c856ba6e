import type { SnapshotRecord } from '../../../lib/options/snapshots/state/record.ts';
import { type Body, dropMs, importDropped, newImports } from './imports.ts';
import { csvOf, type Rows, zipOf } from './sis.ts';

/** Columns of the standard's tables, in their order: `*` behind one that is required, `~` behind one that is in a delta. */
const tables = {
  classes:
    'sourcedId* status~ dateLastModified~ title* grades courseSourcedId* classCode classType* location schoolSourcedId* termSourcedIds* subjects subjectCodes periods',
  users:
    'sourcedId* status~ dateLastModified~ enabledUser* username* userIds givenName* familyName* middleName identifier email sms phone agentSourcedIds grades password',
  lineItems:
    'sourcedId* status~ dateLastModified~ title* description assignDate* dueDate* classSourcedId* categorySourcedId* resultValueMin',
  enrollments:
    'sourcedId* status~ dateLastModified~ classSourcedId* schoolSourcedId* userSourcedId* role* primary beginDate endDate',
  results:
    'sourcedId* status~ dateLastModified~ lineItemSourcedId* studentSourcedId* scoreStatus* scoreDate* comment',
} as const;
export type TableName = keyof typeof tables;
export const tableNames = Object.keys(tables) as TableName[];
/** What only one of the versions has, or where they differ. */
const ofVersion = {
  '1.1': {
    classes: '',
    enrollments: '',
    users: 'orgSourcedIds* role*',
    lineItems: 'gradingPeriodSourcedId* resultValueMax*',
    results: 'score*',
  },
  '1.2': {
    classes: '',
    enrollments: '',
    users: 'userMasterIdentifier preferredGivenName primaryOrgSourcedId pronouns',
    lineItems: 'academicSessionSourcedId* resultValueMax schoolSourcedId*',
    results: 'score textScore classSourcedId inProgress incomplete late missing scoreScaleSourcedId',
  },
} as const;
export type Version = keyof typeof ofVersion;
export type Mode = 'bulk' | 'delta';

export type Column = { name: string; isOptional: boolean };
export const columnsOf = (table: TableName, version: Version, mode: Mode): Column[] =>
  `${tables[table]} ${ofVersion[version][table]}`
    .split(' ')
    .filter(Boolean)
    .map((messageText) => ({
      name: messageText.replace(/[*~]/, ''),
      isOptional: !messageText.endsWith('*') && (mode === 'bulk' || !messageText.endsWith('~')),
    }));

export type Tables = Record<string, Rows>;

/** A package as the standard has it, with a value in every column that anybody reads. */
export const standardTables = (mode: Mode): Tables => {
  const status = mode === 'delta' ? { status: 'active', dateLastModified: '2026-09-02T08:00:00.000Z' } : {};
  const rows = (header: string, ...lines: string[]): Rows =>
    lines.map((line) => {
      const cells = line.split(',');
      const values = header.split(',').map((column, at): [string, string] => [column, cells[at] ?? '']);
      return { ...status, ...Object.fromEntries(values) };
    });
  return {
    classes: rows(
      'sourcedId,title,classCode,courseSourcedId,classType,schoolSourcedId,termSourcedIds',
      'c-1,Class BIO,BIO,k-1,scheduled,o-1,t-1',
      'c-2,Class ART,ART,k-1,scheduled,o-1,t-1',
    ),
    users: rows(
      'sourcedId,username,enabledUser,givenName,familyName,role,orgSourcedIds,identifier,primaryOrgSourcedId',
      'u-1,ada,true,G,F,student,o-1,Iu-1,o-1',
      'u-2,tess,true,G,F,teacher,o-1,Iu-2,o-1',
    ),
    lineItems: rows(
      'sourcedId,title,classSourcedId,resultValueMin,resultValueMax,categorySourcedId,assignDate,dueDate',
      'l-1,Essay,c-1,0,20,g-1,2026-09-01,2026-10-01',
    ),
    enrollments: rows(
      'sourcedId,classSourcedId,userSourcedId,schoolSourcedId,role,primary,beginDate,endDate',
      'e-1,c-1,u-1,o-1,student,false,2026-01-01,2027-12-31',
      'e-2,c-1,u-2,o-1,teacher,false,2026-01-01,2027-12-31',
    ),
    results: rows(
      'sourcedId,lineItemSourcedId,studentSourcedId,scoreStatus,score,scoreDate,comment,textScore',
      'r-1,l-1,u-1,fully graded,17,2026-10-02,Good,B',
    ),
  };
};

/** Its files by their names. `without`: columns that no file has. */
export const filesOf = (
  content: Tables,
  {
    version,
    mode,
    without = () => false,
  }: { version: Version; mode: Mode; without?: (table: string, column: string) => boolean },
): Record<string, string> => {
  const names = Object.keys(content) as TableName[];
  return {
    'manifest.csv': [
      'propertyName,value',
      'manifest.version,1.0',
      `oneroster.version,${version}`,
      ...tableNames.map((name) => `file.${name},${names.includes(name) ? mode : 'absent'}`),
      '',
    ].join('\r\n'),
    ...Object.fromEntries(
      names.map((name) => {
        const columns = columnsOf(name, version, mode).map((column) => column.name);
        return [
          `${name}.csv`,
          csvOf(
            columns.filter((column) => !without(name, column)),
            content[name] ?? [],
          ),
        ];
      }),
    ),
  };
};

export type Dropped = {
  /** Why nothing of it is imported. */
  refusal: string;
  record: SnapshotRecord;
  report: string[];
  /** As `BIO ada 110`, `BIO Essay ada 17`. */
  sent: string[];
};

/** Imports packages one after the other, a night each; a person approves of them all. */
export const newImporter = (settings: object = {}) => {
  const { bucket, set: setAll } = newImports();
  const set = (more: object) => setAll({ maxChangesPercent: 100, ...more });
  set(settings);
  let night = 0;
  const drop = async (files: Record<string, string | Buffer>): Promise<Dropped> => {
    const content = await zipOf(Object.entries(files).map(([name, content]) => ({ name, content })));
    night += 1;
    const key = 'snapshots/export.zip';
    const { examined, record, report, bodies } = await importDropped(bucket, {
      key,
      content,
      droppedMs: dropMs(night),
      isApproved: true,
    });
    const refusal = examined.is === 'over' ? examined.message : '';
    return { refusal, record: record(), report, sent: bodies.map(messageText).sort() };
  };
  return { drop, set };
};

const messageText = ({ type, data }: Body): string => {
  const { orgUnitCode, gradeObjectName, name, userName, orgDefinedId, roleId, grade, maxPoints } = data;
  const { points, text } = (grade ?? {}) as { points?: number; text?: string };
  const isRemoval = type.includes('remove');
  const parts = [isRemoval ? 'no' : '', orgUnitCode, gradeObjectName, name, userName ?? orgDefinedId];
  return [...parts, roleId ?? points ?? text ?? maxPoints]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
};

/** What the standard package sends when it is new. */
export const sentOfStandard = ['BIO Essay 20', 'BIO Essay ada 17', 'BIO ada 110', 'BIO tess 109'];
