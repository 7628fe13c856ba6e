import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Integrations } from '../../../lib/deployment/integrations.ts';
import { examine } from '../../../lib/snapshots/examine.ts';
import { acceptedKeyOf, changesKey, reportKey } from '../../../lib/snapshots/record.ts';
import type { Random } from '../../fuzz/random.ts';
import type { bucketFolder } from './bucket-folder.ts';
import { csvOf, entriesOfSis, type Rows, zipOf } from './sis.ts';

// Small universities that share one export, and what the platform must hold of each after a night. The oracle knows the last accepted
// export alone, and which of its rows cannot be used; nothing of how exports are compared.

type Kind = 'users' | 'classes' | 'lineItems' | 'enrollments' | 'results';
type Table = Map<string, Record<string, string>>;

/** One university: tables by their rows' ids. `people`: who a user's record is, as records come and go. */
export type University = {
  at: number;
  tables: Record<Kind, Table>;
  people: Map<string, string>;
  next: number;
};

const roles: Record<string, string> = { student: '110', teacher: '109' };
const startMs = Date.parse('2026-08-01T02:00:00Z');
const nightMs = 86_400_000;
const instant = (night: number, minutes = 0): string =>
  new Date(startMs + night * nightMs - 3_600_000 + minutes * 60_000).toISOString();

const newId = (university: University, letter: string): string => {
  university.next += 1;
  return `${letter}${university.at}-${university.next}`;
};

export const newUniversity = (at: number, random: Random): University => {
  const tables: University['tables'] = {
    ...{ users: new Map(), classes: new Map(), lineItems: new Map() },
    ...{ enrollments: new Map(), results: new Map() },
  };
  const university: University = { at, tables, people: new Map(), next: 0 };
  for (let user = 0; user < 4; user += 1) addUser(university, `p${at}-${user}`);
  for (let course = 0; course < 2; course += 1) {
    const id = newId(university, 'c');
    tables.classes.set(id, { sourcedId: id, classCode: `C${at}-${course}`, title: 'A class' });
    for (let item = 0; item < 2; item += 1) {
      const itemId = newId(university, 'l');
      const row = { sourcedId: itemId, title: `HW${item}`, classSourcedId: id, resultValueMax: '20' };
      tables.lineItems.set(itemId, row);
    }
  }
  for (let rows = 0; rows < 5; rows += 1) change(university, 0, random);
  return university;
};

const addUser = (university: University, person: string, username = `name-${person}`): void => {
  const id = newId(university, 'u');
  university.tables.users.set(id, { sourcedId: id, username });
  university.people.set(id, person);
};

type Change = (university: University, night: number, random: Random) => void;

const anyOf = (table: Table, random: Random): Record<string, string> | undefined => {
  const rows = [...table.values()];
  return rows.length === 0 ? undefined : random.one(rows);
};

const enroll: Change = (university, _, random) => {
  const { classes, users, enrollments } = university.tables;
  const id = newId(university, 'e');
  const row = {
    ...{
      sourcedId: id,
      classSourcedId: anyOf(classes, random)?.sourcedId ?? '',
      role: random.one(Object.keys(roles)),
    },
    userSourcedId: anyOf(users, random)?.sourcedId ?? '',
  };
  enrollments.set(id, row);
};

const grade: Change = (university, night, random) => {
  const { lineItems, users, results } = university.tables;
  const item = anyOf(lineItems, random)?.sourcedId ?? '';
  const user = anyOf(users, random)?.sourcedId ?? '';
  const before = results.get(`${item} ${user}`);
  // A gradebook may not move on when it was changed.
  const dateLastModified =
    before && random.below(2) === 0 ? before.dateLastModified : instant(night, random.below(50));
  results.set(`${item} ${user}`, {
    ...{
      sourcedId: `r-${item}-${user}`,
      lineItemSourcedId: item,
      studentSourcedId: user,
      scoreStatus: 'fully graded',
    },
    ...{ score: String(random.below(21)), ...(dateLastModified && { dateLastModified }) },
  });
};

/** A row that goes for some nights, as it is. */
const away = new WeakMap<University, { kind: Kind; key: string; row: Record<string, string> }[]>();

const leave: Change = (university, _, random) => {
  const kind = random.one(['enrollments', 'results'] as const);
  const table = university.tables[kind];
  const keys = [...table.keys()];
  if (keys.length === 0) return;
  const key = random.one(keys);
  const row = table.get(key) ?? {};
  table.delete(key);
  away.set(university, [...(away.get(university) ?? []), { kind, key, row }]);
};

const comeBack: Change = (university) => {
  const [first, ...others] = away.get(university) ?? [];
  if (first === undefined) return;
  away.set(university, others);
  const table = university.tables[first.kind];
  // One that is older than what was accepted is refused, which is told.
  const { dateLastModified: _, ...row } = first.row;
  if (!table.has(first.key)) table.set(first.key, row);
};

const twin: Change = (university, _, random) => {
  const row = anyOf(university.tables.enrollments, random);
  const id = newId(university, 'e');
  if (row) university.tables.enrollments.set(id, { ...row, sourcedId: id });
};

const changeRole: Change = (university, _, random) => {
  const row = anyOf(university.tables.enrollments, random);
  if (row) row.role = row.role === 'student' ? 'teacher' : 'student';
};

const rename: Change = (university, night, random) => {
  const row = anyOf(university.tables.users, random);
  if (row) row.username = `${university.people.get(row.sourcedId ?? '')}-${night}-${random.below(100)}`;
};

const newKey: Change = (university, _, random) => {
  const { enrollments } = university.tables;
  const row = anyOf(enrollments, random);
  if (row === undefined) return;
  const id = newId(university, 'e');
  for (const [key, each] of enrollments) if (each === row) enrollments.delete(key);
  enrollments.set(id, { ...row, sourcedId: id });
};

/** Another record of the same person, whose rows follow some nights later, or never. */
const replaceUser: Change = (university, _, random) => {
  const { users, enrollments } = university.tables;
  const old = anyOf(users, random);
  if (old === undefined) return;
  const id = old.sourcedId ?? '';
  users.delete(id);
  addUser(university, university.people.get(id) ?? '', old.username);
  const now = [...users.keys()].at(-1) ?? '';
  for (const row of enrollments.values())
    if (row.userSourcedId === id && random.below(2) === 0) row.userSourcedId = now;
};

const replaceClass: Change = (university, _, random) => {
  const { classes, lineItems, enrollments } = university.tables;
  const old = anyOf(classes, random);
  if (old === undefined) return;
  const [id, now] = [old.sourcedId ?? '', newId(university, 'c')];
  classes.delete(id);
  classes.set(now, { ...old, sourcedId: now });
  for (const row of lineItems.values()) if (row.classSourcedId === id) row.classSourcedId = now;
  for (const row of enrollments.values())
    if (row.classSourcedId === id && random.below(3) > 0) row.classSourcedId = now;
};

const slip: Change = (university, _, random) => {
  const row = anyOf(university.tables.enrollments, random);
  if (row === undefined) return;
  const [column, value] = random.one([
    ['userSourcedId', `P-${row.userSourcedId}`],
    ['role', 'guest'],
    ['beginDate', '1.9.2026'],
  ] as const);
  row[column] = value;
};

const correct: Change = (university) => {
  const { users, enrollments } = university.tables;
  for (const row of enrollments.values()) {
    delete row.beginDate;
    if (row.role === 'guest') row.role = 'student';
    const user = row.userSourcedId?.replace(/^(P-)+/, '') ?? '';
    row.userSourcedId = users.has(user) ? user : (row.userSourcedId ?? '');
  }
};

const swapTitles: Change = (university, _, random) => {
  const items = [...university.tables.lineItems.values()];
  const first = random.one(items);
  const second = items.find((row) => row.classSourcedId === first.classSourcedId && row !== first);
  if (second) [first.title, second.title] = [second.title ?? '', first.title ?? ''];
};

const changes: Change[] = [
  ...[
    enroll,
    enroll,
    grade,
    grade,
    grade,
    leave,
    leave,
    comeBack,
    comeBack,
    twin,
    changeRole,
    rename,
    newKey,
  ],
  ...[replaceUser, replaceClass, slip, correct, correct, swapTitles],
];
export const change: Change = (university, night, random) => random.one(changes)(university, night, random);

const kinds: Kind[] = ['users', 'classes', 'lineItems', 'enrollments', 'results'];

/** All universities as one export: whole, or as what has changed since the last one that was accepted. */
export const exportOf = async (
  universities: University[],
  last: Map<string, Record<string, string>> | undefined,
): Promise<{ zip: Buffer; rows: Map<string, Record<string, string>> }> => {
  const rows = new Map<string, Record<string, string>>(
    universities.flatMap(({ tables }) =>
      kinds.flatMap((kind) => [...tables[kind]].map(([key, row]) => [`${kind} ${key}`, { ...row }] as const)),
    ),
  );
  const of = (kind: Kind): Rows => {
    const all: [string, Record<string, string>][] = [...rows].filter(([key]) => key.startsWith(`${kind} `));
    if (last === undefined) return all.map(([, row]) => row);
    const changed = all.filter(([key, row]) => JSON.stringify(row) !== JSON.stringify(last.get(key)));
    const gone = [...last].filter(([key]) => key.startsWith(`${kind} `) && !rows.has(key));
    return [
      ...changed.map(([, row]) => ({ ...row, status: 'active' })),
      ...gone.map(([, row]) => ({ ...row, status: 'tobedeleted' })),
    ];
  };
  const modes = last && Object.fromEntries(kinds.map((kind) => [kind, 'delta']));
  const sis = Object.fromEntries(kinds.map((kind) => [kind, of(kind)]));
  return { zip: await zipOf(entriesOfSis(sis, modes)), rows };
};

/** The same enrollments as a table, whose rows say when they were changed. */
export const tableOf = (universities: University[], key: (row: Record<string, string>) => string): string =>
  csvOf(
    ['KEY', 'COURSE', 'LOGIN', 'ROLE', 'AT'],
    universities.flatMap(({ tables }) =>
      [...tables.enrollments.values()].flatMap((row) => {
        const COURSE = tables.classes.get(row.classSourcedId ?? '')?.classCode ?? '';
        const LOGIN = tables.users.get(row.userSourcedId ?? '')?.username ?? '';
        const named = { COURSE, LOGIN, ROLE: row.role ?? '' };
        // It may be meant for anybody, in all of them.
        if (COURSE === '' && LOGIN === '') return [];
        return [{ ...named, KEY: key(row), AT: instant(0) }];
      }),
    ),
  );

type Body = { type: string; time: string; sequence: string; data: Record<string, unknown> };

/** The platform: people and org units by the names that they have when a message is handled, and the ledger's order of messages. */
export const newPlatform = () => {
  const held = new Map<string, { at: string; value: string | undefined }>();
  const letters: string[] = [];
  return {
    letters,
    take: ({ type, time, sequence, data }: Body, personOf: (name: string) => string | undefined): void => {
      if (type.includes('grade-object')) return;
      const person = personOf(String(data.userName));
      if (person === undefined) {
        letters.push(`${data.orgUnitCode} ${data.userName}`);
        return;
      }
      const isGrade = type.includes('grade-push');
      const key = `${data.orgUnitCode} ${isGrade ? `${data.gradeObjectName} ` : ''}${person}`;
      const at = `${time} ${sequence.padStart(6, '0')}`;
      const value = isGrade
        ? String((data.grade as { points: number }).points)
        : roles[data.roleId === 109 ? 'teacher' : 'student'];
      if ((held.get(key)?.at ?? '') > at) return;
      held.set(key, { at, value: type.includes('remove') ? undefined : value });
    },
    valueOf: (key: string): string | undefined => held.get(key)?.value,
    keys: (): string[] => [...held].flatMap(([key, { value }]) => (value === undefined ? [] : key)),
  };
};

/** Drops a file, as an import that is accepted. Answers what was sent, and what the report says. */
export const dropped = async (
  { bucket, integrations }: { bucket: ReturnType<typeof bucketFolder>; integrations: Integrations },
  { key, content, night }: { key: string; content: Buffer | string; night: number },
): Promise<{ bodies: Body[]; refused: string[] }> => {
  bucket.write(key, content);
  const services = { store: bucket.store, integrations, limits: { eventsPerPart: 5_000 } };
  const droppedMs = startMs + night * nightMs;
  const examined = await examine({ key, etag: '', droppedMs }, { services, startedAt: 'now' });
  if (examined.is === 'over') throw new Error(examined.message);
  bucket.write(acceptedKeyOf(key), JSON.stringify(examined.accepted));
  const packed = readFileSync(bucket.at(changesKey(examined.id)));
  const text = packed.length === 0 ? '' : `${gunzipSync(packed)}`.trimEnd();
  const report = readFileSync(bucket.at(reportKey(examined.id)), 'utf8').trimEnd();
  return {
    bodies: text === '' ? [] : text.split('\n').map((line) => JSON.parse(line)),
    refused: report.split('\n').slice(1),
  };
};

type Wanted = {
  /** By org unit, line item and person; undefined: rows say two things. */
  wanted: Map<string, string | undefined>;
  /** Rows that cannot be used may be meant for any of its enrollments, or grades. */
  isEnrollmentRefused: boolean;
  isGradeRefused: boolean;
};

/** What the last accepted export says of enrollments and grades. */
export const wantedOf = ({ tables, people }: University): Wanted => {
  const { users, classes, lineItems, enrollments, results } = tables;
  const found: Wanted = { wanted: new Map(), isEnrollmentRefused: false, isGradeRefused: false };
  const { wanted } = found;
  const add = (key: string, value: string | undefined): void => {
    wanted.set(key, wanted.has(key) && wanted.get(key) !== value ? undefined : value);
  };
  const personOf = (id: string | undefined) => (users.has(id ?? '') ? people.get(id ?? '') : undefined);
  for (const { classSourcedId = '', userSourcedId, role = '', beginDate } of enrollments.values()) {
    const [code, person] = [classes.get(classSourcedId)?.classCode, personOf(userSourcedId)];
    if (code === undefined || person === undefined || !(role in roles) || beginDate !== undefined)
      found.isEnrollmentRefused = true;
    else add(`${code} ${person}`, roles[role]);
  }
  for (const { lineItemSourcedId = '', studentSourcedId, score } of results.values()) {
    const item = lineItems.get(lineItemSourcedId);
    const [code, person] = [classes.get(item?.classSourcedId ?? '')?.classCode, personOf(studentSourcedId)];
    if (item === undefined || code === undefined || person === undefined) found.isGradeRefused = true;
    else add(`${code} ${item.title} ${person}`, score);
  }
  return found;
};

/** What the platform holds otherwise than the export says, and no refusal names. Grades that the SIS has no longer stay. */
export const differencesOf = (
  university: University,
  { platform, letters }: { platform: ReturnType<typeof newPlatform>; letters: ReadonlySet<string> },
): string[] => {
  const { wanted, isEnrollmentRefused, isGradeRefused } = wantedOf(university);
  const problems: string[] = [];
  for (const [key, value] of wanted) {
    const isFree = key.split(' ').length > 2 ? isGradeRefused : isEnrollmentRefused;
    if (value === undefined || isFree || letters.has(key)) continue;
    const found = platform.valueOf(key);
    if (found !== value) problems.push(`${key} is ${found}, and must be ${value}`);
  }
  for (const key of platform.keys()) {
    if (!key.startsWith(`C${university.at}-`) || key.split(' ').length > 2) continue;
    if (!wanted.has(key) && !isEnrollmentRefused && !letters.has(key)) problems.push(`${key} is too much`);
  }
  return problems;
};
