import type { Comparison } from './comparison.ts';
import { openState, sourceOf } from './others.ts';
import { statementsIn } from './statements.ts';

const sql = statementsIn('grades');

/** Makes the tables of what other files say of grades. */
export const createGrades = ({ sets }: Comparison): Promise<void> => sets.run(sql('schema'));

/** Reads what the other accepted files say of grades. */
export const loadOtherGrades = async (comparison: Comparison): Promise<void> => {
  const { sets, others } = comparison;
  for (const other of others) {
    if (![...other.functions.values()].includes('grade-push') || !(await openState(comparison, other)))
      continue;
    if (other.userField) await sets.run(sql('add_grades_of_export'), [sourceOf(other), other.userField]);
    else await sets.run(sql('add_grades_of_table'), [sourceOf(other)]);
  }
};

/** Finds this file's grades that another file gives otherwise. Answers whether any is disputed, or was. */
export const findDisputed = async ({ sets }: Comparison): Promise<boolean> => {
  const [hasOthers, hadDisputed] =
    (await sets.row<[number, number]>(
      'SELECT EXISTS (FROM other_grades), EXISTS (FROM accepted WHERE was_disputed)',
    )) ?? [];
  if (hasOthers) await sets.run(sql('find_disputed'));
  return Boolean(hasOthers) || Boolean(hadDisputed);
};

export const weighDisputed = ({ sets }: Comparison): Promise<void> => sets.run(sql('weigh_disputed'));

export const holdDisputed = async ({ sets, droppedMs }: Comparison): Promise<void> => {
  for (const [name, given] of [
    ['send_undisputed', [droppedMs]],
    ['hold_disputed', []],
  ] as const)
    await sets.run(sql(name), given);
};
