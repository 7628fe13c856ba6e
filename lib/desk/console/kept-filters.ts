import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../../message/json.ts';
import { RefusedError } from '../../stage/command-errors.ts';

/** By deployment and name, the query of a screen's address. */
const fileSchema = z.record(z.string(), z.record(z.string(), z.string()));
type Kept = z.infer<typeof fileSchema>;

const maxFilters = 50;

export type KeptFilters = {
  all(): Promise<[name: string, query: string][]>;
  keep(name: string, query: string): Promise<void>;
  drop(name: string): Promise<void>;
};

/**
 * Filters that a person has named, in a file of this machine that its owner alone can read: a filter may hold a user's id. The browser
 * could not keep them, as each console has a host name of its own.
 */
export const createKeptFilters = (file: string, deployment: string): KeptFilters => {
  const read = async (): Promise<Kept> => {
    const text = await readFile(file, 'utf8').catch(() => '{}');
    const parsed = fileSchema.safeParse(jsonIn(text));
    if (parsed.success) return parsed.data;
    throw new RefusedError(`${file} does not hold the filters that were kept. Correct it, or delete it.`);
  };
  const change = async (changed: (own: Record<string, string>) => Record<string, string>): Promise<void> => {
    const all = await read();
    const whole = { ...all, [deployment]: changed(all[deployment] ?? {}) };
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const half = `${file}.${process.pid}`;
    await writeFile(half, JSON.stringify(whole, null, 2), { mode: 0o600 });
    await rename(half, file);
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
