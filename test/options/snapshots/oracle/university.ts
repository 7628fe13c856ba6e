import type { CrosswalkKind } from '../../../../lib/crosswalk/kinds.ts';
import { type Random, randomFrom } from '../../../fuzz/random.ts';
import { cellChanges, type Slip, titleChanges } from './cells.ts';
import { instantOf, type Now, one } from './now.ts';

// A small university: what its student information system has, whom its user names and codes stand for, and what the crosswalk knows
// of that, which follows some nights later.

export const tableNames = ['students.csv', 'instructors.csv', 'drops.csv'] as const;
export type TableName = (typeof tableNames)[number];

/** People are known by their accounts' ids. */
export type UserRecord = { username: string; person: number };
export type Enrolled = {
  section: string;
  user: string;
  role: string;
  at: string;
  /** The first and the last day, if it has them. */
  begins?: string;
  ends?: string;
  slip?: Slip;
};
export type Listed = Enrolled & { status: 'active' | 'withdrawn' };
export type Item = { section: string; title: string; max: string; slip?: Slip };
export type Result = {
  item: string;
  user: string;
  score: string;
  at: string;
  comment?: string;
  slip?: Slip;
};

/** What the crosswalk learns in a night; without an id, it forgets the name. */
type Lesson = { night: number; kind: CrosswalkKind; name: string; id: number | undefined; person?: number };

export type University = {
  at: number;
  /** Whether its rows say when they were changed. */
  isTimed: boolean;
  next: number;
  users: Map<string, UserRecord>;
  /** Codes by the ids of sections' records. */
  sections: Map<string, string>;
  /** By code, the org unit where the section is taught. */
  places: Map<string, number>;
  /** By user name, whom it stood for last. */
  bearers: Map<string, number>;
  enrollments: Map<string, Enrolled>;
  items: Map<string, Item>;
  results: Map<string, Result>;
  tables: Record<TableName, Map<string, Listed>>;
  known: Record<'orgUnitCode' | 'userName', Map<string, number>>;
  lessons: Lesson[];
  /** Codes whose move an operator accepts, and when. */
  acceptances: { code: string; night: number }[];
};

/** The first of the settings' roles wins. They do not name the role of aides, which tables have. */
export const roleIds: Readonly<Record<string, number>> = { teacher: 109, student: 110, aide: 111 };
export const namedRoles = ['teacher', 'student'];

const perUniversity = 1_000;
const firstPerson = 500_000_000;
/** Of a key such as `2601 101` or `2601/Quiz 101`. */
export const personIn = (key: string): number => Number(key.slice(key.lastIndexOf(' ') + 1));
export const universityOf = (id: number): number => Math.floor((id % firstPerson) / perUniversity);

const newNumber = (university: University): number => {
  university.next += 1;
  return university.next;
};
const newId = (university: University, letter: string): string =>
  `${letter}${university.at}-${newNumber(university)}`;
const newPerson = (university: University): number =>
  firstPerson + university.at * perUniversity + newNumber(university);
const newPlace = (university: University): number => university.at * perUniversity + newNumber(university);

const stampOf = ({ isTimed }: University, { night, random }: Now): string =>
  isTimed ? instantOf(night, random.below(50)) : '';

const learn = (university: University, { night, delay }: Now, lesson: Omit<Lesson, 'night'>): void => {
  university.lessons.push({ ...lesson, night: night + delay });
};
const learnLogin = (
  university: University,
  now: Now,
  [name, id, person]: [string, number | undefined, number],
) => learn(university, now, { kind: 'userName', name, id, person });

const addPerson = (university: University, now: Now): string => {
  const id = newId(university, 'u');
  const [person, username] = [newPerson(university), newId(university, 'n')];
  university.users.set(id, { username, person });
  university.bearers.set(username, person);
  learnLogin(university, now, [username, person, person]);
  return id;
};

const addSection = (university: University, now: Now, place: number): string => {
  const [id, code] = [newId(university, 's'), newId(university, 'C')];
  university.sections.set(id, code);
  university.places.set(code, place);
  learn(university, now, { kind: 'orgUnitCode', name: code, id: place });
  return id;
};

const emptyUniversity = (at: number, isTimed: boolean): University => ({
  at,
  isTimed,
  next: 0,
  users: new Map(),
  sections: new Map(),
  places: new Map(),
  bearers: new Map(),
  enrollments: new Map(),
  items: new Map(),
  results: new Map(),
  lessons: [],
  acceptances: [],
  tables: { 'students.csv': new Map(), 'instructors.csv': new Map(), 'drops.csv': new Map() },
  known: { orgUnitCode: new Map(), userName: new Map() },
});

/** Two courses, of which one has two sections, and four people. */
export const newUniversity = (at: number, seed: number): University => {
  const random = randomFrom(seed);
  const university = emptyUniversity(at, random.happens(0.6));
  const now: Now = { night: 1, random, delay: 0 };
  for (let people = 0; people < 4; people += 1) addPerson(university, now);
  const place = newPlace(university);
  for (const where of [place, place, newPlace(university)]) addSection(university, now, where);
  for (let rows = 0; rows < 3; rows += 1) changes.enroll(university, now);
  changes.addItem(university, now);
  for (const change of [changes.grade, changes.list, changes.list]) change(university, now);
  return university;
};

const isPending = ({ lessons }: University, person: number): boolean =>
  lessons.some((lesson) => lesson.person === person);
/** A record of a person who has no other, and of whom the crosswalk knows the name. */
const settledUser = (university: University, now: Now): [string, UserRecord] | undefined => {
  const { users, known } = university;
  const settled = [...users].filter(
    ([, { username, person }]) =>
      !isPending(university, person) &&
      known.userName.get(username) === person &&
      [...users.values()].filter((each) => each.person === person).length === 1,
  );
  return settled.length === 0 ? undefined : now.random.one(settled);
};

type Change = (university: University, now: Now) => void;

/** Every row that refers to the user's record, or to the section's. */
const rowsOf = (university: University): Enrolled[] => [
  ...university.enrollments.values(),
  ...tableNames.flatMap((name) => [...university.tables[name].values()]),
];

const changes = {
  enroll: (university, now) => {
    const [section] = one(university.sections, now) ?? [];
    const [user] = one(university.users, now) ?? [];
    if (section === undefined || user === undefined) return;
    const role = now.random.one(namedRoles);
    university.enrollments.set(newId(university, 'e'), { section, user, role, at: stampOf(university, now) });
  },
  /** In another section of the same course. */
  twin: (university, now) => {
    const { sections, places } = university;
    const [, row] = one(university.enrollments, now) ?? [];
    if (row === undefined) return;
    const placeOf = (section: string): number | undefined => places.get(sections.get(section) ?? '');
    const others = [...sections.keys()].filter(
      (each) => each !== row.section && placeOf(each) === placeOf(row.section),
    );
    if (others.length === 0) return;
    const more = { section: now.random.one(others), role: now.random.one(namedRoles) };
    university.enrollments.set(newId(university, 'e'), { ...row, ...more, at: stampOf(university, now) });
  },
  leave: (university, now) => {
    const [id] = one(university.enrollments, now) ?? [];
    if (id !== undefined) university.enrollments.delete(id);
  },
  changeRole: (university, now) => {
    const [, row] = one(university.enrollments, now) ?? [];
    if (row) Object.assign(row, { role: now.random.one(namedRoles), at: stampOf(university, now) });
  },
  newKey: (university, now) => {
    const [id, row] = one(university.enrollments, now) ?? [];
    if (id === undefined || row === undefined) return;
    university.enrollments.delete(id);
    university.enrollments.set(newId(university, 'e'), row);
  },
  /** In a table. */
  list: (university, now) => {
    const [section] = one(university.sections, now) ?? [];
    const [user] = one(university.users, now) ?? [];
    if (section === undefined || user === undefined) return;
    const name = now.random.one(tableNames);
    const role = name === 'instructors.csv' ? 'teacher' : now.random.one(['student', 'student', 'aide']);
    const status = name === 'drops.csv' ? 'withdrawn' : 'active';
    setListed(university, name, { section, user, role, status, at: stampOf(university, now) });
  },
  unlist: (university, now) => {
    const table = university.tables[now.random.one(tableNames)];
    const [key] = one(table, now) ?? [];
    if (key !== undefined) table.delete(key);
  },
  withdraw: (university, now) => {
    const [, row] = one(university.tables['students.csv'], now) ?? [];
    if (row === undefined) return;
    const status = row.status === 'active' ? 'withdrawn' : 'active';
    Object.assign(row, { status, at: stampOf(university, now) });
  },
  /** From the students to the instructors, or back. */
  moveBetweenTables: (university, now) => {
    const [from, to] = now.random.one([
      ['students.csv', 'instructors.csv'],
      ['instructors.csv', 'students.csv'],
    ] as const);
    const [key, row] = one(university.tables[from], now) ?? [];
    if (key === undefined || row === undefined || row.status !== 'active') return;
    university.tables[from].delete(key);
    const role = to === 'instructors.csv' ? 'teacher' : 'student';
    setListed(university, to, { ...row, role, at: stampOf(university, now) });
  },
  /** From the zip to a table. */
  moveToTable: (university, now) => {
    const [id, row] = one(university.enrollments, now) ?? [];
    if (id === undefined || row === undefined) return;
    university.enrollments.delete(id);
    const { section, user } = row;
    const listed: Listed = { section, user, role: 'teacher', status: 'active', at: stampOf(university, now) };
    setListed(university, 'instructors.csv', listed);
  },
  addItem: (university, now) => {
    const [section] = one(university.sections, now) ?? [];
    const title = `HW${now.random.below(3)}`;
    const isThere = [...university.items.values()].some(
      (each) => each.section === section && each.title === title,
    );
    if (section !== undefined && !isThere)
      university.items.set(newId(university, 'l'), { section, title, max: '20' });
  },
  dropItem: (university, now) => {
    const [id] = one(university.items, now) ?? [];
    if (id === undefined) return;
    university.items.delete(id);
    for (const [key, { item }] of university.results) if (item === id) university.results.delete(key);
  },
  grade: (university, now) => {
    const [item] = one(university.items, now) ?? [];
    const [user] = one(university.users, now) ?? [];
    if (item === undefined || user === undefined) return;
    const at = instantOf(now.night, now.random.below(50));
    university.results.set(`r-${item}-${user}`, { item, user, score: String(now.random.below(21)), at });
  },
} satisfies Record<string, Change>;

const setListed = (university: University, name: TableName, row: Listed): void => {
  university.tables[name].set(`${row.section} ${row.user}`, row);
};

const moveKeys = (university: University): void => {
  for (const name of tableNames) {
    const rows = [...university.tables[name].values()];
    university.tables[name].clear();
    for (const row of rows) setListed(university, name, row);
  }
};

/** What changes for whom names stand. */
const nameChanges = {
  rename: (university, now) => {
    const [, record] = settledUser(university, now) ?? [];
    if (record === undefined) return;
    const { username: old, person } = record;
    record.username = newId(university, 'n');
    university.bearers.set(record.username, person);
    learnLogin(university, now, [record.username, person, person]);
    if (now.random.happens(0.5)) learnLogin(university, now, [old, undefined, person]);
  },
  /** To somebody who is new, or has another name. */
  passName: (university, now) => {
    const [from, former] = settledUser(university, now) ?? [];
    if (from === undefined || former === undefined) return;
    const [to, known] = settledUser(university, now) ?? [];
    const isKnown = to !== undefined && to !== from && now.random.happens(0.5);
    const bearer = isKnown ? known : undefined;
    const passed = former.username;
    former.username = newId(university, 'n');
    university.bearers.set(former.username, former.person);
    learnLogin(university, now, [former.username, former.person, former.person]);
    const person = bearer?.person ?? newPerson(university);
    if (bearer) {
      learnLogin(university, now, [bearer.username, undefined, person]);
      bearer.username = passed;
    } else university.users.set(newId(university, 'u'), { username: passed, person });
    university.bearers.set(passed, person);
    learnLogin(university, now, [passed, person, person]);
    // The new bearer is in courses, too.
    const user = [...university.users].find(([, each]) => each.username === passed)?.[0] ?? '';
    const [section] = one(university.sections, now) ?? [];
    if (section !== undefined)
      university.enrollments.set(newId(university, 'e'), {
        section,
        user,
        role: now.random.one(namedRoles),
        at: stampOf(university, now),
      });
    const [item] = one(university.items, now) ?? [];
    if (item !== undefined)
      university.results.set(`r-${item}-${user}`, {
        item,
        user,
        score: String(now.random.below(21)),
        at: instantOf(now.night),
      });
  },
  /** A second record of a person, with another name for the same account. */
  alias: (university, now) => {
    const [old, record] = settledUser(university, now) ?? [];
    if (record === undefined) return;
    const [user, username] = [newId(university, 'u'), newId(university, 'n')];
    university.users.set(user, { username, person: record.person });
    university.bearers.set(username, record.person);
    learnLogin(university, now, [username, record.person, record.person]);
    for (const row of [...university.enrollments.values()])
      if (row.user === old) university.enrollments.set(newId(university, 'e'), { ...row, user });
  },
  /** One of two records of a person goes, with its rows. */
  dropAlias: (university, now) => {
    const { users } = university;
    const twice = [...users].filter(
      ([id, { person }]) =>
        !isPending(university, person) &&
        [...users].some(([other, each]) => other !== id && each.person === person),
    );
    if (twice.length > 0) dropUser(university, now.random.one(twice)[0], now);
  },
  leaverGone: (university, now) => {
    const [id] = settledUser(university, now) ?? [];
    if (id !== undefined && university.users.size > 2) dropUser(university, id, now);
  },
  newcomer: (university, now) => {
    const user = addPerson(university, now);
    const [section] = one(university.sections, now) ?? [];
    if (section === undefined) return;
    const row = { section, user, role: now.random.one(namedRoles), at: stampOf(university, now) };
    university.enrollments.set(newId(university, 'e'), row);
  },
  newUserKey: (university, now) => {
    const [id, record] = settledUser(university, now) ?? [];
    if (id === undefined || record === undefined) return;
    const user = newId(university, 'u');
    university.users.delete(id);
    university.users.set(user, record);
    for (const row of rowsOf(university)) if (row.user === id) row.user = user;
    for (const [key, row] of [...university.results])
      if (row.user === id) {
        university.results.delete(key);
        university.results.set(`r-${row.item}-${user}`, { ...row, user });
      }
    moveKeys(university);
  },
  newSectionKey: (university, now) => {
    const [id, code] = one(university.sections, now) ?? [];
    if (id === undefined || code === undefined) return;
    const section = newId(university, 's');
    university.sections.delete(id);
    university.sections.set(section, code);
    for (const row of [...rowsOf(university), ...university.items.values()])
      if (row.section === id) row.section = section;
    moveKeys(university);
  },
  newSection: (university, now) => {
    const [, there] = one(university.places, now) ?? [];
    const place = there !== undefined && now.random.happens(0.5) ? there : newPlace(university);
    addSection(university, now, place);
  },
  /** One section, or all of a course, is taught in another org unit. */
  moveCourse: (university, now) => {
    const { places, lessons, known } = university;
    const [code, from] = one(places, now) ?? [];
    if (code === undefined || from === undefined) return;
    const codes = now.random.happens(0.5)
      ? [code]
      : [...places].flatMap(([each, at]) => (at === from ? each : []));
    const isSettled = (each: string): boolean =>
      known.orgUnitCode.get(each) === from && !lessons.some(({ name }) => name === each);
    if (!codes.every(isSettled) || university.acceptances.length > 0) return;
    const to = newPlace(university);
    for (const each of codes) {
      places.set(each, to);
      learn(university, now, { kind: 'orgUnitCode', name: each, id: to });
      university.acceptances.push({ code: each, night: now.night + now.delay + now.random.below(3) });
    }
  },
} satisfies Record<string, Change>;

const dropUser = (university: University, id: string, now: Now): void => {
  const { person, username = '' } = university.users.get(id) ?? { person: 0 };
  university.users.delete(id);
  for (const table of [university.enrollments, university.results, ...Object.values(university.tables)])
    for (const [key, { user }] of table) if (user === id) table.delete(key);
  learnLogin(university, now, [username, undefined, person]);
};

const ofRows = { ...changes, ...cellChanges, ...titleChanges };
export type ChangeName = keyof typeof ofRows | keyof typeof nameChanges;
/** A change is the same in each history that has it, whatever came before. */
export type ChangeOf = { name: ChangeName; seed: number };

const weights: Partial<Record<ChangeName, number>> = {
  enroll: 3,
  twin: 3,
  leave: 4,
  grade: 3,
  list: 5,
  unlist: 2,
  slip: 5,
  correct: 2,
  setDates: 3,
  setMaximum: 2,
  comment: 3,
};
const allNames = [ofRows, nameChanges].flatMap(Object.keys) as ChangeName[];
const weighted = allNames.flatMap((name) => Array<ChangeName>(weights[name] ?? 1).fill(name));
export const anyChange = (random: Random): ChangeOf => ({
  name: random.one(weighted),
  seed: random.below(1_000_000_000),
});

const isNameChange = (name: ChangeName): name is keyof typeof nameChanges => name in nameChanges;

/** `isCalm`: the SIS exports its names in this night, before anything else. */
export const applyChange = (
  university: University,
  { name, seed }: ChangeOf,
  { night, isCalm }: { night: number; isCalm: boolean },
): void => {
  const random = randomFrom(seed);
  const now: Now = { night, random, delay: random.below(3) };
  if (!isNameChange(name)) ofRows[name](university, now);
  else if (isCalm) nameChanges[name](university, now);
};

/** What the crosswalk learns until this night. */
export const learnLessons = (university: University, night: number): void => {
  for (const lesson of university.lessons) {
    if (lesson.night > night) continue;
    const names = university.known[lesson.kind === 'userName' ? 'userName' : 'orgUnitCode'];
    if (lesson.id === undefined) names.delete(lesson.name);
    else names.set(lesson.name, lesson.id);
  }
  university.lessons = university.lessons.filter((lesson) => lesson.night > night);
};
