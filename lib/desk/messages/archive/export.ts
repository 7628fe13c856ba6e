import { rm } from 'node:fs/promises';
import type { Audit } from '../../../stage/audit.ts';
import { fileOf } from '../../../stage/input.ts';
import { openNewFile } from '../../../stage/new-file.ts';
import type { Target } from '../../../stage/target.ts';
import type { Filter } from '../letters/filter.ts';
import { withLetters } from '../letters/leased-letters.ts';
import { letterLine } from '../letters/letter-line.ts';
import { selectLetters } from '../letters/list.ts';
import type { ReadOptions } from '../letters/session.ts';

export type ExportResult = {
  exported: number;
  /** Listed letters that could not be read: they have left the queue, or somebody else has leased them. */
  gone: number;
  limitReached: boolean;
  backLater: number;
};

type ExportOptions = ReadOptions & {
  filter: Filter;
  limit?: number | undefined;
  /** Why the letters are revealed, for the audit log. */
  reason: string;
  /** Where they go, for the audit log. */
  file: string;
  audit: Audit;
};

/** Writes letters as JSON Lines, whole and unmasked, and leaves them in the queue. */
export const exportLetters = async (
  target: Target,
  {
    filter,
    limit,
    reason,
    file,
    audit,
    write,
    ...options
  }: ExportOptions & {
    /** `id`: of the letter in this line. */
    write(line: string, id: string): Promise<void>;
  },
): Promise<ExportResult> => {
  const { letters, limitReached } = await selectLetters(target, { filter, limit }, options.signal);
  const { end } = await audit.begin({
    command: 'letters export',
    filter,
    reason,
    file: fileOf({ name: file }),
  });
  const exported: string[] = [];
  try {
    return await withLetters(target, { ...options, letters }, async (inHand) => {
      for (const letter of inHand.letters) {
        if (options.signal.aborted) break;
        await write(letterLine(await inHand.read(letter)), letter.id);
        exported.push(letter.id);
      }
      return { exported: exported.length, gone: inHand.gone.length, limitReached };
    });
  } finally {
    await end({ exported: exported.length }, exported);
  }
};

/** Exports into a new file that only its owner may read. If no letter matches, no file is left. @throws RefusedError */
export const exportToFile = async (target: Target, options: ExportOptions): Promise<ExportResult> => {
  const file = await openNewFile(options.file);
  let isEmpty = true;
  const write = async (line: string): Promise<void> => {
    await file.appendFile(line);
    isEmpty = false;
  };
  try {
    return await exportLetters(target, { ...options, write });
  } finally {
    await file.close();
    if (isEmpty) await rm(options.file);
  }
};
