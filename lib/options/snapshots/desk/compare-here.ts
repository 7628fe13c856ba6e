import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import type { Integrations } from '../../../stage/integrations.ts';
import type { RemovedNames, Sample } from '../compare/sample.ts';
import { examine } from '../examine.ts';
import { feedFor, snapshotsPrefix } from '../feed.ts';
import { feedPatternsIn, settingsKey } from '../package/settings-file.ts';
import type { OnProgress } from '../progress.ts';
import { adoptable } from '../state/accepted-snapshot.ts';
import { acceptedKeyOf, recordKey, type SnapshotRecord, snapshotRecord } from '../state/record.ts';
import type { ComparisonStore } from '../state/store.ts';

type Here = {
  /** A path on this machine. */
  file: string;
  /** What it would be called in the bucket, under `snapshots/`; default: its own name. */
  as?: string | undefined;
  /** Undefined: that of its name, by the settings. */
  feed?: string;
  /** The feed is ended: there is no file. */
  isEnd?: true;
  store: ComparisonStore;
  integrations: Integrations;
  /** Texts that replace those in the bucket, by key. */
  texts?: ReadonlyMap<string, string>;
  /** Receives the path of the report of refused rows, which is deleted afterwards. */
  takeReport?(path: string): Promise<void>;
  onProgress?: OnProgress | undefined;
};

/** What an import would do with the file, and what it was compared with. */
export type ComparedHere = {
  record: SnapshotRecord;
  against: string | undefined;
  reasons: string[];
  /** Undefined: no row was read. */
  sample: Sample | undefined;
  removed: RemovedNames;
};

/** Nothing is sent in parts. */
const limits = { eventsPerPart: 10_000 };

/** The key under which a file would be put into the bucket. */
export const keyOf = (file: string, as = basename(file)): string =>
  `${snapshotsPrefix}${as.replace(/^snapshots\//, '')}`;

/** Compares as an import does, and keeps nothing. @throws RefusedError if the file cannot be compared. */
export const compareHere = async ({
  file,
  as,
  feed,
  isEnd,
  store,
  integrations,
  texts = new Map(),
  takeReport,
  onProgress,
}: Here): Promise<ComparedHere> => {
  const records: SnapshotRecord[] = [];
  let sample: Sample | undefined;
  let removed: RemovedNames = { names: [], courses: [] };
  const takeSample = (taken: Sample): void => {
    sample = taken;
  };
  const key = isEnd ? file : keyOf(file, as);
  const declared = feedPatternsIn(texts.get(settingsKey) ?? (await store.textIfAny(settingsKey)));
  const feedHere = feed ?? feedFor(key, declared);
  // An import would give it this name.
  const adopted = isEnd ? undefined : await adoptable(store, feedHere, declared);
  const local: ComparisonStore = {
    ...store,
    // Objects in the bucket are read. What an import would write there stays on this machine, or is discarded.
    download: async (_, path) => {
      await copyFile(file, path);
      const hash = createHash('sha256');
      for await (const piece of createReadStream(path)) hash.update(piece);
      return hash.digest('hex');
    },
    readJsonIfAny: async (key) =>
      adopted && key === acceptedKeyOf(feedHere)
        ? adopted.json
        : key === adopted?.from
          ? undefined
          : store.readJsonIfAny(key),
    keysUnder: async (prefix) => {
      const keys = await store.keysUnder(prefix);
      if (adopted === undefined) return keys;
      const own = acceptedKeyOf(feedHere);
      return [...keys.filter((each) => each !== adopted.from), ...(own.startsWith(prefix) ? [own] : [])];
    },
    textIfAny: async (key) => texts.get(key) ?? store.textIfAny(key),
    writeJson: async (key, value) => {
      const { data } = snapshotRecord.safeParse(value);
      if (data && key === recordKey(data.id)) records.push(data);
    },
    uploadFile: async (key, path) => {
      if (key.endsWith('/report.csv')) await takeReport?.(path);
    },
  };
  const examined = await examine(
    { key, feed: feedHere, etag: '', droppedMs: Date.now(), ...(isEnd && { isEnd }) },
    {
      services: {
        store: local,
        integrations,
        limits,
        isTrial: true,
        takeSample,
        takeRemoved: (taken) => {
          removed = taken;
        },
        ...(onProgress && { onProgress }),
      },
      startedAt: new Date().toISOString(),
    },
  );
  const record = records.at(-1);
  if (examined.is === 'over' || record === undefined)
    throw new RefusedError('message' in examined ? examined.message : 'There is no record of it');
  return { record, against: examined.against, reasons: examined.reasons, sample, removed };
};

/** An empty bucket. */
export const emptyStore: ComparisonStore = {
  download: async () => undefined,
  open: async (key) => {
    throw new Error(`There is no ${key}`);
  },
  readJson: async (key) => {
    throw new Error(`There is no ${key}`);
  },
  etagOf: async () => undefined,
  keysUnder: async () => [],
  textIfAny: async () => undefined,
  readJsonIfAny: async () => undefined,
  writeJson: async () => {},
  uploadFile: async () => {},
};

/** @throws UsageError if there is no such file. */
export const checkReadable = async (file: string): Promise<void> => {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory())
    throw new UsageError(`${file} is a folder. Zip the CSV files in it, and pass the zip.`);
  if (!found?.isFile()) throw new UsageError(`There is no file ${file}.`);
};

/** @throws UsageError if the first bytes are not those of a OneRoster package. */
export const checkPackage = async (file: string): Promise<void> => {
  await checkReadable(file);
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  const name = basename(file);
  if (bytesRead === 0)
    throw new UsageError(`${name} is empty. Copy it again, or export it again from the student system.`);
  if (buffer.toString('latin1') !== 'PK')
    throw new UsageError(
      `${name} is not a zip. Pass the package as the student system exports it, or zip its CSV files. A single CSV file needs a name that ends in .csv, and a mapping.`,
    );
};
