import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { UsageError } from './command-errors.ts';

/** Can be read from its beginning repeatedly: first to check it, then to send it. */
export type Input = {
  /** The name that messages show. */
  name: string;
  open(): Readable;
} & AsyncDisposable;

/** As the audit log names it: the folders of this machine are nobody else's business. */
export const fileOf = ({ name }: Pick<Input, 'name'>): string =>
  name.startsWith('s3://') ? name : basename(name);

/**
 * A file, or for `-` what standard input holds. @throws UsageError for another pipe, which could be read only once, and for a missing file.
 */
export const openInput = async (file: string, stdin: Readable): Promise<Input> => {
  if (file === '-') return spooled(stdin);
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      error.code === 'ENOENT' ? `There is no file ${file}.` : `${file} cannot be read: ${error.code}.`,
    );
  });
  if (!found.isFile())
    throw new UsageError(
      `${file} is not a regular file, and must be read twice. Save it as a file first, or pass it as standard input to -.`,
    );
  return { name: file, open: () => createReadStream(file), [Symbol.asyncDispose]: async () => {} };
};

/** The content of a form, which is in memory. */
export const inputOf = (name: string, content: Uint8Array): Input => ({
  name,
  open: () => Readable.from([content], { objectMode: false }),
  [Symbol.asyncDispose]: async () => {},
});

const spooled = async (stdin: Readable): Promise<Input> => {
  const path = join(tmpdir(), `sis-relay-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    // Personal data: a deleted file that is still open disappears with the process, and nobody else can open it.
    await rm(path);
    for await (const piece of stdin) await file.appendFile(piece);
  } catch (error) {
    await file.close();
    throw error;
  }
  return {
    name: 'the standard input',
    open: () => Readable.from(piecesOf(file), { objectMode: false }),
    [Symbol.asyncDispose]: () => file.close(),
  };
};

const pieceBytes = 65_536;

async function* piecesOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}
