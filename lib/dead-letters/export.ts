import type { Audit } from '../deployment/audit.ts';
import type { Target } from '../deployment/target.ts';
import { type Filter, matches } from './reading/filter.ts';
import { lineOf } from './reading/letter-line.ts';
import { type Visit, type VisitOptions, visit } from './reading/session.ts';

type ExportOptions = VisitOptions & {
  filter: Filter;
  limit?: number | undefined;
  audit: Audit;
  write(line: string): Promise<void>;
};

/** Writes letters as JSON Lines, whole and unmasked, and leaves them where they are. */
export const exportLetters = async (
  target: Target,
  { filter, limit = Number.POSITIVE_INFINITY, audit, write, ...options }: ExportOptions,
): Promise<Visit & { exported: number }> => {
  const { end } = await audit.begin({ command: 'letters export', filter });
  const exported: string[] = [];
  let writing: Promise<unknown> = Promise.resolve();
  try {
    const visited = await visit(target, {
      ...options,
      look: async (letter) => {
        if (exported.length >= limit || !matches(filter, letter)) return exported.length < limit;
        exported.push(letter.id);
        // Receivers run side by side, and lines must not.
        writing = writing.then(() => write(lineOf(letter)));
        await writing;
        return exported.length < limit;
      },
    });
    return { ...visited, limitReached: exported.length >= limit, exported: exported.length };
  } finally {
    await end({ exported: exported.length }, exported);
  }
};
