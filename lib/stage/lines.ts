import type { Readable } from 'node:stream';

/** The lines of JSON Lines. Node's own reader also ends a line at U+2028, which JSON strings may contain. */
export async function* linesIn(stream: Readable): AsyncGenerator<string> {
  let begun: string | undefined;
  for await (const piece of stream.setEncoding('utf8')) {
    const lines = (begun === undefined ? withoutMark(piece) : begun + piece).split('\n');
    begun = lines.pop() ?? '';
    yield* lines;
  }
  if (begun) yield begun;
}

/** Programs on Windows put a byte order mark before UTF-8. */
export const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');
