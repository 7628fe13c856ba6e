import { crc32 } from 'node:zlib';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { UnusableSnapshot } from './unusable.ts';

export type ZipLimits = {
  /** Of one file, unpacked. */
  maxBytes: number;
  /** A larger file is unpacked only where it grows by no more than this. */
  maxRatio: number;
  maxEntries: number;
};

export const zipLimits: ZipLimits = { maxBytes: 8 * 1024 ** 3, maxRatio: 200, maxEntries: 1_000 };
/** Even a small file of equal rows is packed well. */
const freeBytes = 1024 ** 2;

export type Files = {
  /** In the folder that is the zip itself. */
  names: string[];
  /** @throws UnusableSnapshot while it is read, where what is unpacked is not what the zip says. */
  open(name: string): AsyncIterable<Buffer>;
  close(): void;
};

/**
 * What lies in a zip; nothing is written to the disk under the names that it gives.
 * @throws UnusableSnapshot where it is none, or would do harm.
 */
export const openZip = async (path: string, limits = zipLimits): Promise<Files> => {
  const zip = await orUnusable(() => yauzl.openPromise(path, { autoClose: false, strictFileNames: true }));
  try {
    const entries = await orUnusable(() => entriesOf(zip, limits));
    return {
      names: [...entries.keys()],
      open: (name) => unpacked(zip, entries.get(name), name),
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
};

const entriesOf = async (zip: ZipFile, limits: ZipLimits): Promise<Map<string, Entry>> => {
  const entries = new Map<string, Entry>();
  if (zip.entryCount > limits.maxEntries)
    throw new UnusableSnapshot(
      `The zip holds ${zip.entryCount} files: at most ${limits.maxEntries} are read`,
    );
  for await (const entry of zip.eachEntry()) {
    const name = entry.fileName;
    // An extension of the format: what lies in folders is not read.
    if (name.includes('/')) continue;
    const told = JSON.stringify(name.slice(0, 100));
    if (entries.has(name)) throw new UnusableSnapshot(`The zip holds ${told} twice`);
    if (entry.isEncrypted()) throw new UnusableSnapshot(`${told} in the zip is encrypted`);
    const { compressedSize, uncompressedSize } = entry;
    if (uncompressedSize > limits.maxBytes)
      throw new UnusableSnapshot(`${told} in the zip is larger than ${limits.maxBytes} bytes`);
    if (uncompressedSize > Math.max(freeBytes, compressedSize * limits.maxRatio))
      throw new UnusableSnapshot(
        `${told} in the zip grows to more than ${limits.maxRatio} times its size: no export does`,
      );
    entries.set(name, entry);
  }
  return entries;
};

async function* unpacked(zip: ZipFile, entry: Entry | undefined, name: string): AsyncGenerator<Buffer> {
  if (entry === undefined) throw new UnusableSnapshot(`The zip holds no ${name}`);
  const stream = await orUnusable(() => zip.openReadStreamPromise(entry), name);
  let sum = 0;
  const pieces = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await orUnusable(() => pieces.next(), name);
      if (done) break;
      sum = crc32(value, sum);
      yield value;
    }
  } finally {
    stream.destroy();
  }
  if (sum !== entry.crc32) throw new UnusableSnapshot(`${name} in the zip is damaged: its checksum differs`);
}

/** What goes wrong with a file on the local disk is in the file. */
const orUnusable = async <Result>(work: () => Promise<Result>, name?: string): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnusableSnapshot) throw error;
    const { message } = error as Error;
    // These messages quote names of the zip.
    const told = message.replace(/[^ -~]/g, '?').slice(0, 200);
    throw new UnusableSnapshot(
      `${name === undefined ? 'The zip' : `${name} in the zip`} cannot be read: ${told}`,
      { cause: error },
    );
  }
};
