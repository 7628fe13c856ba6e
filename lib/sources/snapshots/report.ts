import { quotedText, type SetEngine } from '../../runtime/files/tables/engine.ts';

/** If every row of a file is wrong, the first ones are enough. */
const maxReported = 100_000;

/** Writes the table `problems` for people, in the order of the files. Each cell is quoted as `cell` quotes it. */
export const writeReport = (sets: SetEngine, path: string): Promise<void> => {
  const text = (name: string): string =>
    `CASE WHEN regexp_matches("${name}", '^[=+@\\t\\r-]') THEN '''' ELSE '' END || coalesce("${name}", '') AS "${name}"`;
  // To sort all of them needs more memory than the comparison, if no row can be used.
  return sets.run(`
    COPY (
      SELECT ${['file', 'line', 'column', 'problem'].map(text).join(', ')} FROM (
        SELECT file, CAST(line AS VARCHAR) AS line, col AS "column", problem
          FROM (FROM problems ORDER BY file, line NULLS LAST, col, problem LIMIT ${maxReported})
        UNION ALL SELECT '', '', '', 'and ' || (count(*) - ${maxReported}) || ' more' FROM problems HAVING count(*) > ${maxReported})
    ) TO ${quotedText(path)} (FORMAT csv, HEADER, FORCE_QUOTE *)`);
};

/** Quotes a text so that no spreadsheet reads it as a formula. */
export const cell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
