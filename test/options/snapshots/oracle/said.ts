import type { Body } from '../imports.ts';
import type { Crosswalk } from './crosswalk.ts';
import type { Export, FileName, Row, Said } from './files.ts';
import { type Item, itemsNamed, newLineItems } from './line-items.ts';
import type { Letter, Platform } from './platform.ts';
import { namedRoles, personIn, roleIds, tableNames, type University, universityOf } from './university.ts';
import { isOfUnknownRole, type Meant, newMeant, unnamedRows, withUnusable } from './unusable.ts';

// The oracle. It knows people, courses, and the last that each accepted file has said about them; it knows nothing of names, of how files
// are compared, and of what was sent.

export type Value = string | undefined;
export type Problem = { university: number; text: string };

/** A line of a report. Some have no place. */
export type ReportLine = { file: string; line: number | undefined; text: string };

/** What is named as other than it should be: what is left out is any. */
type Named = {
  /** It is in a message that waits: what the message is to replace may be gone. */
  mayBeGone?: boolean;
  /**
   * A row that contradicts another, so neither is used: the platform keeps what it has. Any other row that is named
   * is as if it were not there.
   */
  isContradiction?: boolean;
  /** A row that cannot be used. */
  isUnusable?: boolean;
  orgUnits?: readonly number[] | undefined;
  person?: number | undefined;
  title?: string | undefined;
};

/** What must be held of a thing, and what may be, if it is named. `text` tells why. */
export type Wanted = {
  allowed: ReadonlySet<Value>;
  ifNamed: ReadonlySet<Value>;
  claimed: readonly { file: FileName; value: Value }[];
  /** What may be held if these are not used. */
  without(isUnused: (claim: { file: FileName; value: Value }) => boolean): ReadonlySet<Value>;
  files: ReadonlySet<FileName>;
  text: string;
};

export type World = {
  universities: ReadonlyMap<number, University>;
  crosswalk: Crosswalk;
  platform: Platform;
};

type Claim = Said & { file: FileName };
/** A line of a report, and the rows that it may mean. */
type ReportedRows = { rows: readonly Row[]; text: string };

export type Checked = {
  /** What the platform held before. */
  before: ReadonlyMap<string, string>;
  exported: Export;
  report: readonly ReportLine[];
  /** Letters that were replayed in this night, in whatever order. */
  replayed: readonly Letter[];
};

export const newOracle = ({ universities, crosswalk, platform }: World) => {
  /** By file, its CSV files' rows by their ids. */
  const files = new Map<FileName, Map<string, Map<string, Row>>>();
  /**
   * Where the codes of a file were when it was accepted, and which codes and logins the crosswalk did not know: what a name stands for now takes
   * along what a file says with the next one of its name.
   */
  const unknownThen = new Map<FileName, Set<string>>();
  const placesThen = new Map<FileName, Map<string, number | undefined>>();
  /** As they were put and accepted last, for reports, which name rows by lines. */
  const lines = new Map<string, (readonly Row[])[]>();
  const acceptedLines = new Map<string, (readonly Row[])[]>();
  /** What differs and was named when it began to. */
  const stillNamed = new Map<string, { text: string; value: Value }>();
  /** What the platform holds since a table was read by a name that is somebody else's now: nobody else knows of it. */
  const lastReadOtherwise = new Map<string, string>();
  /**
   * What the last reports of each file tell: it stays so until the file comes again, and a delta is about its own
   * rows only.
   */
  const toldBy = new Map<FileName, ReportedRows[]>();
  /**
   * By what is held, the files that ever claimed it, and what they said: the report of one that claims it no more, or by a row that cannot
   * be used, may tell why that stays.
   */
  const everClaimedBy = new Map<string, Set<FileName>>();
  const everSaid = new Map<string, Set<Value>>();
  const placeOf = ({ university, code = '' }: Said): number | undefined => {
    if (crosswalk.isOpen(code)) return crosswalk.stoodFor(code);
    return crosswalk.idOf('orgUnitCode', code) ?? universities.get(university)?.places.get(code);
  };
  const lineItems = newLineItems(platform, placeOf);
  const { owners } = lineItems;

  /** Where a code is, or has been, as rows that wait may be about either. */
  const everAt = new Map<string, Set<number>>();
  const placesOf = (university: number, code: string): number[] => {
    const all = everAt.get(code) ?? new Set();
    everAt.set(code, all);
    const now = [crosswalk.idOf('orgUnitCode', code), crosswalk.stoodFor(code)];
    for (const each of [...now, universities.get(university)?.places.get(code)])
      if (each !== undefined) all.add(each);
    return [...all];
  };

  /** Also where nothing is taught any more. */
  const allPlaces = new Map<number, Set<number>>();
  const allPlacesOf = (university: number): Iterable<number> => {
    const all = allPlaces.get(university) ?? new Set();
    allPlaces.set(university, all);
    for (const place of universities.get(university)?.places.values() ?? []) all.add(place);
    return all;
  };

  /** How often each file was accepted, and by row, at which of these times it could not be used first. */
  const times = new Map<FileName, number>();
  const unusableSince = new Map<string, Map<string, number>>();
  /** By enrollment and file, when it was used last, and when the file had it last: also what a row that cannot be used may mean. */
  const hadBy = new Map<string, Map<FileName, { used: number; had: number }>>();
  /** The day of each file, when it was accepted last: dates are read by that, until it comes again. */
  const days = new Map<FileName, string>();
  /** By file and CSV file, what each row said when it could be used last. */
  const lastUsed = new Map<string, Map<string, Said>>();

  /** A row that cannot be used says what it said when it could be used last. */
  const rowsOf = function* (file: string): Generator<Claim> {
    for (const [name, byFile] of files)
      for (const { id } of byFile.get(file)?.values() ?? []) {
        const said = lastUsed.get(`${name} ${file}`)?.get(id);
        if (said && isWithin(said, days.get(name))) yield { ...said, file: name };
      }
  };
  /** What rows that cannot be used say, and what they said when they could be used. */
  const meantIn = function* (file: string): Generator<Meant> {
    for (const [name, byFile] of files)
      for (const row of byFile.get(file)?.values() ?? []) {
        const { LOGIN = '' } = row.cells;
        // A table has names alone, and its name may be somebody else's still.
        const isHers = LOGIN === '' || crosswalk.idOf('userName', LOGIN) === row.said.person;
        if (row.said.isUnusable && isHers) yield* meantBy(row, name, file);
      }
  };
  const meantBy = function* ({ id, said }: Row, name: FileName, file: string): Generator<Meant> {
    const last = lastUsed.get(`${name} ${file}`)?.get(id);
    const now = whereIn(said);
    const isWhole = now.place !== undefined && now.person !== undefined;
    const since = isWhole ? undefined : unusableSince.get(`${name} ${file}`)?.get(id);
    // A row used before that no longer tells whom or what it is about is about the same as then.
    if (last === undefined || isWhole) yield { ...now, since, file: name };
    if (last !== undefined) yield { ...whereIn(last), file: name };
  };
  const whereIn = (said: Said): Omit<Meant, 'file' | 'since'> => {
    const of = said.item === undefined ? placeOf(said) : lineItems.objectOf(said);
    const place = said.code === undefined ? undefined : String(of);
    const { university, person, item, role } = said;
    return { university, place, person, item, isEnd: role === 'none' };
  };

  /**
   * A row holds nothing that its file has lost before. One that does not tell whom it is about is not about what has had a row of its own
   * beside it.
   */
  const mayHold = (key: string, { file, since = Number.POSITIVE_INFINITY }: Meant): boolean => {
    const its = hadBy.get(key)?.get(file);
    return its !== undefined && its.had >= (times.get(file) ?? 0) - 1 && its.used < since;
  };

  const enrollmentsWanted = (before: Checked['before']): Map<string, Wanted> => {
    const claims = new Map<string, Claim[]>();
    for (const file of enrollmentFiles)
      for (const claim of rowsOf(file)) {
        const key = `${placeOf(claim)} ${claim.person}`;
        claims.set(key, [...(claims.get(key) ?? []), claim]);
        const time = times.get(claim.file) ?? 0;
        const byFile = hadBy.get(key) ?? new Map();
        hadBy.set(key, byFile.set(claim.file, { used: time, had: time }));
      }
    const meant = newMeant(enrollmentFiles.flatMap((file) => [...meantIn(file)]));
    for (const key of before.keys())
      if (!key.includes('/') && !claims.has(key) && meant(key).length > 0) claims.set(key, []);
    return new Map(
      [...claims].map(([key, each]) => {
        const was = before.get(key);
        const of = meant(key).filter((one) => mayHold(key, one));
        for (const { file, isEnd } of of) {
          const its = hadBy.get(key)?.get(file);
          if (its && !isEnd) its.had = times.get(file) ?? 0;
        }
        const wanted = withUnusable(enrollmentOf(each, was), { before: was, meant: of });
        // What a file says by a code whose move is open waits until a person has decided, and what another one says of it stands.
        const isOpen = each.some(({ code = '' }) => crosswalk.isOpen(code));
        const open = isOpen ? rolesIn(wanted.claimed) : [];
        return [key, { ...wanted, ifNamed: new Set([...wanted.ifNamed, ...open]) }];
      }),
    );
  };

  const gradesWanted = (before: Checked['before'], items: ReadonlyMap<string, Set<string>>) => {
    const claims = new Map<string, Claim[]>();
    /**
     * Of grade objects that nobody had before they were shared: the line items whose grades are there. A delta may
     * have named one of them alone.
     */
    const graders = new Map<string, Set<string>>();
    for (const claim of rowsOf('results.csv')) {
      if (!lineItems.isHere(claim.item ?? '')) continue;
      const object = lineItems.objectOf(claim);
      const key = `${object} ${claim.person}`;
      claims.set(key, [...(claims.get(key) ?? []), claim]);
      if (!owners.has(object) && platform.valueOf(key) === claim.score)
        graders.set(object, (graders.get(object) ?? new Set()).add(claim.item ?? ''));
    }
    const meant = newMeant([...meantIn('results.csv')]);
    for (const [object, [only, ...others]] of graders)
      if (only !== undefined && others.length === 0) owners.set(object, only);
    return new Map(
      [...claims].map(([key, each]): [string, Wanted] => {
        const object = key.slice(0, key.lastIndexOf(' '));
        const isShared = (items.get(object)?.size ?? 0) > 1;
        const was = before.get(key);
        const grade = gradeOf(each, { owner: owners.get(object), isShared, before: was });
        // A grade object that has passed to another line item has the grades of that one alone.
        const of = meant(key).filter(({ item }) => (owners.get(object) ?? item) === item);
        return [key, withUnusable(grade, { before: was, meant: of })];
      }),
    );
  };

  /** Who or what a row of a report is about, by people and courses, and by what the crosswalk makes of its names. */
  const namedByRow = ({ said, cells }: Row): Named[] => {
    const { university, person, isUnusable = false } = said;
    const login = crosswalk.idOf('userName', cells.username ?? loginOf('export.zip', { cells }));
    const people = login === undefined || login === person ? [person] : [person, login];
    // As its line item is said to be, and as it is.
    const things = said.item === undefined ? [said] : [said, lineItems.settled(said)];
    return things.flatMap(({ code, title }) => {
      const orgUnits = code === undefined ? undefined : placesOf(university, code);
      return people.map((each) => ({ orgUnits, person: each, title, isUnusable }));
    });
  };
  const namedByText = (text: string): NamedOf[] => {
    const tokens = text.match(/\b[Cnl]\d+-\d+\b/g) ?? [];
    const university = Number(/\d+/.exec(tokens[0] ?? '')?.[0] ?? -1);
    const code = tokens.find((each) => each.startsWith('C'));
    const login = tokens.find((each) => each.startsWith('n'));
    const item = files
      .get('export.zip')
      ?.get('lineItems.csv')
      ?.get(tokens.find((each) => each.startsWith('l')) ?? '');
    if (item !== undefined) return namedByRow(item).map((each): NamedOf => [university, each]);
    if (code === undefined && login === undefined) return [];
    const person = login === undefined ? undefined : universities.get(university)?.bearers.get(login);
    return [[university, { orgUnits: code === undefined ? undefined : placesOf(university, code), person }]];
  };
  const namedByMessage = ({ data }: Body): NamedOf[] => {
    const { orgUnitId, orgUnitCode, userId, userName, gradeObjectName, name } = data as Record<string, never>;
    const formers = (data.gradeObjectFormerNames as string[] | undefined) ?? [];
    const university =
      orgUnitId === undefined
        ? Number(/\d+/.exec(String(orgUnitCode))?.[0])
        : universityOf(Number(orgUnitId));
    const orgUnits =
      orgUnitId === undefined ? placesOf(university, String(orgUnitCode)) : [Number(orgUnitId)];
    const bearer =
      userName === undefined ? undefined : universities.get(university)?.bearers.get(String(userName));
    const person = userId === undefined ? bearer : Number(userId);
    return [gradeObjectName ?? name, ...formers].map((title) => [
      university,
      { mayBeGone: true, orgUnits, person, title },
    ]);
  };

  const toldIn = (report: readonly ReportLine[]): ReportedRows[] =>
    report.map(({ file, line, text }) => ({
      rows: (lines.get(file) ?? []).flatMap((all) =>
        line === undefined ? all.filter((row) => isOfUnknownRole(row, text)) : (all[line - 2] ?? []),
      ),
      text,
    }));
  const namedBy = (isSaid: readonly ReportedRows[]): NamedOf[] =>
    isSaid.flatMap(({ rows, text }) => [
      ...rows.flatMap((row) =>
        namedByRow(row).map(
          (each): NamedOf => [row.said.university, { ...each, isContradiction: contradiction.test(text) }],
        ),
      ),
      ...namedByText(text),
    ]);
  /** Codes that have moved are listed until an operator has accepted that. */
  const openMoves = (): NamedOf[] =>
    [...universities.values()].flatMap(({ at, places }) =>
      [...places.keys()].flatMap((code): [number, Named][] =>
        crosswalk.isOpen(code) ? [[at, { orgUnits: placesOf(at, code) }]] : [],
      ),
    );
  const namedIn = ({ report }: Checked): ReadonlyMap<number, Named[]> =>
    byUniversity([
      ...namedBy(toldIn(report)),
      ...platform.letters().flatMap(({ body }) => namedByMessage(body)),
      ...openMoves(),
    ]);

  /**
   * Tables have names alone. One that has not come since a user name passed to somebody else is read by the name, which is somebody else's
   * now; and of a name that the crosswalk did not know when the table came, and does not know now, nobody can tell whose it is.
   */
  const readOtherwise = (): Set<string> => {
    const keys = new Set<string>();
    for (const name of tableNames)
      for (const { said, cells } of files.get(name)?.get(name)?.values() ?? []) {
        const university = universities.get(said.university);
        const bearer = university?.bearers.get(cells.LOGIN ?? '');
        const login = cells.LOGIN ?? '';
        const isKnown = crosswalk.idOf('userName', login) !== undefined || !unknownThen.get(name)?.has(login);
        if (bearer === said.person && isKnown) continue;
        // The code may have moved meanwhile.
        const places = bearer === said.person ? [] : allPlacesOf(said.university);
        for (const place of [...placesOf(said.university, said.code ?? ''), ...places])
          for (const person of [said.person, bearer]) keys.add(`${place} ${person}`);
      }
    return keys;
  };

  const loginOf = (name: FileName, { cells }: Pick<Row, 'cells'>): string => {
    const id = cells.userSourcedId ?? cells.studentSourcedId;
    const user = id === undefined ? undefined : files.get(name)?.get('users.csv')?.get(id);
    return cells.LOGIN ?? user?.cells.username ?? '';
  };
  const isLearntOf = (file: FileName, kind: 'userName' | 'orgUnitCode', name = ''): boolean =>
    (unknownThen.get(file)?.has(name) ?? false) && crosswalk.idOf(kind, name) !== undefined;
  /** What a file says of codes that have moved since it was accepted, and of names that were not known. */
  const notFollowed = (): Set<string> => {
    const keys = new Set<string>();
    for (const [name, byFile] of files)
      for (const rows of byFile.values())
        for (const row of rows.values()) {
          const { said } = row;
          const [then, now] = [placesThen.get(name)?.get(said.code ?? ''), placeOf(said)];
          const login = loginOf(name, row);
          const isLearnt = isLearntOf(name, 'userName', login) || isLearntOf(name, 'orgUnitCode', said.code);
          if (said.code === undefined || (then === now && !isLearnt)) continue;
          const title = titleIn(said);
          for (const place of [then, now]) keys.add(`${place}${title} ${said.person}`);
        }
    return keys;
  };

  /** What a grade object was when it began to differ, and was named. */
  const maximaNamed = new Map<string, unknown>();
  /** Grade objects that are not as their line items say, and grades that do not say out of which maximum they are. */
  const objectProblems = (named: ReadonlyMap<number, Named[]>): Problem[] => {
    const problems: Problem[] = [];
    for (const said of lineItems.all()) {
      const object = lineItems.objectOf(said);
      const is = platform.maximumOf(object);
      const names = (named.get(said.university) ?? []).filter(
        ({ orgUnits, title }) =>
          (orgUnits === undefined || orgUnits.includes(placeOf(said) ?? 0)) &&
          (title === undefined || title === said.title),
      );
      if (owners.get(object) !== said.item || is === Number(said.max)) maximaNamed.delete(object);
      else if (names.length > 0) maximaNamed.set(object, is);
      else if (!maximaNamed.has(object) || maximaNamed.get(object) !== is)
        problems.push({
          university: said.university,
          text: `${object} is out of ${is}, and must be out of ${said.max}`,
        });
    }
    for (const { item, from, to } of lineItems.doubled())
      problems.push({
        university: universityOf(Number.parseInt(to, 10)),
        text: `${item} has ${from} and ${to}`,
      });
    for (const key of platform.keys())
      if (key.includes('/') && platform.outOf(key) === undefined)
        problems.push({ university: universityOf(personIn(key)), text: `${key} is out of nothing` });
    return problems;
  };

  const titleIn = (said: Said): string => {
    const { title } = lineItems.settled(said);
    return title === undefined ? '' : `/${title}`;
  };

  /** Also of where a code has been: a message by a code that is in doubt arrives where it stands in the end. */
  const rememberClaims = (): void => {
    for (const [file, byFile] of files)
      for (const rows of byFile.values())
        for (const { said } of rows.values()) {
          const title = titleIn(said);
          for (const place of said.code === undefined ? [] : placesOf(said.university, said.code)) {
            const key = `${place}${title} ${said.person}`;
            everClaimedBy.set(key, (everClaimedBy.get(key) ?? new Set()).add(file));
          }
        }
  };

  /** A grade object that gets another title takes its grades along, and what is known of them. Elsewhere, they are sent again. */
  const withTitles = (held: Checked['before']): Map<string, string> => {
    const now = new Map(held);
    for (const { from, to } of lineItems.moves())
      for (const [key, value] of held)
        if (key.startsWith(`${from} `)) {
          const moved = `${to}${key.slice(from.length)}`;
          everSaid.set(moved, (everSaid.get(moved) ?? new Set()).add(value));
        }
    for (const { from, to } of lineItems.renamed()) {
      for (const known of [now, stillNamed, lastReadOtherwise, everClaimedBy, everSaid])
        move(known, from, to);
      for (const key of [...now.keys()]) if (key.startsWith(`${from} `)) now.delete(key);
    }
    return now;
  };

  return {
    /** What a file has said by which the platform is changed. */
    accept: ({ name, isDelta, rows }: Export, day: string): void => {
      days.set(name, day);
      const time = (times.get(name) ?? 0) + 1;
      times.set(name, time);
      const before = isDelta ? files.get(name) : undefined;
      const now = new Map<string, Map<string, Row>>();
      for (const [file, each] of rows) {
        const all = new Map(before?.get(file));
        for (const row of each)
          if (row.cells.status === 'tobedeleted') all.delete(row.id);
          else all.set(row.id, row);
        now.set(file, all);
        const sinceBefore = unusableSince.get(`${name} ${file}`);
        const since = [...all.values()].flatMap(({ id, said }): [string, number][] =>
          said.isUnusable ? [[id, sinceBefore?.get(id) ?? time]] : [],
        );
        unusableSince.set(`${name} ${file}`, new Map(since));
        const usedBefore = lastUsed.get(`${name} ${file}`);
        const used = [...all.values()].flatMap(({ id, said }): [string, Said][] => {
          const last = said.isUnusable ? usedBefore?.get(id) : said;
          return last === undefined ? [] : [[id, last]];
        });
        lastUsed.set(`${name} ${file}`, new Map(used));
        acceptedLines.set(file, [each, ...(isDelta ? (acceptedLines.get(file) ?? []) : [])]);
      }
      files.set(name, now);
      const all = [...now.values()].flatMap((each) => [...each.values()]);
      const said = all.map((row) => row.said);
      const logins = all.map((row) => loginOf(name, row));
      const codes = said.map(({ code = '' }) => code);
      unknownThen.set(
        name,
        new Set([
          ...logins.filter((login) => crosswalk.idOf('userName', login) === undefined),
          ...codes.filter((code) => crosswalk.idOf('orgUnitCode', code) === undefined),
        ]),
      );
      placesThen.set(name, new Map(said.map((each) => [each.code ?? '', placeOf(each)])));
    },
    rowsOf: (name: FileName): ReadonlyMap<string, ReadonlyMap<string, Row>> => files.get(name) ?? new Map(),

    /** What the platform holds otherwise than it must, and nothing names. */
    problems: (checked: Checked): Problem[] => {
      for (const [file, rows] of checked.exported.rows)
        lines.set(file, [rows, ...(acceptedLines.get(file) ?? [])]);
      for (const { at, places } of universities.values()) {
        allPlacesOf(at);
        for (const code of places.keys()) placesOf(at, code);
      }
      const rows = [...(files.get('export.zip')?.get('lineItems.csv')?.values() ?? [])];
      const items = lineItems.settle(
        checked.exported,
        rows.map(({ id, said }): Item => ({ ...said, item: id })),
        itemsNamed(checked.exported, checked.report),
      );
      const before = withTitles(checked.before);
      const isReadOtherwise = readOtherwise().union(notFollowed());
      const wanted = new Map([...enrollmentsWanted(before), ...gradesWanted(before, items)]);
      rememberClaims();
      for (const [key, { claimed }] of wanted)
        everSaid.set(key, (everSaid.get(key) ?? new Set()).union(rolesIn(claimed)));
      const named = namedIn(checked);
      const { name, isDelta } = checked.exported;
      toldBy.set(name, [...(isDelta ? (toldBy.get(name) ?? []) : []), ...toldIn(checked.report)]);
      const namedByFile = new Map([...toldBy].map(([file, isSaid]) => [file, byUniversity(namedBy(isSaid))]));
      const replayed = byUniversity(checked.replayed.flatMap(({ body }) => namedByMessage(body)));
      const keys = new Set([...wanted.keys(), ...before.keys(), ...platform.keys()]);
      /** A report tells how many stay that no row wants, and not which. */
      let staying = stayingIn(checked.report);
      const isTold = (
        key: string,
        value: Value,
        { allowed, ifNamed, claimed, without, files, text }: Wanted,
      ): boolean => {
        const names = namesOf(key, named);
        // Of what was replayed, nobody knows which was the last.
        const isOpen = allowed.size > 0 || namesOf(key, replayed).length > 0;
        const values = claimed.map((each) => each.value);
        const isUnusable = names.length > 0 && names.every((each) => each.isUnusable);
        const saidBefore = isOpen && !isUnusable ? saidOf(key, everSaid) : [];
        const mayBe = new Set([...heldOf(key, before), ...ifNamed, ...saidBefore]);
        if (names.length > 0 && (mayBe.has(value) || (value === undefined && names.some(isWaiting))))
          return true;
        const still = stillNamed.get(key);
        const namesBy = (file: FileName): Named[] => namesOf(key, namedByFile.get(file) ?? new Map());
        const isNamedBy = (file: FileName): boolean => namesBy(file).length > 0;
        const isNamed = [...files, ...(everClaimedBy.get(key) ?? [])].some(isNamedBy);
        // A row that is not used holds nothing that another file ends. One that cannot be used does.
        const mayEnd =
          files.size > 0 && [...files].every((file) => namesBy(file).some((one) => !one.isUnusable));
        /** Waits, or is named as not used. */
        const isUnused = ({ file }: { file: FileName }): boolean =>
          names.some(isWaiting) || namesBy(file).some((one) => !one.isContradiction);
        const isOfTheRest =
          values.includes(value) && without((each) => each.value !== value && isUnused(each)).has(value);
        return (
          isOfTheRest ||
          lastReadOtherwise.get(key) === (value ?? '') ||
          (still?.text === text && still.value === value) ||
          (isNamed && (mayBe.has(value) || (value === undefined && mayEnd)))
        );
      };
      const rememberAllowed = (key: string, value: Value, text: string): void => {
        const isOtherwise = isReadOtherwise.has(key);
        if (isOtherwise && namesOf(key, named).length > 0) stillNamed.set(key, { text, value });
        else stillNamed.delete(key);
        if (isOtherwise) lastReadOtherwise.set(key, value ?? '');
      };
      const ofThings = [...keys].flatMap((key) => {
        const [value, was] = [platform.valueOf(key), before.get(key)];
        const each = wanted.get(key) ?? nothingWanted(key, was, everClaimedBy.get(key));
        const { allowed, text } = each;
        if (allowed.has(value) || isReadOtherwise.has(key)) {
          rememberAllowed(key, value, text);
          return [];
        }
        let isSaid = isTold(key, value, each);
        if (!isSaid && !wanted.has(key) && value === was && staying > 0) {
          staying -= 1;
          isSaid = true;
        }
        if (isSaid) {
          stillNamed.set(key, { text, value });
          return [];
        }
        const must = [...allowed].map(shown).join(' or ') || `named, as ${text}`;
        const problem = `${key} is ${shown(value)}, was ${shown(was)}, and must be ${must}`;
        return [{ university: universityOf(personIn(key)), text: problem }];
      });
      return [...ofThings, ...objectProblems(named), ...unnamedRows(checked)];
    },
  };
};

const enrollmentFiles = ['enrollments.csv', 'students.csv', 'instructors.csv', 'drops.csv'];

/** An enrollment holds from its first through its last day. */
const isWithin = ({ begins = '', ends = '' }: Said, day = ''): boolean =>
  (begins === '' || begins <= day) && (ends === '' || day <= ends);

/** What has the key of a grade object's grade, by that of another. */
const move = (known: Map<string, unknown>, from: string, to: string): void => {
  for (const [key, each] of [...known]) {
    const moved = `${to}${key.slice(from.length)}`;
    if (key.startsWith(`${from} `) && !known.has(moved)) known.set(moved, each);
  }
};

const stayingIn = (report: readonly ReportLine[]): number =>
  report.reduce(
    (sum, { text }) =>
      sum +
      Number(/missing [\w-]+ that stay, because refused rows may be about them: (\d+)/.exec(text)?.[1] ?? 0),
    0,
  );
const contradiction = /keeps what it has|but differs/;
const shown = (value: Value): string => value ?? 'not there';
const isWaiting = ({ mayBeGone }: Named): boolean => mayBeGone === true;
/** What is named stays as it was; a grade that stays goes along with its line item to another org unit. */
const heldOf = (key: string, before: Checked['before']): Value[] => [
  before.get(key),
  ...[...before].flatMap(([other, value]) => (isSameGrade(other, key) ? value : [])),
];
/** Also of a grade where its course was before. */
const saidOf = (key: string, everSaid: ReadonlyMap<string, ReadonlySet<Value>>): Value[] =>
  [...everSaid].flatMap(([other, values]) => (other === key || isSameGrade(other, key) ? [...values] : []));
const isSameGrade = (one: string, other: string): boolean =>
  one.includes('/') && one.slice(one.indexOf('/')) === other.slice(other.indexOf('/'));

type NamedOf = [university: number, named: Named];

const byUniversity = (all: readonly NamedOf[]): ReadonlyMap<number, Named[]> => {
  const named = new Map<number, Named[]>();
  for (const [university, each] of all) named.set(university, [...(named.get(university) ?? []), each]);
  return named;
};

const namesOf = (key: string, named: ReadonlyMap<number, Named[]>): Named[] => {
  const person = personIn(key);
  const [orgUnit = '', title] = key.slice(0, key.lastIndexOf(' ')).split('/');
  return (named.get(universityOf(person)) ?? []).filter(
    (each) =>
      (each.orgUnits === undefined || each.orgUnits.includes(Number(orgUnit))) &&
      (each.person === undefined || each.person === person) &&
      (each.title === undefined || each.title === title),
  );
};

/** The platform cannot clear a grade. */
const nothingWanted = (key: string, was: Value, files = new Set<FileName>()): Wanted => ({
  allowed: new Set([key.includes('/') ? was : undefined]),
  ifNamed: new Set<Value>(),
  claimed: [],
  without: () => new Set(),
  files,
  text: 'nobody wants it',
});

/** Undefined: that is not known of all of them. */
const latestOf = (claims: readonly Claim[]): number | undefined =>
  claims.some(({ atMs }) => atMs === undefined) ? undefined : Math.max(...claims.map(({ atMs = 0 }) => atMs));

/**
 * Whoever any row wants is enrolled. A row that ends an enrollment stands against those of its section in other files, unless its own file
 * also gives the section: what was said later counts. Of two roles, the one counts that the settings name first; if they do not name both, the one that was said later. If that
 * cannot be told, it is named, and nothing changes.
 */
const enrollmentOf = (claims: readonly Claim[], was: Value): Wanted => {
  const text = claims
    .map(({ file, code, role, atMs }) => `${file} ${code} ${role} ${atMs ?? ''}`)
    .sort()
    .join(', ');
  const isSameSection = (one: Claim, other: Claim): boolean =>
    one.file === other.file && one.code === other.code;
  const endings = claims.filter(
    (claim) =>
      claim.role === 'none' && !claims.some((each) => each.role !== 'none' && isSameSection(each, claim)),
  );
  const againstOf = (claim: Claim): Claim[] =>
    endings.filter((each) => each.code === claim.code && each.file !== claim.file);
  const isEnded = ({ atMs: said, ...claim }: Claim): boolean =>
    said !== undefined && againstOf(claim).some(({ atMs }) => atMs !== undefined && atMs > said);
  const roles = claims.filter(({ role }) => role !== 'none');
  const left = roles.filter((each) => !isEnded(each));
  // That a row holds an enrollment which another one ends is named.
  const held = new Set<Value>([was, ...(left.length < roles.length ? roles.map(idOf) : [])]);
  const saidBy = (claim: Claim) => ({
    file: claim.file,
    value: claim.role === 'none' ? undefined : idOf(claim),
  });
  const claimed = claims.map(saidBy);
  const without: Wanted['without'] = (isUnused) => {
    const used = claims.filter((claim) => !isUnused(saidBy(claim)));
    return enrollmentOf(used, was).allowed;
  };
  return { allowed: roleOf(left), ifNamed: held, claimed, without, files: filesOf(claims), text };
};

const rolesIn = (claimed: Wanted['claimed']): Set<Value> =>
  new Set(claimed.flatMap(({ value }) => value ?? []));

const filesOf = (claims: readonly Claim[]): Set<FileName> => new Set(claims.map(({ file }) => file));

const idOf = ({ role = '' }: Claim): string => String(roleIds[role]);

/** Empty: it cannot be told. */
const roleOf = (claims: readonly Claim[]): Set<Value> => {
  if (claims.length === 0) return new Set([undefined]);
  const first = namedRoles.find((role) => claims.some((each) => each.role === role));
  const named = claims.filter(({ role }) => role === first);
  const others = claims.filter(({ role = '' }) => !namedRoles.includes(role));
  if (others.length === 0) return new Set(named.map(idOf));
  if (named.length === 0) return new Set(others.map(idOf));
  const [atNamed, atOther] = [latestOf(named), latestOf(others)];
  if (atNamed === undefined || atOther === undefined || atNamed === atOther) return new Set();
  return new Set((atNamed > atOther ? named : others).map(idOf));
};

type Graded = { owner: string | undefined; isShared: boolean; before: Value };

/** Line items that share a grade object never mix their grades: those of the one that had it first stay. */
const gradeOf = (claims: readonly Claim[], { owner, isShared, before }: Graded): Wanted => {
  const text = claims
    .map(({ item, score, atMs }) => `${item} ${score} ${atMs}`)
    .sort()
    .join(', ');
  const used = claims.filter(({ item }) => !isShared || item === owner);
  const latest = Math.max(...used.map(({ atMs = 0 }) => atMs));
  const newest = new Set(used.filter(({ atMs = 0 }) => atMs === latest).map(({ score }) => score));
  // A second record of one person.
  const allowed = newest.size > 1 ? new Set<Value>() : newest;
  const isSilent = isShared && claims.some(({ item }) => item !== owner);
  // Of two records of one person that contradict each other, the accepted one stays.
  const ifNamed = new Set([before, ...used.map(({ score }) => score)]);
  const claimed = claims.map(({ file, score }) => ({ file, value: score }));
  const without = () => new Set<Value>();
  return { allowed: isSilent ? new Set() : allowed, ifNamed, claimed, without, files: filesOf(claims), text };
};
