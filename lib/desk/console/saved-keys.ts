import * as z from 'zod';
import { readSaved, writeSaved } from './saved-file.ts';

const fileSchema = z.object({ keys: z.enum(['on', 'off']).default('on') });

export type SavedKeySetting = {
  areOn(): boolean;
  turn(to: 'on' | 'off'): Promise<void>;
};

/** Whether single keys do something: who speaks to the machine, or presses keys unawares, has them off. */
export const createSavedKeySetting = async (file: string): Promise<SavedKeySetting> => {
  let kept = fileSchema.safeParse(await readSaved(file)).data?.keys ?? 'on';
  return {
    areOn: () => kept === 'on',
    turn: async (to) => {
      await writeSaved(file, { keys: to });
      kept = to;
    },
  };
};
