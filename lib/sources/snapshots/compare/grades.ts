import type { Comparison } from './comparison.ts';
import { openState, sourceOf } from './others.ts';
import { hasRows, statementsIn } from './statements.ts';

const sql = statementsIn('grades');

/** Makes the tables of what other files say of grades. */
export const createGrades = ({ sets }: Comparison): Promise<void> => sets.run(sql('schema'));

/** Reads what the other accepted files say of this file's grades. */
const loadOthers = async (comparison: Comparison): Promise<void> => {
  const { sets, others } = comparison;
  for (const other of others) {
    const hasGrades = [...other.functions.values()].includes('grade-push');
    if (!hasGrades || !(await openState(comparison, other))) continue;
    if (other.userField) await sets.run(sql('add_grades_of_export'), [sourceOf(other), other.userField]);
    else await sets.run(sql('add_grades_of_table'), [sourceOf(other)]);
  }
};

/** Finds this file's grades that another file gives otherwise. Answers whether any is disputed, or was. */
export const findDisputed = async (comparison: Comparison): Promise<boolean> => {
  const { sets } = comparison;
  if (!(await hasRows(sets, `kinds WHERE function_name = 'grade-push'`))) return false;
  await loadOthers(comparison);
  const hasOthers = await hasRows(sets, 'other_grades');
  if (hasOthers) await sets.run(sql('find_disputed'));
  return hasOthers || (await hasRows(sets, 'accepted WHERE was_disputed'));
};

export const weighDisputed = ({ sets }: Comparison): Promise<void> => sets.run(sql('weigh_disputed'));

export const holdDisputed = async ({ sets, droppedMs }: Comparison): Promise<void> => {
  await sets.run(sql('send_undisputed'), [droppedMs]);
  await sets.run(sql('hold_disputed'));
};
