import type { OptionDesk } from '../../../option.ts';
import { addCommands } from './commands.ts';

export const desk: OptionDesk = {
  addCommands,
  screens: async () => (await import('./screens.ts')).addScreens,
  status: async () => (await import('./status.ts')).status,
  reassignedNames: async () => (await import('./reassigned-names-part.ts')).reassignedNames,
};
