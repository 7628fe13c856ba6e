import type { FileName, Row } from './files.ts';
import type { Checked, Problem, Value, Wanted } from './said.ts';
import { personIn, universityOf } from './university.ts';

// Rows that cannot be used: each is named, and holds what it may be about.

/** What a row that cannot be used is about, as far as it says so. */
export type Meant = {
  university: number;
  /** An org unit or a grade object. */
  place: string | undefined;
  person: number | undefined;
  item: string | undefined;
  /** It ends an enrollment. */
  isEnd: boolean;
  /** Of one that does not tell whom or what it is about: when that began. */
  since?: number | undefined;
  file: FileName;
};

/** Rows of one unknown role are named together. */
export const isOfUnknownRole = ({ cells: { role } }: Row, text: string): boolean =>
  role !== undefined && text.replaceAll('"', '').includes(`the role ${role} has no id`);

/** Each row that cannot be used is named. */
export const unnamedRows = ({ exported, report }: Checked): Problem[] => {
  const named = new Set(report.map(({ file, line }) => `${file} ${line}`));
  return [...exported.rows].flatMap(([file, rows]) =>
    rows.flatMap((row, index) => {
      const isNamed =
        named.has(`${file} ${index + 2}`) || report.some(({ text }) => isOfUnknownRole(row, text));
      if (!row.said.isUnusable || row.cells.status === 'tobedeleted' || isNamed) return [];
      const cells = Object.values(row.cells).join(' ');
      return [
        {
          university: row.said.university,
          text: `${file} has ${cells}, which cannot be used, and is not named`,
        },
      ];
    }),
  );
};

export const newMeant = (all: readonly Meant[]): ((key: string) => Meant[]) => {
  const byUniversity = new Map<number, Meant[]>();
  for (const each of all)
    byUniversity.set(each.university, [...(byUniversity.get(each.university) ?? []), each]);
  return (key) => {
    const person = personIn(key);
    const place = key.slice(0, key.lastIndexOf(' '));
    return (byUniversity.get(universityOf(person)) ?? []).filter(
      (each) =>
        (each.place === undefined || each.place === place) &&
        (each.person === undefined || each.person === person),
    );
  };
};

/**
 * What a row that cannot be used may be about stays, and may stay as it was, whatever its own file says of it otherwise. If the row does not
 * tell whom or what it is about, that is only what nobody wants otherwise.
 */
export const withUnusable = (
  wanted: Wanted,
  { before, meant }: { before: Value; meant: readonly Meant[] },
): Wanted => {
  const isWanted = !wanted.allowed.has(undefined);
  // Whoever a row is about that ends an enrollment, it keeps nobody there.
  const holding = isWanted ? meant : meant.filter(({ isEnd }) => !isEnd);
  if (before === undefined || holding.length === 0) return wanted;
  const isAlone = holding.some(({ place, person }) => place !== undefined && person !== undefined);
  if (!isAlone && isWanted) return wanted;
  return { ...wanted, allowed: isWanted ? wanted.allowed.union(new Set([before])) : new Set([before]) };
};
