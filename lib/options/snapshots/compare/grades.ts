import { countOf } from '../count-of.ts';
import type { Comparison } from './comparison.ts';
import { hasGrades, openState, sourceOf } from './others.ts';
import { hasRows, statementsIn } from './statements.ts';

const sql = statementsIn('grades');

/** Makes the tables of what other files say of grades. */
export const createGrades = ({ db }: Comparison): Promise<void> => db.run(sql('schema'));

/** Reads what the other accepted files say of this file's grades. */
const loadOthers = async (comparison: Comparison): Promise<void> => {
  const { db, others } = comparison;
  for (const other of others) {
    if (!hasGrades(other) || !(await openState(comparison, other))) continue;
    await db.run(sql(other.userField === undefined ? 'add_grades_of_table' : 'add_grades_of_export'), [
      sourceOf(other),
    ]);
  }
};

/** Finds this file's grades that another file gives otherwise. Answers whether any is disputed, or was. */
export const findDisputed = async (comparison: Comparison): Promise<boolean> => {
  const { db } = comparison;
  if (!(await hasRows(db, `kinds WHERE function_name = 'grade-push'`))) return false;
  await loadOthers(comparison);
  const hasOthers = await hasRows(db, 'other_grades');
  if (hasOthers) await db.run(sql('find_disputed'));
  return hasOthers || (await hasRows(db, `accepted WHERE row_standing = 'disputed'`));
};

export const weighDisputed = ({ db }: Comparison): Promise<void> => db.run(sql('weigh_disputed'));

const undecidedText = (sources: string, count: number): string =>
  `${countOf(count, 'grade is', 'grades are')} no longer in this file. About ${count === 1 ? 'it' : 'them'}, ${sources} contradict each other, and it is unknown which one is later: the platform keeps what it has. Correct one of them, or give both files the times of their changes`;

/** Holds what is disputed, and replaces what this file no longer has by what the others want. */
export const holdDisputed = async ({ db, droppedMs }: Comparison): Promise<void> => {
  await db.run(sql('send_undisputed'), [droppedMs]);
  await db.run(sql('hold_disputed'));
  await db.run(sql('replace_gone'));
  for (const [file, sources, count] of await db.all<[string, string, number]>(sql('count_undecided')))
    await db.run(
      'INSERT INTO problems (file, problem, rows, is_refusal) VALUES ($1, $2, CAST($3 AS BIGINT), false)',
      [file, undecidedText(sources, count), count],
    );
};
