import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { keepMemoryBelow } from '../files/memory.ts';
import { createLineFile, type LineFile } from '../sets/line-file.ts';
import { garbageMb } from './table.ts';

/** Where the lines of a kind lie. */
export const pathOfKind = (folder: string, kind: string): string => join(folder, `accepted-${kind}`);

/** Unpacks a state into a file for each kind: so they can be read one beside the other. */
export const splitState = async (packed: AsyncIterable<Uint8Array>, folder: string): Promise<void> => {
  let kind = '';
  let file: LineFile | undefined;
  try {
    for await (const lines of linesOfState(packed))
      for (const line of lines) {
        if (line[0] !== kind) {
          file?.close();
          kind = line[0] ?? '';
          file = createLineFile(pathOfKind(folder, kind));
        }
        file?.add(line);
      }
  } finally {
    file?.close();
  }
};

/** Many at a time, as each wait costs more than a line. Whoever stops before the end ends what is read, too. */
export async function* linesOfState(packed: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8');
  const gunzip = createGunzip();
  let bytes = 0;
  const counted = async function* (pieces: AsyncIterable<Uint8Array>) {
    for await (const piece of pieces) {
      bytes += piece.length;
      yield piece;
    }
  };
  // An error ends both, and is thrown by the loop.
  pipeline(packed, counted, gunzip, () => {});
  let rest = '';
  try {
    for await (const piece of gunzip) {
      keepMemoryBelow(garbageMb);
      const lines = (rest + decoder.write(piece)).split('\n');
      rest = lines.pop() ?? '';
      yield lines;
    }
  } catch (error) {
    // A state without a line has no byte, which is no gzip.
    if (bytes > 0 || (error as NodeJS.ErrnoException).code !== 'Z_BUF_ERROR') throw error;
  }
}
