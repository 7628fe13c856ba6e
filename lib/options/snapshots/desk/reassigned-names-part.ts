import type { ReassignedNamesReview } from '../../../option.ts';
import { acceptUserNames } from './operator-actions.ts';
import { listReassigned } from './reassigned-names.ts';
import { reassignedView, touchedView } from './views/reassigned-names.ts';

/** User names that passed to another record of the SIS. */
export const reassignedNames: ReassignedNamesReview = {
  read: async (target, signal) => {
    const passed = await listReassigned(target, signal);
    return { names: passed?.map(({ name }) => name), facts: { passed }, view: reassignedView({ passed }) };
  },
  accept: acceptUserNames,
  movesWith: async (target, code) => {
    // Most commands need no engine.
    const { usesOfCode: touchedBy } = await import('./code-uses.ts');
    return touchedView(code, await touchedBy(target, code));
  },
};
