import type { Export, Said } from './files.ts';
import type { Platform } from './platform.ts';
import type { ReportLine } from './said.ts';

// Which line item has which grade object. A grade object is known by its org unit and title, as `2601/Quiz`.

export type Item = Said & { item: string };

/** A title that its line item has given up: the platform may know the new one later. */
type Rename = { item: string; from: string; to: string };

export const newLineItems = (platform: Platform, placeOf: (said: Said) => number | undefined) => {
  /** By grade object, the line item that has it. */
  const owners = new Map<string, string>();
  /** Line items that the last report which could name them has refused. */
  const refused = new Set<string>();
  /** Line items as they were when they were not refused. */
  const accepted = new Map<string, Item>();
  let renames: Rename[] = [];
  let moves: Omit<Rename, 'item'>[] = [];
  let objectsBefore = new Set<string>();

  /** Line items as they are now. */
  let now = new Map<string, Item>();

  const objectOf = (said: Said): string => `${placeOf(said)}/${said.title}`;

  /** A row of a line item, or of one of its results, with the course and title that the line item has now. */
  const settled = <Row extends Said>(row: Row): Row => {
    const { code, title } = now.get(row.item ?? '') ?? row;
    return { ...row, ...(code !== undefined && { code }), ...(title !== undefined && { title }) };
  };

  const refuse = ({ isDelta, rows }: Export, named: ReadonlySet<string>): void => {
    if (isDelta) for (const { id } of rows.get('lineItems.csv') ?? []) refused.delete(id);
    else refused.clear();
    for (const item of named) refused.add(item);
  };

  const rename = (item: string, from: string, to: string): void => {
    const { from: first } = renames.find((each) => each.item === item) ?? { from };
    renames = renames.filter((each) => each.item !== item);
    if (!objectsBefore.has(to)) renames.push({ item, from: first, to });
  };

  /** A refused line item stays as it was. */
  const choose = (rows: readonly Item[]): void => {
    now = new Map(
      rows.flatMap((row): [string, Item][] => {
        const isRefused = row.isUnusable || refused.has(row.item);
        const chosen = isRefused ? (accepted.get(row.item) ?? (row.isUnusable ? undefined : row)) : row;
        return chosen === undefined ? [] : [[row.item, chosen]];
      }),
    );
  };

  /** By grade object, the line items that are to have it. */
  const byObject = (): Map<string, Set<string>> => {
    const all = new Map<string, Set<string>>();
    for (const [item, said] of now) {
      const object = objectOf(said);
      all.set(object, (all.get(object) ?? new Set()).add(item));
    }
    return all;
  };

  const accept = (rows: readonly Item[]): void => {
    const here = new Set(rows.map(({ item }) => item));
    for (const item of accepted.keys()) if (!here.has(item)) accepted.delete(item);
    for (const row of rows) if (!row.isUnusable && !refused.has(row.item)) accepted.set(row.item, row);
  };

  /** One that was refused, and that a delta does not have, is refused still. */
  const own = ({ isDelta, rows }: Export, items: ReadonlyMap<string, ReadonlySet<string>>): void => {
    const here = new Set((rows.get('lineItems.csv') ?? []).map(({ id }) => id));
    const before = new Map(owners);
    const owning = new Set(before.values());
    const isRefusedStill = (item: string): boolean => isDelta && !here.has(item) && !owning.has(item);
    for (const [object, of] of items) {
      const [first, ...others] = of;
      if (first !== undefined && others.length === 0) {
        const isNew = !accepted.has(first);
        if (!isRefusedStill(first) && !(isNew && refused.has(first))) owners.set(object, first);
      } else if (!of.has(before.get(object) ?? '')) {
        // It had the grade object before its course moved.
        const title = object.slice(object.indexOf('/'));
        const [, owner] = [...before].find(([other, item]) => other.endsWith(title) && of.has(item)) ?? [];
        if (owner === undefined) owners.delete(object);
        else owners.set(object, owner);
      }
    }
  };

  /** What a line item has left belongs to nobody, until one has its title. */
  const leave = (): void => {
    moves = [];
    for (const [object, item] of owners) {
      const said = now.get(item);
      const to = said && objectOf(said);
      if (to === undefined || to === object) continue;
      if (owners.get(to) === item) owners.delete(object);
      moves.push({ from: object, to });
      if (to.split('/')[0] === object.split('/')[0]) rename(item, object, to);
      else renames = renames.filter((each) => each.item !== item);
    }
  };

  return {
    owners,
    settled,
    isHere: (item: string): boolean => now.has(item),
    objectOf: (said: Said): string => objectOf(settled(said)),
    all: (): Iterable<Item> => now.values(),
    /** After an import. `named`: the line items that its report names. Answers which are to have each grade object. */
    settle: (exported: Export, rows: readonly Item[], named: ReadonlySet<string>) => {
      const isExport = exported.name === 'export.zip';
      if (isExport) refuse(exported, named);
      if (isExport) accept(rows);
      choose(rows);
      const objects = byObject();
      if (isExport) own(exported, objects);
      if (isExport) leave();
      return objects;
    },
    /** Of which grade object line items had their grades, and of which they have them now. */
    moves: (): readonly Omit<Rename, 'item'>[] => moves,
    /** What has both titles: it was made anew, and not given another title. */
    doubled: (): Rename[] =>
      renames.filter(
        ({ item, from, to }) =>
          owners.get(to) === item && !owners.has(from) && objectsBefore.has(from) && objectsBefore.has(to),
      ),
    /** Grade objects that have another title now, with their grades. */
    renamed: (): Rename[] => {
      objectsBefore = new Set(platform.objects());
      const done = renames.filter(({ from, to }) => !objectsBefore.has(from) && objectsBefore.has(to));
      renames = renames.filter((each) => !done.includes(each));
      return done;
    },
  };
};

/** The line items that a report names: by their lines, or as records of earlier exports. */
export const itemsNamed = ({ rows }: Export, report: readonly ReportLine[]): Set<string> =>
  new Set(
    report.flatMap(({ file, line, text }) => {
      const row = line === undefined || file !== 'lineItems.csv' ? undefined : rows.get(file)?.[line - 2];
      return [row?.id ?? [], /the record (l\d+-\d+)/.exec(text)?.[1] ?? []].flat();
    }),
  );
