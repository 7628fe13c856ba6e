import { quotedText, type SqlEngine } from '../../../runtime/files/tables/engine.ts';
import { sqlFile } from './sql-files.ts';

/**
 * The statements of a file in `sql`, by name. A line such as `-- name: find_effects` begins one, or several that run together; the lines
 * after it say what goes in and what comes out.
 */
export const statementsIn = (file: string): ((name: string) => string) => {
  const [, ...parts] = (sqlFile(file) ?? '').split(/^-- name: /m);
  const statements = new Map(
    parts.map((part) => {
      const end = part.indexOf('\n');
      return [
        part.slice(0, end),
        part
          .slice(end + 1)
          .trim()
          .replace(/;$/, ''),
      ];
    }),
  );
  return (name) => {
    const statement = statements.get(name);
    if (statement === undefined) throw new Error(`${file}.sql has no statement ${name}`);
    return statement;
  };
};

/**
 * A statement that makes macros such as `user_field()`: what statements need of settings and of the snapshot. A variable would be known to
 * one connection alone.
 */
export const constants = (values: Readonly<Record<string, string | number | boolean | undefined>>): string =>
  Object.entries(values)
    .map(
      ([name, value]) =>
        `CREATE OR REPLACE MACRO ${name}() AS ${typeof value === 'string' ? quotedText(value) : (value ?? 'NULL')}`,
    )
    .join(';\n');

/** Where days and times without an offset from UTC are meant. */
export const timeZoneOf = ({ timeZone = 'UTC' }: { timeZone?: string | undefined }): string =>
  `CREATE OR REPLACE MACRO time_zone() AS ${quotedText(timeZone)}`;

export const hasRows = async (db: SqlEngine, from: string): Promise<boolean> =>
  (await db.row<[number]>(`SELECT EXISTS (FROM ${from})`))?.[0] === 1;
