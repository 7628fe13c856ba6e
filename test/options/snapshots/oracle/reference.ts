import type { Body } from '../imports.ts';
import type { Crosswalk } from './crosswalk.ts';
import type { Export, FileName } from './files.ts';
import type { Imported, Importer } from './history.ts';
import type { ReportLine } from './said.ts';
import { namedRoles, roleIds } from './university.ts';

// A small import without files or an engine, by which the oracle is tested: it passes, and fails with each of these mistakes.

export const mistakes = {
  'by names': 'compares names instead of what they stand for',
  'by its own file': 'removes what the same file wants no more, though another file wants it',
  'the last file wins': 'takes the role of the file that came last',
  'times do not count': 'lets an ended enrollment stay, whatever was said later, and names nobody',
  'former bearer': 'sends rows of the new bearer of a user name to the account of the former one',
  'silent about names that pass': 'holds them, and names nobody',
  'silent about contradictions': 'holds what contradicts itself, and names nobody',
  'mixes grades': 'lets two line items of one title share a grade object',
  'removes by name': 'names who is removed as the last export did',
  'stays behind': 'moves only the rows that have changed when a code has moved',
  'follows unasked': 'follows a code to another org unit before an operator has accepted that',
  'counts messages': 'counts only what is removed because a row is gone',
  'never older': 'accepts an export that was put before',
  'sent is sent': 'relies on what it sent by a name that nobody knew',
  'delta is whole': 'removes what a delta does not have',
  'reads what cannot be read': 'reads a day that cannot be read as none, and names no row',
  'drops what cannot be read': 'removes what a row that cannot be used may be about',
  'another title, another object': 'makes a grade object anew for a line item that got another title',
  'maxima stay': 'leaves a grade object the maximum that it has',
  'points out of nothing': 'sends grades that do not say out of which maximum they are',
  'loses comments': 'sends grades without their comments',
  'clears no comment': 'leaves a comment where a grade has none any more',
  'begun already': 'enrolls before the first day',
  'for ever': 'enrolls after the last day',
} as const;
export type Mistake = keyof typeof mistakes;

type Stored = {
  file: FileName;
  csv: string;
  id: string;
  cells: Record<string, string>;
  line: number | undefined;
};
/** `key`: org unit or grade object, and user; each by its id, or by the name if that is unknown. */
type Claim = {
  row: Stored;
  key: string;
  value: string;
  atMs: number | undefined;
  item?: string;
  code: string;
  /** Its row cannot be used: it holds what it claimed. */
  isHeld?: boolean;
};
type Accepted = {
  value: string;
  atMs: number | undefined;
  claims: readonly string[];
  item?: string | undefined;
};
type UserRecord = { login: string; id: number | undefined; by: string };

const ending = 'none';
const enrollmentFiles = ['enrollments.csv', 'students.csv', 'instructors.csv', 'drops.csv'];
const markOf = ({ row, value, atMs }: Claim): string => [row.file, row.id, value, atMs].join(' ');
const rowKeyOf = ({ file, csv, id }: Stored): string => [file, csv, id].join(' ');
const isName = (part: string): boolean => /^[Cn]/.test(part);
const msOf = (text = ''): number | undefined => (text === '' ? undefined : Date.parse(text));

/** State after an import that is accepted. */
type State = {
  files: Map<FileName, Map<string, Map<string, Stored>>>;
  claims: Map<string, Claim>;
  enrollments: Map<string, Accepted>;
  grades: Map<string, Accepted>;
  records: Map<string, UserRecord>;
  /** Names that have passed to other records, with the accounts that the crosswalk gives. */
  passed: Map<string, number>;
  codes: Map<string, number>;
  /** Grade objects with their maxima. */
  objects: Map<string, string>;
  /** Grade objects by line items. */
  objectsOf: Map<string, string>;
  /** The day of each file, when it was accepted. */
  days: Map<FileName, string>;
  /** Keys with a name by which something was sent. */
  sentByName: Set<string>;
  contents: Map<FileName, string[]>;
  newestMs: Map<FileName, number>;
};

const nothing = (): State => ({
  files: new Map(),
  claims: new Map(),
  enrollments: new Map(),
  grades: new Map(),
  records: new Map(),
  codes: new Map(),
  objects: new Map(),
  objectsOf: new Map(),
  days: new Map(),
  passed: new Map(),
  sentByName: new Set(),
  contents: new Map(),
  newestMs: new Map(),
});

const groupBy = <Item>(items: Iterable<Item>, keyOf: (item: Item) => string): Map<string, Item[]> => {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
};

export const referenceWith =
  (mistake?: Mistake) =>
  ({ crosswalk }: { crosswalk: Crosswalk }): Importer => {
    let state = nothing();
    let number = 0;
    return {
      put: async (exported, { isApproved, maxRemovals, isFailing, droppedMs }) => {
        if (isFailing) return { reasons: undefined, message: 'it fails', report: [], bodies: [] };
        number += 1;
        const compared = compare(state, exported, { crosswalk, mistake, maxRemovals, droppedMs, number });
        if (isApproved || compared.imported.reasons?.length === 0) state = compared.state;
        return compared.imported;
      },
    };
  };

type ComparisonInput = {
  crosswalk: Crosswalk;
  mistake: Mistake | undefined;
  maxRemovals: number;
  droppedMs: number;
  number: number;
};

/** Lines are those of the file that is compared. */
const withoutLines = (rows: ReadonlyMap<string, Stored> | undefined): Map<string, Stored> =>
  new Map([...(rows ?? [])].map(([id, row]): [string, Stored] => [id, { ...row, line: undefined }]));

const readFile = (
  state: State,
  { name, isDelta, rows }: Export,
  { mistake }: ComparisonInput,
): State['files'] => {
  const before = isDelta && mistake !== 'delta is whole' ? state.files.get(name) : undefined;
  const now = new Map<string, Map<string, Stored>>();
  for (const [csv, all] of rows) {
    const kept = withoutLines(before?.get(csv));
    for (const [index, { id, cells }] of all.entries())
      if (cells.status === 'tobedeleted') kept.delete(id);
      else kept.set(id, { file: name, csv, id, cells, line: index + 2 });
    now.set(csv, kept);
  }
  const files: State['files'] = new Map();
  for (const [file, byCsv] of state.files)
    files.set(file, new Map([...byCsv].map(([csv, all]) => [csv, withoutLines(all)])));
  return files.set(name, now);
};

/** What names stand for, with what was known of them before. */
const namesOf = (before: State, files: State['files'], { crosswalk, mistake }: ComparisonInput) => {
  const logins = [...(files.get('export.zip')?.get('users.csv')?.values() ?? [])].map(
    ({ id, cells }) => [id, cells.username ?? ''] as const,
  );
  const known = (login: string): number | undefined =>
    mistake === 'by names' ? undefined : crosswalk.idOf('userName', login);
  const loginNow = new Map(logins);
  const taken = new Set(loginNow.values());
  /** Another record had it, and has another name now or is gone, but the crosswalk may still give the account of that one. */
  const isPassing = (login: string): boolean => {
    const id = known(login);
    if (mistake === 'former bearer' || id === undefined || !taken.has(login)) return false;
    return (
      before.passed.get(login) === id || (formers.get(login) ?? []).some((each) => (each.id ?? id) === id)
    );
  };
  const formers = new Map<string, UserRecord[]>();
  for (const [record, was] of before.records)
    for (const login of new Set([was.login, was.by]))
      if (loginNow.get(record) !== login && (login === was.by || was.id === undefined))
        formers.set(login, [...(formers.get(login) ?? []), was]);
  const passed = new Map(
    [...taken].flatMap((login): [string, number][] => {
      const id = known(login);
      return id !== undefined && isPassing(login) ? [[login, id]] : [];
    }),
  );
  const records = new Map<string, UserRecord>();
  for (const [id, login] of logins) {
    const was = before.records.get(id);
    const person = known(login);
    if (person === undefined || isPassing(login))
      records.set(id, { login, id: was?.id, by: was?.by ?? login });
    else records.set(id, { login, id: person, by: login });
  }
  const codes = new Map(before.codes);
  const placeOf = (code: string): string => {
    if (mistake === 'by names') return code;
    const id = crosswalk.idOf('orgUnitCode', code) ?? codes.get(code);
    if (id !== undefined) codes.set(code, id);
    return String(id ?? code);
  };
  const isOpen = (code: string): boolean => mistake !== 'follows unasked' && crosswalk.isOpen(code);
  /** A code whose move nobody has accepted yet is where it was. */
  const placeNow = (code: string): string =>
    isOpen(code) ? String(crosswalk.stoodFor(code)) : placeOf(code);
  return { records, codes, passed, placeOf, placeNow, isOpen, isPassing, known };
};

type Names = ReturnType<typeof namesOf>;

/** Which code and which user a row names. */
const meantBy = ({ csv, cells }: Stored, zip: Map<string, Map<string, Stored>> | undefined, names: Names) => {
  const isTable = csv !== 'enrollments.csv' && csv !== 'results.csv';
  const item = zip?.get('lineItems.csv')?.get(cells.lineItemSourcedId ?? '');
  const section = item?.cells.classSourcedId ?? cells.classSourcedId ?? '';
  const code = isTable ? cells.COURSE : zip?.get('classes.csv')?.get(section)?.cells.classCode;
  const record = names.records.get(cells.userSourcedId ?? cells.studentSourcedId ?? '');
  const login = isTable ? cells.LOGIN : record?.login;
  const id = isTable ? names.known(login ?? '') : record?.id;
  return { code: code ?? '', login: login ?? '', id, item };
};

/** What a comparison has found so far. */
type Comparing = ComparisonInput & {
  before: State;
  exported: Export;
  files: State['files'];
  zip: Map<string, Map<string, Stored>> | undefined;
  names: Names;
  report: ReportLine[];
  claims: Map<string, Claim>;
  /** Rows of today, by their keys. */
  here: Set<string>;
  /** What rows may mean that wait for their names. */
  heldKeys: Set<string>;
  /** Nobody knows which of two the platform has, or what became of what was sent by a name. */
  unknown: Set<string>;
  sentByName: Set<string>;
  objects: Map<string, string>;
  objectsOf: Map<string, string>;
  /** By its former title, what has another one now. */
  renamed: Map<string, string>;
  days: Map<FileName, string>;
  /** What rows that cannot be used are about, as far as they say so. */
  meant: { kind: keyof Both; place: string | undefined; user: string | undefined }[];
  bodies: Body[];
};

const tell = ({ report, zip, names }: Comparing, row: Stored, why: string): void => {
  const { code, login } = meantBy(row, zip, names);
  report.push({ file: row.csv, line: row.line, text: `${code} ${login} ${why}` });
};

/** A key in the names of today; unchanged if it has none, or they are unknown still. */
const keyNow = ({ names, renamed }: Comparing, key: string): string => {
  const at = key.lastIndexOf(' ');
  const [placed = '', title] = (renamed.get(key.slice(0, at)) ?? key.slice(0, at)).split('/');
  const user = key.slice(at + 1);
  const place = isName(placed) && !names.isOpen(placed) ? names.placeOf(placed) : placed;
  const id = isName(user) && !names.isPassing(user) ? (names.known(user) ?? user) : user;
  return `${place}${title === undefined ? '' : `/${title}`} ${id}`;
};

const compare = (
  before: State,
  exported: Export,
  given: ComparisonInput,
): { state: State; imported: Imported } => {
  const files = readFile(before, exported, given);
  const names = namesOf(before, files, given);
  const comparing: Comparing = {
    ...given,
    before,
    exported,
    files,
    zip: files.get('export.zip'),
    names,
    report: [],
    claims: new Map(),
    here: new Set(),
    heldKeys: new Set(),
    unknown: new Set(),
    sentByName: new Set(),
    bodies: [],
    objects: new Map(),
    objectsOf: new Map(),
    renamed: new Map(),
    meant: [],
    days: new Map(before.days).set(exported.name, new Date(given.droppedMs).toISOString().slice(0, 10)),
  };
  if (given.mistake !== 'another title, another object') findRenamed(comparing);
  for (const byCsv of files.values())
    for (const csv of [...enrollmentFiles, 'results.csv'])
      for (const row of byCsv.get(csv)?.values() ?? []) addClaim(comparing, row);
  for (const [rowKey, was] of before.claims)
    if (!comparing.here.has(rowKey) && names.isOpen(was.code))
      comparing.claims.set(rowKey, { ...was, key: keyNow(comparing, was.key) });
  const was = {
    enrollments: carriedOver(comparing, before.enrollments),
    grades: carriedOver(comparing, before.grades),
  };
  for (const key of before.sentByName) {
    const now = keyNow(comparing, key);
    if (now === key) comparing.sentByName.add(key);
    else if (given.mistake !== 'sent is sent') comparing.unknown.add(now);
  }
  const wanted = wantedOf(comparing, was);
  sendObjects(comparing);
  const removed = sendDifferences(comparing, was, wanted);
  const { reasons, ...put } = reasonsOf(comparing, removed, was.enrollments.size);
  const { claims, sentByName, objects, objectsOf, days, report, bodies } = comparing;
  const { records, codes, passed } = names;
  return {
    state: { files, claims, ...wanted, records, codes, passed, objects, objectsOf, days, sentByName, ...put },
    imported: { reasons, report, bodies },
  };
};

/** A line item that cannot be used keeps its grade object, and its grades are there. */
const titleOf = ({ before }: Comparing, item: Stored | undefined): string | undefined => {
  if (item === undefined || isItemLegible(item)) return item?.cells.title;
  return before.objectsOf.get(item.id)?.split('/')[1] ?? item.cells.title;
};

/** Whether the row says of what it is, of whom, and what. */
const isLegible = (comparing: Comparing, row: Stored): { place: boolean; user: boolean; rest: boolean } => {
  const { before, zip, names, mistake } = comparing;
  const { csv, cells } = row;
  const { code, login, item } = meantBy(row, zip, names);
  const isTable = csv.endsWith('s.csv') && 'LOGIN' in cells;
  const isResult = csv === 'results.csv';
  const isKnown = item !== undefined && (isItemLegible(item) || before.objectsOf.has(item.id));
  const isDay = (day = ''): boolean =>
    day === '' || /^\d{4}-/.test(day) || mistake === 'reads what cannot be read';
  const hasRole = isTable
    ? cells.STATUS === 'withdrawn' || (cells.ROLE ?? '') in roleIds
    : namedRoles.includes(cells.role ?? '');
  const isScored = !Number.isNaN(Number(cells.score ?? '')) && isDay(cells.dateLastModified);
  return {
    place: code !== '' && (!isResult || isKnown),
    user: login !== '',
    rest: isResult ? isScored : hasRole && isDay(cells.beginDate) && isDay(cells.endDate),
  };
};

/** What it claimed when it could be used, and what it says now, stays as it was. */
const holdUnusable = (comparing: Comparing, row: Stored): boolean => {
  const { before, names, zip, claims, meant, mistake } = comparing;
  const { place, user, rest } = isLegible(comparing, row);
  if (place && user && rest) return false;
  tell(comparing, row, 'cannot be used');
  if (mistake === 'drops what cannot be read') return true;
  const was = before.claims.get(rowKeyOf(row));
  const kind = row.csv === 'results.csv' ? 'grades' : 'enrollments';
  if (was) {
    const key = keyNow(comparing, was.key);
    claims.set(rowKeyOf(row), { ...was, row, key, isHeld: true });
    const at = key.lastIndexOf(' ');
    meant.push({ kind, place: key.slice(0, at), user: key.slice(at + 1) });
  }
  const { code, login, id, item } = meantBy(row, zip, names);
  const title = kind === 'grades' ? `/${titleOf(comparing, item)}` : '';
  meant.push({
    kind,
    place: place ? `${names.placeNow(code)}${title}` : undefined,
    user: user ? String(id ?? names.known(login) ?? login) : undefined,
  });
  return true;
};

const isWithin = (
  { cells: { beginDate = '', endDate = '' } }: Stored,
  day = '',
  mistake?: Mistake,
): boolean =>
  (mistake === 'begun already' || !/^\d/.test(beginDate) || beginDate <= day) &&
  (mistake === 'for ever' || !/^\d/.test(endDate) || day <= endDate);

const addClaim = (comparing: Comparing, row: Stored): void => {
  const { before, zip, names, claims, here, heldKeys, mistake } = comparing;
  const { cells, csv } = row;
  const { code, login, id, item } = meantBy(row, zip, names);
  const rowKey = rowKeyOf(row);
  here.add(rowKey);
  if (holdUnusable(comparing, row) || !isWithin(row, comparing.days.get(row.file), mistake)) return;
  const was = before.claims.get(rowKey);
  if (names.isOpen(code) || names.isPassing(login)) {
    if (was) claims.set(rowKey, { ...was, row, key: keyNow(comparing, was.key) });
    const record =
      names.records.get(cells.userSourcedId ?? '') ??
      [...names.records.values()].find((each) => each.login === cells.LOGIN);
    const place = names.placeNow(code);
    if (csv !== 'results.csv') heldKeys.add(`${place} ${record?.id}`);
    if (mistake !== 'silent about names that pass') tell(comparing, row, 'waits for its name');
    return;
  }
  const isSame = was !== undefined && was.code === code && was.row.cells.LOGIN === cells.LOGIN;
  if (mistake === 'stays behind' && isSame && !isName(was.key)) {
    claims.set(rowKey, { ...was, row });
    return;
  }
  // The crosswalk may have forgotten who was enrolled.
  const user = id ?? (isSame ? was.key.slice(was.key.lastIndexOf(' ') + 1) : login);
  const place = names.placeOf(code);
  const atMs = msOf(cells.dateLastModified ?? cells.AT);
  const role = cells.STATUS === 'withdrawn' ? ending : (cells.role ?? cells.ROLE ?? '');
  const claim =
    csv === 'results.csv'
      ? { key: `${place}/${titleOf(comparing, item)} ${user}`, value: gradeIn(cells), item: item?.id ?? '' }
      : { key: `${place} ${user}`, value: role };
  claims.set(rowKey, { row, atMs, code, ...claim });
};

const gradeIn = ({ score, comment }: Stored['cells']): string => `${score}|${comment}`;

const carriedOver = (
  comparing: Comparing,
  accepted: ReadonlyMap<string, Accepted>,
): Map<string, Accepted> => {
  const now = new Map<string, Accepted>();
  for (const [key, each] of accepted) {
    const to = keyNow(comparing, key);
    const other = now.get(to);
    if (other && other.value !== each.value && comparing.mistake !== 'sent is sent')
      comparing.unknown.add(to);
    now.set(to, each);
  }
  return now;
};

const isItemLegible = ({ cells: { title, resultValueMax } }: Stored): boolean =>
  title !== '' && !Number.isNaN(Number(resultValueMax));

const illegibleItems = ({ zip }: Comparing): Stored[] =>
  [...(zip?.get('lineItems.csv')?.values() ?? [])].filter((row) => !isItemLegible(row));

/** Line items by the grade objects that they are to have. One that cannot be used keeps its own. */
const itemsOf = ({ before, zip, names }: Comparing): Map<string, Stored[]> =>
  groupBy(zip?.get('lineItems.csv')?.values() ?? [], (row) => {
    const { id, cells } = row;
    if (!isItemLegible(row)) return before.objectsOf.get(id) ?? '';
    const code = zip?.get('classes.csv')?.get(cells.classSourcedId ?? '')?.cells.classCode ?? '';
    return `${names.placeNow(code)}/${cells.title}`;
  });

type Both = Pick<State, 'enrollments' | 'grades'>;

const wantedOf = (comparing: Comparing, before: Both): Both => {
  const { claims, heldKeys, report, mistake, exported } = comparing;
  const usable = [...claims.values()].filter(({ isHeld }) => !isHeld);
  const byThing = groupBy(usable, ({ key }) => key);
  const wanted: Both = { enrollments: new Map(), grades: new Map(before.grades) };
  const items = itemsOf(comparing);
  const isShared = (object: string): boolean =>
    mistake !== 'mixes grades' && (items.get(object)?.length ?? 0) > 1;
  const shared = [...items].flatMap(([object, each]) => (isShared(object) ? each : []));
  for (const row of [...shared, ...illegibleItems(comparing)])
    report.push({ file: row.csv, line: row.line, text: '' });
  for (const [key, all] of byThing) {
    const kind = key.includes('/') ? 'grades' : 'enrollments';
    const was = before[kind].get(key);
    const isOfShared = kind === 'grades' && isShared(key.slice(0, key.lastIndexOf(' ')));
    const chosen = kind === 'grades' ? gradeOf(all) : enrollmentOf(all, { mistake, lastFile: exported.name });
    if (chosen === undefined) continue;
    if (isOfShared || chosen === 'contradiction' || isOlder(chosen, was, all)) {
      if (was) wanted[kind].set(key, { ...was, claims: all.map(markOf) });
      if (mistake !== 'silent about contradictions')
        for (const { row } of all) tell(comparing, row, 'contradicts another, or is older');
    } else wanted[kind].set(key, { ...chosen, claims: all.map(markOf) });
  }
  for (const [key, was] of before.enrollments) if (heldKeys.has(key)) wanted.enrollments.set(key, was);
  holdMeant(comparing, before, { byThing, wanted });
  if (mistake === 'by its own file') removeWhatIsGone(comparing, byThing, wanted);
  return wanted;
};

const holdMeant = (
  comparing: Comparing,
  before: Both,
  { byThing, wanted }: { byThing: ReadonlyMap<string, readonly Claim[]>; wanted: Both },
): void => {
  for (const kind of ['enrollments', 'grades'] as const)
    for (const [key, was] of before[kind])
      if (mayBeMeant(comparing, { kind, key, isWanted: wanted[kind].has(key) })) {
        wanted[kind].set(key, was);
        for (const { row } of byThing.get(key) ?? []) tell(comparing, row, 'waits for another');
      }
};

/** A row that does not say of whom or of what it is holds only what no other row wants. */
const mayBeMeant = (
  { meant }: Comparing,
  { kind, key, isWanted }: { kind: keyof Both; key: string; isWanted: boolean },
): boolean =>
  meant.some(
    ({ place, user, ...row }) =>
      row.kind === kind &&
      (place === undefined || key.startsWith(`${place} `)) &&
      (user === undefined || key.endsWith(` ${user}`)) &&
      (!isWanted || (place !== undefined && user !== undefined)),
  );

const isOlder = (chosen: Chosen, was: Accepted | undefined, all: readonly Claim[]): boolean =>
  was !== undefined &&
  was.value !== chosen.value &&
  (chosen.atMs ?? Number.POSITIVE_INFINITY) < (was.atMs ?? 0) &&
  chosen.item === was.item &&
  !all.some((each) => was.claims.includes(markOf(each)));

const removeWhatIsGone = (
  { before, here, exported }: Comparing,
  byThing: ReadonlyMap<string, readonly Claim[]>,
  { enrollments }: Both,
): void => {
  for (const [rowKey, { key, row }] of before.claims)
    if (row.file === exported.name && !here.has(rowKey))
      if (!byThing.get(key)?.some((each) => each.row.file === exported.name)) enrollments.delete(key);
};

const send = (comparing: Comparing, name: string, { key, more }: { key: string; more: object }): void => {
  const { before, number, droppedMs, mistake, bodies, sentByName } = comparing;
  const [object = '', user] = key.split(' ');
  const [place = '', title] = object.split('/');
  const isRemoval = name === 'enrollment-remove';
  const record = [...before.records.values()].find(({ id }) => String(id) === user);
  const named = isRemoval && mistake === 'removes by name' ? (record?.login ?? user) : user;
  if (isName(place) || (named !== undefined && isName(named))) sentByName.add(key);
  bodies.push({
    id: `${number}/${bodies.length}`,
    type: `sis.${name}.v1`,
    time: new Date(droppedMs).toISOString(),
    sequence: String(2 * number + (isRemoval ? 0 : 1)),
    data: {
      ...(isName(place) ? { orgUnitCode: place } : { orgUnitId: Number(place) }),
      ...(named !== undefined && (isName(named) ? { userName: named } : { userId: Number(named) })),
      ...(title !== undefined && user !== undefined && { gradeObjectName: title }),
      ...more,
    },
  });
};

/** A grade object whose line item alone has another title now is given that, unless there is one of that. */
const findRenamed = (comparing: Comparing): void => {
  const { before, renamed } = comparing;
  const items = itemsOf(comparing);
  for (const [to, [item, ...others]] of items) {
    const from = before.objectsOf.get(item?.id ?? '');
    if (from === undefined || others.length > 0 || items.has(from) || before.objects.has(to)) continue;
    if (from.split('/')[0] === to.split('/')[0]) renamed.set(from, to);
  }
};

const sendObjects = (comparing: Comparing): void => {
  const { before, objects, objectsOf, renamed, mistake } = comparing;
  for (const [object, max] of before.objects) objects.set(keyNow(comparing, `${object} 0`).slice(0, -2), max);
  for (const [item, object] of before.objectsOf) objectsOf.set(item, renamed.get(object) ?? object);
  for (const [from, to] of renamed) {
    const [name, former] = [to, from].map((each) => each.split('/')[1]);
    const more = { gradeObjectName: name, gradeObjectFormerNames: [former], name };
    send(comparing, 'grade-object-update', { key: to, more });
  }
  for (const [object, [item, ...others]] of itemsOf(comparing)) {
    if (item === undefined || !isItemLegible(item)) continue;
    if (others.length === 0) objectsOf.set(item.id, object);
    const maxPoints = item.cells.resultValueMax ?? '';
    const was = objects.get(object);
    if (was === maxPoints || (others.length > 0 && mistake !== 'mixes grades')) continue;
    objects.set(object, maxPoints);
    const more = { maxPoints: Number(maxPoints) };
    const title = object.split('/')[1];
    if (was === undefined)
      send(comparing, 'grade-object-create', { key: object, more: { name: title, ...more } });
    else if (mistake !== 'maxima stay')
      send(comparing, 'grade-object-update', { key: object, more: { gradeObjectName: title, ...more } });
  }
};

/** A grade object that was not made has none of its grades. */
const sendGrades = (comparing: Comparing, before: Both, wanted: Both): void => {
  const { unknown, objects, mistake } = comparing;
  for (const [key, { value }] of wanted.grades) {
    const was = before.grades.get(key)?.value;
    if (was === value && !unknown.has(key)) continue;
    const [points, comments = ''] = value.split('|');
    const outOf = Number(objects.get(key.slice(0, key.lastIndexOf(' '))));
    const isCleared = was !== undefined && !was.endsWith('|') && mistake !== 'clears no comment';
    const grade = {
      type: 'numeric',
      points: Number(points),
      ...(mistake !== 'points out of nothing' && { outOf }),
    };
    const isCommented = mistake !== 'loses comments' && (comments !== '' || isCleared);
    send(comparing, 'grade-push', { key, more: { grade, ...(isCommented && { comments }) } });
  }
};

/** Answers how many enrollments are removed. */
const sendDifferences = (comparing: Comparing, before: Both, wanted: Both): number => {
  const { unknown, mistake, claims } = comparing;
  const endedByRow = new Set([...claims.values()].flatMap(({ key, value }) => (value === ending ? key : [])));
  let removed = 0;
  for (const key of new Set([...before.enrollments.keys(), ...wanted.enrollments.keys(), ...unknown])) {
    if (key.includes('/')) continue;
    const [was, now] = [before.enrollments.get(key)?.value, wanted.enrollments.get(key)?.value];
    if (was === now && !unknown.has(key)) continue;
    if (now !== undefined) send(comparing, 'enrollment-create', { key, more: { roleId: roleIds[now] } });
    else send(comparing, 'enrollment-remove', { key, more: {} });
    const isCounted = mistake !== 'counts messages' || !endedByRow.has(key);
    if (was !== undefined && now === undefined && isCounted) removed += 1;
  }
  sendGrades(comparing, before, wanted);
  return removed;
};

const reasonsOf = ({ before, exported, mistake, maxRemovals }: Comparing, removed: number, all: number) => {
  const { name, rows } = exported;
  const content = JSON.stringify([...rows].map(([csv, each]) => [csv, each.map(({ cells }) => cells)]));
  const contents = before.contents.get(name) ?? [];
  const times = [...rows.values()].flat().map(({ cells }) => msOf(cells.dateLastModified ?? cells.AT) ?? 0);
  const newest = times.reduce((most, each) => Math.max(most, each), 0);
  const isOld = newest > 0 && newest < (before.newestMs.get(name) ?? 0);
  const isAgain = contents.includes(content) && contents.at(-1) !== content;
  return {
    reasons: [
      ...(removed > (maxRemovals * all) / 100 ? [`${removed} would be removed`] : []),
      ...((isOld || isAgain) && mistake !== 'never older' ? ['it was put before, or is older'] : []),
    ],
    contents: new Map(before.contents).set(name, [...contents, content]),
    newestMs: new Map(before.newestMs).set(name, newest),
  };
};

type Chosen = { value: string; atMs: number | undefined; item?: string | undefined };

const latestOf = (claims: readonly Claim[]): number | undefined =>
  claims.some(({ atMs }) => atMs === undefined) ? undefined : Math.max(...claims.map(({ atMs = 0 }) => atMs));

const gradeOf = (claims: readonly Claim[]): Chosen | 'contradiction' | undefined => {
  const latest = latestOf(claims);
  const newest = claims.filter(({ atMs }) => atMs === latest);
  const [first] = newest;
  if (first === undefined || newest.some(({ value }) => value !== first.value)) return 'contradiction';
  return first;
};

const enrollmentOf = (
  claims: readonly Claim[],
  { mistake, lastFile }: Pick<ComparisonInput, 'mistake'> & { lastFile: FileName },
): Chosen | 'contradiction' | undefined => {
  const isEnded = ({ code, row, atMs }: Claim): boolean =>
    mistake !== 'times do not count' &&
    atMs !== undefined &&
    claims.some(
      (each) =>
        each.value === ending &&
        each.code === code &&
        each.row.file !== row.file &&
        each.atMs !== undefined &&
        each.atMs > atMs,
    );
  const left = claims.filter((claim) => claim.value !== ending && !isEnded(claim));
  const last = left.find(({ row }) => row.file === lastFile);
  if (mistake === 'the last file wins' && last) return last;
  const first = namedRoles.find((role) => left.some(({ value }) => value === role));
  const named = left.filter(({ value }) => value === first);
  const others = left.filter(({ value }) => !namedRoles.includes(value));
  const [atNamed, atOthers] = [latestOf(named), latestOf(others)];
  const chosen = (of: readonly Claim[]): Chosen => ({ value: of[0]?.value ?? '', atMs: latestOf(of) });
  if (left.length === 0) return undefined;
  if (others.length === 0) return chosen(named);
  if (named.length === 0) return chosen(others);
  if (atNamed === undefined || atOthers === undefined || atNamed === atOthers) return 'contradiction';
  return chosen(atNamed > atOthers ? named : others);
};
