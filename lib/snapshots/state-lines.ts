import { pipeline } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { collectGarbage } from '../sets/garbage.ts';

/** By the kinds of a state's lines, the functions of the messages that a table was accepted by; `by` is as in `accepted.json`. */
export const functionsOf = (by: string): Map<string, string> =>
  new Map((JSON.parse(by) as string[][]).map(([name = ''], at) => [kindOf(at), name]));

/** Of a message, by its place in the mapping. */
export const kindOf = (at: number): string => at.toString(36);

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
      collectGarbage();
      const lines = (rest + decoder.write(piece)).split('\n');
      rest = lines.pop() ?? '';
      yield lines;
    }
  } catch (error) {
    // A state without a line has no byte, which is no gzip.
    if (bytes > 0 || (error as NodeJS.ErrnoException).code !== 'Z_BUF_ERROR') throw error;
  }
}
