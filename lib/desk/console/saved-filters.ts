import * as z from 'zod';
import { RefusedError } from '../../stage/command-errors.ts';
import { readSaved, writeSaved } from './saved-file.ts';

/** By deployment and name, the query of a screen's address. */
const fileSchema = z.record(z.string(), z.record(z.string(), z.string()));
type FilterFile = z.infer<typeof fileSchema>;

const maxFilters = 50;

export type SavedFilters = {
  all(): Promise<[name: string, query: string][]>;
  keep(name: string, query: string): Promise<void>;
  drop(name: string): Promise<void>;
};

/**
 * Filters that a person has named, in a file of this machine that its owner alone can read: a filter may hold a user's id. The browser
 * could not keep them, as each console has a host name of its own.
 */
export const createSavedFilters = (file: string, deployment: string): SavedFilters => {
  const read = async (): Promise<FilterFile> => {
    const parsed = fileSchema.safeParse(await readSaved(file));
    if (parsed.success) return parsed.data;
    throw new RefusedError(`${file} does not hold the filters that were kept. Correct it, or delete it.`);
  };
  const change = async (changed: (own: Record<string, string>) => Record<string, string>): Promise<void> => {
    const all = await read();
    await writeSaved(file, { ...all, [deployment]: changed(all[deployment] ?? {}) });
  };
  return {
    all: async () => Object.entries((await read())[deployment] ?? {}),
    keep: (name, query) =>
      change((own) => {
        if (Object.keys(own).length >= maxFilters && own[name] === undefined)
          throw new RefusedError(`${maxFilters} filters are kept already. Forget one first.`);
        return { ...own, [name]: query };
      }),
    drop: (name) => change(({ [name]: _, ...others }) => others),
  };
};
