import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { keepTableMemoryLow } from '../../../runtime/files/tables/table-memory.ts';

export type Part = { bytes: number; lines: number };

export type PackedLines = Awaited<ReturnType<typeof createPackedLines>>;

const lineFeed = 0x0a;
/** Many small pieces would make much garbage. */
const pieceBytes = 1024 * 1024;

/** Writes lines as a gzip file whose parts can be read separately by their position. */
export const createPackedLines = async (path: string, linesPerPart = 5_000) => {
  const file = await open(path, 'w');
  const parts: Part[] = [];
  let [pieces, lines]: [Buffer[], number] = [[], 0];
  let last: { packed: Promise<Buffer>; lines: number } | undefined;
  const writeLast = async (): Promise<void> => {
    if (last === undefined) return;
    const bytes = await last.packed;
    parts.push({ bytes: bytes.length, lines: last.lines });
    await file.writeFile(bytes);
  };
  /** One part is packed while the next is read. */
  const pack = async (): Promise<void> => {
    const packed = promisify(gzip)(Buffer.concat(pieces), { level: 1, chunkSize: pieceBytes });
    await writeLast();
    last = { packed, lines };
    [pieces, lines] = [[], 0];
    keepTableMemoryLow();
  };
  const take = async (bytes: Buffer): Promise<void> => {
    let from = 0;
    for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) {
      lines += 1;
      if (lines < linesPerPart) continue;
      pieces.push(bytes.subarray(from, at + 1));
      from = at + 1;
      await pack();
    }
    if (from < bytes.length) pieces.push(bytes.subarray(from));
  };
  let adding: Promise<unknown> = Promise.resolve();
  return {
    add: async (added: readonly string[]) => {
      await adding;
      if (added.length > 0) await take(Buffer.from(`${added.join('\n')}\n`));
    },
    /** Adds the lines of a file, and removes it, while the caller goes on. `end` reports a failure. */
    addFile: (added: string): void => {
      adding = adding.then(async () => {
        for await (const piece of createReadStream(added, { highWaterMark: pieceBytes })) await take(piece);
        await rm(added);
      });
      adding.catch(() => undefined);
    },
    /** The parts that were written; together they are one gzip file. */
    end: async () => {
      await adding;
      if (lines > 0) await pack();
      await writeLast();
      await file.close();
      return parts;
    },
    // Closing a closed file is allowed.
    [Symbol.asyncDispose]: () => adding.catch(() => undefined).then(() => file.close()),
  };
};
