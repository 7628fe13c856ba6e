import type { ReassignedNames } from '../../../option.ts';
import { acceptUserNames } from './operator-actions.ts';
import { listPassed } from './reassigned-names.ts';
import { passedView, touchedView } from './views/reassigned-names.ts';

/** User names that passed to another record of the SIS. */
export const reassignedNames: ReassignedNames = {
  read: async (target, signal) => {
    const passed = await listPassed(target, signal);
    return { names: passed?.map(({ name }) => name), facts: { passed }, view: passedView({ passed }) };
  },
  accept: acceptUserNames,
  movesWith: async (target, code) => {
    // Most commands need no engine.
    const { usesOfCode: touchedBy } = await import('./code-uses.ts');
    return touchedView(code, await touchedBy(target, code));
  },
};
