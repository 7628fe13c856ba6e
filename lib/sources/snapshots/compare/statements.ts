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
