import { pipeline, type Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { UnusableSnapshot } from '../unusable.ts';

export type ZipLimits = {
  maxBytes: number;
  /** Maximum ratio of unpacked to packed size, for larger files than `freeBytes`. */
  maxRatio: number;
  maxEntries: number;
};

export const zipLimits: ZipLimits = { maxBytes: 8 * 1024 ** 3, maxRatio: 200, maxEntries: 1_000 };
/** Even a small file of equal rows is packed well. */
const freeBytes = 1024 ** 2;

export type Files = Awaited<ReturnType<typeof openZip>>;

/**
 * The files at the top of a zip, or in its only folder that has one of the wanted files. Nothing is written to the disk under the names
 * in the zip. The case of letters in names does not matter. @throws UnusableSnapshot if it is not a zip, or would do harm.
 */
export const openZip = async (path: string, isWanted: (name: string) => boolean, limits = zipLimits) => {
  const zip = await orUnusable(() => yauzl.openPromise(path, { autoClose: false }));
  try {
    const entries = await orUnusable(() => entriesOf(zip, { isWanted, limits }));
    const named = (name: string): Entry | undefined => entries.get(name.toLowerCase())?.entry;
    return {
      /** The names in the zip, without their folder. */
      names: [...entries.values()].map(({ name }) => name),
      has: (name: string) => named(name) !== undefined,
      /** @throws UnusableSnapshot while it is read, if the content does not match what the zip records. */
      open: (name: string) => unpacked(zip, named(name), name),
      /** The unpacked size in bytes, as the zip records it. */
      sizeOf: (name: string) => named(name)?.uncompressedSize ?? 0,
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
};

type PlacedEntry = { folder: string; name: string; entry: Entry };

const entriesOf = async (
  zip: ZipFile,
  { isWanted, limits }: { isWanted: (name: string) => boolean; limits: ZipLimits },
): Promise<Map<string, PlacedEntry>> => {
  if (zip.entryCount > limits.maxEntries)
    throw new UnusableSnapshot(
      `The zip has ${zip.entryCount} files, but at most ${limits.maxEntries} are read. Leave out those that are no tables of the export`,
    );
  const all: PlacedEntry[] = [];
  for await (const entry of zip.eachEntry()) {
    const at = entry.fileName.lastIndexOf('/') + 1;
    const name = entry.fileName.slice(at);
    // A folder has no name, and the copies of files that macOS adds are no tables.
    if (name !== '' && !name.startsWith('._')) all.push({ folder: entry.fileName.slice(0, at), name, entry });
  }
  const folder = folderOf(all.filter(({ name }) => isWanted(name)));
  const entries = new Map<string, PlacedEntry>();
  for (const placed of all) {
    const key = placed.name.toLowerCase();
    if (placed.folder !== folder) continue;
    if (entries.has(key))
      throw new UnusableSnapshot(`The zip has ${quoted(placed.name)} twice. Remove one of them`);
    refuseHarm(placed, limits);
    entries.set(key, placed);
  }
  return entries;
};

const quoted = (name: string): string => JSON.stringify(name.slice(0, 100));

/**
 * All tables of an export are in one folder: a table that is read alone would state that everything else is gone. If every table of
 * the folders is at the top, too, the folders are an extension of the format.
 */
const folderOf = (wanted: readonly PlacedEntry[]): string => {
  const placed = wanted.toSorted((one, other) => (one.folder < other.folder ? -1 : 1));
  const [first] = placed;
  if (first === undefined) return '';
  const others = placed.filter(({ folder }) => folder !== first.folder);
  if (first.folder === '') {
    const there = new Set(placed.flatMap(({ folder, name }) => (folder === '' ? name.toLowerCase() : [])));
    const missing = others.find(({ name }) => !there.has(name.toLowerCase()));
    if (missing)
      throw new UnusableSnapshot(
        `The zip has ${quoted(first.name)} at its top, but ${quoted(missing.name)} in the folder ${quoted(missing.folder)}. Put all files of the export into one place, and leave out the others`,
      );
  } else if (others[0])
    throw new UnusableSnapshot(
      `The zip has an export in two folders, ${quoted(first.folder)} and ${quoted(others[0].folder)}. Make one zip for each`,
    );
  return first.folder;
};

const refuseHarm = ({ name, entry }: PlacedEntry, { maxBytes, maxRatio }: ZipLimits): void => {
  if (entry.isEncrypted())
    throw new UnusableSnapshot(`${quoted(name)} in the zip is encrypted. Make the zip without a password`);
  const { compressedSize, uncompressedSize } = entry;
  if (uncompressedSize > maxBytes)
    throw new UnusableSnapshot(
      `${quoted(name)} in the zip is larger than ${maxBytes} bytes. Export fewer rows, such as those of the current terms`,
    );
  if (uncompressedSize > Math.max(freeBytes, compressedSize * maxRatio))
    throw new UnusableSnapshot(
      `${quoted(name)} in the zip grows to more than ${maxRatio} times its size, which no export does. Export it again`,
    );
};

async function* unpacked(zip: ZipFile, entry: Entry | undefined, name: string): AsyncGenerator<Buffer> {
  if (entry === undefined) throw new UnusableSnapshot(`The zip has no ${name}. Export it again`);
  const stream = await orUnusable(() => openEntry(zip, entry), name);
  let [sum, bytes] = [0, 0];
  const pieces = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await orUnusable(() => pieces.next(), name);
      if (done) break;
      bytes += value.length;
      // Only the size that the zip records was checked before.
      if (bytes > entry.uncompressedSize)
        throw new UnusableSnapshot(`${name} in the zip is larger than the zip records. Export it again`);
      sum = crc32(value, sum);
      yield value;
    }
  } finally {
    stream.destroy();
  }
  if (sum !== entry.crc32)
    throw new UnusableSnapshot(`${name} in the zip is damaged: its checksum differs. Export it again`);
}

/** Unpacks in large pieces: with yauzl's 16 KB, handling the pieces takes longer than unpacking them. */
const openEntry = async (zip: ZipFile, entry: Entry): Promise<Readable> => {
  if (!entry.canDecodeFileData())
    throw new Error(`compression method ${entry.compressionMethod} is not supported`);
  const packed = await zip.openReadStreamPromise(entry, { decodeFileData: false });
  if (!entry.isCompressed()) return packed;
  const unpack = createInflateRaw({ chunkSize: 512 * 1024 });
  // Also ends both if one fails. The reader gets the error.
  pipeline(packed, unpack, () => undefined);
  return unpack;
};

/** An error with a file on the local disk is caused by the file's content. */
const orUnusable = async <Result>(work: () => Promise<Result>, name?: string): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnusableSnapshot) throw error;
    const { message } = error as Error;
    // These messages quote names of the zip.
    const reason = message.replace(/[^ -~]/g, '?').slice(0, 200);
    throw new UnusableSnapshot(
      `${name === undefined ? 'The zip' : `${name} in the zip`} cannot be read: ${reason.replace(/\.$/, '')}. Export it again`,
      { cause: error },
    );
  }
};
