import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { keepMemoryBelow } from '../files/memory.ts';
import { createLineFile, type LineFile } from '../sorted/line-file.ts';
import { garbageMb } from './table.ts';

/** Where the lines of a kind lie. */
export const pathOfKind = (folder: string, kind: string): string => join(folder, `accepted-${kind}`);

/** Unpacks a state into a file for each kind: so they can be read one beside the other. */
export const splitState = async (packed: AsyncIterable<Uint8Array>, folder: string): Promise<void> => {
  let kind = '';
  let file: LineFile | undefined;
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const piece of unpacked(packed)) {
      keepMemoryBelow(garbageMb);
      const lines = (rest + decoder.write(piece)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line[0] !== kind) {
          file?.close();
          kind = line[0] ?? '';
          file = createLineFile(pathOfKind(folder, kind));
        }
        file?.add(line);
      }
    }
  } finally {
    file?.close();
  }
};

async function* unpacked(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const fed = (async () => {
    for await (const piece of packed)
      if (!gunzip.write(piece)) await new Promise((resolve) => gunzip.once('drain', resolve));
    gunzip.end();
  })();
  fed.catch((error: Error) => gunzip.destroy(error));
  yield* gunzip;
  await fed;
}
