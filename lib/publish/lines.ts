import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { UsageError } from '../deployment/command-errors.ts';

/** @throws UsageError for a pipe: a file is read twice, first to check it and then to send it. */
export const mustBeFile = async (file: string): Promise<void> => {
  const found = await stat(file);
  if (!found.isFile())
    throw new UsageError(`${file} is not a file, and would be read twice: save it as one first.`);
};

/** The lines of a file of JSON Lines. Node's own reader ends a line at U+2028 too, which JSON may hold as it is. */
export async function* linesIn(file: string): AsyncGenerator<string> {
  await mustBeFile(file);
  let begun: string | undefined;
  for await (const piece of createReadStream(file, 'utf8')) {
    const lines = (begun === undefined ? withoutMark(piece) : begun + piece).split('\n');
    begun = lines.pop() ?? '';
    yield* lines;
  }
  if (begun) yield begun;
}

/** Programs on Windows put a byte order mark before UTF-8. */
export const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');
