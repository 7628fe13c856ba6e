import type { ReassignedNames } from '../../../option.ts';
import { listPassed } from './passed.ts';
import { acceptUserNames } from './verbs.ts';
import { passedView, touchedView } from './views/passed.ts';

/** User names that passed to another record of the SIS. */
export const reassignedNames: ReassignedNames = {
  read: async (target, signal) => {
    const passed = await listPassed(target, signal);
    return { names: passed?.map(({ name }) => name), facts: { passed }, view: passedView({ passed }) };
  },
  accept: acceptUserNames,
  movesWith: async (target, code) => {
    // Most commands need no engine.
    const { usesOfCode: touchedBy } = await import('./touched.ts');
    return touchedView(code, await touchedBy(target, code));
  },
};
