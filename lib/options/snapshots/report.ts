import { quotedText, type SqlEngine } from '../../runtime/files/tables/engine.ts';
import type { Refusal } from './state/record.ts';

/** If every row of a file is wrong, the first ones are enough. */
const maxReported = 100_000;

/** Writes the table `problems` for people, in the order of the files. Each cell is quoted so that no spreadsheet reads it as a formula. */
export const writeReport = (db: SqlEngine, path: string): Promise<void> => {
  const cells = {
    file: 'p.file',
    line: 'CAST(p.line AS VARCHAR)',
    column: 'p.column_name',
    problem: 'p.problem',
  };
  const quoted = Object.entries(cells).map(
    ([name, cell]) =>
      `CASE WHEN regexp_matches(${cell}, '^[=+@\\t\\r-]') THEN '''' ELSE '' END || coalesce(${cell}, '') AS "${name}"`,
  );
  const order = 'p.file, p.line NULLS LAST, p.column_name, p.problem';
  // To sort all of them needs more memory than the comparison, if no row can be used.
  return db.run(`
    COPY (
      SELECT ${quoted.join(', ')} FROM (
        SELECT false AS is_last, file, line, column_name, problem FROM (FROM problems p ORDER BY ${order} LIMIT ${maxReported})
        UNION ALL
        SELECT true, NULL, NULL, NULL, 'and ' || (count(*) - ${maxReported}) || ' more' FROM problems HAVING count(*) > ${maxReported}) p
      ORDER BY p.is_last, ${order}
    ) TO ${quotedText(path)} (FORMAT csv, HEADER, FORCE_QUOTE *)`);
};

const maxRefusals = 10;

/** The most frequent reasons in the table `problems`: first those for which rows were refused. */
export const refusalsIn = async (db: SqlEngine): Promise<Refusal[]> => {
  const found = await db.all<[string, string, string, number, string]>(
    `SELECT file, coalesce(column_name, ''), problem, CAST(sum(rows) AS BIGINT) AS row_count,
       coalesce(CAST(min(line) AS VARCHAR), '')
     FROM problems GROUP BY ALL ORDER BY bool_or(is_refusal) DESC, row_count DESC, 1, 2, 3 LIMIT ${maxRefusals}`,
  );
  return found.map(([file, column, problem, rows, line]) => ({ file, column, problem, rows, line }));
};
