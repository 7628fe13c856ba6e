import type { Random } from '../../../fuzz/random.ts';
import { type Body, importedOf } from './imports.ts';
import { csvOf, entriesOfSis, type Rows, zipOf } from './sis.ts';

// Small universities that share one export, and what the platform must hold of each after a night. The oracle has the rule alone: what
// rows claim, and what those that cannot be used hold. It knows nothing of how exports are read and compared.

type Kind = 'users' | 'classes' | 'lineItems' | 'enrollments' | 'results';
type Table = Map<string, Record<string, string>>;

/**
 * One university: tables by their rows' ids. `people` and `codes`: who a user's record is and what a class' is, as records come and go.
 * `merged`: people who became another one since the last night.
 */
export type University = {
  at: number;
  tables: Record<Kind, Table>;
  people: Map<string, string>;
  codes: Map<string, string>;
  merged: [from: string, to: string][];
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
  const university: University = {
    ...{ at, tables, people: new Map(), codes: new Map(), merged: [], next: 0 },
  };
  for (let user = 0; user < 4; user += 1) addUser(university, `p${at}-${user}`);
  for (let course = 0; course < 2; course += 1) {
    const id = newId(university, 'c');
    tables.classes.set(id, { sourcedId: id, classCode: `C${at}-${course}`, title: 'A class' });
    university.codes.set(id, `C${at}-${course}`);
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
  const { users } = university.tables;
  const row = anyOf(users, random);
  if (row === undefined) return;
  const { username } = row;
  const now = `${university.people.get(row.sourcedId ?? '')}-${night}-${random.below(100)}`;
  for (const each of users.values()) if (each.username === username) each.username = now;
};

/** One of two records is that of the other's person now, and is marked as deleted. Its rows may stay. */
const mergeUsers: Change = (university, _, random) => {
  const { people, tables, merged } = university;
  const [from, to, ...others] = activeUsers(university);
  if (from === undefined || to === undefined || others.length === 0) return;
  const [old, now] = random.below(2) === 0 ? [from, to] : [to, from];
  const person = people.get(now.sourcedId ?? '') ?? '';
  merged.push([people.get(old.sourcedId ?? '') ?? '', person]);
  const { username } = old;
  old.status = 'tobedeleted';
  for (const each of tables.users.values())
    if (each.username === username) {
      each.username = now.username ?? '';
      people.set(each.sourcedId ?? '', person);
    }
  for (const row of tables.enrollments.values())
    if (row.userSourcedId === old.sourcedId && random.below(2) === 0) row.userSourcedId = now.sourcedId ?? '';
};

const activeUsers = ({ tables }: University): Record<string, string>[] =>
  [...tables.users.values()].filter(({ status }) => status === undefined);

/** A class has no code at first. */
const addClass: Change = (university) => {
  const { classes } = university.tables;
  if ([...classes.values()].some(({ classCode }) => classCode === '')) return;
  const id = newId(university, 'c');
  classes.set(id, { sourcedId: id, title: 'A class', classCode: '' });
};

const giveCode: Change = (university) => {
  for (const row of university.tables.classes.values())
    if (row.classCode === '') {
      row.classCode = newId(university, 'C');
      university.codes.set(row.sourcedId ?? '', row.classCode);
    }
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
  const old = random.one(activeUsers(university));
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
  university.codes.set(now, old.classCode ?? '');
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
  const others = items.filter((row) => row.classSourcedId === first.classSourcedId && row !== first);
  const second = others.length > 0 ? random.one(others) : undefined;
  if (second) [first.title, second.title] = [second.title ?? '', first.title ?? ''];
};

/** Its results stay with it, and its title may be that of another in its class. */
const moveItem: Change = ({ tables }, _, random) => {
  const row = anyOf(tables.lineItems, random);
  if (row) row.classSourcedId = anyOf(tables.classes, random)?.sourcedId ?? '';
};

const addItem: Change = (university, _, random) => {
  const { classes, lineItems } = university.tables;
  const id = newId(university, 'l');
  const classSourcedId = anyOf(classes, random)?.sourcedId ?? '';
  lineItems.set(id, { sourcedId: id, title: `HW${random.below(3)}`, classSourcedId, resultValueMax: '20' });
};

/** Its results stay. */
const dropItem: Change = ({ tables }, _, random) => {
  if (tables.lineItems.size > 2) tables.lineItems.delete(anyOf(tables.lineItems, random)?.sourcedId ?? '');
};

/** As a teacher does it, to a title that others have, too. */
const retitle: Change = ({ tables }, _, random) => {
  const row = anyOf(tables.lineItems, random);
  if (row) row.title = `HW${random.below(4)}`;
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
  ...[replaceUser, replaceClass, slip, correct, correct, swapTitles, swapTitles],
  ...[moveItem, addItem, dropItem, retitle],
  ...[mergeUsers, addClass, giveCode],
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
      ...changed.map(([, row]) => ({ status: 'active', ...row })),
      ...gone.map(([, row]) => ({ ...row, status: 'tobedeleted' })),
    ];
  };
  const modes = last && Object.fromEntries(kinds.map((kind) => [kind, 'delta']));
  const sis = Object.fromEntries(kinds.map((kind) => [kind, of(kind)]));
  return { zip: await zipOf(entriesOfSis(sis, modes)), rows };
};

/** The same enrollments as a table, whose rows say when they were changed, and which message of the mapping is for them. */
export const tableOf = (universities: University[], by: (row: Record<string, string>) => string): string =>
  csvOf(
    ['KEY', 'COURSE', 'LOGIN', 'ROLE', 'AT', 'BY'],
    universities.flatMap(({ tables }) =>
      [...tables.enrollments.values()].flatMap((row) => {
        const COURSE = tables.classes.get(row.classSourcedId ?? '')?.classCode ?? '';
        const LOGIN = tables.users.get(row.userSourcedId ?? '')?.username ?? '';
        const named = { COURSE, LOGIN, ROLE: row.role ?? '' };
        // It may be meant for anybody, in all of them.
        if (COURSE === '' && LOGIN === '') return [];
        return [{ ...named, KEY: row.sourcedId ?? '', AT: instant(0), BY: by(row) }];
      }),
    ),
  );

/** The platform: people and org units by the names that they have when a message is handled, and the ledger's order of messages. */
export const newPlatform = () => {
  const held = new Map<string, { at: string; value: string | undefined }>();
  const letters: string[] = [];
  const objects = new Set<string>();
  const became = new Map<string, string>();
  const personNow = (person: string): string => {
    const next = became.get(person);
    return next === undefined ? person : personNow(next);
  };
  /** It shows two of one name, or none, to whoever looks for it. */
  const takeObject = (
    { orgUnitCode, gradeObjectName, gradeObjectFormerNames = [], name }: Body['data'],
    isNew: boolean,
  ): void => {
    const to = `${orgUnitCode} ${name ?? gradeObjectName}`;
    if (isNew) {
      objects.add(to);
      return;
    }
    const names = [gradeObjectName, ...(gradeObjectFormerNames as string[])];
    const [of, other] = names.map((each) => `${orgUnitCode} ${each}`).filter((each) => objects.has(each));
    if (of === undefined || other !== undefined)
      throw new Error(`there is not one grade object ${names.join(' or ')} that can become ${to}`);
    if (of === to) return;
    objects.delete(of);
    objects.add(to);
    for (const [key, value] of [...held])
      if (key.startsWith(`${of} `)) {
        held.delete(key);
        held.set(`${to}${key.slice(of.length)}`, value);
      }
  };
  return {
    letters,
    /** Nobody knows which of two it keeps. */
    merge: (from: string, to: string): void => {
      became.set(from, to);
      for (const [key, value] of [...held])
        if (key.endsWith(` ${from}`)) {
          held.delete(key);
          held.set(`${key.slice(0, -from.length)}${to}`, value);
        }
    },
    take: ({ type, time, sequence, data }: Body, personOf: (name: string) => string | undefined): void => {
      if (type.includes('grade-object')) {
        takeObject(data, type.includes('create'));
        return;
      }
      const person = personOf(String(data.userName));
      const isGrade = type.includes('grade-push');
      const of = `${data.orgUnitCode} ${isGrade ? `${data.gradeObjectName} ` : ''}`;
      if (person === undefined) {
        letters.push(`${of}${data.userName}`);
        return;
      }
      if (isGrade && !objects.has(of.trim())) throw new Error(`there is no grade object ${of}`);
      const key = `${of}${person}`;
      const at = `${time} ${sequence.padStart(6, '0')}`;
      const value = isGrade
        ? String((data.grade as { points: number }).points)
        : roles[data.roleId === 109 ? 'teacher' : 'student'];
      if ((held.get(key)?.at ?? '') > at) return;
      held.set(key, { at, value: type.includes('remove') ? undefined : value });
    },
    valueOf: (key: string): string | undefined => held.get(key)?.value,
    /** A key with who the person has become: also what is held by a name that no record has any more is theirs. */
    keyNow: (key: string): string => key.replace(/[^ ]+$/, personNow),
    keys: (): string[] => [...held].flatMap(([key, { value }]) => (value === undefined ? [] : key)),
  };
};

/** Drops a file, as an import that is accepted, and answers what was sent. */
export const dropped = async (
  bucket: Parameters<typeof importedOf>[0],
  { night, ...file }: { key: string; content: Buffer | string; night: number },
): Promise<Body[]> =>
  (await importedOf(bucket, { ...file, droppedMs: startMs + night * nightMs, isApproved: true })).bodies;

/** What kind of export it is. */
export type Form = {
  /** What it has instead of `sourcedId` to know a row again. */
  rowIdOf(row: Record<string, string>, named: Named): string;
  isOneRoster: boolean;
  /** Whether it tells in that night all that there is. */
  isWhole(night: number): boolean;
};
type Named = { code: string | undefined; name: string | undefined };

/** What the platform has to hold of an org unit or grade object, and a user by a name. */
type Held = {
  value: string;
  /** Rows that claimed it. */
  backs: ReadonlySet<string>;
  /** The last night in which a row claimed it. */
  seen: number;
  /** When it was changed, and of which line item it is, if it tells. */
  at?: number | undefined;
  item?: string | undefined;
};
/** The grade objects that there are, by code and title; which a line item has; and titles that were left, with what has each now. */
type Objects = {
  all: Set<string>;
  of: Map<string, string>;
  left: Map<string, string>;
  /** The rows of line items in the last export. */
  rows: Map<string, string>;
};
type Kept = {
  held: Map<string, Held>;
  /** In which night a row claimed something last. */
  claimed: Map<string, number>;
  /** Since when a row cannot be used. */
  refusedSince: Map<string, number>;
  /** Of rows that could not be used when an export had them last, what was known then: the org unit or grade object, and the user. */
  unread: Map<string, Pick<Row, 'of' | 'name'>>;
  /** The rows of the last export. */
  rows: Map<string, string>;
};
/** A row by its id: of which org unit or grade object it is, and of which user, if it tells. */
type Row = {
  id: string;
  of: string | undefined;
  name: string | undefined;
  value: string | undefined;
  /** The line item of a grade, and when that was changed. */
  item?: string;
  at?: number | undefined;
  /** It is of a record that is gone, and whose name another one has. */
  isFormer?: boolean;
};
type Claims = Map<string, Row[]>;

/** What the last nights tell of a university. */
export type Past = {
  enrollments: Kept;
  results: Kept;
  /** Each enrollment as it last could be used. */
  usable: Map<string, Record<string, string>>;
  /** By ids that are known: a delta takes none of them away. */
  codes: Map<string, string>;
  names: Map<string, string>;
  objects: Objects;
  /** Of whom two names were held at once, of which the platform knows one. */
  twice: Set<string>;
  /** What two names held that have become a third in this night, whose records are both gone: nobody knows which of the two is held. */
  either: Set<string>;
};
const nothingKept = (): Kept => ({
  ...{ held: new Map(), claimed: new Map(), refusedSince: new Map(), unread: new Map(), rows: new Map() },
});
export const newPast = (): Past => ({
  ...{ enrollments: nothingKept(), results: nothingKept(), usable: new Map() },
  ...{ codes: new Map(), names: new Map(), twice: new Set(), either: new Set() },
  objects: { all: new Set(), of: new Map(), left: new Map(), rows: new Map() },
});

type Night = { form: Form; night: number; past: Past };
type Platform = ReturnType<typeof newPlatform>;
type Told = { platform: Platform; letters: ReadonlySet<string> };

/** What a key or a letter is about, with the person in place of a name. */
export const withPerson = (key: string): string => key.replace(/ (?:name-)?(p[0-9]+-[0-9]+)[^ ]*$/, ' $1');

const learnNames = ({ tables }: University, { form, night, past }: Night): void => {
  const before = past.names;
  const isWhole = form.isWhole(night);
  if (isWhole) past.codes.clear();
  past.names = new Map(isWhole ? [] : before);
  for (const [id, { classCode = '' }] of tables.classes) if (classCode !== '') past.codes.set(id, classCode);
  for (const [id, { username = '' }] of tables.users) past.names.set(id, username);
  // A table has no ids by which another name would be that of the same user.
  if (!form.isOneRoster) return;
  renamePast(past, before, tables.users);
};

/** By name, the names that its records have now. */
const namesNow = (
  before: ReadonlyMap<string, string>,
  names: ReadonlyMap<string, string>,
): Map<string, Set<string>> => {
  const now = new Map<string, Set<string>>();
  for (const [id, name] of before) {
    const to = names.get(id);
    if (to !== undefined) now.set(name, (now.get(name) ?? new Set()).add(to));
  }
  return now;
};

/** What names held is held by those that their records have now. `before`: the names of the last night, by their records. */
const renamePast = (past: Past, before: ReadonlyMap<string, string>, users: Table): void => {
  // If two become one name that neither had, what the record that stays had is held.
  const staying = new Set(
    [...before].flatMap(([id, name]) => (users.has(id) && users.get(id)?.status === undefined ? name : [])),
  );
  const ofGone = new Set<string>();
  for (const [old, [name, ...others]] of [...namesNow(before, past.names)].sort(
    ([one], [other]) => Number(staying.has(other)) - Number(staying.has(one)),
  )) {
    if (name === undefined || name === old || others.length > 0) continue;
    for (const { held, unread } of [past.enrollments, past.results]) {
      for (const [id, row] of unread) if (row.name === old) unread.set(id, { ...row, name });
      const renamed = renameHeld(held, old, name);
      if (staying.has(old)) continue;
      for (const [key, isAlone] of renamed)
        if (isAlone) ofGone.add(key);
        else if (ofGone.has(key)) past.either.add(key);
    }
  }
};

/** Answers what has the new name now, and whether nothing else had it. */
const renameHeld = (held: Kept['held'], old: string, name: string): [key: string, isAlone: boolean][] =>
  [...held].flatMap(([key, was]) => {
    if (!key.endsWith(` ${old}`)) return [];
    held.delete(key);
    const to = `${key.slice(0, -old.length)}${name}`;
    const other = held.get(to);
    const backs = new Set([...was.backs, ...(other?.backs ?? [])]);
    // Of grades the newer one is held, and otherwise what the name had already.
    const newest = other !== undefined && (other.at ?? 0) >= (was.at ?? 0) ? other : was;
    held.set(to, { ...newest, backs, seen: Math.max(was.seen, other?.seen ?? 0) });
    return [[to, other === undefined]];
  });

/** Records that are gone, whose name or code another one has now. */
const formerOf = (named: ReadonlyMap<string, string>, table: Table): ReadonlySet<string> => {
  const isActive = (id: string): boolean => table.has(id) && table.get(id)?.status === undefined;
  const names = new Set([...named].flatMap(([id, name]) => (isActive(id) ? name : [])));
  return new Set([...named].flatMap(([id, name]) => (!isActive(id) && names.has(name) ? id : [])));
};

const keyOf = ({ of, name }: Row): string => `${of} ${name}`;
const isUsable = ({ of, name, value }: Row): boolean =>
  of !== undefined && name !== undefined && value !== undefined;
const claim = (claims: Claims, row: Row): void => {
  claims.set(keyOf(row), [...(claims.get(keyOf(row)) ?? []), row]);
};

/** What rows about one thing say together: those of records that are gone yield to others. */
const agreed = (rows: readonly Row[]) => {
  const staying = rows.filter(({ isFormer }) => !isFormer);
  const used = rows.filter(
    ({ isFormer, value }) => !isFormer || staying.every((each) => each.value === value),
  );
  const times = used.flatMap(({ at }) => at ?? []);
  return {
    values: new Set(used.map(({ value = '' }) => value)),
    backs: new Set(used.map(({ id }) => id)),
    at: times.length > 0 ? Math.max(...times) : undefined,
    item: used[0]?.item,
  };
};

const codeOf = (object: string | undefined): string | undefined => object?.split(' ')[0];

/**
 * Which line items are refused. One that is to have another grade object may have it if nobody else is to, and if whoever has it goes, moves
 * or takes one that is there.
 */
const refusedItems = (wanted: ReadonlyMap<string, string>, objects: Objects): Set<string> => {
  const refused = new Set<string>();
  const isNew = (item: string): boolean => wanted.get(item) !== objects.of.get(item) && !refused.has(item);
  const passesOn = (item: string): boolean => {
    const to = wanted.get(item);
    if (refused.has(item)) return false;
    if (to === undefined || codeOf(to) !== codeOf(objects.of.get(item))) return true;
    return isNew(item) && objects.all.has(to);
  };
  const isRefused = (item: string, to: string): boolean => {
    const owner = [...objects.of].find(([, object]) => object === to)?.[0];
    const left = objects.left.get(to);
    return (
      [...wanted.values()].filter((each) => each === to).length > 1 ||
      (left !== undefined && left !== objects.of.get(item)) ||
      (owner !== undefined && !passesOn(owner))
    );
  };
  for (let before = -1; before < refused.size; ) {
    before = refused.size;
    for (const [item, to] of wanted) if (isNew(item) && isRefused(item, to)) refused.add(item);
  }
  return refused;
};

/** Which line item has which grade object: one that is refused has what it had. */
const settleItems = ({ tables }: University, { form, night, past }: Night): void => {
  const { objects } = past;
  const wanted = new Map<string, string>();
  const rows = new Map<string, string>();
  for (const [item, row] of tables.lineItems) {
    rows.set(item, JSON.stringify(row));
    const isNamed = form.isWhole(night) || rows.get(item) !== objects.rows.get(item);
    const code = past.codes.get(row.classSourcedId ?? '');
    const to = isNamed && code !== undefined ? `${code} ${row.title}` : objects.of.get(item);
    if (to !== undefined) wanted.set(item, to);
  }
  const refused = refusedItems(wanted, objects);
  const now = new Map<string, string>();
  for (const [item, to] of wanted) {
    const object = refused.has(item) ? objects.of.get(item) : to;
    if (object !== undefined) now.set(item, object);
  }
  const taken = new Set(now.values());
  const grades: [from: string, to: string][] = [];
  for (const [item, to] of now) {
    const from = objects.of.get(item);
    if (from === undefined || from === to || objects.all.has(to)) continue;
    // It is made anew elsewhere, or has another title.
    if (!taken.has(from)) grades.push([from, to]);
    if (codeOf(from) !== codeOf(to)) continue;
    objects.all.delete(from);
    for (const [title, object] of objects.left) if (object === from) objects.left.set(title, to);
    objects.left.set(from, to);
    objects.left.delete(to);
  }
  for (const object of taken) objects.all.add(object);
  Object.assign(objects, { of: now, rows });
  moveGrades(past.results.held, grades);
};

const moveGrades = (held: Kept['held'], moves: [from: string, to: string][]): void => {
  for (const [from, to] of moves)
    for (const [key, was] of [...held])
      if (key.startsWith(`${from} `)) {
        held.delete(key);
        held.set(`${to}${key.slice(from.length)}`, was);
      }
};

type Tonight = {
  claims: Claims;
  /** Rows that cannot be used; whether this export has them. */
  refused: (Row & { isHere: boolean })[];
  /** What a delta leaves as it was. */
  stays: Set<string>;
  rows: Kept['rows'];
  night: number;
  /** Of grade objects: no row of another line item is about them. */
  owners?: Map<string, string>;
};

/**
 * A row that cannot be used holds what it may mean: what it claimed before, what its class and user say; and where it tells one of them
 * alone, what is missing no longer than it is refused.
 */
const settle = (kept: Kept, { claims, refused, stays, rows, night, owners }: Tonight): void => {
  const { refusedSince } = kept;
  const ids = new Set(refused.map(({ id }) => id));
  for (const id of ids) refusedSince.set(id, refusedSince.get(id) ?? night);
  for (const id of refusedSince.keys()) if (!ids.has(id)) refusedSince.delete(id);
  const known = new Set([...kept.held.values()].flatMap(({ backs }) => [...backs]));
  const ownerOf = (key: string): string | undefined => owners?.get(key.split(' ').slice(0, 2).join(' '));
  const isMeant = (row: Row, key: string, { backs }: Held): boolean =>
    (backs.has(row.id) && (ownerOf(key) ?? row.item) === row.item) || keyOf(row) === key;
  const mayBeMeant = ({ id, of, name }: Row, key: string, { seen }: Held): boolean =>
    !known.has(id) &&
    (of === undefined) !== (name === undefined) &&
    (key.startsWith(`${of} `) || key.endsWith(` ${name}`)) &&
    (refusedSince.get(id) ?? 0) > seen;
  const held: Kept['held'] = new Map();
  for (const [key, before] of kept.held) {
    const rows = claims.get(key);
    const claimed = rows && agreed(rows);
    const isOlder =
      claimed?.at !== undefined &&
      claimed.at < (before.at ?? 0) &&
      claimed.item === before.item &&
      !claimed.values.has(before.value);
    const isDisputed = (claimed?.values.size ?? 0) > 1;
    const isHeld =
      stays.has(key) ||
      isDisputed ||
      isOlder ||
      refused.some((row) => row.isHere && isMeant(row, key, before));
    if (isHeld && claimed !== undefined && !isDisputed) {
      const backs = claimed.backs.size > 1 ? new Set([...before.backs, ...claimed.backs]) : before.backs;
      held.set(key, { ...before, backs, seen: night });
    } else if (
      isHeld ||
      (!claimed && refused.some((row) => isMeant(row, key, before) || mayBeMeant(row, key, before)))
    )
      held.set(key, before);
  }
  for (const [key, rows] of claims) {
    const { values, ...claimed } = agreed(rows);
    const [value = '', ...others] = values;
    if (others.length === 0 && !held.has(key)) held.set(key, { value, ...claimed, seen: night });
  }
  const claimed = [...held.values()].flatMap(({ backs, seen }) => (seen === night ? [...backs] : []));
  for (const id of claimed) kept.claimed.set(id, night);
  Object.assign(kept, { held, rows });
};

/** Whether an export has the row, and whether it could not be used when one had it last: then a delta without it does not read it. */
const namedIn = (
  { rows, unread }: Kept,
  { id, text, isWhole }: { id: string; text: string; isWhole: boolean },
) => {
  const isNamed = isWhole || rows.get(id) !== text;
  return { isNamed, isUnread: !isNamed && unread.has(id) };
};

/** Keeps of what the row was when an export had it last, if it could not be used. */
const noteUnread = ({ unread }: Kept, row: Row): void => {
  if (isUsable(row)) unread.delete(row.id);
  else unread.set(row.id, { of: row.of, name: row.name });
};

const settleEnrollments = ({ tables }: University, { form, night, past }: Night): void => {
  const formers = [formerOf(past.codes, tables.classes), formerOf(past.names, tables.users)] as const;
  const read = (given: Record<string, string>): Row => {
    const code = past.codes.get(given.classSourcedId ?? '');
    const name = past.names.get(given.userSourcedId ?? '');
    const value = form.isOneRoster && given.beginDate !== undefined ? undefined : roles[given.role ?? ''];
    const isFormer =
      form.isOneRoster &&
      (formers[0].has(given.classSourcedId ?? '') || formers[1].has(given.userSourcedId ?? ''));
    return { id: form.rowIdOf(given, { code, name }), of: code, name, value, isFormer };
  };
  const tonight: Tonight = {
    ...{ claims: new Map(), refused: [], stays: new Set(), rows: new Map(), night },
  };
  const { held, unread } = past.enrollments;
  const isWhole = form.isWhole(night);
  for (const given of tables.enrollments.values()) {
    const row = read(given);
    // Tables do not have it.
    if (!form.isOneRoster && row.of === undefined && row.name === undefined) continue;
    const text = JSON.stringify(given);
    tonight.rows.set(row.id, text);
    const { isNamed, isUnread } = namedIn(past.enrollments, { id: row.id, text, isWhole });
    if (isNamed) noteUnread(past.enrollments, row);
    if (isUsable(row) && !isUnread) {
      claim(tonight.claims, row);
      past.usable.set(row.id, { ...given });
      continue;
    }
    tonight.refused.push({ ...row, ...(isUnread && unread.get(row.id)), isHere: isNamed });
    const usable = isWhole ? undefined : past.usable.get(row.id);
    if (usable === undefined) continue;
    if (isUsable(read(usable))) claim(tonight.claims, read(usable));
    else for (const [key, { backs }] of held) if (backs.has(row.id)) tonight.stays.add(key);
  }
  for (const id of past.usable.keys()) if (!tonight.rows.has(id)) past.usable.delete(id);
  settle(past.enrollments, tonight);
};

const timeOf = ({ dateLastModified }: Record<string, string>): number | undefined =>
  dateLastModified === undefined ? undefined : Date.parse(dateLastModified);

type Still = {
  /** Of rows that a delta does not name, or has and cannot be used. */
  isStill(id: string): boolean;
  /** Of those that were gone before, and what they claimed is held since: no delta names them. */
  isGoneBefore(id: string): boolean;
  read(id: string, value: string, at: number | undefined): Row;
};
/**
 * A row that had another grade object before holds the grade there, too; what it says is what it claimed last. One that is gone says
 * nothing more: what it claimed stays where no row claims anything.
 */
const claimStill = (
  { held, claimed }: Kept,
  tonight: Tonight,
  { isStill, isGoneBefore, read }: Still,
): void => {
  const backs = [...held].flatMap(([key, was]) => [...was.backs].map((id) => ({ key, was, id })));
  const isSilent = ({ was: { value, at }, id }: (typeof backs)[number]): boolean =>
    isGoneBefore(id) || (isStill(id) && !isUsable(read(id, value, at)));
  for (const { was, id } of backs) {
    const row = read(id, was.value, was.at);
    if (isStill(id) && isUsable(row) && was.seen >= (claimed.get(id) ?? 0)) claim(tonight.claims, row);
  }
  for (const back of backs) if (isSilent(back) && !tonight.claims.has(back.key)) tonight.stays.add(back.key);
};

const settleResults = ({ tables }: University, { form, night, past }: Night): void => {
  const formers = formerOf(past.names, tables.users);
  const read = (id: string, value: string, at: number | undefined): Row => {
    const [item = '', user = ''] = id.split(' ');
    const of = past.objects.of.get(item);
    return { ...{ id, item, of, name: past.names.get(user), value, at }, isFormer: formers.has(user) };
  };
  const tonight: Tonight = {
    ...{ claims: new Map(), refused: [], stays: new Set(), rows: new Map(), night },
    owners: new Map([...past.objects.of].map(([item, object]) => [object, item])),
  };
  const { unread, rows: before } = past.results;
  const isWhole = form.isWhole(night);
  /** Rows that a delta does not name, or that it has and cannot be used. */
  const still = new Set<string>();
  for (const [id, given] of tables.results) {
    const text = JSON.stringify(given);
    tonight.rows.set(id, text);
    const { isNamed, isUnread } = namedIn(past.results, { id, text, isWhole });
    const row = read(id, given.score ?? '', timeOf(given));
    if (isNamed && isUsable(row)) claim(tonight.claims, row);
    else if (!isWhole) still.add(id);
    if (isNamed) noteUnread(past.results, row);
    // That a row which a delta does not have lost its line item or user is seen once an export has it.
    if ((isNamed && !isUsable(row)) || isUnread)
      tonight.refused.push({ ...row, ...(isUnread && unread.get(id)), isHere: isNamed });
  }
  if (!isWhole) {
    const isGoneBefore = (id: string): boolean => !tables.results.has(id) && !before.has(id);
    claimStill(past.results, tonight, { isStill: (id) => still.has(id), isGoneBefore, read });
  }
  settle(past.results, tonight);
};

/** What the platform holds of a university otherwise than it has to. Grades that the SIS has no longer stay. */
export const differences = (university: University, { platform, letters }: Told, night: Night): string[] => {
  const { past, form } = night;
  learnNames(university, night);
  settleEnrollments(university, night);
  if (form.isOneRoster) {
    settleItems(university, night);
    settleResults(university, night);
  }
  const must = new Map<string, string>();
  for (const [key, { value }] of [...past.enrollments.held, ...past.results.held]) {
    const of = platform.keyNow(withPerson(key));
    if (must.has(of) || past.either.delete(key)) past.twice.add(of);
    must.set(of, value);
  }
  const there = platform.keys().filter((key) => key.startsWith(`C${university.at}-`) && isEnrollment(key));
  return [...new Set([...must.keys(), ...there])].flatMap((key) => {
    const is = platform.valueOf(key);
    return is === must.get(key) || letters.has(key) || past.twice.has(key)
      ? []
      : `${key} is ${is}, and must be ${must.get(key)}`;
  });
};

const isEnrollment = (key: string): boolean => key.split(' ').length === 2;
