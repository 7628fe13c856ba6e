import { counted } from '../counted.ts';
import type { Comparison } from './comparison.ts';
import { hasGrades, openState, sourceOf } from './others.ts';
import { hasRows, statementsIn } from './statements.ts';

const sql = statementsIn('grades');

/** Makes the tables of what other files say of grades. */
export const createGrades = ({ sets }: Comparison): Promise<void> => sets.run(sql('schema'));

/** Reads what the other accepted files say of this file's grades. */
const loadOthers = async (comparison: Comparison): Promise<void> => {
  const { sets, others } = comparison;
  for (const other of others) {
    if (!hasGrades(other) || !(await openState(comparison, other))) continue;
    await sets.run(sql(other.userField === undefined ? 'add_grades_of_table' : 'add_grades_of_export'), [
      sourceOf(other),
    ]);
  }
};

/** Finds this file's grades that another file gives otherwise. Answers whether any is disputed, or was. */
export const findDisputed = async (comparison: Comparison): Promise<boolean> => {
  const { sets } = comparison;
  if (!(await hasRows(sets, `kinds WHERE function_name = 'grade-push'`))) return false;
  await loadOthers(comparison);
  const hasOthers = await hasRows(sets, 'other_grades');
  if (hasOthers) await sets.run(sql('find_disputed'));
  return hasOthers || (await hasRows(sets, `accepted WHERE row_standing = 'disputed'`));
};

export const weighDisputed = ({ sets }: Comparison): Promise<void> => sets.run(sql('weigh_disputed'));

const undecidedText = (sources: string, count: number): string =>
  `${counted(count, 'grade is', 'grades are')} no longer in this file. About ${count === 1 ? 'it' : 'them'}, ${sources} contradict each other, and it is unknown which one is later: the platform keeps what it has. Correct one of them, or give both files the times of their changes`;

/** Holds what is disputed, and replaces what this file no longer has by what the others want. */
export const holdDisputed = async ({ sets, droppedMs }: Comparison): Promise<void> => {
  await sets.run(sql('send_undisputed'), [droppedMs]);
  await sets.run(sql('hold_disputed'));
  await sets.run(sql('replace_gone'));
  for (const [file, sources, count] of await sets.all<[string, string, number]>(sql('count_undecided')))
    await sets.run('INSERT INTO problems VALUES ($1, NULL, NULL, $2)', [file, undecidedText(sources, count)]);
};
