import { open, rm } from 'node:fs/promises';
import type { Audit } from '../deployment/audit.ts';
import { RefusedError } from '../deployment/command-errors.ts';
import type { Target } from '../deployment/target.ts';
import { type Filter, matches } from './reading/filter.ts';
import { letterLine } from './reading/letter-line.ts';
import { type ReadOptions, type ReadSummary, withSession } from './reading/session.ts';

export type Exported = ReadSummary & { exported: number };

type ExportOptions = ReadOptions & {
  filter: Filter;
  limit?: number | undefined;
  audit: Audit;
};

/** Writes letters as JSON Lines, whole and unmasked, and leaves them in the queue. */
export const exportLetters = async (
  target: Target,
  {
    filter,
    limit = Number.POSITIVE_INFINITY,
    audit,
    write,
    ...options
  }: ExportOptions & {
    write(line: string): Promise<void>;
  },
): Promise<Exported> => {
  const { end } = await audit.begin({ command: 'letters export', filter });
  const exported: string[] = [];
  try {
    return await withSession(target, async (session) => {
      for await (const letter of session.letters(options)) {
        if (!matches(filter, letter)) continue;
        await write(letterLine(letter));
        exported.push(letter.id);
        if (exported.length >= limit) break;
      }
      return {
        ...session.summary(),
        limitReached: exported.length >= limit,
        exported: exported.length,
      };
    });
  } finally {
    await end({ exported: exported.length }, exported);
  }
};

/** Exports into a new file that nobody else may read; where no letter matches, there is none. @throws RefusedError */
export const exportToFile = async (
  target: Target,
  { file: path, ...options }: ExportOptions & { file: string },
): Promise<Exported> => {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new RefusedError(
      error.code === 'EEXIST'
        ? `${path} is there already: name another file.`
        : `${path} cannot be written: ${error.code}`,
    );
  });
  let isEmpty = true;
  const write = async (line: string): Promise<void> => {
    await file.appendFile(line);
    isEmpty = false;
  };
  try {
    return await exportLetters(target, { ...options, write });
  } finally {
    await file.close();
    if (isEmpty) await rm(path);
  }
};
