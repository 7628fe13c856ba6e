import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { bucketOf } from '../../../stage/audit-log.ts';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import type { Integrations } from '../../../stage/integrations.ts';
import type { Target } from '../../../stage/target.ts';
import type { RemovedNames, Sample } from '../compare/sample.ts';
import { feedFor, isTable } from '../feed.ts';
import { mappingKeysOf } from '../package/mapping-file.ts';
import { feedPatternsIn, settingsKey } from '../package/settings-file.ts';
import type { OnProgress } from '../progress.ts';
import type { SnapshotRecord } from '../state/record.ts';
import { createSnapshotStore, type SnapshotStore } from '../state/store.ts';
import { checkPackage, checkReadable, compareHere, emptyStore, keyOf } from './compare-here.ts';
import { firstRows, type RefusedRow } from './read.ts';

/** What a file would change if it were put into the bucket now. */
export type SnapshotDiff = Pick<
  SnapshotRecord,
  'counts' | 'byKind' | 'of' | 'removals' | 'lostColumns' | 'rows' | 'unknownRoles' | 'excluded' | 'refusals'
> & {
  /** The id of the last accepted snapshot; undefined: there is none. */
  against: string | undefined;
  /** Why nothing would be sent without an approval. */
  reasons: string[];
  refusedRows: RefusedRow[];
  /** What the first rows give, and which names the platform does not have. */
  sample: Sample | undefined;
  /** Whom it would remove. */
  removed: RemovedNames;
};

/** A table is compared with the last one of its name. */
type DiffResult = {
  file: string;
  /** What it is to be called in the bucket, under `snapshots/`. */
  name?: string | undefined;
  /** A mapping on this machine that replaces the one in the bucket. */
  map?: string | undefined;
  /** Settings on this machine that replace those in the bucket. */
  settings?: string | undefined;
  onProgress?: OnProgress;
};

export const storeOf = async (target: Target): Promise<SnapshotStore> =>
  createSnapshotStore({ s3: await target.s3(), bucket: await bucketOf(target) });

/** Whether the bucket has settings. A zip is not imported without the roles that they contain. */
export const hasSettings = async (target: Target): Promise<boolean> =>
  (await (await storeOf(target)).etagOf(settingsKey)) !== undefined;

/** Whether the bucket has a mapping for a table. */
export const hasMapping = async (
  target: Target,
  { file, name, settings }: Pick<DiffResult, 'file' | 'name' | 'settings'>,
): Promise<boolean> => {
  const store = await storeOf(target);
  const text = settings === undefined ? await store.textIfAny(settingsKey) : await readFile(settings, 'utf8');
  const keys = mappingKeysOf(feedFor(keyOf(file, name), feedPatternsIn(text)));
  const etags = await Promise.all(keys.map((key) => store.etagOf(key)));
  return etags.some((etag) => etag !== undefined);
};

/**
 * Compares as an import does, and keeps nothing; without a deployment it compares with nothing.
 * @throws UsageError, RefusedError if the file cannot be compared.
 */
export const diffSnapshot = async (
  target: Target | undefined,
  { file, name, map, settings, onProgress }: DiffResult,
  integrations: Integrations,
): Promise<SnapshotDiff> => {
  for (const each of [file, map, settings]) if (each !== undefined) await checkReadable(each);
  if (map !== undefined && !isTable(file))
    throw new UsageError(
      `A mapping is for a table, but ${file} is not one. The name of a table must end in .csv.`,
    );
  if (!isTable(file)) await checkPackage(file);
  const texts = new Map<string, string>();
  if (settings !== undefined) texts.set(settingsKey, await readFile(settings, 'utf8'));
  const store = target === undefined ? emptyStore : await storeOf(target);
  const declared = feedPatternsIn(texts.get(settingsKey) ?? (await store.textIfAny(settingsKey)));
  const feed = feedFor(keyOf(file, name), declared);
  const [mappingKey] = mappingKeysOf(feed);
  if (map !== undefined) texts.set(mappingKey, await readFile(map, 'utf8'));
  let refusedRows: RefusedRow[] = [];
  const takeReport = async (path: string): Promise<void> => {
    refusedRows = await firstRows(createReadStream(path));
  };
  const { record, against, reasons, sample, removed } = await compareHere({
    file,
    as: name,
    feed,
    store,
    integrations,
    texts,
    takeReport,
    onProgress,
  }).catch((error: unknown) => {
    if (!(error instanceof RefusedError)) throw error;
    // Files on this machine took the place of those in the bucket.
    const why = error.message
      .replaceAll(`${settingsKey} in the bucket`, (key) => settings ?? key)
      .replaceAll(mappingKey, (key) => map ?? key);
    throw new RefusedError(`${file} cannot be compared: ${why}.`);
  });
  const { counts, byKind, of, removals, lostColumns, rows, unknownRoles, excluded, refusals } = record;
  return {
    counts,
    byKind,
    of,
    against,
    reasons,
    refusedRows,
    sample,
    removed,
    ...(removals && { removals }),
    ...(lostColumns && { lostColumns }),
    ...(rows && { rows }),
    ...(unknownRoles && { unknownRoles }),
    ...(excluded && { excluded }),
    ...(refusals && { refusals }),
  };
};
