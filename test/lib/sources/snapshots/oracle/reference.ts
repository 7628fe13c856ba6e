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
  codes: Map<string, number>;
  objects: Set<string>;
  /** Keys with a name by which something was sent. */
  sentByName: Set<string>;
  contents: Map<FileName, string[]>;
  newestMs: Map<FileName, number>;
};

const nothing = (): State => ({
  ...{ files: new Map(), claims: new Map(), enrollments: new Map(), grades: new Map(), records: new Map() },
  ...{
    codes: new Map(),
    objects: new Set(),
    sentByName: new Set(),
    contents: new Map(),
    newestMs: new Map(),
  },
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

type Given = {
  crosswalk: Crosswalk;
  mistake: Mistake | undefined;
  maxRemovals: number;
  droppedMs: number;
  number: number;
};

const readFile = (state: State, { name, isDelta, rows }: Export, { mistake }: Given): State['files'] => {
  const before = isDelta && mistake !== 'delta is whole' ? state.files.get(name) : undefined;
  const now = new Map<string, Map<string, Stored>>();
  for (const [csv, all] of rows) {
    const kept = new Map(
      [...(before?.get(csv) ?? [])].map(([id, row]) => [id, { ...row, line: undefined }] as const),
    );
    for (const [index, { id, cells }] of all.entries())
      if (cells.status === 'tobedeleted') kept.delete(id);
      else kept.set(id, { file: name, csv, id, cells, line: index + 2 });
    now.set(csv, kept);
  }
  const others = [...state.files].map(
    ([file, byCsv]) =>
      [
        file,
        new Map(
          [...byCsv].map(
            ([csv, all]) =>
              [
                csv,
                new Map([...all].map(([id, row]) => [id, { ...row, line: undefined }] as const)),
              ] as const,
          ),
        ),
      ] as const,
  );
  return new Map([...others, [name, now]]);
};

/** What names stand for, with what was known of them before. */
const namesOf = (before: State, files: State['files'], { crosswalk, mistake }: Given) => {
  const logins = [...(files.get('export.zip')?.get('users.csv')?.values() ?? [])].map(
    ({ id, cells }) => [id, cells.username ?? ''] as const,
  );
  const known = (login: string): number | undefined =>
    mistake === 'by names' ? undefined : crosswalk.idOf('userName', login);
  const bearerBefore = new Map<string, string | undefined>(
    [...before.records].map(([record, { by, id }]) => [`${by} ${id}`, record] as const),
  );
  const loginNow = new Map(logins);
  /** Another record had it, and that has another name now, but the crosswalk still gives the account of that one. */
  const isPassing = (login: string): boolean => {
    if (mistake === 'former bearer') return false;
    const former = bearerBefore.get(`${login} ${known(login)}`);
    if (former === undefined) return false;
    const now = loginNow.get(former);
    return now !== undefined && now !== login;
  };
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
  return { records, codes, placeOf, isOpen, isPassing, known };
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

const compare = (before: State, exported: Export, given: Given): { state: State; imported: Imported } => {
  const { crosswalk, mistake, droppedMs, number, maxRemovals } = given;
  const files = readFile(before, exported, given);
  const names = namesOf(before, files, given);
  const zip = files.get('export.zip');
  const report: ReportLine[] = [];
  const tell = ({ csv, line, cells }: Stored, why: string): void => {
    const { code, login } = meantBy({ csv, line, cells, file: exported.name, id: '' }, zip, names);
    report.push({ file: csv, line, text: `${code} ${login} ${why}` });
  };

  /** A key in the names of today; unchanged if it has none, or they are unknown still. */
  const keyNow = (key: string): string => {
    const at = key.lastIndexOf(' ');
    const [placed = '', title] = key.slice(0, at).split('/');
    const user = key.slice(at + 1);
    const place = isName(placed) && !names.isOpen(placed) ? names.placeOf(placed) : placed;
    const id = isName(user) && !names.isPassing(user) ? (names.known(user) ?? user) : user;
    return `${place}${title === undefined ? '' : `/${title}`} ${id}`;
  };
  const heldKeys = new Set<string>();
  const recordOf = ({ cells }: Stored): UserRecord | undefined =>
    names.records.get(cells.userSourcedId ?? '') ??
    [...names.records.values()].find(({ login }) => login === cells.LOGIN);
  const claims = new Map<string, Claim>();
  const here = new Set<string>();
  for (const byCsv of files.values())
    for (const csv of [...enrollmentFiles, 'results.csv'])
      for (const row of byCsv.get(csv)?.values() ?? []) {
        const { code, login, id, item } = meantBy(row, zip, names);
        const rowKey = rowKeyOf(row);
        here.add(rowKey);
        const was = before.claims.get(rowKey);
        const isHeld = names.isOpen(code) || names.isPassing(login);
        if (isHeld) {
          if (was) claims.set(rowKey, { ...was, row, key: keyNow(was.key) });
          // It may mean what the user's account has.
          if (csv !== 'results.csv') heldKeys.add(`${names.isOpen(code) ? crosswalk.stoodFor(code) : names.placeOf(code)} ${recordOf(row)?.id}`);
          if (mistake !== 'silent about names that pass') tell(row, 'waits for its name');
          continue;
        }
        const isSame = was !== undefined && was.code === code && was.row.cells.LOGIN === row.cells.LOGIN;
        if (mistake === 'stays behind' && isSame && !isName(was.key)) {
          claims.set(rowKey, { ...was, row });
          continue;
        }
        // The crosswalk may have forgotten who was enrolled.
        const kept = isSame && id === undefined ? was.key.slice(was.key.lastIndexOf(' ') + 1) : login;
        const user = String(id ?? kept);
        const place = names.placeOf(code);
        const atMs = msOf(row.cells.dateLastModified ?? row.cells.AT);
        if (csv === 'results.csv') {
          const claim = {
            row,
            atMs,
            value: row.cells.score ?? '',
            code,
            item: row.cells.lineItemSourcedId ?? '',
          };
          claims.set(rowKey, { ...claim, key: `${place}/${item?.cells.title} ${user}` });
          continue;
        }
        const role = row.cells.STATUS === 'withdrawn' ? ending : (row.cells.role ?? row.cells.ROLE ?? '');
        claims.set(rowKey, { row, atMs, value: role, code, key: `${place} ${user}` });
      }
  for (const [rowKey, was] of before.claims)
    if (!here.has(rowKey) && names.isOpen(was.code)) claims.set(rowKey, { ...was, key: keyNow(was.key) });

  /** Nobody knows which of two the platform has, or what became of what was sent by a name. */
  const unknown = new Set<string>();
  const carried = (accepted: ReadonlyMap<string, Accepted>): Map<string, Accepted> => {
    const now = new Map<string, Accepted>();
    for (const [key, each] of accepted) {
      const other = now.get(keyNow(key));
      if (other && other.value !== each.value && mistake !== 'sent is sent') unknown.add(keyNow(key));
      now.set(keyNow(key), each);
    }
    return now;
  };
  const sentByName = new Set<string>();
  for (const key of before.sentByName)
    if (keyNow(key) === key) sentByName.add(key);
    else if (mistake !== 'sent is sent') unknown.add(keyNow(key));
  const enrollmentsBefore = carried(before.enrollments);
  const gradesBefore = carried(before.grades);

  const byThing = groupBy(claims.values(), ({ key }) => key);
  const enrollments = new Map<string, Accepted>();
  const grades = new Map(gradesBefore);
  const items = groupBy(zip?.get('lineItems.csv')?.values() ?? [], ({ cells }) => {
    const code = zip?.get('classes.csv')?.get(cells.classSourcedId ?? '')?.cells.classCode ?? '';
    return `${names.isOpen(code) ? crosswalk.stoodFor(code) : names.placeOf(code)}/${cells.title}`;
  });
  const isShared = (object: string): boolean =>
    mistake !== 'mixes grades' && (items.get(object)?.length ?? 0) > 1;
  for (const [object, each] of items)
    if (isShared(object)) for (const row of each) report.push({ file: row.csv, line: row.line, text: '' });

  for (const [key, all] of byThing) {
    const isGrade = key.includes('/');
    const was = (isGrade ? gradesBefore : enrollmentsBefore).get(key);
    const keep = (why: string): void => {
      if (was) (isGrade ? grades : enrollments).set(key, { ...was, claims: all.map(markOf) });
      if (mistake !== 'silent about contradictions') for (const { row } of all) tell(row, why);
    };
    const object = key.slice(0, key.lastIndexOf(' '));
    if (isGrade && isShared(object)) {
      keep('shares its title');
      continue;
    }
    const chosen = isGrade ? gradeOf(all) : enrollmentOf(all, { mistake, lastFile: exported.name });
    if (chosen === 'contradiction') {
      keep('contradicts another');
      continue;
    }
    if (chosen === undefined) continue;
    const isOlder =
      was !== undefined &&
      was.value !== chosen.value &&
      (chosen.atMs ?? Number.POSITIVE_INFINITY) < (was.atMs ?? 0) &&
      (!isGrade || chosen.item === was.item) &&
      !all.some((each) => was.claims.includes(markOf(each)));
    if (isOlder) {
      keep('is older');
      continue;
    }
    const { value, atMs, item } = chosen;
    (isGrade ? grades : enrollments).set(key, { value, atMs, item, claims: all.map(markOf) });
  }
  for (const key of heldKeys) {
    const was = enrollmentsBefore.get(key);
    if (was) enrollments.set(key, was);
  }
  if (mistake === 'by its own file')
    for (const [rowKey, { key, row }] of before.claims)
      if (row.file === exported.name && !here.has(rowKey)) {
        const isStill = byThing.get(key)?.some((each) => each.row.file === exported.name);
        if (!isStill) enrollments.delete(key);
      }

  const bodies: Body[] = [];
  const send = (functionName: string, key: string, more: object): void => {
    const at = key.lastIndexOf(' ');
    const [place = '', title] = (at < 0 ? key : key.slice(0, at)).split('/');
    const user = at < 0 ? undefined : key.slice(at + 1);
    const loginOf = (id: string): string | undefined =>
      [...before.records.values()].find((each) => String(each.id) === id)?.login;
    const byName = functionName === 'enrollment-remove' && mistake === 'removes by name';
    const named = byName && user !== undefined ? (loginOf(user) ?? user) : user;
    if (isName(place) || (named !== undefined && isName(named))) sentByName.add(key);
    const isRemoval = functionName === 'enrollment-remove';
    bodies.push({
      ...{ id: `${number}/${bodies.length}`, type: `sis.${functionName}.v1` },
      ...{ time: new Date(droppedMs).toISOString(), sequence: String(2 * number + (isRemoval ? 0 : 1)) },
      data: {
        ...(isName(place) ? { orgUnitCode: place } : { orgUnitId: Number(place) }),
        ...(named !== undefined && (isName(named) ? { userName: named } : { userId: Number(named) })),
        ...(title !== undefined && user !== undefined && { gradeObjectName: title }),
        ...more,
      },
    });
  };

  const objects = new Set([...before.objects].map((key) => keyNow(`${key} 0`).slice(0, -2)));
  for (const object of items.keys())
    if (!objects.has(object) && !isShared(object)) {
      objects.add(object);
      send('grade-object-create', object, { name: object.split('/')[1] });
    }
  let removed = 0;
  for (const key of new Set([...enrollmentsBefore.keys(), ...enrollments.keys(), ...unknown])) {
    if (key.includes('/')) continue;
    const [was, now] = [enrollmentsBefore.get(key)?.value, enrollments.get(key)?.value];
    if (was === now && !unknown.has(key)) continue;
    if (now === undefined) {
      const isByRow = byThing.get(key)?.some(({ value }) => value === ending) ?? false;
      if (was !== undefined && !(mistake === 'counts messages' && isByRow)) removed += 1;
      send('enrollment-remove', key, {});
    } else send('enrollment-create', key, { roleId: roleIds[now] });
  }
  for (const [key, { value }] of grades)
    if (gradesBefore.get(key)?.value !== value || unknown.has(key))
      send('grade-push', key, { grade: { type: 'numeric', points: Number(value) } });

  const { name } = exported;
  const content = JSON.stringify(
    [...exported.rows].map(([csv, all]) => [csv, all.map(({ cells }) => cells)]),
  );
  const contents = before.contents.get(name) ?? [];
  const newest = [...exported.rows.values()]
    .flat()
    .reduce((most, { cells }) => Math.max(most, msOf(cells.dateLastModified ?? cells.AT) ?? 0), 0);
  const reasons = [
    ...(removed > (maxRemovals * enrollmentsBefore.size) / 100 ? [`${removed} would be removed`] : []),
    ...(mistake !== 'never older' && newest > 0 && newest < (before.newestMs.get(name) ?? 0)
      ? ['it is older']
      : []),
    ...(mistake !== 'never older' && contents.includes(content) && contents.at(-1) !== content
      ? ['it was put before']
      : []),
  ];
  const newestMs = new Map(before.newestMs).set(name, newest);
  const state: State = {
    ...{
      files,
      claims,
      enrollments,
      grades,
      records: names.records,
      codes: names.codes,
      objects,
      sentByName,
    },
    ...{ contents: new Map(before.contents).set(name, [...contents, content]), newestMs },
  };
  return { state, imported: { reasons, report, bodies } };
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
  { mistake, lastFile }: Pick<Given, 'mistake'> & { lastFile: FileName },
): Chosen | 'contradiction' | undefined => {
  const isEnded = ({ code, row, atMs }: Claim): boolean => {
    const against = claims.filter(
      (each) => each.value === ending && each.code === code && each.row.file !== row.file,
    );
    const ended = against.length === 0 ? undefined : latestOf(against);
    return mistake !== 'times do not count' && ended !== undefined && atMs !== undefined && ended > atMs;
  };
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
