import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { columnAsKey } from '../../delivery/mapping/mapping.ts';
import type { SqlEngine } from '../../runtime/files/tables/engine.ts';
import { readTable } from '../../runtime/files/tables/table.ts';
import type { Comparison } from './compare/comparison.ts';
import { countOf } from './count-of.ts';
import { fileNames } from './package/manifest.ts';
import type { SnapshotMapping } from './package/mapping-file.ts';
import type { OneRosterExport } from './package/oneroster-export.ts';
import { namePartsIn, type SnapshotSettings, userField } from './package/settings-file.ts';
import type { AcceptedSnapshot, FeedEnding } from './state/record.ts';

/**
 * The end of a feed is compared like a file without rows: what no other file wants is removed. It depends only on what was accepted, so
 * it needs neither the mapping nor the names in the settings, which may be of another feed by now.
 */
type AcceptedColumns = Pick<AcceptedSnapshot, 'columns' | 'by'>;

/** Writes a table with the accepted columns and no rows, and returns a mapping that identifies the accepted rows. */
export const emptyTable = async (
  path: string,
  { columns, by }: AcceptedColumns,
): Promise<SnapshotMapping> => {
  const accepted = JSON.parse(by) as [string, ...string[]][];
  const keys = new Set(accepted.flatMap(([, ...key]) => key));
  const known = new Set([...keys].map((column) => column.toLowerCase()));
  const others = Object.values(columns).flatMap((names) => names.filter((name) => !known.has(name)));
  await writeFile(path, headerOf([...keys, ...others]));
  const messages = accepted.map(([name, ...key]) => ({
    function: name,
    key: key.map((column) => columnAsKey(column)),
    fields: [],
    when: [],
    // What is sent is the message that was accepted with each row; a row without one is not removed.
    removed: {
      function: name,
      fields: [],
      when: [],
    },
  }));
  return { messages, cells: { separator }, lookUps: [], text: '' };
};

/** An export with the accepted files, without rows. */
export const emptyPackage = (
  folder: string,
  { columns }: AcceptedColumns,
  { orgUnitCode, user }: SnapshotSettings,
): OneRosterExport => {
  const parts = [orgUnitCode, user.column].flatMap((setting) => namePartsIn(setting) ?? []);
  const named = parts.flatMap((part) => ('column' in part ? part.column : []));
  const modes = fileNames.map((name) => [name, columns[name] ? 'bulk' : 'absent'] as const);
  return {
    version: undefined,
    modes: {
      ...(Object.fromEntries(modes) as OneRosterExport['modes']),
      courses: 'bulk',
      academicSessions: 'bulk',
      orgs: 'bulk',
      roles: 'bulk',
    },
    names: [],
    sizeOf: () => 0,
    close: async () => {},
    read: (name, required = []) => {
      const all = [...(columns[name] ?? []), ...required, ...named];
      const header = headerOf([...new Map(all.map((each) => [each.toLowerCase(), each])).values()]);
      const file = `${name}.csv`;
      const delimiterIn = (): string => separator;
      return readTable(Readable.from([Buffer.from(header)]), join(folder, file), { file, delimiterIn });
    },
  };
};

/** By the columns that identified classes and users when it was accepted. */
export const settingsThen = (settings: SnapshotSettings, { by }: AcceptedColumns): SnapshotSettings => {
  const [orgUnitCode = '', field, column = ''] = JSON.parse(by) as string[];
  return { ...settings, orgUnitCode, user: { field: userField.parse(field), column } };
};

/** A name may have another. */
const separator = ',';

const headerOf = (columns: readonly string[]): string =>
  `${columns.map((column) => `"${column.replaceAll('"', '""')}"`).join(separator)}\n`;

/** What it ends, once it is compared. */
export const endingIn = async ({ db, effects }: Comparison): Promise<FeedEnding> => {
  const [people, orgUnits, wantedByOthers] = await countsIn(
    db,
    `SELECT count(DISTINCT d.user_name) FILTER (ends), count(DISTINCT d.org_unit_or_object) FILTER (ends), count(*) FILTER (NOT ends) FROM (
       SELECT key, (after IS NULL AND NOT is_undecided) OR after = 'absent' AS ends FROM effects
       WHERE change = 'removed' AND is_removed AND role_before IS DISTINCT FROM 'absent') JOIN difference d USING (key)`,
  );
  const [grades, changedGrades, notRemoved] = await countsIn(
    db,
    `SELECT count(*) FILTER (is_grade AND NOT is_set), count(*) FILTER (is_grade AND is_set), count(*) FILTER (NOT is_grade) FROM (
       SELECT d.kind_name IN ('results', 'grade-push') AS is_grade, r.function_name IS NOT NULL AS is_set
       FROM difference d LEFT JOIN effects e USING (key) LEFT JOIN replacements r USING (key)
       WHERE d.change = 'removed' AND d.removal IS NULL AND e.is_removed IS NOT TRUE AND e.role_before IS DISTINCT FROM 'absent')`,
  );
  const { ended: enrollments, changed } = effects;
  return { enrollments, people, orgUnits, wantedByOthers, changed, grades, changedGrades, notRemoved };
};

const countsIn = async (db: SqlEngine, statement: string): Promise<[number, number, number]> => {
  const [one = 0, other = 0, third = 0] = (await db.row<number[]>(statement)) ?? [];
  return [one, other, third];
};

/** In words, for whoever decides. */
export const endingText = (feed: string, ending: FeedEnding): string => {
  const { enrollments, people, orgUnits, wantedByOthers, changed, grades, changedGrades, notRemoved } =
    ending;
  const ends =
    enrollments === 0
      ? 'no enrollment ends'
      : `${countOf(enrollments, 'enrollment ends', 'enrollments end')}, which no other file wants, of ${countOf(people, 'person', 'people')} in ${countOf(orgUnits, 'org unit')}`;
  return [
    `A person asked to end ${feed}: ${ends}`,
    ...(changed > 0
      ? [
          `${countOf(changed, 'enrollment begins or changes', 'enrollments begin or change')} as other files say`,
        ]
      : []),
    ...(wantedByOthers > 0
      ? [
          `${countOf(wantedByOthers, 'enrollment stays', 'enrollments stay')}, because other files want ${wantedByOthers === 1 ? 'it' : 'them'}`,
        ]
      : []),
    ...(grades > 0
      ? [
          `${countOf(grades, 'grade stays', 'grades stay')}, because grades cannot be removed from the platform`,
        ]
      : []),
    ...(changedGrades > 0
      ? [`${countOf(changedGrades, 'grade is', 'grades are')} set as another file says`]
      : []),
    ...(notRemoved > 0
      ? [
          `${countOf(notRemoved, 'thing stays', 'things stay')} on the platform, because the mapping had no "removed" message for ${notRemoved === 1 ? 'it' : 'them'}`,
        ]
      : []),
  ].join('; ');
};
